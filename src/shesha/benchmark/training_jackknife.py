"""Jackknife over trainings: scores without one training at a time, and the influence of each."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import numpy as np

from shesha.benchmark.tests import Cast

_FEWEST = 3
"""Smallest number of trainings in a group for which leaving one out still gives a score."""


def _leave_one_training_out(cast: Cast) -> Iterator[Cast]:
    """Yield the models with one training of each group left out in turn."""
    sizes = [len(models) for models in cast.groups.values()]
    if min(sizes, default=0) < _FEWEST:
        return
    for left_out in range(max(sizes)):
        yield Cast(
            {
                group: tuple(model for index, model in enumerate(models) if index != left_out)
                for group, models in cast.groups.items()
            }
        )


def training_influences(value: float, left: Collection[float]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Influence of each training on a score, by the jackknife; empty if unknown."""
    without = np.array([float(score) for score in left], dtype=np.float64)
    if not len(without) or not np.isfinite(without).all() or not np.isfinite(value):
        return np.empty(0)
    influences: np.ndarray[Any, np.dtype[np.float64]] = (len(without) - 1) * (without.mean() - without)
    return influences
