"""The coherence expected from pure noise, in closed form."""

from __future__ import annotations

import numpy as np

from shesha.inputs import validation as check


def expected_mean_cosine(n: int, n_features: int, n_controls: int | None = None) -> float:
    """Expected mean cosine between shifts of isotropic Gaussian noise and their mean.

    Each feature of a shift correlates at 1 / sqrt(n) with the same feature of the mean of n shifts, because the mean
    contains the shift. The cosine is the sample correlation over `n_features` such pairs of numbers. Its expected value
    is about 1 / sqrt(n).

    Parameters
    ----------
    n : int
        Number of shifts.
    n_features : int
    n_controls : int, optional
        Number of controls, with the same noise, whose mean is the reference; all shifts share the error of this mean.
        Default: a reference without error.

    Returns
    -------
    float
        Expected mean cosine, in (0, 1].

    References
    ---------- Fisher 1915, Hotelling 1953: the mean of the sample correlation of Gaussian pairs.

    Examples
    --------
    >>> round(expected_mean_cosine(10, 50), 3), round(expected_mean_cosine(400, 50), 3)
    (0.313, 0.05)
    """
    n = check.count(n, "n")
    error = _reference_error(n_controls)
    return _mean_correlation(np.sqrt((1 / n + error) / (1 + error)), check.count(n_features, "n_features"))


def _reference_error(n_controls: int | None) -> float:
    """Return the variance of the mean of the controls, relative to the noise variance."""
    return 0.0 if n_controls is None else 1 / check.count(n_controls, "n_controls")


def _mean_correlation(rho: float, d: int) -> float:
    """Return the expected uncentred correlation of d pairs of Gaussian numbers with correlation rho."""
    from scipy.special import gammaln, hyp2f1

    shrunk = 2 / d * np.exp(2 * (gammaln((d + 1) / 2) - gammaln(d / 2)))
    return float(rho * shrunk * hyp2f1(0.5, 0.5, (d + 2) / 2, min(1.0, rho * rho)))
