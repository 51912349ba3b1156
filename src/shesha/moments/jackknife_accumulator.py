"""Sums over a stream of rows, divided into consecutive parts for the jackknife.

Where panels and parts begin depends only on row numbers. Therefore the sums are bit-for-bit equal for all batch sizes
and numbers of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from shesha.kernels.threads import parallel
from shesha.moments.sums import Pairs, Sums, is_finite, merge, merge_all, panel_rows, sum_panel
from shesha.support import memory
from shesha.support.device_arrays import namespace, stays, to_host

MOST_PARTS, FEWEST_PARTS = 64, 8
_FIRST_PART = 64
"""Initial number of rows per part. When there are too many parts, neighbouring parts are merged and this number
doubles."""


@dataclass
class Accumulator:
    """Sums over a stream: finished parts, the part being filled, and rows that do not fill a panel yet."""

    widths: tuple[int, ...]
    pairs: Pairs
    parts: list[Sums] = field(default_factory=list)
    current: Sums | None = None
    pending: list[tuple[Any, ...]] = field(default_factory=list)
    n_pending: int = 0
    part_rows: int = _FIRST_PART
    _owns_current: bool = False
    """Whether the current part may be overwritten because nothing else refers to it."""

    @property
    def n_rows(self) -> int:
        """Total number of rows, including pending rows."""
        parts = [*self.parts, *([] if self.current is None else [self.current])]
        return sum(part.n_rows for part in parts) + self.n_pending

    def add(self, sides: Sequence[Any]) -> None:
        """Add a batch of equally long matrices; stop before the first panel that contains NaN or infinity."""
        n, start = int(sides[0].shape[0]), 0
        if not self.n_rows:
            self._require_memory()
        while start < n:
            size = self._panel_size()
            # Number of whole panels before the panel size changes.
            count = min((self.n_pending + n - start) // size, max(1, self._rows_until_growth() // size))
            if not count:
                self._keep(sides, start, n)
                return
            starts = range(start - self.n_pending, start - self.n_pending + count * size, size)
            work = partial(self._sum_rows, sides, size, start)
            for panel in parallel(work, starts, at_once=self._panels_at_once()):
                self._add_panel(panel)
                # The pending rows were part of the first panel.
                self.pending, self.n_pending = [], 0
            start = starts.stop

    def _sum_rows(self, sides: Sequence[Any], size: int, first: int, start: int) -> Sums:
        """Sum over the panel that begins at row `start`; rows before `first` come from the pending batches."""
        rows = [side[max(start, first) : start + size] for side in sides]
        if start < first:
            rows = join_batches([*self.pending, tuple(rows)])
        return sum_panel(rows, self.pairs)

    def snapshot(self) -> Callable[[], None]:
        """Return a function that restores the present state, if at most one batch is added in between."""
        self._owns_current = False
        kept = list(self.parts), self.current, self.pending, self.n_pending, self.part_rows
        n_blocks = len(self.pending)

        def restore() -> None:
            self.parts, self.current, self.pending, self.n_pending, self.part_rows = kept
            del self.pending[n_blocks:]
            self._owns_current = False

        return restore

    def parts_with_pending(self) -> list[Sums]:
        """Sums over all parts, with the pending rows in the last one; the accumulator is not changed."""
        self._owns_current = False
        parts = list(self.parts)
        last = [sums for sums in (self.current, self._sum_pending()) if sums is not None]
        return [*parts, merge_all(last)] if last else parts

    def _sum_pending(self) -> Sums | None:
        return sum_panel(self.join_pending(), self.pairs) if self.n_pending else None

    def join_pending(self) -> list[Any]:
        """Join the pending rows, which do not fill a panel yet, into one matrix per side."""
        return join_batches(self.pending)

    def _keep(self, sides: Sequence[Any], start: int, stop: int) -> None:
        if not all(is_finite(side[start:stop]) for side in sides):
            raise ValueError("rows must be finite, got NaN or infinity")
        # The rows are copied, because loaders may reuse their buffer.
        self.pending.append(tuple(_copy(side[start:stop]) for side in sides))
        self.n_pending += stop - start

    def _panel_size(self) -> int:
        return min(panel_rows(self.widths), self.part_rows)

    def _rows_until_growth(self) -> int:
        filled = 0 if self.current is None else self.current.n_rows
        return (self.most_parts() - len(self.parts)) * self.part_rows - filled

    def _add_panel(self, panel: Sums) -> None:
        if self.current is None:
            self.current = panel
        else:
            self.current = merge(self.current if self._owns_current else self.current.copy(), panel, in_place=True)
        self._owns_current = True
        if self.current.n_rows >= self.part_rows:
            self.parts.append(self.current)
            self.current = None
        if len(self.parts) >= self.most_parts():
            self.parts = _merge_neighbours(self.parts)
            self.part_rows *= 2

    def _sums_bytes(self) -> int:
        sides = [(width + 1) ** 2 for width in self.widths]
        return 8 * (sum(sides) + sum((self.widths[i] + 1) * (self.widths[j] + 1) for i, j in self.pairs))

    def most_parts(self) -> int:
        """Largest number of parts, which is smaller if each part takes much memory."""
        # The parts may take a quarter of the memory budget. Their number is even, so that neighbours can be merged in
        # pairs.
        room = memory.memory_budget() // 4 // max(1, self._sums_bytes())
        return int(np.clip(room // 2 * 2, FEWEST_PARTS, MOST_PARTS))

    def _panels_at_once(self) -> int:
        # For each thread, one result is being computed and one is waiting.
        return max(1, memory.memory_budget() // 4 // (4 * self._sums_bytes()))

    def _require_memory(self) -> None:
        widths = " and ".join(f"{width:,}" for width in self.widths)
        memory.require(
            (FEWEST_PARTS + 4) * self._sums_bytes(), f"sums of products of {widths} features", "use fewer features"
        )


def compact_parts(parts: Sequence[Sums], most: int) -> list[Sums]:
    """Merge neighbouring parts until there are at most `most` of them."""
    merged = list(parts)
    while len(merged) > most:
        merged = _merge_neighbours(merged)
    return merged


def leave_one_out(parts: Sequence[Sums], others: Sums | None = None) -> Iterator[Sums]:
    """For each part, yield the sum of all others, without subtraction, which would lose precision."""
    if len(parts) == 1:
        assert others is not None
        yield others
        return
    middle = len(parts) // 2
    for kept, left_out in ((parts[:middle], parts[middle:]), (parts[middle:], parts[:middle])):
        outside = merge_all(left_out)
        yield from leave_one_out(kept, outside if others is None else merge(others, outside))


def _merge_neighbours(parts: Sequence[Sums]) -> list[Sums]:
    return [merge_all(parts[i : i + 2]) for i in range(0, len(parts), 2)]


def join_batches(batches: Sequence[Sequence[Any]]) -> list[Any]:
    """Join the rows of consecutive batches into one matrix per side."""
    return list(batches[0]) if len(batches) == 1 else [concatenate(column) for column in zip(*batches, strict=True)]


def _copy(rows: Any) -> Any:
    if hasattr(rows, "clone"):
        return rows.clone()
    return rows.copy() if hasattr(rows, "copy") else np.array(rows)


def concatenate(blocks: Sequence[Any]) -> Any:
    """Concatenate rows, which may be NumPy arrays, arrays on one device, or sparse matrices."""
    first = blocks[0]
    if all(isinstance(block, np.ndarray) for block in blocks):
        return np.concatenate(blocks)
    if all(hasattr(block, "toarray") for block in blocks):
        from scipy.sparse import vstack

        return vstack(blocks)
    if all(stays(block) for block in blocks):
        return namespace(first).concat(list(blocks), axis=0)
    return np.concatenate([block.toarray() if hasattr(block, "toarray") else to_host(block) for block in blocks])
