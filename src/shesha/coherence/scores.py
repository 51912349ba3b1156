"""Scores of shifts: coherence, magnitude and spread."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from shesha.inputs import validation as check
from shesha.inputs.validation import require_squarable
from shesha.kernels.rounding_and_scaling import length_unit
from shesha.support.types import Matrix

NO_DIRECTION = 1e-9
"""Length, relative to the longest shift, below which a shift counts as zero."""


def mean_cosine(shifts: ArrayLike) -> float:
    """Mean cosine between the shifts and their mean, which the papers call coherence.

    The score is the mean over i of cos(v_i, mean v). Because the mean contains each shift, pure noise scores about 1 /
    sqrt(n) (`expected_mean_cosine`). To compare groups of different sizes, use `pairwise_cosine` or the chance level.

    Parameters
    ----------
    shifts : array of shape (n, n_features)
        One shift per row: the row's position minus the mean of its controls. Shifts of length zero are left out.

    Returns
    -------
    float
        Coherence, in [-1, 1]; 1 if all shifts have the same direction. NaN if fewer than two shifts are nonzero, or if
        their mean is zero.

    References
    ----------
    Geometric Stability, appendix 12.4.

    Examples
    --------
    >>> mean_cosine([[1, 0], [0, 1], [3, 3], [2, 2]])
    0.853...
    """
    v, units = _unit_shifts(shifts)
    mean = v.mean(axis=0)
    length = float(np.linalg.norm(mean))
    if len(units) < 2 or length <= NO_DIRECTION * float(np.linalg.norm(v, axis=1).max()):
        return check.not_estimable("at least two shifts, and their mean, must be nonzero")
    return float(np.clip(units.mean(axis=0) @ mean / length, -1, 1))


def pairwise_cosine(shifts: ArrayLike) -> float:
    """Mean cosine over all pairs of shifts: a coherence that group size does not bias.

    The score is ``(|sum u|^2 - n) / (n (n - 1))`` for unit shifts u. For unrelated directions, its expected value is 0,
    whatever n is.

    Parameters
    ----------
    shifts : array of shape (n, n_features)
        One shift per row. Shifts of length zero are left out.

    Returns
    -------
    float
        Coherence, in [-1 / (n - 1), 1]. NaN if fewer than two shifts are nonzero.

    Examples
    --------
    >>> pairwise_cosine([[1, 0], [0, 1], [1, 0], [0, 1]])
    0.333...
    """
    _, units = _unit_shifts(shifts)
    n = len(units)
    if n < 2:
        return check.not_estimable("at least two shifts must be nonzero")
    total = units.sum(axis=0)
    return float((total @ total - n) / (n * (n - 1)))


def magnitude(shifts: ArrayLike) -> float:
    """Length of the mean shift, in units of the features.

    Noise alone gives a length of about sqrt(n_features / n) times its standard deviation, so small groups seem to have
    strong effects.

    Parameters
    ----------
    shifts : array of shape (n, n_features)
        One shift per row.

    Examples
    --------
    >>> magnitude([[3, 3], [3, 5], [3, 4], [3, 4]])
    5.0
    """
    v = _shifts(shifts)
    unit = length_unit(v)
    return float(np.linalg.norm((v / unit).mean(axis=0))) * unit


def spread(shifts: ArrayLike) -> float:
    """Mean distance of the shifts from their mean, in units of the features.

    Parameters
    ----------
    shifts : array of shape (n, n_features)
        One shift per row.

    Examples
    --------
    >>> spread([[3, 3], [3, 5], [3, 3], [3, 5]])
    1.0
    """
    v = _shifts(shifts)
    unit = length_unit(v)
    v = v / unit
    return float(np.linalg.norm(v - v.mean(axis=0), axis=1).mean()) * unit


def snr(shifts: ArrayLike) -> float:
    """Magnitude divided by spread (appendix 12.10); NaN if all shifts are equal.

    Parameters
    ----------
    shifts : array of shape (n, n_features)
        One shift per row.

    Examples
    --------
    >>> snr([[3, 3], [3, 5], [3, 3], [3, 5]])
    5.0
    """
    wide, long = spread(shifts), magnitude(shifts)
    return (
        long / wide if wide > NO_DIRECTION * long else check.not_estimable("all shifts are equal, so their spread is 0")
    )


def _shifts(shifts: ArrayLike) -> Matrix:
    return require_squarable(check.matrix(shifts, "shifts", min_rows=2), "shifts")


def _unit_shifts(shifts: ArrayLike) -> tuple[Matrix, Matrix]:
    """Return the shifts, and the nonzero shifts scaled to unit length."""
    v = _shifts(shifts)
    v = v / length_unit(v)
    lengths = np.linalg.norm(v, axis=1)
    there = lengths > NO_DIRECTION * lengths.max()
    return v, v[there] / lengths[there, None]


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
    # The variance of the mean of the controls, relative to the noise variance.
    error = 0.0 if n_controls is None else 1 / check.count(n_controls, "n_controls")
    return _mean_correlation(np.sqrt((1 / n + error) / (1 + error)), check.count(n_features, "n_features"))


def _mean_correlation(rho: float, d: int) -> float:
    """Return the expected uncentred correlation of d pairs of Gaussian numbers with correlation rho."""
    from scipy.special import gammaln, hyp2f1

    shrunk = 2 / d * np.exp(2 * (gammaln((d + 1) / 2) - gammaln(d / 2)))
    return float(rho * shrunk * hyp2f1(0.5, 0.5, (d + 2) / 2, min(1.0, rho * rho)))
