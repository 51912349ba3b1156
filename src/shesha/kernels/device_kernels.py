"""Kernels for arrays on a device such as a GPU, written with the array API standard.

Each function replaces the kernel of the same name, which processes NumPy arrays in blocks and threads. The functions
avoid scatter operations and sums of undefined order, so that a device gives identical numbers every time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from shesha.kernels.pairs import condensed_index, upper
from shesha.kernels.rounding_and_scaling import CLOSE, MAX_SPAN
from shesha.support.device_arrays import convert_like, free_memory, namespace, squared_lengths, take_rows, to_host
from shesha.support.memory import MemoryBudgetError, format_bytes
from shesha.support.types import Index, Matrix

_PANEL = 2048
"""Number of rows whose distances are computed together."""
_GATHERED = 1 << 26
"""Largest number of values gathered in one step."""
_HELD = 1 << 28
"""Largest number of values in the square matrices whose rows are permuted together."""
_TOGETHER = 32
"""Number of permutations whose results are copied to the host together."""


def condensed_distances(rows: Any, metric: str, *, squared: bool = False) -> Any:
    """Distances between all pairs i < j of standard rows, in SciPy's condensed order."""
    xp = namespace(rows)
    _require_pairs(rows)
    out = xp.concat([_upper(rows, metric, start) for start in range(0, rows.shape[0], _PANEL)])
    return xp.sqrt(out) if metric == "euclidean" and not squared else out


def _upper(rows: Any, metric: str, start: int) -> Any:
    """Distances (squared for 'euclidean') from the panel's rows to all later rows."""
    xp, later = namespace(rows), rows[start:, :]
    products = later[: min(_PANEL, later.shape[0]), :] @ later.T
    i, j = upper(later.shape[0], rows, first=products.shape[0])
    products = take_rows(xp.reshape(products, (-1,)), i * later.shape[0] + j)
    if metric != "euclidean":
        return xp.clip(1.0 - products, 0.0, 2.0)
    lengths = squared_lengths(later)
    scale = take_rows(lengths, i) + take_rows(lengths, j)
    distances = scale - 2.0 * products
    close = distances <= CLOSE * scale
    if not bool(xp.any(close)):
        return distances
    exact = squared_differences(later, i[close], j[close])
    place = xp.clip(xp.cumulative_sum(xp.astype(close, xp.int64)) - 1, 0, None)
    return xp.where(close, take_rows(exact, place), distances)


