"""Scores of the features alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from shesha.inputs import validation as check
from shesha.kernels import spectrum


def anisotropy(X: ArrayLike) -> float:
    """Share of the variance along the first principal direction.

    ``s_1^2 / sum_i s_i^2`` for the singular values s of the rows minus their mean.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        At least 4 rows, finite.

    Returns
    -------
    float
        In [1 / min(n_samples - 1, n_features), 1]; unchanged by rotation, scale and offset. It knows no labels:
        higher went with easier steering in the study that proposes it, from strongly to weakly by task.
        NaN, with a warning, if all rows are equal.

    References
    ----------
    Ethayarajh (2019), How contextual are contextualized word representations?

    Examples
    --------
    >>> round(anisotropy([[3.0, 0.0], [-3.0, 0.0], [0.0, 1.0], [0.0, -1.0]]), 3)
    0.9
    """
    value = spectrum.anisotropy(spectrum.centred_variances(check.matrix(X)))
    return check.not_estimable("all rows are equal") if np.isnan(value) else value
