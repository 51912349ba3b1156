"""Whiten features by the covariance of the controls."""

from __future__ import annotations

import numpy as np

from shesha.inputs import validation as check
from shesha.kernels.noise_covariance import ledoit_wolf
from shesha.support.types import Matrix


def whitening_matrix(centred: Matrix, shrinkage: float | None) -> tuple[Matrix, float]:
    """Return the inverse square root of the shrunk covariance, (d, d), and the share of the identity in it.

    Parameters
    ----------
    centred : array of shape (n, d)
        Controls, each minus the mean of the controls in its block.
    shrinkage : float, optional
        Share of the identity, in [0, 1]. Default: the estimate of Ledoit and Wolf.
    """
    n, d = centred.shape
    products = centred.T @ centred
    share = (
        ledoit_wolf(centred, products, d) if shrinkage is None else check.require_at_least(shrinkage, "shrinkage", 0.0)
    )
    if share > 1:
        raise ValueError(f"shrinkage must be at most 1, got {share:g}")
    covariance = products / n
    scale = np.trace(covariance) / d
    values, vectors = np.linalg.eigh((1 - share) * covariance + share * scale * np.eye(d))
    if not values[-1] > 0 or values[0] <= 1e-12 * values[-1]:
        raise ValueError(
            f"shrinkage must make the covariance of the controls invertible, got {share:g}: the controls vary in fewer "
            "directions than there are features"
        )
    return vectors / np.sqrt(values) @ vectors.T, share
