"""Sums for all pairs of layers from two models, from one pass over batches of their activations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np

from shesha.inputs import validation as check
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
from shesha.support import memory
from shesha.support import types as kinds
from shesha.support.device_arrays import convert_like, doubles, is_numpy, stays
from shesha.support.seeds import draw_seed
from shesha.support.thread_locks import Locked
from shesha.support.types import Matrix, Seed

FEWEST_DIRECTIONS = 32
"""Smallest number of directions. The error is estimated by leaving out groups of directions."""


@dataclass(frozen=True)
class RandomProjection:
    """Random normal directions, drawn separately for each model; inner products are right on average."""

    n_directions: int
    seed: int
    _matrices: dict[tuple[int, int], Matrix] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def build(cls, project: int | None, seed: Seed) -> RandomProjection | None:
        """Check the requested number of directions, and draw the seed; None means no projection."""
        if project is None:
            return None
        return cls(check.count(project, "project", minimum=FEWEST_DIRECTIONS), draw_seed(seed))

    def applies(self, width: int) -> bool:
        """Whether a layer has more features than there are directions."""
        return width > self.n_directions

    def width(self, width: int) -> int:
        """Number of columns that a layer of this width has after projection."""
        return min(width, self.n_directions)

    def project(self, rows: Any, model: int) -> Any:
        """Project the rows of a layer of the first (0) or second (1) model; narrow layers are returned as is."""
        if not self.applies(int(rows.shape[1])):
            return rows
        directions = self._directions(model, int(rows.shape[1]))
        if hasattr(rows, "toarray"):
            return np.asarray(rows @ directions)
        if is_numpy(rows) or not stays(rows):
            return np.asarray(rows, dtype=np.float64) @ directions
        return doubles(rows) @ convert_like(directions, rows)

    def _directions(self, model: int, width: int) -> Matrix:
        """Return the directions shared by all layers of this width in one model."""
        if (model, width) not in self._matrices:
            rng = np.random.default_rng([self.seed, model, width])
            drawn = rng.standard_normal((width, self.n_directions)) / np.sqrt(self.n_directions)
            self._matrices[model, width] = drawn
        return self._matrices[model, width]


_PANEL_ROWS = 1024
"""Number of rows that are summed together. With this many rows, adding to the totals takes little time."""
Layers = Mapping[str, Any]


class LayerMoments(Locked):
    """Means and products for all pairs of layers from two models, accumulated batch by batch.

    Activations are summed but not stored. Pass this object to `shesha.compare_layers` in place of the layers, for
    measures that depend only on means and products, such as CKA and CCA. The sums need 8 bytes for each pair of
    features in each pair of layers; 24 x 24 layers with 768 features need 2.7 GB.

    Parameters
    ----------
    project : int, optional
        Number of random directions onto which layers with more features are projected. Kernel alignments (CKA) are then
        unbiased estimates with a standard error; other measures raise an error. By default, nothing is projected.
    seed : int, Generator or None
        Seed for the random directions.

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

    def __init__(self, *, project: int | None = None, seed: Seed = 0) -> None:
        super().__init__()
        self.projection = RandomProjection.build(project, seed)
        self.projected: list[bool] = []
        """Whether each layer was projected: first the layers of the first model, then those of the second."""
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
            self._set_widths([int(side.shape[1]) for side in sides], len(names[0]))
        self._names = names
        earlier = self.precisions or [0.0] * len(sides)
        self.precisions = [max(error, storage_rounding(side)) for error, side in zip(earlier, sides, strict=True)]
        self._pending.append([self._keep(side, place >= len(names[0])) for place, side in enumerate(sides)])
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

    def width(self, n_features: int) -> int:
        """Number of columns that a layer has after a possible projection."""
        return n_features if self.projection is None else self.projection.width(n_features)

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

    def _keep(self, side: Any, second: bool) -> Any:
        """Project wide layers; return a copy of other NumPy arrays, because loaders may reuse the buffer."""
        if self.projection is not None and self.projection.applies(int(side.shape[1])):
            return self.projection.project(side, int(second))
        return side.copy() if isinstance(side, np.ndarray) else side

    def _set_widths(self, widths: list[int], n_first: int) -> None:
        kept = [self.width(width) for width in widths]
        self._require_memory(kept, n_first)
        self._given = widths
        self.projected = [width > after for width, after in zip(widths, kept, strict=True)]

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
            "compare fewer layers at a time, or pass project=512",
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
