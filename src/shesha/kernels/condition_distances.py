"""Distances between mean responses to conditions, also cross-validated, and the covariance of response noise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from shesha.kernels.distances import Metric
from shesha.kernels.ranks import centred_ranks
from shesha.kernels.rounding_and_scaling import is_constant, length_unit
from shesha.support.types import Index, Labels, Mask, Matrix, Vector

Cube = NDArray[np.float64]

_FEW_UNITS = 24
"""Largest number of units (sets of trials) for which the sums within units are computed once for all splits."""
_FEWEST_PAIRS = 3


def compress_columns(rows: Matrix) -> Matrix:
    """Reduce the columns to at most the number of rows, while preserving the inner products of the rows."""
    if rows.shape[1] <= len(rows):
        return rows
    upper = np.asarray(np.linalg.qr(rows.T, mode="r"), dtype=np.float64)
    return np.ascontiguousarray(upper.T)


def centre_and_scale(rows: Matrix, *, unit: bool, centred: bool) -> Matrix:
    """Optionally centre rows and scale them to unit length; rows without a direction stay zero."""
    if centred:
        rows = np.where(is_constant(rows, 1)[:, None], 0.0, rows - rows.mean(axis=1, keepdims=True))
    if unit:
        lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
        rows = rows / np.where(lengths > 0, lengths, 1.0)[:, None]
    return rows


def half_sums(rows: Matrix, codes: Labels, n_conditions: int, unit: Index, first: Mask) -> tuple[Cube, Cube]:
    """For every split, sum the rows of each condition in the first and in the second half.

    Parameters
    ----------
    rows : array of shape (n_trials, n_columns)
        Responses.
    codes : array of shape (n_trials,)
        Condition of each trial, numbered from 0; -1 leaves the trial out.
    n_conditions : int
        Number of conditions.
    unit : array of shape (n_trials,)
        Unit of each trial, numbered from 0; all trials of a unit go into the same half.
    first : array of shape (n_splits, n_units)
        Whether each unit belongs to the first half.

    Returns
    -------
    two arrays of shape (n_splits, n_conditions, n_columns)
        Sums over the first and over the second half.
    """
    n_splits, n_units = first.shape
    if n_units <= _FEW_UNITS:
        sums = _sum_by_target(rows, np.where(codes < 0, -1, codes * n_units + unit), n_conditions * n_units)
        flat = sums.reshape(n_conditions, n_units, -1).transpose(1, 0, 2).reshape(n_units, -1)
        first_sums, other = (part.astype(np.float64) @ flat for part in (first, ~first))
        return first_sums.reshape(n_splits, n_conditions, -1), other.reshape(n_splits, n_conditions, -1)
    # With many units, it is faster to sum all trials once per split.
    half = 2 * np.arange(n_splits)[:, None] + ~first[:, unit]
    target = np.where(codes < 0, -1, half * n_conditions + codes)
    sums = _sum_by_target(rows, target, 2 * n_splits * n_conditions).reshape(n_splits, 2, n_conditions, -1)
    return sums[:, 0], sums[:, 1]


def equal_sums(rows: Matrix, codes: Labels, n_conditions: int, parts: Index, keys: Matrix, sizes: Index) -> Cube:
    """Sum an equal number of rows for each condition in each part, namely those with the smallest keys.

    Parameters
    ----------
    rows, codes, n_conditions
        As in `half_sums`.
    parts : array of shape (n_draws, n_trials)
        The part to which each trial belongs, such as 0 and 1 for two halves.
    keys : array of shape (n_draws, n_trials)
        Random numbers; in each draw, the trials with the smallest keys are selected.
    sizes : array of shape (n_draws,)
        Number of trials to sum per condition and part. If a part has fewer trials of a condition, that sum is zero.

    Returns
    -------
    array of shape (n_draws, n_parts, n_conditions, n_columns)
        Sums over the selected rows.
    """
    n_draws, n_parts = len(parts), int(parts.max()) + 1
    n_groups = n_parts * n_conditions
    group = np.where(codes < 0, n_groups, n_conditions * parts + codes)
    order = np.lexsort((keys, group), axis=-1)
    ordered = np.take_along_axis(group, order, axis=1)
    place = np.arange(len(rows)) * np.ones((n_draws, 1), dtype=np.intp)
    begins = np.diff(ordered, axis=1, prepend=-1) != 0
    place -= np.maximum.accumulate(np.where(begins, place, 0), axis=1)
    lines, size = np.arange(n_draws)[:, None], sizes[:, None]
    enough = count_groups(group, n_groups)[lines, ordered] >= size
    chosen = (place < size) & enough & (ordered < n_groups)
    target = np.empty_like(group)
    np.put_along_axis(target, order, np.where(chosen, lines * n_groups + ordered, -1), axis=1)
    return _sum_by_target(rows, target, n_draws * n_groups).reshape(n_draws, n_parts, n_conditions, -1)


def count_groups(group: Index, n_groups: int) -> Index:
    """For each line, count the entries in each group; the last group is for entries without a group."""
    lines = np.arange(len(group))[:, None] * (n_groups + 1)
    return np.bincount((lines + group).ravel(), minlength=len(group) * (n_groups + 1)).reshape(len(group), -1)


def count_trials(codes: Labels, n_conditions: int, parts: Index) -> Index:
    """Count the trials of each condition in each part: shape (n_draws, n_parts, n_conditions)."""
    n_groups = (int(parts.max()) + 1) * n_conditions
    counts = count_groups(np.where(codes < 0, n_groups, n_conditions * parts + codes), n_groups)
    return counts[:, :-1].reshape(len(parts), -1, n_conditions)


def _sum_by_target(rows: Matrix, target: Index, n_targets: int) -> Matrix:
    """For each line of `target`, sum the rows that share a target; -1 means no target."""
    kept = np.flatnonzero(target.ravel() >= 0)
    where = (target.ravel()[kept], kept % len(rows))
    indicator = sparse.csr_matrix((np.ones(len(kept)), where), shape=(n_targets, len(rows)))
    return np.asarray(indicator @ rows)


def condition_distances(sums: Cube, counts: Matrix, metric: Metric) -> Matrix:
    """Distances (n_splits, n_pairs) between all conditions; NaN for those without trials or direction.

    The cosine is the same for sums as for means. For correlation distances, the rows must already be centred.
    """
    i, j = np.triu_indices(sums.shape[1], k=1)
    if metric == "euclidean":
        with np.errstate(divide="ignore", invalid="ignore"):
            means = sums / counts[:, :, None]
        grams = means @ means.transpose(0, 2, 1)
        squared = np.einsum("skk->sk", grams)
        distances: Matrix = np.sqrt(np.maximum(squared[:, i] + squared[:, j] - 2 * grams[:, i, j], 0.0))
        return distances
    grams = sums @ sums.transpose(0, 2, 1)
    lengths = np.sqrt(np.einsum("skk->sk", grams))
    # If a mean was constant before centring, only rounding errors remain afterwards. Responses in tesla are as small.
    largest = (lengths / np.maximum(counts, 1)).max(initial=0.0)
    rounding = 1e-12 * (min(1.0, float(largest)) if metric == "cosine" else 1.0)
    lengths = np.where((counts > 0) & (lengths > rounding * counts), lengths, np.nan)
    cosine_distances: Matrix = np.clip(1.0 - grams[:, i, j] / (lengths[:, i] * lengths[:, j]), 0.0, 2.0)
    return cosine_distances


def agreement(first: Matrix, second: Matrix) -> Vector:
    """Rank correlation between corresponding lines, over the pairs finite in both; NaN with too few pairs."""
    both = np.isfinite(first) & np.isfinite(second)
    enough = np.where(both.sum(axis=1) >= _FEWEST_PAIRS, 1.0, np.nan)
    a, b = (centred_ranks(np.where(both, half, np.nan)) for half in (first, second))
    correlations: Vector = np.clip(np.einsum("sp,sp->s", a, b), -1.0, 1.0) * enough
    return correlations


_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class Noise:
    """An invertible noise covariance, stored as a factor."""

    factor: Matrix
    """Lower triangular Cholesky factor of the covariance."""
    shrinkage: float
    """Shrinkage intensity: the weight of the common variance in the estimate."""

    def weighted(self, rows: Matrix) -> Matrix:
        """Multiply rows by the inverse covariance."""
        return np.asarray(cho_solve((self.factor, True), rows.T, check_finite=False).T)

    def whitened(self, rows: Matrix) -> Matrix:
        """Whiten rows, so that their inner products are weighted by the inverse noise covariance."""
        return np.asarray(solve_triangular(self.factor, rows.T, lower=True, check_finite=False).T)


def residuals(rows: Matrix, codes: Labels) -> tuple[Matrix, int]:
    """Subtract each condition's mean, drop rows of code -1; return the residuals and degrees of freedom."""
    kept = codes >= 0
    rows, codes = rows[kept], codes[kept]
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    counts = np.diff(starts, append=len(rows))
    means = np.add.reduceat(rows[order], starts, axis=0) / counts[:, None]
    noise = rows[order] - np.repeat(means, counts, axis=0)
    # In channels that are constant within conditions, rounding errors are set to zero, because they would become
    # divisors.
    noise[:, np.abs(noise).max(axis=0, initial=0.0) <= 4 * _EPS * len(rows) * np.abs(rows).max(axis=0, initial=0.0)] = 0
    return noise, len(rows) - len(starts)


