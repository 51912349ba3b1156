"""Cross-validated distances between conditions, which noise does not bias."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from shesha.inputs import make_data_array
from shesha.inputs import validation as check
from shesha.kernels.condition_distances import compress_columns
from shesha.kernels.crossnobis import across_runs, crossvalidated_products, from_products
from shesha.kernels.noise_covariance import estimate_noise, residuals
from shesha.kernels.rounding_and_scaling import huge_unit, length_unit
from shesha.kernels.threads import single_threaded_blas
from shesha.neuro._trials import Conditions, Trials, condition_codes
from shesha.neuro.trial_order_null import Null, Orders, over_orders
from shesha.results import TrialScore
from shesha.support.default_draw_counts import N_PERMUTATIONS
from shesha.support.types import Labels, Matrix, Seed

Estimate = Literal["ledoit-wolf", "diagonal"]
ESTIMATES: tuple[Estimate, ...] = get_args(Estimate)
Weigh = Callable[[Matrix], Matrix]


@dataclass(frozen=True, eq=False)
class Crossed:
    """Trials grouped by run, prepared for computing distances under any labels."""

    rows: Matrix
    runs: Labels | None
    n_conditions: int
    n_channels: int
    noise: Estimate | Matrix | float | None

    @classmethod
    def build(cls, trials: Trials, runs: Labels | None, noise: Any) -> Crossed:
        """Check the noise argument; reduce the columns if trials are few and single channels are not needed."""
        n = trials.n_neurons
        covariance = check_noise(noise, n)
        # With estimated noise, distances do not depend on units, so the data can be rescaled. Otherwise, squares could
        # overflow.
        estimated = covariance is not None and not isinstance(covariance, np.ndarray)
        unit = length_unit(trials.rates) if estimated else huge_unit(trials.rates)
        if unit != 1.0 and not estimated:
            raise ValueError(
                "X must contain numbers with finite squares if noise is not estimated, got entries up to "
                f"{np.abs(trials.rates).max():.0e}; divide X by a constant"
            )
        rates = trials.rates / unit
        # The mean over all trials does not affect distances, but products of large numbers would lose digits.
        rates = rates - rates.mean(axis=0)
        turned = not isinstance(covariance, np.ndarray) and covariance != "diagonal" and n > trials.n_trials
        return cls(compress_columns(rates) if turned else rates, runs, trials.n_conditions, n, covariance)

    def distances(self, codes: Labels) -> Matrix:
        """Squared distances divided by the number of channels."""
        weigh = self._weigh(codes)
        if self.runs is not None:
            distances = across_runs(self.rows, codes, self.runs, self.n_conditions, weigh)
        else:
            distances = self._trial_products(codes, weigh)
        distances /= self.n_channels
        return distances

    def _trial_products(self, codes: Labels, weigh: Weigh | None) -> Matrix:
        indicator = (codes == np.arange(self.n_conditions)[:, None]).astype(np.float64)
        squares = np.einsum("ij,ij->i", self.rows, self.rows if weigh is None else weigh(self.rows))
        sums = indicator @ self.rows
        weighted = sums if weigh is None else weigh(sums)
        return from_products(crossvalidated_products(sums, weighted, indicator @ squares, indicator.sum(axis=1)))

    def _weigh(self, codes: Labels) -> Weigh | None:
        """Return a function that multiplies rows by the inverse noise covariance; None without weighting."""
        if self.noise is None:
            return None
        if isinstance(self.noise, np.ndarray):
            precision = self.noise
            return lambda rows: np.asarray(rows @ precision)
        deviations, dof = residuals(self.rows, codes)
        if dof < 1:
            raise ValueError(
                "noise must be a matrix or None if no condition has two trials, got a method of estimation"
            )
        if self.noise == "diagonal":
            variances = np.einsum("ij,ij->j", deviations, deviations) / dof
            # A channel without variance within conditions gets weight 0 instead of an infinite weight.
            weights = np.divide(1.0, variances, out=np.zeros_like(variances), where=variances > 0)
            return lambda rows: np.asarray(rows * weights)
        shrinkage = None if isinstance(self.noise, str) else self.noise
        noise = estimate_noise(deviations, dof, self.n_channels, shrinkage)
        if noise is None:
            raise ValueError("noise must be None if trials of a condition do not vary, got a method of estimation")
        return noise.weighted


def crossnobis(
    X: Any,
    conditions: Conditions,
    runs: Conditions | None = None,
    *,
    noise: Estimate | float | ArrayLike | None = "ledoit-wolf",
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
    noise : {'ledoit-wolf', 'diagonal'}, float, array of shape (n_neurons, n_neurons) or None
        Noise covariance. It is estimated from the deviations of trials from the mean of their condition, and shrunk:
        'ledoit-wolf' uses the intensity of Ledoit and Wolf, 'diagonal' keeps only the variances, and a number in (0, 1]
        is the intensity itself. An array is used as the inverse covariance. None: Euclidean distances.

    Returns
    -------
    array of shape (n_conditions, n_conditions), or xarray.DataArray if X is one
        Squared distances divided by the number of neurons, with conditions in sorted order. NaN, with a warning, for
        pairs of conditions that occur together in fewer than two runs.

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
    >>> crossnobis(X, shown, runs, noise=None).round(2)
    array([[0.  , 0.06, 0.82],
           [0.06, 0.  , 0.82],
           [0.82, 0.82, 0.  ]])
    """
    trials = Trials.build(X, conditions, min_trials=1)
    with single_threaded_blas():
        distances = Crossed.build(trials, run_codes(X, trials, runs), noise).distances(trials.codes)
    missing = np.flatnonzero(np.isnan(distances).any(axis=1))
    if len(missing):
        n_pairs = int(np.isnan(distances[np.triu_indices(len(distances), k=1)]).sum())
        names = check.join_items(trials.names[k] for k in missing)
        if runs is None:
            reason = f"a condition has fewer than two trials. Leave out conditions with one trial (among {names})"
        else:
            reason = f"fewer than two runs contain both conditions. Use fewer, larger runs, or leave out {names}"
        check.not_estimable(f"{n_pairs} {'distance is' if n_pairs == 1 else 'distances are'} NaN, because {reason}")
    if trials.source is None:
        return distances
    return make_data_array(
        distances, {"condition": trials.names, "other condition": trials.names}, "crossnobis", "neuro"
    )


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
    alpha: float = 0.05,
    seed: Seed = 0,
) -> TrialScore:
    """Mean cross-validated distance between conditions, compared with its null distribution.

    Parameters
    ----------
    X, conditions, runs, noise
        See `crossnobis`.
    n_permutations, null, blocks, block_length, alpha, seed
        See `trial_split`.

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
    >>> round(found.observed, 2), found.significant
    (0.62, True)
    """
    trials = Trials.build(X, conditions, min_trials=1)
    crossed = Crossed.build(trials, run_codes(X, trials, runs), noise)
    orders = Orders.build(
        trials.n_trials, n_permutations, null, blocks=blocks, of=X, block_length=block_length, alpha=alpha, seed=seed
    )
    upper = np.triu_indices(trials.n_conditions, k=1)

    def mean(codes: Labels) -> float:
        values = crossed.distances(codes)[upper]
        known = values[~np.isnan(values)]
        return float(known.mean()) if len(known) else float("nan")

    return orders.summarise(
        "mean cross-validated distance",
        over_orders(lambda order: mean(trials.codes[order]), orders),
        trials,
        best=None,
        reason="no pair of conditions occurs together in two runs",
        n_conditions=trials.n_conditions,
        notes=trials.notes,
    )


