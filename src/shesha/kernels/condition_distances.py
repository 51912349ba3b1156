"""Mean responses to conditions in halves of the trials, their distances, and how well these agree."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from shesha.kernels.distances import Metric
from shesha.kernels.ranks import centred_ranks
from shesha.kernels.rounding_and_scaling import is_constant
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
    # If a mean was constant before centring, only rounding errors remain afterwards.
    lengths = np.where((counts > 0) & (lengths > 1e-12 * counts), lengths, np.nan)
    cosine_distances: Matrix = np.clip(1.0 - grams[:, i, j] / (lengths[:, i] * lengths[:, j]), 0.0, 2.0)
    return cosine_distances


def agreement(first: Matrix, second: Matrix) -> Vector:
    """Rank correlation between corresponding lines, over the pairs finite in both; NaN with too few pairs."""
    both = np.isfinite(first) & np.isfinite(second)
    enough = np.where(both.sum(axis=1) >= _FEWEST_PAIRS, 1.0, np.nan)
    a, b = (centred_ranks(np.where(both, half, np.nan)) for half in (first, second))
    correlations: Vector = np.clip(np.einsum("sp,sp->s", a, b), -1.0, 1.0) * enough
    return correlations