def _require_pairs(rows: Any) -> None:
    """Raise an error for pairs that would not fit on the device, before its library runs out of memory."""
    n, free = rows.shape[0], free_memory(rows)
    # Each pair needs memory for its value, its position and a copy.
    need = 24 * (n * (n - 1) // 2)
    if free is not None and need > free:
        raise MemoryBudgetError(
            f"the {n * (n - 1) // 2:,} pairs of {n:,} rows must fit into the {format_bytes(free)} of free memory on "
            f"{rows.device}, got {format_bytes(need)}: pass fewer rows, or an array in the host's memory"
        )


def inner_products(rows: Any) -> tuple[Any, Any]:
    """Inner products of all pairs i < j of rows, and the inner product of each row with itself."""
    n = rows.shape[0]
    _require_pairs(rows)
    i, j = upper(n, rows)
    return take_rows(namespace(rows).reshape(rows @ rows.T, (-1,)), i * n + j), squared_lengths(rows)


def squared_differences(rows: Any, i: Any, j: Any) -> Any:
    """Squared Euclidean distance of each pair of rows."""
    n, step = i.shape[0], max(1, _GATHERED // rows.shape[1])
    stretches = [slice(start, min(start + step, n)) for start in range(0, n, step)]
    return namespace(rows).concat(
        [squared_lengths(take_rows(rows, i[some]) - take_rows(rows, j[some])) for some in stretches]
    )


def take_condensed(triangle: Any, rows: Index, n: int) -> Any:
    """Condensed form for a selection of rows, in the given order."""
    i, j = upper(len(rows), triangle)
    chosen = convert_like(rows, triangle)
    return take_rows(triangle, condensed_index(take_rows(chosen, i), take_rows(chosen, j), n))


def square(triangle: Any, n: int) -> Any:
    """Return the full symmetric matrix with zero diagonal."""
    xp = namespace(triangle)
    i = xp.arange(n, device=triangle.device)[:, None]
    off = i != i.T
    indices = xp.where(off, condensed_index(i, i.T, n), xp.zeros_like(i))
    matrix = xp.reshape(take_rows(triangle, xp.reshape(indices, (-1,))), (n, n))
    return xp.where(off, matrix, xp.zeros_like(matrix))


def row_sums(triangle: Any, n: int) -> Any:
    """Sum of each row of the symmetric matrix, without the diagonal."""
    return namespace(triangle).sum(square(triangle, n), axis=1)


def subtract_margins(triangle: Any, margins: Any) -> None:
    """Subtract margins[i] + margins[j] from entry (i, j), in place."""
    i, j = upper(margins.shape[0], triangle)
    triangle -= take_rows(margins, i) + take_rows(margins, j)


def inner(a: Any, b: Any) -> float:
    """Sum of products of corresponding entries."""
    return float(namespace(a).sum(a * b))


def gaussian(squared: Any, scale: float) -> Any:
    """Compute exp(-squared / (2 scale))."""
    return namespace(squared).exp(squared / (-2.0 * scale))


def unit_ranks(values: Any, tolerance: float = 0.0, out: Any = None) -> Any:
    """Centred ranks scaled to unit length, with mean ranks for ties; all NaN if the values are equal."""
    xp, n = namespace(values), values.shape[0]
    order = xp.argsort(values)
    ordered = take_rows(values, order)
    if not float(ordered[-1] - ordered[0]) > tolerance:
        return xp.full_like(values, float("nan"))
    starts, group = _groups(ordered, tolerance)
    if starts.shape[0] == 1:
        return xp.full_like(values, float("nan"))
    # Mean of the first and the last rank in each group, counted from 0.
    stops = xp.concat([starts[1:], convert_like(np.array([n]), starts)])
    mean = xp.astype(starts + stops - 1, xp.float64) / 2
    centred = take_rows(mean, group) - (n - 1) / 2
    scaled = centred / xp.sqrt(xp.sum(centred * centred))
    # Sorting the order gives its inverse without a scatter operation.
    return take_rows(scaled, xp.argsort(order))


def _groups(ordered: Any, tolerance: float) -> tuple[Any, Any]:
    """Start of each group of near-ties, and the group of each sorted value."""
    xp = namespace(ordered)
    linked = ordered[1:] - ordered[:-1] <= tolerance
    starts, group = _cut(linked)
    ends = xp.concat([starts[1:], convert_like(np.array([ordered.shape[0]]), starts)]) - 1
    chained = take_rows(ordered, ends) - take_rows(ordered, starts) > MAX_SPAN * tolerance
    if bool(xp.any(chained)):
        # If a chain of near-ties is too long, its values are grouped by the cells of a fixed grid instead.
        cell = xp.floor(ordered / tolerance) if tolerance > 0 else ordered
        linked = linked & (~take_rows(chained, group)[1:] | (cell[1:] == cell[:-1]))
        starts, group = _cut(linked)
    return starts, group


def _cut(linked: Any) -> tuple[Any, Any]:
    xp = namespace(linked)
    fresh = xp.concat([xp.ones_like(linked[:1]), ~linked])
    return xp.nonzero(fresh)[0], xp.cumulative_sum(xp.astype(fresh, xp.int64)) - 1


def permutation_grids(first: Sequence[Any], second: Sequence[Any], n: int, orders: Sequence[Index]) -> Iterator[Matrix]:
    """For each permutation, yield the inner products of every first with every permuted second matrix.

    Each yielded matrix has shape (first, second). Whole matrices are permuted, rows before columns. This reads each
    number twice, but contiguously, and needs no index of pairs.
    """
    xp = namespace(first[0])
    left = xp.reshape(xp.stack([square(triangle, n) for triangle in first]), (-1, n * n)) / 2.0
    moved = convert_like(np.stack(orders), left)
    step = max(1, _HELD // (n * n))
    parts = [_gather_columns(left, second[start : start + step], moved, n) for start in range(0, len(second), step)]
    for blocks in zip(*parts, strict=True):
        yield np.concatenate(blocks, axis=1)


def _gather_columns(left: Any, second: Sequence[Any], moved: Any, n: int) -> Iterator[Matrix]:
    """Yield the columns for some of the second matrices; many permutations share one transfer to the host."""
    xp = namespace(left)
    right = xp.stack([square(triangle, n) for triangle in second])
    for start in range(0, moved.shape[0], _TOGETHER):
        columns = []
        for index in range(start, min(start + _TOGETHER, moved.shape[0])):
            order = moved[index, :]
            matrices = xp.take(xp.take(right, order, axis=1), order, axis=2)
            columns.append(left @ xp.reshape(matrices, (-1, n * n)).T)
        yield from to_host(xp.stack(columns))


def squared_distances_to_candidates(rows: Any, chosen: Index, candidates: Index) -> Matrix:
    """Squared distances from each chosen row to its candidates, of shape (m, width)."""
    return squared_distances_between(rows, chosen[:, None], candidates)


def squared_distances_between(rows: Any, own: Index, others: Index) -> Matrix:
    """Squared distances from each row in `own` to the rows on the same line of `others`, (m, width)."""
    own = np.broadcast_to(own, others.shape).ravel()
    distances = squared_differences(rows, convert_like(own, rows), convert_like(others.ravel(), rows))
    return np.reshape(to_host(distances), others.shape)


def products_with_lists(rows: Any, lists: Index) -> Matrix:
    """Inner product of each row with each of the rows listed in its line, of shape (n, k)."""
    n, k = lists.shape
    step = max(1, _GATHERED // (k * rows.shape[1]))
    out = np.empty(lists.shape)
    for start in range(0, n, step):
        some = lists[start : start + step]
        queries = take_rows(rows, np.repeat(np.arange(start, start + len(some)), k))
        products = namespace(rows).sum(queries * take_rows(rows, some.ravel()), axis=1)
        out[start : start + step] = to_host(products).reshape(some.shape)
    return out
