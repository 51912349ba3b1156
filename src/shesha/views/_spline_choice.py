"""Choice of spline terms and jumps for each numeric covariate, by generalised cross-validation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from shesha.kernels.rounding_and_scaling import length_unit
from shesha.kernels.splines import natural_spline
from shesha.support.types import Matrix, Vector

_COUNTS = (6, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40)
_MORE = 1.5
"""Factor by which the number of terms from cross-validation is increased, because tests detect even small curvature."""
_MOST_FEATURES = 256
_MOST_JUMPS, _OF_A_JUMP = 3, 2
"""Largest number of jumps per covariate, and the degrees of freedom that a jump at an unknown position uses."""


def orthonormal_basis(terms: Matrix) -> Matrix:
    """Orthonormal columns that span the centred terms."""
    u, values, _ = np.linalg.svd(terms - terms.mean(axis=0), full_matrices=False)
    return np.ascontiguousarray(u[:, values > 1e-9 * max(1.0, float(values.max(initial=0.0)))])


def choose_terms(
    numbers: Mapping[str, Vector], rest: Matrix, sides: Sequence[Matrix], fewest: int, most: int
) -> dict[str, Matrix]:
    """Choose the terms of each numeric covariate in turn: spline terms, and jumps that they cannot fit.

    Parameters
    ----------
    numbers : mapping of names to arrays of shape (n,)
        Numeric covariates, by name.
    rest : array of shape (n, n_columns)
        Columns of those covariates that are labels.
    sides : arrays of shape (n, n_features)
        Features of each representation; the one that needs the most terms decides.
    fewest, most : int
        Smallest and largest number of spline terms per covariate.

    References
    ----------
    .. [1] Craven & Wahba 1979, Smoothing noisy data with spline functions, Numerische Mathematik 31.
    .. [2] Friedman 1991, Multivariate adaptive regression splines, Annals of Statistics 19 (cost of a knot position).
    """
    chosen = {name: natural_spline(number, fewest) for name, number in numbers.items()}
    candidates = [fewest, *(count for count in _COUNTS if fewest < count < most), most]
    rows = [_sample(side) for side in sides]
    for name, number in numbers.items() if most > fewest else ():
        fixed = np.concatenate([rest, *(terms for other, terms in chosen.items() if other != name)], axis=1)
        chosen[name] = _spline_and_jumps(number, fixed, rows, candidates)
    return chosen


def _spline_and_jumps(number: Vector, fixed: Matrix, rows: Sequence[Matrix], candidates: Sequence[int]) -> Matrix:
    """Jumps and spline terms of one covariate, as many as the most demanding side needs."""
    fewest, most = candidates[0], candidates[-1]
    splines = [natural_spline(number, count) for count in candidates]
    models = []
    for n_jumps in range(_MOST_JUMPS + 1):
        jumps = _jumps(number, fixed, rows, n_jumps)
        terms = np.concatenate([fixed, jumps], axis=1)
        losses = [_losses(rows, np.concatenate([terms, spline], axis=1), n_jumps) for spline in splines]
        models.append((jumps, np.array(losses)))
    jumps, least = models[int(np.argmin([losses.min(axis=0) for _, losses in models], axis=0).max())]
    best = candidates[int(np.argmin(least, axis=0).max())]
    spline = natural_spline(number, min(most, round(_MORE * best))) if best > fewest else splines[0]
    return np.concatenate([spline, jumps], axis=1)


def _jumps(number: Vector, fixed: Matrix, rows: Sequence[Matrix], n_jumps: int) -> Matrix:
    """Place a number of jumps in addition to a line, each at the best position given the others."""
    line = np.concatenate([fixed, number[:, None]], axis=1)
    jumps = np.empty((len(number), 0))
    # Jumps are placed one by one; afterwards, each is placed again twice, given the others.
    for step in range(3 * n_jumps):
        kept = jumps if step < n_jumps else np.delete(jumps, 0, axis=1)
        jump = _best_jump(number, rows, np.concatenate([line, kept], axis=1))
        if jump is None:
            break
        jumps = np.concatenate([kept, jump[:, None]], axis=1)
    return jumps


def _best_jump(number: Vector, rows: Sequence[Matrix], terms: Matrix) -> Vector | None:
    """Return the jump that explains the largest share of a side's residual; None if the residual is zero."""
    basis = orthonormal_basis(terms)
    order = np.argsort(number, kind="stable")
    ends = np.flatnonzero(np.diff(number[order]) > 0)
    n, below = len(number), ends + 1.0
    lengths = below * (n - below) / n - (np.cumsum(basis[order], axis=0)[ends] ** 2).sum(axis=1)
    inverse = np.where(lengths > 1e-6 * n, 1 / np.maximum(lengths, 1e-6 * n), 0.0)
    best, share = None, 0.0
    for side in rows:
        residuals = side - basis @ (basis.T @ side)
        gains = (np.cumsum(residuals[order], axis=0)[ends] ** 2).sum(axis=1) * inverse
        place, total = int(np.argmax(gains)), float((residuals**2).sum())
        if total > 0 and gains[place] > share * total:
            best, share = (number > number[order[ends[place]]]).astype(np.float64), float(gains[place]) / total
    return best


def _sample(side: Matrix) -> Matrix:
    columns = np.unique(np.linspace(0, side.shape[1] - 1, _MOST_FEATURES).astype(np.intp))
    chosen = side[:, columns]
    chosen = chosen / length_unit(chosen)
    return np.asarray(chosen - chosen.mean(axis=0))


def _losses(rows: Sequence[Matrix], terms: Matrix, n_jumps: int) -> list[float]:
    """Generalised cross-validation loss of each side: residual squares over squared degrees of freedom."""
    basis = orthonormal_basis(terms)
    free = len(terms) - 1 - basis.shape[1] - (_OF_A_JUMP - 1) * n_jumps
    return [float((side**2).sum() - ((basis.T @ side) ** 2).sum()) / max(free, 1) ** 2 for side in rows]
