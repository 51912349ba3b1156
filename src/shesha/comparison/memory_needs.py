"""Memory that a comparison needs, computed from the shapes alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shesha.comparison import engine
from shesha.measures import Measure, choose, takes_moments
from shesha.support import memory
from shesha.views import Representation

_NAMED = 8
"""Maximum number of alternative measures that the error message names."""


def require_one_that_fits(X: Any, Y: Any, measures: Sequence[Measure]) -> None:
    """Refuse matrices for which every requested measure would exceed the memory budget.

    Raises
    ------
    MemoryBudgetError
        If no requested measure fits. The message states how much memory is needed and names measures that would fit.
    """
    shapes = matrix_shape(X), matrix_shape(Y)
    if shapes[0] is None or shapes[1] is None or not measures:
        return
    needs = bytes_needed(measures, shapes[0], shapes[1])
    budget, least = memory.memory_budget(), min(needs.values())
    if least <= budget:
        return
    fitting = [name for name, need in bytes_needed(choose("all"), shapes[0], shapes[1]).items() if need <= budget]
    others = ", ".join(fitting[:_NAMED]) + (" and others" if len(fitting) > _NAMED else "")
    streamed = ", or compare shesha.Moments.of(X, Y)" if any(map(takes_moments, measures)) else ""
    sizes = " and ".join(f"{n:,} x {d:,}" for n, d in (shapes[0], shapes[1]))
    raise memory.MemoryBudgetError(
        f"{', '.join(needs)} of {sizes} must fit the memory budget of {memory.readable(budget)}, got "
        f"{memory.readable(least)}: {f'these measures fit: {others}; or ' if fitting else ''}pass fewer rows, or raise "
        f"SHESHA_MEMORY{streamed}"
    )


def none_fits(X: Any, Y: Any, measures: Sequence[Measure]) -> bool:
    """Return whether every requested measure would exceed the memory budget, judged by shapes alone."""
    shapes = matrix_shape(X), matrix_shape(Y)
    if shapes[0] is None or shapes[1] is None or not measures:
        return False
    return min(bytes_needed(measures, shapes[0], shapes[1]).values()) > memory.memory_budget()


def matrix_shape(X: Any) -> tuple[int, int] | None:
    """Return the shape of a matrix, or None if it is unknown without reading the data."""
    shape = getattr(X, "shape", None)
    if not isinstance(shape, tuple) or len(shape) != 2:
        return None
    return (int(shape[0]), int(shape[1])) if all(isinstance(length, int) and length > 0 for length in shape) else None


def bytes_needed(measures: Sequence[Measure], a: tuple[int, int], b: tuple[int, int]) -> dict[str, int]:
    """Return the memory that the views of each measure need."""
    sides = [Representation(np.broadcast_to(np.float64(0), shape), 0.0) for shape in (a, b)]
    needs: dict[str, int] = {}
    for group in engine.group_by_view(measures, {measure.name: [] for measure in measures}, sides):
        views = [group.view_bytes(*sides), group.view_bytes(*sides[::-1])]
        need = sum(view_bytes for view_bytes, _ in views) + max(working for _, working in views)
        needs |= {measure.name: need for measure in group.measures}
    return needs
