"""How many spline terms of each number the features need, by generalised cross-validation."""

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


def orthonormal_basis(terms: Matrix) -> Matrix:
    """Orthonormal columns that span the centred terms."""
    left, values, _ = np.linalg.svd(terms - terms.mean(axis=0), full_matrices=False)
    return np.ascontiguousarray(left[:, values > 1e-9 * max(1.0, float(values.max(initial=0.0)))])


def choose_n_terms(
    numbers: Mapping[str, Vector], rest: Matrix, sides: Sequence[Matrix], fewest: int, most: int
) -> dict[str, int]:
    """Return the number of spline terms of each number, one number after the other.

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
    """
    n_terms = dict.fromkeys(numbers, fewest)
    candidates = [fewest, *(count for count in _COUNTS if fewest < count < most), most]
    rows = [_sample(side) for side in sides]
    for name, number in numbers.items() if most > fewest else ():
        others = [natural_spline(numbers[other], count) for other, count in n_terms.items() if other != name]
        fixed = np.concatenate([rest, *others], axis=1)
        losses = [_losses(rows, np.concatenate([fixed, natural_spline(number, count)], axis=1)) for count in candidates]
        best = candidates[int(np.argmin(losses, axis=0).max())]
        n_terms[name] = min(most, round(_MORE * best)) if best > fewest else fewest
    return n_terms


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
