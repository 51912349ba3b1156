"""Cross-validated distances between conditions, which noise does not bias."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, Literal, cast, get_args

import numpy as np
from numpy.typing import ArrayLike

from shesha.inputs import ConditionDistances, MissingRows, make_data_array, validation as check
from shesha.inputs.class_labels import class_name
from shesha.kernels.condition_distances import (
    across_folds,
    across_runs,
    across_weighted_pairs,
    additive_residuals,
    compress_columns,
    estimate_noise,
    residuals,
)
from shesha.kernels.rounding_and_scaling import length_unit, safe_unit
from shesha.kernels.threads import single_threaded_blas
from shesha.neuro.trial_order_null import Null, Orders, over_orders
from shesha.neuro.trials import Conditions, Trials, alternate, describe_many_neurons, mean_of_known
from shesha.results import TrialScore
from shesha.support import memory, provenance
from shesha.support.provenance import keep_statements
from shesha.support.seeds import ALPHA, N_PERMUTATIONS
from shesha.support.types import Labels, Matrix, Seed
from shesha.support.warnings import MeasureWarning, warn, warn_of_statement

Estimate = Literal["ledoit-wolf", "diagonal"]
ESTIMATES: tuple[Estimate, ...] = get_args(Estimate)
Weigh = Callable[[Matrix], Matrix]
NO_REPEATS = "noise must be a matrix or None if no condition has two trials, got a method of estimation"
NO_VARIATION = "noise must be None if trials of a condition do not vary, got a method of estimation"


@dataclass(frozen=True, eq=False)
class Crossed:
    """Trials grouped by run, prepared for computing distances under any labels."""

    rows: Matrix
    runs: Labels | None
    n_conditions: int
    n_channels: int
    noise: Estimate | Matrix | float | None
    precisions: Mapping[tuple[int, int], Matrix] = field(default_factory=dict)
    """Inverse of the mean noise covariance of each pair of runs, if every run has its own noise."""
    within_cells: bool = True
    """Whether noise is estimated around the mean of each condition in each run, so that one estimate is enough."""
    many_neurons: str = ""
    """Note for recordings with many neurons for the number of trials; empty for others."""

    @classmethod
    def build(cls, trials: Trials, runs: Labels | None, noise: Any, run_names: Sequence[str] = ()) -> Crossed:
        """Check the noise argument; reduce the columns if trials are few and single channels are not needed."""
        n = trials.n_neurons
        of_runs = noise_of_runs(noise, n, run_names)
        covariance = None if of_runs is not None else check_noise(noise, n)
        # With estimated noise, distances do not depend on units, so the data can be rescaled. Otherwise, squares could
        # overflow.
        estimated = covariance is not None and not isinstance(covariance, np.ndarray)
        unit = length_unit(trials.rates) if estimated else safe_unit(trials.rates)
        if unit != 1.0 and not estimated:
            raise ValueError(
                "X must contain numbers with finite squares if noise is not estimated, got entries up to "
                f"{np.abs(trials.rates).max():.0e}; divide X by a constant"
            )
        rates = trials.rates / unit
        # The mean over all trials does not affect distances, but products of large numbers would lose digits.
        rates = rates - rates.mean(axis=0)
        given = isinstance(covariance, np.ndarray) or of_runs is not None
        turned = not given and covariance != "diagonal" and n > trials.n_trials
        rows = compress_columns(rates) if turned else rates
        precisions = {} if of_runs is None else _pair_precisions(of_runs)
        within = runs is not None and _has_repeats_within_runs(trials.codes, runs)
        built = cls(
            rows, runs, trials.n_conditions, n_channels=n, noise=covariance, precisions=precisions, within_cells=within
        )
        return replace(built, many_neurons=built._describe_many_neurons(trials.codes) if estimated else "")

    def distances(self, codes: Labels) -> Matrix:
        """Squared distances divided by the number of channels."""
        distances = self._distances(codes)
        distances /= self.n_channels
        return distances

    def _distances(self, codes: Labels) -> Matrix:
        if self.precisions and self.runs is not None:
            pairs = {pair: self._multiplication(precision) for pair, precision in self.precisions.items()}
            return across_weighted_pairs(
                self.rows, codes, self.runs, self.n_conditions, lambda a, b: pairs[min(a, b), max(a, b)]
            )
        if self.noise is None or isinstance(self.noise, np.ndarray):
            weigh = None if self.noise is None else self._multiplication(self.noise)
            if self.runs is not None:
                return across_runs(self.rows, codes, self.runs, self.n_conditions, weigh)
            return across_folds(
                self.rows, codes, np.zeros(len(codes), dtype=np.intp), self.n_conditions, lambda a, b: weigh
            )
        if self.runs is not None and self.within_cells:
            return across_runs(self.rows, codes, self.runs, self.n_conditions, self._estimate(*self._residuals(codes)))
        folds = alternate(codes, FOLDS) if self.runs is None else self.runs
        groups = folds % FOLDS
        weighings: dict[tuple[int, int], Weigh] = {}

        def weigh_pair(a: int, b: int) -> Weigh:
            pair = min(a % FOLDS, b % FOLDS), max(a % FOLDS, b % FOLDS)
            if pair not in weighings:
                left, dof = self._residuals(np.where(np.isin(groups, pair), -1, codes))
                # With few folds, no trials remain for the noise, so all trials must serve.
                weighings[pair] = self._estimate(*((left, dof) if dof >= 1 else self._residuals(codes)))
            return weighings[pair]

        across = across_folds if self.runs is None else across_weighted_pairs
        return across(self.rows, codes, folds, self.n_conditions, weigh_pair)

    @staticmethod
    def _multiplication(precision: Matrix) -> Weigh:
        return lambda rows: np.asarray(rows @ precision)

    def _residuals(self, codes: Labels) -> tuple[Matrix, int]:
        """Deviations of the trials from the mean of their condition in their run, and the degrees of freedom."""
        if self.runs is None:
            return residuals(self.rows, codes)
        if self.within_cells:
            cells = np.where(codes >= 0, codes * (int(self.runs.max()) + 1) + self.runs, -1)
            return residuals(self.rows, cells)
        if not (codes >= 0).any():
            return self.rows[:0], 0
        return additive_residuals(self.rows, codes, self.runs)[:2]

    def _estimate(self, deviations: Matrix, dof: int) -> Weigh:
        """Return a function that multiplies rows by the inverse of the noise covariance."""
        if dof < 1:
            raise ValueError(NO_REPEATS)
        if self.noise == "diagonal":
            variances = np.einsum("ij,ij->j", deviations, deviations) / dof
            # A channel without variance within conditions gets weight 0 instead of an infinite weight.
            weights = np.divide(1.0, variances, out=np.zeros_like(variances), where=variances > 0)
            return lambda rows: np.asarray(rows * weights)
        shrinkage = None if isinstance(self.noise, str) else self.noise
        noise = estimate_noise(deviations, dof, self.n_channels, shrinkage)  # type: ignore[arg-type]
        if noise is None:
            raise ValueError(NO_VARIATION)
        return noise.weighted

    def _describe_many_neurons(self, codes: Labels) -> str:
        if self.noise == "diagonal":
            return ""
        effect = "the scale of the distances is uncertain. Do not compare it between recordings"
        note = describe_many_neurons(self.n_channels, self._residuals(codes)[1], effect)
        return note and f"{note}, or noise='diagonal'"


FOLDS = 4
"""Number of groups of runs, or of trials, from the others of which the noise of a pair is estimated."""


def _has_repeats_within_runs(codes: Labels, runs: Labels) -> bool:
    """Return whether repeats of a condition within a run leave at least half of the degrees of freedom for the noise.

    If most conditions occur once in a run, noise is estimated around the sum of a condition's and a run's mean.
    """
    kept = codes >= 0
    cells = len(np.unique(np.stack([codes[kept], runs[kept]]), axis=1).T)
    additive = kept.sum() - len(np.unique(codes[kept])) - len(np.unique(runs[kept])) + 1
    return bool(2 * (kept.sum() - cells) >= additive)


def crossnobis(
    X: Any,
    conditions: Conditions,
    runs: Conditions | None = None,
    *,
    noise: Estimate | float | ArrayLike | None = "ledoit-wolf",
    missing: MissingRows = "refuse",
) -> Any:
    """Cross-validated squared Mahalanobis distances between conditions, 0 on average without a difference.

    The difference between two conditions in one run is multiplied by the difference in another run. Noise is
    independent between runs, so it adds nothing on average. Without a true difference, about half of the distances are
    negative; they are not set to 0. For each pair of conditions, all runs that contain both are used. Numbers of trials
    may differ.

    Parameters
    ----------
    X : array of shape (n_trials, n_neurons) or (n_trials, n_neurons, n_times), or xarray.DataArray
        Responses, which are averaged over time.
    conditions : array of shape (n_trials,) or (n_trials, n_columns), or names of coordinates of a DataArray
        The condition of each trial.
    runs : as `conditions`, optional
        For each trial, the part of the recording to which it belongs, such as a run or a block of trials. Noise must be
        independent between parts. None: each trial is its own run, which biases distances if responses change slowly.
    noise : {'ledoit-wolf', 'diagonal'}, float, array of shape (n_neurons, n_neurons) or (n_runs, n_neurons, n_neurons),
        mapping from runs to arrays, or None
        Noise covariance. It is estimated from the deviations of trials from the mean of their condition in their run,
        so a constant that is added to all trials of a run changes nothing, and shrunk: 'ledoit-wolf' uses the intensity
        of Ledoit and Wolf, 'diagonal' keeps only the variances, and a number in (0, 1] is the intensity itself. If most
        conditions occur once per run, or without runs, trials are multiplied with one another under the noise of the
        other runs (or of other quarters of the trials), because their own noise would bias the distances. An array is
        used as the inverse covariance. With one inverse covariance per run, in the order of the runs, the covariances
        of each pair of runs are averaged. None: Euclidean distances.
    missing : {'refuse', 'drop'}
        Whether trials with NaN for some of the neurons raise an error, or are left out and counted. Trials and neurons
        without any number are always left out.

    Returns
    -------
    array of shape (n_conditions, n_conditions), or xarray.DataArray if X is one
        Squared distances divided by the number of neurons. Numbers are in numerical order, text in natural order. The
        array has the names of the conditions in `names`, a table with names in `to_frame()`, and what was left out in
        `read`; a DataArray has it in `attrs["read"]`. `shesha.Rdm` matches conditions by these names. NaN,
        with a warning, for pairs of conditions that occur together in fewer than two runs.

    Raises
    ------
    ValueError
        If X is not an array of finite responses, labels do not fit X, or the noise cannot be estimated.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> shown, runs = np.tile([0, 1, 2], 40), np.repeat(np.arange(6), 20)
    >>> X = rng.standard_normal((120, 10)) + np.array([0, 0, 1])[shown, None]
    >>> crossnobis(X, shown, runs, noise=None).to_frame().round(2)
          0     1     2
    0  0.00  0.06  0.82
    1  0.06  0.00  0.82
    2  0.82  0.82  0.00
    """
    with provenance.collect_statements() as statements:
        trials = Trials.build(X, conditions, min_trials=1, missing=missing, runs=runs)
        parts, run_names = run_codes(X, trials, runs)
        if runs is None:
            trials.state_blocked_conditions()
    # Tables made from the distances keep no statements.
    for text in provenance.unraised_warnings(statements):
        warn_of_statement(text)
    with single_threaded_blas():
        crossed = Crossed.build(trials, parts, noise, run_names)
        distances = crossed.distances(trials.codes)
    if crossed.many_neurons:
        warn(crossed.many_neurons, MeasureWarning)
    unknown, lacking = np.isnan(distances), []
    if n_pairs := int(np.triu(unknown, k=1).sum()):
        while unknown.any():
            # Without the condition that lacks most distances, the fewest have to be left out.
            lacking.append(int(unknown.sum(axis=1).argmax()))
            unknown[lacking[-1]] = unknown[:, lacking[-1]] = False
        names = check.join_items(trials.names[k] for k in sorted(lacking))
        if runs is None:
            reason = f"a condition has fewer than two trials. Leave out conditions with one trial (among {names})"
        else:
            rest = f", or leave out {names}" * (len(lacking) < len(distances) - 1)
            reason = f"fewer than two runs contain both conditions. Use fewer, larger runs{rest}"
        check.not_estimable(f"{n_pairs} {'distance is' if n_pairs == 1 else 'distances are'} NaN, because {reason}")
    if trials.source is None:
        return ConditionDistances(distances, trials.names, tuple(statements))
    named = make_data_array(
        distances, {"condition": trials.names, "other condition": trials.names}, "crossnobis", "neuro"
    )
    if statements:
        named.attrs["read"] = list(statements)
    return named


@keep_statements
def discriminability(
    X: Any,
    conditions: Conditions,
    runs: Conditions | None = None,
    *,
    noise: Estimate | float | ArrayLike | None = "ledoit-wolf",
    n_permutations: int = N_PERMUTATIONS,
    null: Null = "shift",
    blocks: ArrayLike | None = None,
    block_length: int | None = None,
    alpha: float = ALPHA,
    seed: Seed = 0,
    missing: MissingRows = "refuse",
) -> TrialScore:
    """Mean cross-validated distance between conditions, compared with its null distribution.

    Parameters
    ----------
    X, conditions, runs, noise
        See `crossnobis`.
    n_permutations, null, blocks, block_length, alpha, seed
        See `trial_split`.
    missing
        See `crossnobis`.

    Returns
    -------
    TrialScore
        Score whose chance level is 0 if trials are independent; NaN, with a reason and a warning, if no pair has a
        distance.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> shown = rng.integers(3, size=120)
    >>> X = rng.standard_normal((120, 10)) + np.array([0, 0, 1])[shown, None]
    >>> found = discriminability(X, shown, np.repeat(np.arange(6), 20), noise=None)
    >>> round(found.value, 2), found.significant
    (0.62, True)
    """
    trials = Trials.build(X, conditions, min_trials=1, missing=missing, runs=runs)
    parts, run_names = run_codes(X, trials, runs)
    crossed = Crossed.build(trials, parts, noise, run_names)
    orders = Orders.draw(trials, n_permutations, null, blocks=blocks, block_length=block_length, alpha=alpha, seed=seed)
    upper = np.triu_indices(trials.n_conditions, k=1)

    return orders.summarise(
        "mean cross-validated distance",
        over_orders(lambda order: mean_of_known(crossed.distances(trials.codes[order])[upper]), orders),
        trials,
        best=None,
        reason="no pair of conditions occurs together in two runs",
        n_conditions=trials.n_conditions,
        notes=(*trials.notes, *filter(None, [crossed.many_neurons])),
    )


def check_noise(noise: Any, n_channels: int) -> Estimate | Matrix | float | None:
    """Check the noise argument, and return the estimation method or the given inverse covariance."""
    if noise is None:
        return None
    if isinstance(noise, str):
        return cast(Estimate, check.choice(cast(Any, noise), ESTIMATES, "noise"))
    if np.ndim(noise) == 0:
        return check.fraction(noise, "noise")
    return _check_precision(noise, n_channels)


def _check_precision(noise: Any, n_channels: int) -> Matrix:
    precision = check.matrix(noise, "noise", min_rows=1)
    if precision.shape != (n_channels, n_channels):
        raise ValueError(f"noise must have shape ({n_channels}, {n_channels}), got {precision.shape}")
    if _asymmetry(precision) > 1e-5:
        raise ValueError("noise must be a symmetric matrix, the inverse of a covariance, got an asymmetric one")
    return precision


def noise_of_runs(noise: Any, n_channels: int, run_names: Sequence[str]) -> list[Matrix] | None:
    """Return the inverse noise covariance of each run, in the order of the runs; None if there is only one."""
    if isinstance(noise, Mapping):
        given = {class_name(name): matrix for name, matrix in noise.items()}
        if set(given) != set(run_names):
            raise ValueError(
                f"noise must have one matrix for each run ({check.join_items(run_names) or 'none'}), got "
                f"{check.join_items(given)}"
            )
        matrices: Sequence[Any] = [given[name] for name in run_names]
    elif noise is not None and not isinstance(noise, str) and check.real(noise, "noise").ndim == 3:
        matrices = list(check.real(noise, "noise"))
    else:
        return None
    if not run_names:
        raise ValueError("runs must be given if noise has one matrix per run, got None")
    if len(matrices) != len(run_names):
        raise ValueError(
            f"noise must have one matrix for each of the {len(run_names)} runs ({check.join_items(run_names)}), got "
            f"{len(matrices)}"
        )
    return [_check_precision(matrix, n_channels) for matrix in matrices]


def _pair_precisions(precisions: Sequence[Matrix]) -> dict[tuple[int, int], Matrix]:
    """Inverse of the mean noise covariance of each pair of runs."""
    memory.require(8.0 * precisions[0].size * len(precisions) ** 2, "noise per run", "pass one matrix for all runs")
    try:
        covariances = [np.linalg.inv(precision) for precision in precisions]
        return {
            (a, b): np.asarray(np.linalg.inv((covariances[a] + covariances[b]) / 2), dtype=np.float64)
            for a, b in combinations(range(len(covariances)), 2)
        }
    except np.linalg.LinAlgError as error:
        raise ValueError("noise must be invertible matrices, got a singular one") from error


def _asymmetry(matrix: Matrix) -> float:
    """Largest difference between a matrix and its transpose, relative to the largest entry."""
    largest = max(float(matrix.max()), -float(matrix.min()))
    gap = max(float(np.abs(row - column).max()) for row, column in zip(matrix, matrix.T, strict=True))
    return gap / largest if largest > 0 else 0.0


def run_codes(X: Any, trials: Trials, runs: Conditions | None) -> tuple[Labels | None, tuple[str, ...]]:
    """Return the number of each trial's run, and the names of the runs; None if every trial is its own run.

    Conditions that some runs lack are stated, with the number of runs that have them, and the pairs without a distance.
    """
    if runs is None:
        return None, ()
    codes, names = trials.label_codes(X, runs, "runs")
    present = np.zeros((len(names), trials.n_conditions), dtype=bool)
    present[codes, trials.codes] = True  # Every condition has a code, because one trial is enough.
    n_runs = present.sum(axis=0)
    if few := [f"{trials.names[k]} ({n_runs[k]})" for k in np.flatnonzero(n_runs < len(names))]:
        together = (present.T.astype(int) @ present)[np.triu_indices(trials.n_conditions, k=1)]
        known = (
            f"; {(together > 1).sum()} of {len(together)} pairs of conditions occur together in two runs or more, as "
        )
        provenance.state(
            f"conditions that some of the {len(names)} runs lack (number of runs): {check.join_items(few)}"
            + f"{known}a distance needs" * bool((together < 2).any())
        )
    return codes, names
