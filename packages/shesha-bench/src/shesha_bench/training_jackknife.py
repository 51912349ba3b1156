"""Apply the jackknife to trainings: leave out one training at a time to find its influence on a score."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import numpy as np

from shesha_bench.tests import Cast

_FEWEST = 3
"""Smallest number of trainings per group for which a score can be computed with one training left out."""


def _leave_one_training_out(cast: Cast) -> Iterator[Cast]:
    """Yield the models repeatedly, each time without one training of each group."""
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
    """Return each training's influence on a score, by the jackknife; empty if it is unknown."""
    without = np.array([float(score) for score in left], dtype=np.float64)
    if not len(without) or not np.isfinite(without).all() or not np.isfinite(value):
        return np.empty(0)
    influences: np.ndarray[Any, np.dtype[np.float64]] = (len(without) - 1) * (without.mean() - without)
    return influences
