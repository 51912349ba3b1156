"""Scores that depend on the features alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from shesha.inputs import validation as check
from shesha.kernels import spectrum


def anisotropy(X: ArrayLike) -> float:
    """Share of the variance along the first principal direction.

    The value is ``s_1^2 / sum_i s_i^2``, where s are the singular values of the centred rows.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        At least 4 rows, finite.

    Returns
    -------
    float
        In [1 / min(n_samples - 1, n_features), 1]; invariant to rotation, scale and offset. Labels are not used. In the
        study that proposes this score, models with higher values were easier to steer; how strong the relation was
        depended on the task. NaN, with a warning, if all rows are equal.

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
