"""A slope with a random intercept for each group."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from shesha.bio.analysis.random_intercept import random_intercept as fit_random_intercept
from shesha.support.types import Vector


@dataclass(frozen=True)
class MixedModel:
    """y = intercept of its group + slope x + noise."""

    slope: float
    error: float
    shared: float
    """Intraclass correlation, the share of the residual variance explained by groups."""


def random_intercept(x: Vector, y: Vector, groups: ArrayLike) -> MixedModel:
    """Fit a random intercept by restricted maximum likelihood over the ratio of the two variances."""
    _, codes = np.unique(np.asarray(groups), return_inverse=True)
    fit = fit_random_intercept(np.column_stack([np.ones(len(x)), x]), y, codes.astype(np.intp))
    shared = fit.between / (fit.between + fit.residual)
    return MixedModel(float(fit.betas[1]), float(fit.errors[1]), shared)
