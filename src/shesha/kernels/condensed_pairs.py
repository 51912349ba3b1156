"""Pairs of rows in condensed order, (0, 1), (0, 2), ..., (1, 2), ..., for arrays from any library."""

from __future__ import annotations

from typing import Any

from shesha.support.device_arrays import namespace


def upper(n: int, like: Any, *, first: int | None = None) -> tuple[Any, Any]:
    """Row indices i < j of all pairs among n rows, or only those with i < first, on the device of `like`."""
    xp = namespace(like)
    places = xp.arange(n, device=like.device)
    i, j = xp.nonzero(places[None, :] > places[: n if first is None else first, None])
    return i, j


def condensed_index(i: Any, j: Any, n: int) -> Any:
    """Position of each pair (i, j), with the rows in either order, in condensed form."""
    xp = namespace(i)
    low, high = xp.minimum(i, j), xp.maximum(i, j)
    return low * n - low * (low + 1) // 2 + (high - low - 1)
