"""A turn of the features after which the controls spread alike in every direction."""

from __future__ import annotations

import numpy as np

from shesha import _validate as check
from shesha._types import Matrix


def ledoit_wolf(centred: Matrix) -> float:
    """Share of the identity that estimates the covariance best.

    Parameters
    ----------
    centred : array of shape (n, d)
        Rows about their mean.

    Returns
    -------
    float
        In [0, 1].

    References
    ----------
    Ledoit and Wolf 2004, Journal of Multivariate Analysis 88.
    """
    n, d = centred.shape
    covariance = centred.T @ centred / n
    squares = centred**2
    # The variance of the entries of the covariance, against their distance from the scaled identity.
    error = float((squares.T @ squares).sum() / n - (covariance**2).sum()) / n
    distance = float((covariance**2).sum() - np.trace(covariance) ** 2 / d)
    return min(1.0, max(0.0, error / distance)) if distance > 0 else 1.0


def whitening(centred: Matrix, shrinkage: float | None) -> tuple[Matrix, float]:
    """Return the inverse root of the shrunk covariance, (d, d), and the share of the identity in it.

    Parameters
    ----------
    centred : array of shape (n, d)
        Controls about the mean of their block.
    shrinkage : float, optional
        In [0, 1]; default: Ledoit and Wolf's.
    """
    share = ledoit_wolf(centred) if shrinkage is None else check.at_least(shrinkage, "shrinkage", 0.0)
    if share > 1:
        raise ValueError(f"shrinkage must be at most 1, got {share:g}")
    n, d = centred.shape
    covariance = centred.T @ centred / n
    scale = np.trace(covariance) / d
    values, vectors = np.linalg.eigh((1 - share) * covariance + share * scale * np.eye(d))
    if not values[-1] > 0 or values[0] <= 1e-12 * values[-1]:
        raise ValueError(
            "shrinkage must make the covariance of the controls invertible: they vary in fewer directions than there "
            f"are features, got {share:g}"
        )
    return vectors / np.sqrt(values) @ vectors.T, share
