"""Agreement of rows on the direction between two classes, for true and shuffled labels."""

from __future__ import annotations

import numpy as np

from shesha.nulls import summarise
from shesha.results import SteeringScore
from shesha.steering._labelled_rows import NO_SHUFFLES, Labelled
from shesha.support.default_draw_counts import N_BOOTSTRAP
from shesha.support.seeds import spawn
from shesha.support.types import Labels, Matrix, Seed, Vector

_SHUFFLING, _RESAMPLING = 71, 72
_ENTRIES = 1 << 21
"""Largest number of values held in memory."""
_LEVEL = 0.05
NAMES = ("coherence", "unbiased coherence")


def agreement(
    X: Matrix, y: Labelled, source: int, target: int, n_draws: int, seed: Seed
) -> tuple[SteeringScore, SteeringScore]:
    """Plain and unbiased coherence of the shifts from the source's mean to the rows of the target.

    Plain coherence is the mean cosine between the shifts and their mean. Unbiased coherence is the mean cosine over
    pairs of shifts.
    """
    observed = coherences(X, *_counts(y.codes[None], source, target))[:, 0]
    drawing, resampling = spawn(seed, _SHUFFLING), spawn(seed, _RESAMPLING)
    shuffled = np.array([y.shuffle(drawing) for _ in range(n_draws)], dtype=np.intp).reshape(n_draws, len(X))
    null = coherences(X, *_counts(shuffled, source, target))
    counts = np.array([y.resample_counts(resampling) for _ in range(N_BOOTSTRAP)])
    masks = _counts(y.codes[None], source, target)
    drawn = coherences(X, *(counts * mask for mask in masks))
    first, second = (
        _score(name, float(value), *around, of_null)
        for name, value, around, of_null in zip(NAMES, observed, _intervals(observed, drawn), null, strict=True)
    )
    return first, second


def _counts(codes: Labels, source: int, target: int) -> tuple[Matrix, Matrix]:
    return (codes == source).astype(np.float64), (codes == target).astype(np.float64)


def coherences(X: Matrix, source: Matrix, target: Matrix) -> Matrix:
    """Mean cosine with the mean shift, and mean cosine over pairs, for many choices of rows at once.

    Parameters
    ----------
    X : array of shape (n, d)
        All rows.
    source, target : arrays of shape (n_choices, n)
        How often each choice includes each row in the source and in the target class.

    Returns
    -------
    array of shape (2, n_choices)
        NaN if the mean shift has length zero or a class has no rows.
    """
    step = max(1, _ENTRIES // max(1, X.size // max(1, X.shape[1])))
    parts = [_coherences(X, source[i : i + step], target[i : i + step]) for i in range(0, len(source), step)]
    return np.concatenate(parts, axis=1) if parts else np.empty((2, 0))


def _coherences(X: Matrix, source: Matrix, target: Matrix) -> Matrix:
    with np.errstate(divide="ignore", invalid="ignore"):
        start, end = (counts @ X / counts.sum(axis=1, keepdims=True) for counts in (source, target))
        squared = np.einsum("ij,ij->i", X, X) - 2 * start @ X.T + np.einsum("ij,ij->i", start, start)[:, None]
        lengths = np.sqrt(np.maximum(squared, 0.0))
        # A row that coincides with the mean of the source has no direction.
        there = lengths > 1e-9 * lengths.max(axis=1, keepdims=True)
        share = np.where(there, target / np.where(there, lengths, 1.0), 0.0)
        total = share @ X - share.sum(axis=1, keepdims=True) * start
        n = (target * there).sum(axis=1)
        shift = end - start
        to_mean = np.einsum("ij,ij->i", total, shift) / (n * np.linalg.norm(shift, axis=1))
        # In a resample, pairs of copies of the same row are left out, because their cosine is 1.
        alone = (target**2 * there).sum(axis=1)
        pairs = (np.einsum("ij,ij->i", total, total) - alone) / (n**2 - alone)
    return np.array([to_mean, pairs])


def _intervals(observed: Vector, drawn: Matrix) -> list[tuple[float, float]]:
    """Quantiles of the resamples, shifted so that their mean is the observed value; duplicates bias them."""
    intervals = []
    for value, draws in zip(observed, drawn, strict=True):
        known = draws[np.isfinite(draws)]
        low, high = np.quantile(known - known.mean() + value, [0.025, 0.975]) if len(known) else (np.nan, np.nan)
        intervals.append((float(np.clip(low, -1, 1)), float(np.clip(high, -1, 1))))
    return intervals


def _score(name: str, value: float, low: float, high: float, null: Vector) -> SteeringScore:
    if not len(null):
        return SteeringScore(name=name, value=value, ci_low=low, ci_high=high, reason=NO_SHUFFLES)
    worth = summarise(value, null, "higher", _LEVEL, 1.0)
    return SteeringScore(
        name=name,
        value=value,
        ci_low=low,
        ci_high=high,
        null_mean=worth.null_mean,
        null_sd=worth.null_sd,
        threshold=worth.threshold,
        score=worth.score,
        p_value=worth.p_value,
    )
