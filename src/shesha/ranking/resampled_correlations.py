"""Correlations of distances on bootstrap resamples of the rows, computed by weighting pairs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from shesha.kernels.ranks import correlation_influence
from shesha.ranking.distance_vectors import DistanceVectors, cells
from shesha.support.types import Index, Matrix, Vector

STEP = 0.05
"""Step of the finite difference that gives the first-order effect of a resample."""
RANKED_AGAIN = 11_175
"""Largest number of pairs (150 rows) whose distances are ranked again in every resample. With more pairs, the
correlations are changed by the influence of each pair; the error of this approximation shrinks faster than the
interval."""
_AT_ONCE = 1 << 24
"""Largest number of row counts that are held in memory at a time."""
_BLOCK = 1 << 21
"""Number of pair weights that are computed at a time, small enough for the processor's cache."""


def resampled_correlations(
    vectors: DistanceVectors, n_resamples: int, rng: np.random.Generator
) -> Iterator[tuple[Matrix, Matrix]]:
    """For each resample, yield the correlations after a small step towards it, and those at the resample."""
    if vectors.n_pairs > RANKED_AGAIN and not vectors.problem.exact and vectors.known is None:
        yield from _influence_estimates(vectors, n_resamples, rng)
        return
    for _ in range(n_resamples):
        counts = vectors.problem.design.resample(rng)
        drawn = vectors.correlations(pair_weights(counts, vectors.i, vectors.j))
        yield vectors.correlations(_small_changes(counts, vectors.i, vectors.j)), drawn


def pair_weights(counts: Index, i: Index, j: Index) -> Vector:
    """Weights of pairs if row i occurs counts[i] times, without pairs of a row with its copy."""
    weights: Vector = (counts[i] * counts[j]).astype(np.float64)
    return weights


def _small_changes(counts: Index, i: Index, j: Index) -> Vector:
    """Weights near 1 in the direction of a resample, from which its first-order effect is estimated."""
    return np.asarray(1.0 + STEP * (counts[i] + counts[j] - 2.0), dtype=np.float64)


def _influence_estimates(
    vectors: DistanceVectors, n_resamples: int, rng: np.random.Generator
) -> Iterator[tuple[Matrix, Matrix]]:
    """Change the correlations by the mean influence of the weighted pairs, without ranking again."""
    problem, n = vectors.problem, vectors.problem.n_rows
    places = cells(len(problem.models), len(problem.subjects))
    observed = vectors.correlations(np.ones(vectors.n_pairs))
    influence = correlation_influence(vectors.lines, places, ranked=vectors.ranked)
    of_rows = np.stack([np.bincount(vectors.i, line, n) + np.bincount(vectors.j, line, n) for line in influence])
    rows, columns = np.array(places).T

    def add_change(change: Vector) -> Matrix:
        correlations = observed.copy()
        correlations[rows, columns] = np.clip(correlations[rows, columns] + change, -1.0, 1.0)
        correlations[columns, rows] = correlations[rows, columns]
        return correlations

    weighed = np.vstack([influence, np.ones(vectors.n_pairs)])
    step = max(1, _AT_ONCE // n)
    for start in range(0, n_resamples, step):
        counts = np.array([problem.design.resample(rng) for _ in range(min(step, n_resamples - start))])
        small = STEP * (counts - 1.0) @ of_rows.T / vectors.n_pairs
        *sums, total = _weighted_sums(vectors, weighed, counts)
        for one, change in zip(small, np.transpose(sums / np.where(total > 0, total, np.nan)), strict=True):
            yield add_change(one), add_change(change)


def _weighted_sums(vectors: DistanceVectors, lines: Matrix, counts: Index) -> Matrix:
    """Sum each line over pairs, weighted by the product of both rows' counts: one column per resample."""
    of_rows = np.ascontiguousarray(counts.T, dtype=np.float64)
    sums = np.zeros((len(lines), len(counts)))
    step = max(1, _BLOCK // (8 * len(counts)))
    for start in range(0, vectors.n_pairs, step):
        block = slice(start, start + step)
        weights = of_rows[vectors.i[block]]
        weights *= of_rows[vectors.j[block]]
        sums += lines[:, block] @ weights
    return sums