def additive_residuals(rows: Matrix, codes: Labels, parts: Labels) -> tuple[Matrix, int, Matrix]:
    """Residuals from the sum of a condition's and a part's mean, their degrees of freedom, and rows without offsets.

    A constant that is added to all rows of a part changes neither the residuals nor the rows without offsets. Offsets
    are fitted by least squares; rows of code -1 are left out of the residuals.
    """
    kept = codes >= 0
    inside, dof = residuals(rows, codes)
    indicator = (parts[:, None] == np.unique(parts[kept])).astype(np.float64)
    deviations, _ = residuals(indicator, codes)
    offsets, _, rank, _ = np.linalg.lstsq(deviations, inside, rcond=1e-9)
    return inside - deviations @ offsets, dof - int(rank), rows - indicator @ offsets


def estimate_noise(left: Matrix, dof: int, n_channels: int, shrinkage: float | None) -> Noise | None:
    """Estimate the covariance of residuals, shrunk towards equal variances; None if there is no noise.

    Parameters
    ----------
    left : array of shape (n_rows, n_columns)
        Residuals, possibly expressed in a basis of the space that they span.
    dof : int
        Degrees of freedom of the residuals, at least 1.
    n_channels : int
        Number of channels before the change of basis.
    shrinkage : float or None
        Shrinkage intensity in (0, 1]; None means the intensity recommended by Ledoit and Wolf (2004).
    """
    covariance = left.T @ left
    mean = float(np.trace(covariance)) / n_channels
    if not mean > 0:
        return None
    intensity = ledoit_wolf(left, covariance, n_channels, dof) if shrinkage is None else shrinkage
    covariance *= (1 - intensity) / dof
    covariance[np.diag_indices(len(covariance))] += intensity * mean / dof
    try:
        factor, _ = cho_factor(covariance, lower=True, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError:
        return None
    return Noise(factor, intensity)


def ledoit_wolf(left: Matrix, products: Matrix, n_channels: int, dof: int | None = None) -> float:
    """Shrinkage intensity of Ledoit and Wolf (2004), from the rows and the sum of their outer products.

    Residuals have fewer degrees of freedom than rows, so they are scaled up to the length of independent rows.
    """
    n, unit = dof or len(left), length_unit(left)
    # Fourth powers of small numbers would underflow; division by a power of two is exact.
    left, products = left / unit, products / unit / unit
    squared = float(np.einsum("ij,ij->", products, products)) / n**2
    lengths: Vector = np.einsum("ij,ij->i", left, left)
    distance = squared - (float(lengths.sum()) / n) ** 2 / n_channels
    error = (float(lengths @ lengths) / n * (len(left) / n) - squared) / n
    return min(1.0, max(0.0, error / distance)) if distance > 0 else 1.0


Weigh = Callable[[Matrix], Matrix]


def across_runs(rows: Matrix, codes: Labels, runs: Labels, n_conditions: int, weigh: Weigh | None) -> Matrix:
    """Average, over all pairs of different runs, the product of the differences between two conditions.

    Parameters
    ----------
    rows : array of shape (n_trials, n_channels)
        Responses.
    codes : array of shape (n_trials,)
        Condition of each trial, numbered from 0; -1 leaves the trial out.
    runs : array of shape (n_trials,)
        Run of each trial, numbered from 0. The noise in different runs must be independent.
    n_conditions : int
        Number of conditions.
    weigh : callable or None
        Function that multiplies rows by the inverse noise covariance; None means no weighting.

    Returns
    -------
    array of shape (n_conditions, n_conditions)
        Mean products; NaN for pairs of conditions that occur together in fewer than two runs.
    """
    present = np.zeros((int(runs.max()) + 1, n_conditions), dtype=bool)
    present[runs[codes >= 0], codes[codes >= 0]] = True
    # Runs that contain no condition are ignored.
    present = present[present.any(axis=1)]
    means = _means(rows, codes, runs, n_conditions)
    if present.all():
        return _complete(means, len(present), weigh)
    return _incomplete(list(means), present, lambda a, b: weigh, np.arange(len(present)))


def across_weighted_pairs(
    rows: Matrix, codes: Labels, parts: Labels, n_conditions: int, weigh: Callable[[int, int], Weigh | None]
) -> Matrix:
    """As `across_runs`, with a weighting that depends on the pair of runs."""
    present = np.zeros((int(parts.max()) + 1, n_conditions), dtype=bool)
    present[parts[codes >= 0], codes[codes >= 0]] = True
    runs = np.flatnonzero(present.any(axis=1))
    return _incomplete(list(_means(rows, codes, parts, n_conditions)), present[runs], weigh, runs)


def across_folds(
    rows: Matrix, codes: Labels, folds: Labels, n_conditions: int, weigh: Callable[[int, int], Weigh | None]
) -> Matrix:
    """Average the products of different trials, with a weighting that depends on the folds of both trials.

    Parameters
    ----------
    rows, codes, n_conditions
        See `across_runs`.
    folds : array of shape (n_trials,)
        Fold of each trial, numbered from 0.
    weigh : callable
        Function of two folds that returns the weighting of their products.
    """
    n_folds = int(folds.max()) + 1
    kinds = np.arange(n_conditions)[:, None]
    indicators = [((codes == kinds) & (folds == fold)).astype(np.float64) for fold in range(n_folds)]
    sums = [indicator @ rows for indicator in indicators]
    products, squares = np.zeros((n_conditions, n_conditions)), np.zeros(n_conditions)
    for a in range(n_folds):
        for b in range(a, n_folds):
            weighting = weigh(a, b)
            one = sums[a] if weighting is None else weighting(sums[a])
            both = one @ sums[b].T
            products += both if a == b else both + both.T
            if a == b:
                weighted = rows if weighting is None else weighting(rows)
                squares += indicators[a] @ np.einsum("ij,ij->i", rows, weighted)
    counts = np.sum(indicators, axis=(0, 2))
    with np.errstate(divide="ignore", invalid="ignore"):
        means = products / np.outer(counts, counts)
        diagonal = (np.diagonal(products) - squares) / (counts * (counts - 1))
    means[np.diag_indices(n_conditions)] = np.where(counts > 1, diagonal, np.nan)
    return from_products(means)


def _means(rows: Matrix, codes: Labels, runs: Labels, n_conditions: int) -> Iterator[Matrix]:
    """For each run, yield the mean response to each condition; zero for conditions without trials."""
    order = np.lexsort((codes, runs))
    order = order[codes[order] >= 0]
    for trials_of_run in np.split(order, np.flatnonzero(np.diff(runs[order])) + 1):
        counts = np.bincount(codes[trials_of_run], minlength=n_conditions)
        if (counts == 1).all():
            yield rows[trials_of_run]
            continue
        places = (codes[trials_of_run], np.arange(len(trials_of_run)))
        indicator = sparse.csr_matrix(
            (1.0 / counts[codes[trials_of_run]], places), shape=(n_conditions, len(trials_of_run))
        )
        yield np.asarray(indicator @ rows[trials_of_run])


def _complete(means: Iterator[Matrix], n_runs: int, weigh: Weigh | None) -> Matrix:
    """Process all pairs of runs at once: products of the sums, minus the products within each run."""
    total, within = None, None
    for mean in means:
        total = mean.copy() if total is None else np.add(total, mean, out=total)
        product = (mean if weigh is None else weigh(mean)) @ mean.T
        within = product if within is None else np.add(within, product, out=within)
    if total is None or within is None or n_runs < 2:
        n = 0 if total is None else len(total)
        return np.full((n, n), np.nan)
    products = (total if weigh is None else weigh(total)) @ total.T - within
    return from_products(products / (n_runs * (n_runs - 1)))


def _incomplete(means: list[Matrix], present: Mask, weigh: Callable[[int, int], Weigh | None], runs: Labels) -> Matrix:
    """Process the pairs of runs one by one; each pair of conditions uses the runs that contain both."""
    n = present.shape[1]
    sums, counts = np.zeros((n, n)), np.zeros((n, n))
    for a, b in combinations(range(len(means)), 2):
        both = present[a] & present[b]
        shared = np.outer(both, both)
        weighting = weigh(int(runs[a]), int(runs[b]))
        weighted = means[a] if weighting is None else weighting(means[a])
        sums += np.where(shared, from_products(weighted @ means[b].T), 0.0)
        counts += shared
    distances: Matrix = sums / np.where(counts > 0, counts, np.nan)
    return distances


def crossvalidated_products(sums: Matrix, weighted: Matrix, squares: Vector, counts: Vector) -> Matrix:
    """Inner products of mean responses, without each trial's product with itself, which noise would bias.

    Parameters
    ----------
    sums : array of shape (n_conditions, n_channels)
        Sum of the responses to each condition.
    weighted : array of shape (n_conditions, n_channels)
        The sums multiplied by the inverse noise covariance, or the unweighted sums.
    squares : array of shape (n_conditions,)
        For each condition, the sum of the products of its trials with themselves, weighted in the same way.
    counts : array of shape (n_conditions,)
        Number of trials of each condition. With fewer than two, the product of the condition with itself is NaN.

    Returns
    -------
    array of shape (n_conditions, n_conditions)
        Inner products. They are unbiased if the noise of different trials is independent.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        products = weighted @ sums.T / np.outer(counts, counts)
        diagonal = (np.einsum("kn,kn->k", weighted, sums) - squares) / (counts * (counts - 1))
    products[np.diag_indices(len(products))] = np.where(counts > 1, diagonal, np.nan)
    return products


def from_products(products: Matrix) -> Matrix:
    """Squared distances from inner products, which may be asymmetric if the factors come from two runs."""
    diagonal = np.diagonal(products)
    distances: Matrix = diagonal[:, None] + diagonal - products - products.T
    np.fill_diagonal(distances, np.where(np.isnan(diagonal), np.nan, 0.0))
    return distances


def centred_products(products: Matrix) -> Matrix:
    """Inner products of the deviations from the mean over conditions."""
    deviations: Matrix = products - products.mean(axis=0) - products.mean(axis=1)[:, None] + products.mean()
    return deviations