def check_noise(noise: Any, n_channels: int) -> Estimate | Matrix | float | None:
    """Check the noise argument, and return the estimation method or the given inverse covariance."""
    if noise is None:
        return None
    if isinstance(noise, str):
        return check.choice(noise, ESTIMATES, "noise")  # type: ignore[return-value]
    if np.ndim(noise) == 0:
        return check.fraction(noise, "noise")
    precision = check.matrix(noise, "noise", min_rows=1)
    if precision.shape != (n_channels, n_channels):
        raise ValueError(f"noise must have shape ({n_channels}, {n_channels}), got {precision.shape}")
    if _asymmetry(precision) > 1e-5:
        raise ValueError("noise must be a symmetric matrix, the inverse of a covariance, got an asymmetric one")
    return precision


def _asymmetry(matrix: Matrix) -> float:
    """Largest difference between a matrix and its transpose, relative to the largest entry."""
    largest = max(float(matrix.max()), -float(matrix.min()))
    gap = max(float(np.abs(row - column).max()) for row, column in zip(matrix, matrix.T, strict=True))
    return gap / largest if largest > 0 else 0.0


def run_codes(X: Any, trials: Trials, runs: Conditions | None) -> Labels | None:
    """Return the number of each trial's run; None if every trial is its own run."""
    if runs is None:
        return None
    return condition_codes(X if trials.source is None else trials.source, runs, trials.n_trials)[0]
