"""Correct kernel alignments of randomly projected layers for the projection's bias.

Let S be the matrix of products of all features, and C that of features projected on k random normal directions of
variance 1/k. Then E ||C||^2 = (1 + 1/k) ||S||^2 + tr(S)^2 / k. Alignments of projected layers are therefore too low,
especially if the variance is spread over many directions. Off-diagonal entries of C lack this bias: their mean square
is ||S||^2 / k^2.
"""

from __future__ import annotations

from dataclasses import replace
from math import sqrt

import numpy as np
from scipy.stats import t

from shesha.comparison.chance_and_intervals import add_note
from shesha.comparison.moment_scores import kernel_sums
from shesha.moments import Sums
from shesha.results import Score
from shesha.support.types import Matrix

_GROUPS = 16
"""Number of groups of directions, each of which is left out in turn to estimate the error."""
_CONFIDENCE = 0.95


def correct_projection(
    score: Score, sums: Sums, pair: tuple[int, int], projected: tuple[bool, bool], *, unbiased: bool
) -> tuple[Score, float]:
    """Correct a score for the bias of the projection and add its error; also return the correction factor."""
    norms = [kernel_sums(sums, place, unbiased).squared_norm for place in pair]
    true = [
        _squared_norm(sums, place, unbiased=unbiased) if was else norm
        for place, was, norm in zip(pair, projected, norms, strict=True)
    ]
    if not min(true) > 0:
        return add_note(score, "the projection has too few directions for an estimate: pass a larger project"), 1.0
    factor = sqrt(norms[0] * norms[1] / (true[0] * true[1]))
    value = min(score.value * factor, 1.0)
    cross = sums.cross_products(*pair)[:-1, :-1] ** 2
    error = float(cross.sum()) / sqrt(true[0] * true[1]) * _relative_error(sums, pair, projected)
    half = float(t.ppf(0.5 + _CONFIDENCE / 2, _GROUPS - 1)) * error
    note = f"estimated from {_widths(sums, pair, projected)}, with a standard error of {error:.2g}"
    changed = replace(
        score,
        value=value,
        sampling_error=error,
        sampling_low=max(value - half, 0.0 if not unbiased else -1.0),
        sampling_high=min(value + half, 1.0),
    )
    return add_note(changed, note), factor


def _widths(sums: Sums, pair: tuple[int, int], projected: tuple[bool, bool]) -> str:
    known = [str(sums.sides[place].n_features) for place, was in zip(pair, projected, strict=True) if was]
    return f"random projections on {' and '.join(dict.fromkeys(known))} directions"


def _squared_norm(sums: Sums, place: int, *, unbiased: bool) -> float:
    """Return an unbiased estimate of the kernel's squared norm before projection, from projected features."""
    side, n, k = sums.sides[place], sums.n_rows, sums.sides[place].n_features
    product = _off_diagonal(side.features) * k / (k - 1)
    if unbiased:
        trace = side.squared_norm
        lengths = (float(side.products[-1, -1]) + trace**2 / n) / (1 + 2 / k)
        product += -n / (n - 2) * lengths + (trace**2 - 2 * product / k) / ((n - 1) * (n - 2))
    return product


def _off_diagonal(block: Matrix) -> float:
    return float((block**2).sum() - (np.diagonal(block) ** 2).sum())


def _relative_error(sums: Sums, pair: tuple[int, int], projected: tuple[bool, bool]) -> float:
    """Return the relative standard error of the alignment, from leaving out groups of directions in turn."""
    cross = sums.cross_products(*pair)[:-1, :-1] ** 2
    variance = 0.0
    for place, was, squares in zip(pair, projected, (cross, cross.T), strict=True):
        if was:
            logs = np.log(_leave_groups_out(sums.sides[place].features, squares.sum(axis=1)))
            variance += (len(logs) - 1) * float(logs.var())
    return sqrt(variance)


def _leave_groups_out(block: Matrix, cross: Matrix) -> Matrix:
    """Return the alignment without each group of directions, up to a constant factor."""
    k, squares = len(block), block**2
    estimates = []
    for left_out in np.array_split(np.arange(k), min(_GROUPS, k)):
        is_kept = np.ones(k, dtype=bool)
        is_kept[left_out] = False
        inner = squares[np.ix_(is_kept, is_kept)]
        norm = float(inner.sum() - np.trace(inner)) / (is_kept.sum() * (is_kept.sum() - 1))
        estimates.append(float(cross[is_kept].mean()) / sqrt(norm))
    return np.array(estimates)
