"""Sums for all pairs of layers from two models, from one pass over batches of their activations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from shesha.kernels.threads import parallel
from shesha.moments.sums import (
    Meeting,
    Panel,
    Sums,
    check_batch,
    concatenate,
    join_blocks,
    require_finite,
    storage_rounding,
)
from shesha.support import memory, types as kinds
from shesha.support.thread_locks import Locked

_PANEL_ROWS = 1024
"""Number of rows that are summed together. With this many rows, adding to the totals takes little time."""
Layers = Mapping[str, Any]


class LayerMoments(Locked):
    """Means and products for all pairs of layers from two models, accumulated batch by batch.

    Activations are summed but not stored. Pass this object to `shesha.compare_layers` in place of the layers, for
    measures that depend only on means and products, such as CKA and CCA. The sums need 8 bytes for each pair of
    features in each pair of layers; 24 x 24 layers with 768 features need 2.7 GB.

    Examples
    --------
    >>> import shesha
    >>> rng = np.random.default_rng(0)
    >>> moments = LayerMoments()
    >>> for _ in range(20):
    ...     early = rng.standard_normal((64, 8))
    ...     late = early @ np.ones((8, 3)) + rng.standard_normal((64, 3))
    ...     moments.update({"early": early, "late": late}, {"only": 2 * late})
    >>> shesha.compare_layers(moments, "CKA").closest.first
    'late'
    """

    def __init__(self) -> None:
        super().__init__()
        self._names: tuple[tuple[str, ...], tuple[str, ...]] | None = None
        self._sums: Sums | None = None
        self._given: list[int] = []
        self._pending: list[list[Any]] = []
        self._n_pending = 0
        self._is_partial = False
        """Whether an update was interrupted while the sums were being changed, so that some pairs lack rows."""
        self.precisions: list[float] = []
        """Relative rounding error in each layer's input type: first the layers of the first model, then those of the
        second."""

    def update(self, first: Layers, second: Layers) -> None:
        """Add a batch, in which row i of every layer belongs to the same input.

        Several threads may add batches at the same time; the batches are then added one after another.

        Parameters
        ----------
        first, second : mappings of names to arrays of shape (n_rows, n_features)
            Layers of each model, with the same names in every batch.

        Raises
        ------
        ValueError
            If names, widths or numbers of rows do not match, or if entries are not finite; the batch is then not
            counted.
        RuntimeError
            If an earlier update was interrupted while it was changing the sums.
        """
        with self._lock:
            self._update(first, second)

    def _update(self, first: Layers, second: Layers) -> None:
        self._require_whole()
        kinds.mapping(first, "first")
        kinds.mapping(second, "second")
        names = tuple(map(str, first)), tuple(map(str, second))
        if not all(names):
            raise ValueError("batches must contain at least one layer of each model, got none")
        if self._names is not None and names != self._names:
            raise ValueError(f"layers must be {self._names}, as in earlier batches, got {names}")
        side_names = [*(f"first[{name}]" for name in names[0]), *(f"second[{name}]" for name in names[1])]
        sides = check_batch([*first.values(), *second.values()], side_names, self._given or None)
        require_finite(sides, side_names, len(self))
        if self._names is None:
            self._given = [int(side.shape[1]) for side in sides]
            self._require_memory(self._given, len(names[0]))
        self._names = names
        earlier = self.precisions or [0.0] * len(sides)
        self.precisions = [max(error, storage_rounding(side)) for error, side in zip(earlier, sides, strict=True)]
        # Loaders may reuse the buffer of an array.
        self._pending.append([side.copy() if isinstance(side, np.ndarray) else side for side in sides])
        self._n_pending += int(sides[0].shape[0])
        if self._n_pending >= _PANEL_ROWS:
            self._sum_pending()

    @property
    def first_names(self) -> tuple[str, ...]:
        """Names of the layers in the first model."""
        return () if self._names is None else self._names[0]

    @property
    def second_names(self) -> tuple[str, ...]:
        """Names of the layers in the second model."""
        return () if self._names is None else self._names[1]

    def sums(self) -> Sums:
        """Sums over all rows; the sides are the layers of the first model, then those of the second."""
        with self._lock:
            self._require_whole()
            self._sum_pending()
            if self._sums is None:
                raise ValueError("moments must have at least one row, got none; call update() first")
            return self._sums

    def __len__(self) -> int:
        """Return the number of rows that have been counted."""
        return self._n_pending + (0 if self._sums is None else self._sums.n_rows)

    def _sum_pending(self) -> None:
        if not self._n_pending:
            return
        columns = [concatenate(blocks) for blocks in zip(*self._pending, strict=True)]
        self._is_partial = True
        # Release the batches before the panels are built, because both together would need twice the memory.
        self._pending, self._n_pending = [], 0
        panels = list(parallel(Panel.build, columns))
        self._sums = self._start(panels) if self._sums is None else _absorb(self._sums, panels)
        self._is_partial = False

    def _require_whole(self) -> None:
        if self._is_partial:
            raise RuntimeError(
                "moments must contain complete updates only, got an interrupted update; start again with new "
                "LayerMoments"
            )

    def _start(self, panels: list[Panel]) -> Sums:
        pairs = list(product(range(len(self.first_names)), range(len(self.first_names), len(panels))))
        blocks = parallel(lambda pair: panels[pair[0]].products(panels[pair[1]]), pairs)
        cross = dict(zip(pairs, blocks, strict=True))
        return Sums(int(panels[0].z.shape[0]), tuple(panel.sums() for panel in panels), cross)

    @staticmethod
    def _require_memory(widths: list[int], n_first: int) -> None:
        need = grid_bytes(widths[:n_first], widths[n_first:])
        memory.require(
            need,
            f"sums of {n_first} x {len(widths) - n_first} pairs of layers",
            "compare fewer layers at a time",
        )


def grid_bytes(first: list[int], second: list[int]) -> int:
    """Bytes that the sums for all pairs of layers and one panel of rows need, given the layers' widths."""
    return 8 * (
        sum(first) * sum(second)
        + 2 * sum(width**2 for width in (*first, *second))
        + 2 * _PANEL_ROWS * sum((*first, *second))
    )


def _absorb(sums: Sums, panels: list[Panel]) -> Sums:
    """Add the panels to the sums in place, because a copy would need twice the memory."""
    n = int(panels[0].z.shape[0])
    sides = list(parallel(Panel.sums, panels))
    meetings = [Meeting.build(a, b, sums.n_rows, n) for a, b in zip(sums.sides, sides, strict=True)]

    def add(pair: tuple[int, int]) -> None:
        i, j = pair
        join_blocks(sums.cross[pair], panels[i].products(panels[j]), meetings[i], meetings[j], in_place=True)

    for _ in parallel(add, list(sums.cross)):
        pass
    joined = tuple(meeting.join_sides(a, b) for meeting, a, b in zip(meetings, sums.sides, sides, strict=True))
    return replace(sums, n_rows=sums.n_rows + n, sides=joined)
