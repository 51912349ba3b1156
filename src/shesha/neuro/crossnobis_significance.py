"""Test which pairs of conditions differ, using cross-validated distances and permuted trials."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb, prod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shesha.inputs import MissingRows, validation as check
from shesha.kernels.condition_distances import additive_residuals, residuals
from shesha.kernels.threads import single_threaded_blas
from shesha.neuro.crossnobis import FOLDS, NO_REPEATS, NO_VARIATION, Crossed, Estimate, run_codes
from shesha.neuro.trials import Conditions, Trials, alternate
from shesha.nulls import benjamini_hochberg, holm
from shesha.nulls.null_summary import max_statistic_p_values
from shesha.report import Part, Table, Text
from shesha.results import sentence_parts as say
from shesha.results.base import Result, draws_axes, reaches_level
from shesha.results.number import TIE
from shesha.support.progress import track
from shesha.support.provenance import keep_statements
from shesha.support.seeds import ALPHA, draws_needed, generator, number
from shesha.support.types import Index, Labels, Mask, Matrix, Seed, Vector
from shesha.support.wording import agree_with_share, count

if TYPE_CHECKING:
    from matplotlib.axes import Axes


Cube = NDArray[np.float64]
Weigh = Callable[[Cube], Cube]
"""Function that multiplies rows (n_draws, n_rows, n_channels) by the inverse noise covariance of each draw."""
_RANK = 1e-9
"""Share of an indicator's squared length from which on it has a direction of its own."""
_EPS = float(np.finfo(np.float64).eps)
_NUMBERS = 2_000_000
"""Largest number of entries of one array, which limits how many draws are computed together."""


