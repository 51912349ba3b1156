"""How many spline terms and jumps of each number the features need, by generalised cross-validation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from shesha.kernels.numerical_precision import length_unit
from shesha.kernels.splines import natural_spline
from shesha.support.types import Matrix, Vector

_COUNTS = (6, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40)
_MORE = 1.5
"""Cross-validation stops where the curve that is left is as large as its error: a test of many rows still sees that."""
_MOST_FEATURES = 256
_MOST_JUMPS, _OF_A_JUMP = 3, 3
"""Jumps of each number, and the degrees of freedom of one whose place is searched for."""


def orthonormal_basis(terms: Matrix) -> Matrix:
    """Orthonormal columns that span the centred terms."""
    left, values, _ = np.linalg.svd(terms - terms.mean(axis=0), full_matrices=False)
    return np.ascontiguousarray(left[:, values > 1e-9 * max(1.0, float(values.max(initial=0.0)))])


def choose_terms(
    numbers: Mapping[str, Vector], rest: Matrix, sides: Sequence[Matrix], fewest: int, most: int
) -> dict[str, Matrix]:
    """Return the terms of each number, one number after the other: of a spline, and of jumps that no spline follows.

    Parameters
    ----------
    numbers : mapping of names to arrays of shape (n,)
    rest : array of shape (n, n_columns)
        Columns of the covariates that are labels.
    sides : arrays of shape (n, n_features)
        The one that needs most terms decides.
    fewest, most : int
        Terms of each number.

    References
    ----------
    .. [1] Craven & Wahba 1979, Smoothing noisy data with spline functions, Numerische Mathematik 31.
    .. [2] Friedman 1991, Multivariate adaptive regression splines, Annals of Statistics 19 (what a place costs).
    """
    found = {name: natural_spline(number, fewest) for name, number in numbers.items()}
    candidates = [fewest, *(count for count in _COUNTS if fewest < count < most), most]
    rows = [_sample(side) for side in sides]
    for name, number in numbers.items() if most > fewest else ():
        fixed = np.concatenate([rest, *(terms for other, terms in found.items() if other != name)], axis=1)
        found[name] = _spline_and_jumps(number, fixed, rows, candidates)
    return found


def _spline_and_jumps(number: Vector, fixed: Matrix, rows: Sequence[Matrix], candidates: Sequence[int]) -> Matrix:
    """Terms of a number beside fixed ones: jumps first, as long as each is better than any spline."""
    fewest, most = candidates[0], candidates[-1]
    splines = [natural_spline(number, count) for count in candidates]
    jumps = np.empty((len(number), 0))
    while True:
        given = np.concatenate([fixed, jumps], axis=1)
        losses = [_losses(rows, np.concatenate([given, spline], axis=1)) for spline in splines]
        if jumps.shape[1] == _MOST_JUMPS:
            break
        jump = _jump(number, rows, np.concatenate([given, splines[0]], axis=1), np.min(losses, axis=0))
        if jump is None:
            break
        jumps = np.concatenate([jumps, jump], axis=1)
    best = candidates[int(np.argmin(losses, axis=0).max())]
    spline = natural_spline(number, min(most, round(_MORE * best))) if best > fewest else splines[0]
    return np.concatenate([spline, jumps], axis=1)


def _jump(number: Vector, rows: Sequence[Matrix], terms: Matrix, losses: Vector) -> Matrix | None:
    """The jump that takes most off a side, if it leaves a smaller loss than these; one column."""
    basis = orthonormal_basis(terms)
    order = np.argsort(number, kind="stable")
    ends = np.flatnonzero(np.diff(number[order]) > 0)
    below = ends + 1.0
    n, free = len(number), len(number) - 1 - basis.shape[1]
    lengths = below * (n - below) / n - (np.cumsum(basis[order], axis=0)[ends] ** 2).sum(axis=1)
    usable = lengths > 1e-6 * n
    best, ratio = None, 1.0
    for side, loss in zip(rows, losses, strict=True):
        left = side - basis @ (basis.T @ side)
        gains = (np.cumsum(left[order], axis=0)[ends] ** 2).sum(axis=1) / np.where(usable, lengths, np.inf)
        place = int(np.argmax(gains))
        reached = (float((left**2).sum()) - gains[place]) / max(free - _OF_A_JUMP, 1) ** 2
        if reached < ratio * loss:
            best, ratio = (number > number[order[ends[place]]])[:, None].astype(np.float64), reached / loss
    return best


def _sample(side: Matrix) -> Matrix:
    columns = np.unique(np.linspace(0, side.shape[1] - 1, _MOST_FEATURES).astype(np.intp))
    chosen = side[:, columns]
    chosen = chosen / length_unit(chosen)
    return np.asarray(chosen - chosen.mean(axis=0))


def _losses(rows: Sequence[Matrix], terms: Matrix) -> list[float]:
    """Generalised cross-validation of each side: the squares that are left, over the squared degrees of freedom."""
    basis = orthonormal_basis(terms)
    free = len(terms) - 1 - basis.shape[1]
    return [float((side**2).sum() - ((basis.T @ side) ** 2).sum()) / max(free, 1) ** 2 for side in rows]
