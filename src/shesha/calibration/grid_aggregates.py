"""Aggregate the scores of a grid of layer pairs into one number."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shesha.calibration.permutation_scores import DrawError
from shesha.inputs import validation as check
from shesha.nulls.null_summary import best_value
from shesha.support.types import Matrix, Vector

Aggregate = str | Callable[[Matrix], float]

TOP = 10
"""Number of pairs that 'top_k' averages."""


def _maximum(grid: Matrix) -> float:
    return float(grid.max())


def _row_maximum(grid: Matrix) -> float:
    return float(grid.max(axis=1).mean())


def _mean_of_largest(grid: Matrix) -> float:
    k = min(TOP, grid.size)
    return float(np.partition(grid, grid.size - k, axis=None)[grid.size - k :].mean())


def _mean(grid: Matrix) -> float:
    return float(grid.mean())


AGGREGATES: dict[str, Callable[[Matrix], float]] = {
    "max": _maximum,
    "row_max": _row_maximum,
    "top_k": _mean_of_largest,
    "mean": _mean,
}


def reducer(aggregate: Aggregate, closer: str) -> Callable[[Matrix], float]:
    """Return the function that computes an aggregate; named aggregates adapt to the measure's direction."""
    if isinstance(aggregate, str):
        check.choice(aggregate, tuple(AGGREGATES), "aggregate")
        reduce = AGGREGATES[aggregate]
        return reduce if closer == "higher" else lambda grid: -reduce(-grid)
    if not callable(aggregate):
        raise TypeError(f"aggregate must be a name or a function of the grid, got {aggregate!r}")
    return lambda grid: aggregate(grid.copy())


def totals(reduce: Callable[[Matrix], float], grids: Matrix) -> Vector:
    """Return the aggregate of each grid, starting with the observed one; NaN if a grid lacks a score."""
    values = np.array([_total(reduce, grid, draw) for draw, grid in enumerate(grids)])
    if np.isnan(values[0]):
        raise ValueError("aggregate must return a number for the observed grid, got NaN")
    return values


def _total(reduce: Callable[[Matrix], float], grid: Matrix, draw: int) -> float:
    if np.isnan(grid).any():
        return float("nan")
    try:
        value = reduce(grid)
    except Exception as error:
        where = "the observed grid" if draw == 0 else f"the grid of draw {draw}"
        raise DrawError(f"aggregate failed for {where}: {type(error).__name__}: {error}") from error
    if np.ndim(value) != 0:
        raise ValueError(f"aggregate must return one number for a grid, got an array of shape {np.shape(value)}")
    return check.real_number(value, "what aggregate returns")


def best_total(reduced: Vector, closer: str, bounds: tuple[float, float], maximum: float | None) -> float | None:
    """Return the best possible value of the aggregate; none if values outside the measure's bounds occur."""
    low, high = bounds
    known = reduced[~np.isnan(reduced)]
    on_scale = bool(((known >= low) & (known <= high)).all())
    return best_value(closer, bounds if on_scale else (-np.inf, np.inf), maximum)
