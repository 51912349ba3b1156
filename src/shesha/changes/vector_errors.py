"""Squared errors between vectors, as shares of their variance, and those that noise causes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shesha.changes.verdicts_by_noise_floor import noise_limit
from shesha.support.types import Matrix
from shesha.views import Representation

Pairs = Sequence[tuple[Representation, Representation]]
_ROUNDING = 1e-9


def error_share(predicted: Matrix, target: Matrix) -> float:
    """Return the squared error as a share of the variance of the target.

    Examples
    --------
    >>> error_share(np.array([[0.0], [2.0]]), np.array([[1.0], [3.0]]))
    1.0
    """
    centred, missed = target - target.mean(axis=0), target - predicted
    variance, error = float(np.vdot(centred, centred)), float(np.vdot(missed, missed))
    return error / variance if variance > 0 else 0.0 if error == 0 else float("inf")


def error_limit(unchanged: Pairs) -> float:
    """Return the share of the variance by which noise may change vectors, by the rule of the limit of a drift."""
    # The rule doubles a distance, so it applies to the root of the squared error.
    limit = noise_limit([np.sqrt(error_share(b.to_numpy.rows, a.to_numpy.rows)) for a, b in unchanged])
    return max(_ROUNDING, 0.0 if np.isnan(limit) else limit**2)


def vectors_differ(before: Representation, after: Representation, unchanged: Pairs) -> bool:
    """Return whether vectors have other features, or differ by more than noise."""
    if before.shape != after.shape:
        return True
    return error_share(before.to_numpy.rows, after.to_numpy.rows) > error_limit(unchanged)