def draw_distances(crossed: Crossed, codes: Labels, pair: tuple[int, int], first: Mask) -> Vector:
    """Return the squared distance of a pair of conditions for each draw, divided by the number of channels.

    The values are those of `Crossed.distances`. Sums over the trials of all other conditions are computed only once.

    Parameters
    ----------
    crossed : Crossed
    codes : array of shape (n_trials,)
        Condition of each trial.
    pair : (int, int)
    first : array of shape (n_draws, n_own_trials)
        For each draw, whether a trial of the two conditions has the first condition. In every run, each draw has as
        many of these trials as `codes`.
    """
    per_draw = (first.shape[1] + crossed.rows.shape[1] + len(crossed.rows)) * max(crossed.rows.shape[1], 1)
    size = max(1, _NUMBERS // per_draw)
    exchanged = _PairOfConditions(crossed, codes, pair)
    parts = [exchanged.distances(first[start : start + size]) for start in range(0, len(first), size)]
    return np.concatenate(parts) / crossed.n_channels


@dataclass(frozen=True)
class _Fixed:
    """Residuals of the trials whose conditions are not exchanged, as sums."""

    scatter: Matrix
    """Sum of the outer products of the residuals; with diagonal noise, the sum of their squares."""
    fourth_powers: float
    """Sum of the fourth powers of the lengths of the residuals."""
    peak: Vector
    """Largest absolute residual of each channel."""
    n_rows: int
    dof: int


@dataclass(eq=False)
class _PairOfConditions:
    """Two conditions, whose trials are exchanged, and the sums over all other trials."""

    crossed: Crossed
    codes: Labels
    pair: tuple[int, int]

    def __post_init__(self) -> None:
        self.own = np.flatnonzero(np.isin(self.codes, self.pair))
        self.rows = self.crossed.rows[self.own]
        self.estimated = not self.crossed.precisions and isinstance(self.crossed.noise, str | float)
        self.diagonal = self.crossed.noise == "diagonal"
        self._fixed: dict[tuple[int, ...], _Fixed] = {}

    def distances(self, first: Mask) -> Vector:
        """Return the squared distance for each draw."""
        runs = self.crossed.runs
        if runs is None:
            # As in `Crossed`, the trials of each condition alternate between folds.
            place = np.where(first, np.cumsum(first, axis=1), np.cumsum(~first, axis=1)) - 1
            draws = _Draws(self, first, place % FOLDS if self.estimated else np.zeros_like(place))
            return draws.mean_over_trials()
        return _Draws(self, first, np.broadcast_to(runs[self.own], first.shape)).mean_over_runs()

    @cached_property
    def folds(self) -> Labels:
        """Fold of every trial; those of the two conditions are not used."""
        if self.crossed.runs is not None:
            return np.asarray(self.crossed.runs % FOLDS)
        return alternate(self.codes, FOLDS)

    def fixed(self, without: tuple[int, ...]) -> _Fixed:
        """Sums over the other conditions, without the trials in some folds."""
        if without not in self._fixed:
            kept = (self.codes >= 0) & ~np.isin(self.codes, self.pair) & ~np.isin(self.folds, without)
            cells = self.codes
            if self.crossed.runs is not None:
                cells = cells * (int(self.crossed.runs.max()) + 1) + self.crossed.runs
            if kept.any():
                left, dof = residuals(self.crossed.rows, np.where(kept, cells, -1))
            else:
                left, dof = self.crossed.rows[:0], 0
            lengths = np.einsum("ij,ij->i", left, left)
            scatter = np.einsum("ij,ij->j", left, left) if self.diagonal else left.T @ left
            peak = np.abs(left).max(axis=0, initial=0.0)
            self._fixed[without] = _Fixed(scatter, float(lengths @ lengths), peak, len(left), dof)
        return self._fixed[without]


@dataclass(eq=False)
class _Draws:
    """Draws of exchanged trials, with the sums of the trials of both conditions in each part (run or fold)."""

    of: _PairOfConditions
    first: Mask
    parts: Index

    def __post_init__(self) -> None:
        self.n_parts = int(self.parts.max()) + 1
        cells = np.where(self.first, 0, self.n_parts) + self.parts
        indicator = cells[:, None] == np.arange(2 * self.n_parts)[:, None]
        shape = (len(self.first), 2, self.n_parts)
        self.sums = (indicator.astype(np.float64) @ self.of.rows).reshape(*shape, -1)
        # An exchange within runs leaves the numbers of trials as they are.
        self.counts = indicator[0].sum(axis=1).reshape(2, self.n_parts)
        self._weighings: dict[tuple[int, ...], Weigh] = {}

    def mean_over_runs(self) -> Vector:
        """Mean product of the differences in two runs that contain both conditions."""
        shared = np.flatnonzero((self.counts > 0).all(axis=0))
        means = self.sums[:, :, shared] / self.counts[:, shared, None]
        differences = means[:, 0] - means[:, 1]
        total, n = np.zeros(len(self.first)), 0
        for a, b in combinations(range(len(shared)), 2):
            weighted = self._weighing(int(shared[a]), int(shared[b]))(differences[:, [a]])[:, 0]
            total += np.einsum("lp,lp->l", weighted, differences[:, b])
            n += 1
        return total / n if n else np.full(len(total), np.nan)

    def mean_over_trials(self) -> Vector:
        """Mean product of different trials, combined into the distance."""
        products, squares = np.zeros((len(self.first), 2, 2)), np.zeros((len(self.first), 2))
        for a in range(self.n_parts):
            for b in range(a, self.n_parts):
                weigh = self._weighing(a, b)
                both = weigh(self.sums[:, :, a]) @ self.sums[:, :, b].transpose(0, 2, 1)
                products += both if a == b else both + both.transpose(0, 2, 1)
                if a == b:
                    rows = np.broadcast_to(self.of.rows, (len(self.first), *self.of.rows.shape))
                    lengths = np.einsum("lmp,mp->lm", weigh(rows), self.of.rows) * (self.parts == a)
                    squares += np.stack([(lengths * self.first).sum(1), (lengths * ~self.first).sum(1)], axis=1)
        n = self.counts.sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            within = (np.einsum("lkk->lk", products) - squares) / (n * (n - 1))
        within = np.where(n > 1, within, np.nan)
        return np.asarray(within.sum(axis=1) - (products[:, 0, 1] + products[:, 1, 0]) / (n[0] * n[1]))

    def _weighing(self, a: int, b: int) -> Weigh:
        """Return the weighting of the products of two parts."""
        crossed = self.of.crossed
        if crossed.precisions:
            precision = crossed.precisions[min(a, b), max(a, b)]
            return lambda rows: np.asarray(rows @ precision)
        if crossed.noise is None:
            return lambda rows: rows
        if isinstance(crossed.noise, np.ndarray):
            matrix = crossed.noise
            return lambda rows: np.asarray(rows @ matrix)
        once = crossed.runs is not None and crossed.within_cells
        without = () if once else tuple(sorted({a % FOLDS, b % FOLDS}))
        if without not in self._weighings:
            additive = crossed.runs is not None and not crossed.within_cells
            estimate = self._additive_noise if additive else self._noise_around_means
            # With few folds, no trials remain for the noise, so all trials must serve.
            weighing = estimate(without) or estimate(())
            if weighing is None:
                raise ValueError(NO_REPEATS)
            self._weighings[without] = weighing
        return self._weighings[without]

    def _noise_around_means(self, without: tuple[int, ...]) -> Weigh | None:
        """Estimate the noise around the means of conditions (in runs); None without degrees of freedom."""
        fixed, place = self.of.fixed(without), np.where(self.first, 0, 1)
        kept = [part for part in range(self.n_parts) if part not in without]
        lines = np.arange(len(self.first))[:, None]
        if self.of.crossed.runs is None:
            counts = self.counts[:, kept].sum(axis=1)
            centres = (self.sums[:, :, kept].sum(axis=2) / np.maximum(counts, 1)[:, None])[lines, place]
        else:
            counts = self.counts
            centres = (self.sums / np.maximum(counts, 1)[:, :, None])[lines, place, self.parts]
        n_own, n_cells = int(self.counts[:, kept].sum()), int((counts > 0).sum())
        dof = fixed.dof + n_own - n_cells
        if dof < 1:
            return None
        left = (self.of.rows - centres) * np.isin(self.parts, kept)[..., None]
        n_rows = fixed.n_rows + n_own
        peak = np.maximum(np.abs(left).max(axis=1), fixed.peak)
        # In channels that are constant within conditions, only rounding errors remain, see `residuals`.
        known = peak > 4 * _EPS * n_rows * np.abs(self.of.crossed.rows).max(axis=0)
        left *= known[:, None]
        lengths = np.einsum("lmp,lmp->lm", left, left)
        if self.of.diagonal:
            scatter = (fixed.scatter + np.einsum("lmp,lmp->lp", left, left)) * known
        else:
            scatter = fixed.scatter + left.transpose(0, 2, 1) @ left
        fourth_powers = fixed.fourth_powers + np.einsum("lm,lm->l", lengths, lengths)
        return self._weigh(scatter, fourth_powers, n_rows, np.full(len(left), dof))

    def _additive_noise(self, without: tuple[int, ...]) -> Weigh | None:
        """Estimate the noise around sums of a condition's and a run's mean; None without degrees of freedom.

        An exchange changes one direction of the space of these sums, so it changes the residuals by one outer product.
        """
        crossed, of = self.of.crossed, self.of
        kept = (of.codes >= 0) & ~np.isin(of.folds, without)
        if not kept.any() or crossed.runs is None:
            return None
        merged = np.where(kept, np.where(np.isin(of.codes, of.pair), of.pair[0], of.codes), -1)
        labels = np.zeros((len(self.first), len(of.codes)))
        labels[:, of.own] = self.first
        both, dof_merged, _ = additive_residuals(np.hstack([crossed.rows, labels.T]), merged, crossed.runs)
        left, directions = both[:, : crossed.rows.shape[1]], both[:, crossed.rows.shape[1] :].T
        squared = np.einsum("ln,ln->l", directions, directions)
        moves = squared > _RANK * (labels[:, kept].sum(axis=1) + 1)
        dof = dof_merged - moves
        if (dof < 1).any():
            return None
        directions = directions / np.sqrt(np.where(moves, squared, np.inf))[:, None]
        along = directions @ left
        lengths = (
            np.einsum("np,np->n", left, left)
            - 2 * directions * (along @ left.T)
            + directions**2 * np.einsum("lp,lp->l", along, along)[:, None]
        )
        if of.diagonal:
            within = left - directions[:, :, None] * along[:, None]
            peak = np.abs(within).max(axis=1)
            within *= (peak > 4 * _EPS * len(left) * np.abs(crossed.rows[kept]).max(axis=0))[:, None]
            scatter = np.einsum("lnp,lnp->lp", within, within)
        else:
            scatter = left.T @ left - along[:, :, None] * along[:, None]
        return self._weigh(scatter, np.einsum("ln,ln->l", lengths, lengths), len(left), dof)

    def _weigh(self, scatter: Cube, fourth_powers: Vector, n_rows: int, dof: Vector) -> Weigh:
        """Return the weighting by the inverse of shrunk covariances, as `estimate_noise` shrinks them."""
        if self.of.diagonal:
            weights = np.divide(dof[:, None], scatter, out=np.zeros_like(scatter), where=scatter > 0)
            return lambda rows: rows * weights[:, None]
        n_channels, noise = self.of.crossed.n_channels, self.of.crossed.noise
        trace = np.einsum("lpp->l", scatter)
        if not (trace > 0).all():
            raise ValueError(NO_VARIATION)
        if isinstance(noise, float):
            intensity = np.full(len(scatter), noise)
        else:
            squared = np.einsum("lpq,lpq->l", scatter, scatter) / dof**2
            distance = squared - (trace / dof) ** 2 / n_channels
            error = (fourth_powers / dof * (n_rows / dof) - squared) / dof
            ratio = np.divide(error, distance, out=np.ones_like(error), where=distance > 0)
            intensity = np.clip(ratio, 0.0, 1.0)
        covariance = scatter * ((1 - intensity) / dof)[:, None, None]
        diagonal = np.arange(covariance.shape[1])
        covariance[:, diagonal, diagonal] += (intensity * trace / n_channels / dof)[:, None]
        try:
            inverse = np.linalg.inv(covariance)
        except np.linalg.LinAlgError as error:
            raise ValueError(NO_VARIATION) from error
        return lambda rows: rows @ inverse


_SHOWN = 10


@dataclass(frozen=True)
class CrossnobisPairs(Result):
    """Cross-validated distances between pairs of conditions, each with a p-value."""

    COLUMNS: ClassVar = {"first": "first", "second": "second", "distance": "distances", "p_value": "p_values"} | {
        "corrected_p_value": "corrected_p_values",
        "p_holm": "p_holm",
        "p_benjamini_hochberg": "p_benjamini_hochberg",
    }

    first: tuple[str, ...]
    second: tuple[str, ...]
    distances: tuple[float, ...]
    """Squared distances per neuron; if conditions do not differ, about half of them are negative."""
    p_values: tuple[float, ...]
    corrected_p_values: tuple[float, ...]
    """p-values corrected for the number of pairs (step-down maximum over shared permutations)."""
    p_holm: tuple[float, ...]
    """Holm-corrected p-values; at least the number of pairs divided by `n_permutations` + 1 for the first pair."""
    p_benjamini_hochberg: tuple[float, ...]
    """Benjamini-Hochberg-corrected p-values (false discovery rate)."""
    n_draws: int
    n_trials: int
    n_neurons: int
    exchanged: str
    alpha: float = ALPHA
    seed: int | None = None
    notes: tuple[str, ...] = ()
    n_undecided: int = 0
    """Number of tested pairs with too few trials: no exchange of trials can bring p to the level alpha."""
    smallest_p_value: float = 0.0
    """Smallest p-value that the undecided pairs could reach."""
    column_noun: str = "neurons"

    @property
    def significant(self) -> tuple[bool, ...]:
        """Whether each pair of conditions differs at the level alpha, corrected for the number of pairs."""
        return tuple(reaches_level(p, self.alpha) for p in self.corrected_p_values)

    @property
    def headline(self) -> str:
        """How many pairs of conditions differ."""
        known = [p for p in self.p_values if p == p]
        if not known:
            return "No pair of conditions could be tested."
        if self.n_undecided == len(known):
            return f"Whether conditions differ cannot be decided: {self._too_few}."
        missing = len(self.p_values) - len(known)
        untested = f"; {count(missing, 'pair')} could not be tested" if missing else ""
        if self.n_undecided:
            untested += f"; {count(self.n_undecided, 'pair')} cannot be decided, because {self._too_few}"
        n = sum(self.significant)
        differ = agree_with_share(n, len(known), "differs", "differ")
        return (
            f"{n} of {count(len(known), 'pair')} of conditions {differ} at "
            f"{self.alpha:g}, corrected for the number of pairs{untested}."
        )

    @property
    def _too_few(self) -> str:
        return f"with so few trials, p is at least {self.smallest_p_value:.2g}"

    def _claim(self) -> str:
        lines = zip(self.first, self.second, self.distances, self.corrected_p_values, strict=True)
        ordered = sorted(lines, key=lambda line: (line[3] != line[3], line[3], -line[2]))
        return say.listing(
            self.headline,
            [f"{a} and {b} {say.format_number(value)}, p = {say.format_p(p)}" for a, b, value, p in ordered],
            f"cross-validated squared distances over {self.n_trials:,} trials of {self.n_neurons:,} {self.column_noun}",
            f"{say.draws(self.n_draws, self.exchanged)}, p corrected by the step-down maximum",
            others="pairs",
        )

    def _numbers(self) -> tuple[Part, ...]:
        """Return one row per pair of conditions, the most different first."""
        order = np.argsort([-value if value == value else np.inf for value in self.distances], kind="stable").tolist()
        columns = {
            "distance": [self.distances[pair] for pair in order],
            "p": [self.p_values[pair] for pair in order],
            "corrected p": [self.corrected_p_values[pair] for pair in order],
        }
        names = [f"{self.first[pair]}, {self.second[pair]}" for pair in order]
        drawn = f"{self.n_draws:,} permutations of {self.exchanged}."
        return (Table.of(names, columns, "Pairs of conditions", "pair"), Text(drawn))

    @draws_axes
    def plot(self, ax: Axes | None = None, *, title: str | None = None) -> Axes:
        """Draw the distances of all pairs as a heat map, with frames around the pairs that differ."""
        from shesha.charts import heat_map

        names = list(dict.fromkeys((*self.first, *self.second)))
        distances, framed = np.full((len(names), len(names)), np.nan), []
        for a, b, value, differs in zip(self.first, self.second, self.distances, self.significant, strict=True):
            for place in ((names.index(a), names.index(b)), (names.index(b), names.index(a))):
                distances[place] = value
                framed += [place] if differs else []
        meaning = "squared distance per neuron (cross-validated)"
        return heat_map(distances, names, names, title=meaning, closer="lower", framed=framed, ax=ax)


@keep_statements
def crossnobis_test(
    X: Any,
    conditions: Conditions,
    runs: Conditions | None = None,
    *,
    noise: Estimate | float | ArrayLike | None = "ledoit-wolf",
    n_permutations: int = 199,
    alpha: float = ALPHA,
    seed: Seed = 0,
    missing: MissingRows = "refuse",
) -> CrossnobisPairs:
    """Test, for every pair of conditions, whether their responses differ, by cross-validated distances.

    The labels of the two conditions are permuted within runs, and the noise is estimated again for each permutation.
    The test is therefore valid for any noise, provided that trials are independent. Use it to test individual pairs. To
    test all conditions together, use `discriminability`, whose null distribution also allows for slow changes.
    Computing time is proportional to the number of pairs times `n_permutations`.

    Parameters
    ----------
    X, conditions, runs, noise
        See `crossnobis`. The trials within a run must be independent of one another.
    n_permutations : int
        Number of permutations for each pair, at least 1 / alpha - 1. The same permutations of the trials serve all
        pairs, so any number of pairs can become significant with the default.
    alpha : float
        Significance level of the corrected p-values.
    seed : int, Generator or None
    missing
        See `crossnobis`.

    Returns
    -------
    CrossnobisPairs
        Distances, one-sided p-values, and p-values that are corrected for the number of pairs by the step-down maximum
        over the permutations (Westfall and Young 1993); NaN for pairs that occur together in fewer than two runs.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> shown, runs = np.tile([0, 1, 2], 40), np.repeat(np.arange(6), 20)
    >>> X = rng.standard_normal((120, 10)) + np.array([0, 0, 1])[shown, None]
    >>> found = crossnobis_test(X, shown, runs)
    >>> found.to_frame()[["first", "second", "corrected_p_value"]].round(3)
      first second  corrected_p_value
    0     0      1              0.455
    1     0      2              0.005
    2     1      2              0.005
    """
    fewest = draws_needed(1, check.fraction(alpha, "alpha", closed=False))
    if check.count(n_permutations, "n_permutations") < fewest:
        raise ValueError(
            f"n_permutations must be at least {fewest}, because fewer cannot reach p = {alpha:g}, got {n_permutations}"
        )
    trials = Trials.build(X, conditions, min_trials=1, missing=missing, runs=runs)
    parts, run_names = run_codes(X, trials, runs)
    if parts is None:
        trials.state_blocked_conditions()
    else:
        trials.state_dependent_stretches(parts)
    pairs = list(combinations(range(trials.n_conditions), 2))
    keys = generator(seed).random((n_permutations, trials.n_trials))
    with single_threaded_blas():
        crossed = Crossed.build(trials, parts, noise, run_names)
        observed = crossed.distances(trials.codes)
        tested = [pair for pair in pairs if observed[pair] == observed[pair]]
        draws = [
            draw_distances(crossed, trials.codes, pair, _exchanges(trials.codes, parts, pair, keys))
            for pair in track(tested, len(tested), "pairs")
        ]
    corrected = dict(zip(tested, max_statistic_p_values(draws, ["higher"] * len(draws)).tolist(), strict=True))
    smallest = np.array([_smallest_p_value(trials.codes, parts, pair) for pair in tested])
    undecided = smallest > alpha + TIE
    alone = {pair: _p_value(values) for pair, values in zip(tested, draws, strict=True)}
    p_values = [alone.get(pair, float("nan")) for pair in pairs]
    return CrossnobisPairs(
        first=tuple(trials.names[i] for i, _ in pairs),
        second=tuple(trials.names[j] for _, j in pairs),
        distances=tuple(float(observed[pair]) for pair in pairs),
        p_values=tuple(p_values),
        corrected_p_values=tuple(corrected.get(pair, float("nan")) for pair in pairs),
        p_holm=tuple(holm(p_values).tolist()),
        p_benjamini_hochberg=tuple(benjamini_hochberg(p_values).tolist()),
        n_draws=n_permutations,
        n_trials=trials.n_trials,
        n_neurons=trials.n_neurons,
        column_noun=trials.column_noun,
        exchanged="the trials of both conditions" + ("" if runs is None else " within runs"),
        alpha=alpha,
        seed=number(seed),
        notes=(*trials.notes, *filter(None, [crossed.many_neurons])),
        n_undecided=int(undecided.sum()),
        smallest_p_value=float(smallest[undecided].min()) if undecided.any() else 0.0,
    )


def _smallest_p_value(codes: Labels, runs: Labels | None, pair: tuple[int, int]) -> float:
    """Smallest p-value over all exchanges of the trials of two conditions within runs.

    If every run has equal numbers of both, an exchange of all labels gives the same distance.
    """
    parts = np.zeros(len(codes), dtype=np.intp) if runs is None else runs
    a, b = (np.bincount(parts[codes == code], minlength=int(parts.max()) + 1) for code in pair)
    n_relabelings = prod(comb(int(m + n), int(m)) for m, n in zip(a, b, strict=True))
    return (2 if (a == b).all() else 1) / n_relabelings


def _p_value(draws: Vector) -> float:
    """Share of the draws, including the observed value, that are at least as large."""
    return float(np.count_nonzero(~(draws < draws[0] - TIE * abs(draws[0]))) / len(draws))


def _exchanges(codes: Labels, runs: Labels | None, pair: tuple[int, int], keys: Matrix) -> Mask:
    """Return which trials of a pair have the first condition: observed, then permuted within runs in shared order."""
    own = np.flatnonzero(np.isin(codes, pair))
    parts = np.zeros(len(own), dtype=np.intp) if runs is None else runs[own]
    order = np.argsort(parts, kind="stable")
    first = np.tile(codes[own] == pair[0], (len(keys) + 1, 1))
    moved = np.lexsort((keys[:, own], np.broadcast_to(parts, (len(keys), len(own)))), axis=-1)
    first[1:, order] = first[0][moved]
    return first
