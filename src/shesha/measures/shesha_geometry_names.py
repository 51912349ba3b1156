"""Measures whose signatures in shesha-geometry differ from those in this library."""

from __future__ import annotations

from numpy.typing import ArrayLike

from shesha.inputs import validation as check
from shesha.measures import kernels, shape


def cka(X: ArrayLike, Y: ArrayLike, debiased: bool = False) -> float:
    """Linear centred kernel alignment, biased or unbiased.

    Parameters
    ----------
    X, Y : arrays of shape (n_samples, n_features)
        Representations of the same inputs, row by row. Their widths may differ.
    debiased : bool
        Whether to use the unbiased estimator, which is about 0 for independent data. The public package keeps the
        diagonal of the centred Gram matrix, so most of the bias remains there.

    Returns
    -------
    float
        Value in [0, 1], or in [-1, 1] if debiased; NaN, with a warning that gives the reason, if all rows are equal.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.standard_normal((50, 8)), rng.standard_normal((50, 8))
    >>> round(cka(X, Y), 2), round(cka(X, Y, debiased=True), 2)
    (0.13, -0.01)
    """
    return kernels.unbiased_cka(X, Y) if check.boolean(debiased, "debiased") else kernels.cka(X, Y)


def procrustes_similarity(X: ArrayLike, Y: ArrayLike, center: bool = True, scale: bool = True) -> float:
    """Share of the squared norm that the best rotation explains.

    Parameters
    ----------
    X, Y : arrays of shape (n_samples, n_features)
        Representations of the same inputs, row by row. The narrower matrix is padded with zero columns.
    center, scale : bool
        Whether to subtract the column means, and whether to divide by the Frobenius norm.

    Returns
    -------
    float
        Value in [0, 1]; NaN, with a warning that gives the reason, if all rows are equal.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((50, 8))
    >>> round(procrustes_similarity(X, 3 * X[:, ::-1] + 1), 6)
    1.0
    """
    return shape.procrustes_similarity(X, Y, center=center, scale=scale)
