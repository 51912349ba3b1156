"""Names of measures as in shesha-geometry, where an alias is not enough."""

from __future__ import annotations

from numpy.typing import ArrayLike

from shesha.inputs import validation as check
from shesha.measures import kernels, shape


def cka(X: ArrayLike, Y: ArrayLike, debiased: bool = False) -> float:
    """Linear centred kernel alignment, biased or unbiased.

    Parameters
    ----------
    X, Y : arrays of shape (n_samples, n_features)
        Row i of both is the same input; widths may differ.
    debiased : bool
        Use the unbiased estimator, which is about 0 for independent data (the public package keeps the diagonal of the
        centred Gram matrix and so is hardly debiased).

    Returns
    -------
    float
        In [0, 1], or [-1, 1] if debiased; NaN, with a warning that says why, if all rows are equal.

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
        Row i of both is the same input; the narrower matrix counts as padded with zeros.
    center, scale : bool
        Remove the column means; divide by the Frobenius norm.

    Returns
    -------
    float
        In [0, 1]; NaN, with a warning that says why, if all rows are equal.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((50, 8))
    >>> round(procrustes_similarity(X, 3 * X[:, ::-1] + 1), 6)
    1.0
    """
    return shape.procrustes_similarity(X, Y, center=center, scale=scale)
