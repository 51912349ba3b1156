"""Test which pairs of conditions differ, using cross-validated distances and permuted trials."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb, prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from shesha.inputs import MissingRows
from shesha.inputs import validation as check
from shesha.kernels.threads import single_threaded_blas
from shesha.neuro._trials import Conditions, Trials
from shesha.neuro.crossnobis import Crossed, Estimate, run_codes
from shesha.neuro.exchanged_pairs import exchanged_distances
from shesha.nulls import benjamini_hochberg, holm
from shesha.nulls.max_statistic import max_statistic_p_values
from shesha.report import columns, page_width, wrap
from shesha.results import sentence_parts as say
from shesha.results.base import Result, reaches_level
from shesha.results.paper_sentences import claim
from shesha.support.draws_for_corrections import draws_needed
from shesha.support.plurals import agree_with_share, count
from shesha.support.progress import track
from shesha.support.provenance import keep_statements
from shesha.support.seeds import generator, number
from shesha.support.types import Labels, Mask, Matrix, Seed, Vector

if TYPE_CHECKING:
    import pandas as pd

_SHOWN = 10
_TIE = 1e-12


@dataclass(frozen=True)
class CrossnobisPairs(Result):
    """Cross-validated distances between pairs of conditions, each with a p-value."""

    ALIGNED = (("first", "second", "distances", "p_values", "corrected_p_values", "p_holm", "p_benjamini_hochberg"),)

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
    n_permutations: int
    n_trials: int
    n_neurons: int
    exchanged: str
    alpha: float = 0.05
    seed: int | None = None
    notes: tuple[str, ...] = ()
    n_undecided: int = 0
    """Number of tested pairs with too few trials: no exchange of trials can bring p to the level alpha."""
    smallest_p_value: float = 0.0
    """Smallest p-value that the undecided pairs could reach."""

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

    def to_frame(self) -> pd.DataFrame:
        """Return one row per pair of conditions."""
        import pandas as pd

        fields = {
            "first": self.first,
            "second": self.second,
            "distance": self.distances,
            "p_value": self.p_values,
            "corrected_p_value": self.corrected_p_values,
            "p_holm": self.p_holm,
            "p_benjamini_hochberg": self.p_benjamini_hochberg,
        }
        return pd.DataFrame(fields)

    def _text(self) -> str:
        """Return a text that says how many pairs differ and lists the most different ones."""
        rows = [["", "", "distance", "p", "corrected"]]
        order = np.argsort([-value if value == value else np.inf for value in self.distances], kind="stable")
        for pair in order[:_SHOWN].tolist():
            p_values = (f"{self.p_values[pair]:.3g}", f"{self.corrected_p_values[pair]:.3g}")
            rows.append([self.first[pair], self.second[pair], f"{self.distances[pair]:.4g}", *p_values])
        more = len(self.first) - _SHOWN
        return "\n".join(
            [
                *wrap(self.headline, page_width(), hanging=""),
                *(f"  {line}" for line in columns(rows, "<<>>>")),
                *([f"  {more} more pairs; `to_frame()` returns all"] if more > 0 else []),
                *wrap(f"{self.n_permutations} permutations of {self.exchanged}", page_width(), hanging=""),
                *(line for note in self.notes for line in wrap(f"note: {note}", page_width())),
            ]
        )


@claim.register
def _claim(result: CrossnobisPairs) -> str:
    lines = zip(result.first, result.second, result.distances, result.corrected_p_values, strict=True)
    ordered = sorted(lines, key=lambda line: (line[3] != line[3], line[3], -line[2]))
    clauses = say.join_clauses(
        [f"{a} and {b} {say.format_number(value)}, p = {say.format_p(p)}" for a, b, value, p in ordered], "more pairs"
    )
    undecided = ""
    if result.n_undecided:
        pairs = say.count(result.n_undecided, "pair")
        undecided = f"; {pairs} could not be decided, because {result._too_few}"
    return (
        f"{sum(result.significant)} of {say.count(len(result.first), 'pair')} of conditions differed at "
        f"{result.alpha:g} by cross-validated "
        f"squared distances over {result.n_trials:,} trials of {result.n_neurons:,} neurons: {clauses} "
        f"({say.draws(result.n_permutations, result.exchanged)}, p corrected by the step-down maximum{undecided})"
    )


@keep_statements
def crossnobis_test(
    X: Any,
    conditions: Conditions,
    runs: Conditions | None = None,
    *,
    noise: Estimate | float | ArrayLike | None = "ledoit-wolf",
    n_permutations: int = 199,
    alpha: float = 0.05,
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
    trials = Trials.build(X, conditions, min_trials=1, missing=missing)
    parts, run_names = run_codes(X, trials, runs)
    pairs = list(combinations(range(trials.n_conditions), 2))
    keys = generator(seed).random((n_permutations, trials.n_trials))
    with single_threaded_blas():
        crossed = Crossed.build(trials, parts, noise, run_names)
        observed = crossed.distances(trials.codes)
        tested = [pair for pair in pairs if observed[pair] == observed[pair]]
        draws = [
            exchanged_distances(crossed, trials.codes, pair, _exchanges(trials.codes, parts, pair, keys))
            for pair in track(tested, len(tested), "pairs")
        ]
    corrected = dict(zip(tested, max_statistic_p_values(draws, ["higher"] * len(draws)).tolist(), strict=True))
    smallest = np.array([_smallest_p_value(trials.codes, parts, pair) for pair in tested])
    undecided = smallest > alpha + _TIE
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
        n_permutations=n_permutations,
        n_trials=trials.n_trials,
        n_neurons=trials.n_neurons,
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
    return float(np.count_nonzero(~(draws < draws[0] - _TIE * abs(draws[0]))) / len(draws))


def _exchanges(codes: Labels, runs: Labels | None, pair: tuple[int, int], keys: Matrix) -> Mask:
    """Return which trials of a pair have the first condition: observed, then permuted within runs in shared order."""
    own = np.flatnonzero(np.isin(codes, pair))
    parts = np.zeros(len(own), dtype=np.intp) if runs is None else runs[own]
    order = np.argsort(parts, kind="stable")
    first = np.tile(codes[own] == pair[0], (len(keys) + 1, 1))
    moved = np.lexsort((keys[:, own], np.broadcast_to(parts, (len(keys), len(own)))), axis=-1)
    first[1:, order] = first[0][moved]
    return first
