"""Counts, means and products over the rows of several representations, also in parts for the jackknife.

Where panels and parts begin depends only on row numbers. Therefore the sums are bit-for-bit equal for all batch sizes
and numbers of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from itertools import combinations
from typing import Any

import numpy as np

from shesha.inputs import validation as check
from shesha.kernels.rounding_and_scaling import length_unit
from shesha.kernels.threads import parallel
from shesha.nulls.dependence import DiagnosticRows, find_dependence
from shesha.support import memory
from shesha.support.device_arrays import (
    convert_like,
    doubles,
    is_numpy,
    largest,
    namespace,
    squared_lengths,
    stays,
    to_dense,
    to_host,
)
from shesha.support.memory import memory_budget
from shesha.support.types import Array, Matrix, Vector


def batch_sides(batch: Any) -> list[Any]:
    """Return the matrices in a loader's batch, which may be a tuple, a list or a mapping of columns."""
    if isinstance(batch, Mapping):
        return list(batch.values())
    if isinstance(batch, tuple | list):
        return list(batch)
    raise TypeError(f"a batch must be a tuple (x, y) or a dict of matrices, got {type(batch).__name__}")


def check_batch(sides: Sequence[Any], names: Sequence[str], widths: Sequence[int] | None) -> list[Any]:
    """Check a batch, and return it as matrices of numbers on their devices.

    Raises
    ------
    TypeError
        If a matrix does not contain real numbers.
    ValueError
        If a matrix is not 2-D, or if its width differs from earlier batches or its number of rows from the first
        matrix.
    """
    sides_as_matrices = [_as_matrix(side, name) for side, name in zip(sides, names, strict=True)]
    for place, (side, name) in enumerate(zip(sides_as_matrices, names, strict=True)):
        if widths is not None and side.shape[1] != widths[place]:
            raise ValueError(
                f"{name} must have {widths[place]} features, as in earlier batches, got {side.shape[1]}; this batch "
                "was not added"
            )
        if side.shape[0] != sides_as_matrices[0].shape[0]:
            raise ValueError(
                f"{name} must have as many rows as {names[0]} ({sides_as_matrices[0].shape[0]}), got "
                f"{side.shape[0]}; this batch was not added"
            )
    return sides_as_matrices


def require_finite(sides: Sequence[Any], names: Sequence[str], first_row: int) -> None:
    """Raise an error for NaN and infinity; `first_row` is the position of the batch in the stream."""
    for side, name in zip(sides, names, strict=True):
        if not is_finite(side):
            rows = np.flatnonzero(~np.isfinite(to_dense(side)).all(axis=1))
            raise ValueError(
                f"{name} must be finite, got NaN or infinity in rows {check.join_items(rows.tolist())} of the batch "
                f"that begins at row {first_row:,}; this batch was not added"
            )


def storage_rounding(side: Any) -> float:
    """Relative rounding error that the data type of a matrix implies."""
    kind = str(side.dtype).rpartition(".")[2]
    return {"float16": 2.0**-10, "float32": 2.0**-23, "bfloat16": 2.0**-23}.get(kind, 2.0**-52)


def _as_matrix(side: Any, name: str) -> Any:
    if not (stays(side) or hasattr(side, "toarray")):
        side = to_host(side, name)
    shape = tuple(side.shape)
    check.shape(shape, name, 0, 1)
    if hasattr(side, "tocsr"):
        side = side.tocsr()
    kind = side.dtype.kind if hasattr(side.dtype, "kind") else "f" if _is_real_on_device(side) else "c"
    if kind not in "fiub":
        raise TypeError(f"{name} must be a matrix of real numbers, got an array of dtype {side.dtype}")
    return side


def _is_real_on_device(side: Any) -> bool:
    return bool(namespace(side).isdtype(side.dtype, ("real floating", "integral", "bool")))


def is_finite(side: Any) -> bool:
    """Whether no entry is NaN or infinite."""
    if hasattr(side, "toarray"):
        return bool(np.isfinite(side.data).all())
    if is_numpy(side):
        return side.dtype.kind != "f" or bool(np.isfinite(side).all())
    xp = namespace(side)
    return not xp.isdtype(side.dtype, "real floating") or bool(xp.all(xp.isfinite(side)))


class FirstRows:
    """The first rows of a stream, in which dependence between rows is looked for, because sums no longer show it."""

    def __init__(self, signs: str = "") -> None:
        self._signs = signs
        self._batches: list[list[Array]] = []
        self._n_rows = _FIRST_ROWS if signs else 0

    def add(self, sides: Sequence[Any]) -> None:
        """Keep the rows of a batch until there are enough."""
        n = min(_FIRST_ROWS - self._n_rows, sides[0].shape[0])
        if n > 0:
            self._batches.append([np.array(to_dense(side[:n])) for side in sides])
            self._n_rows += n

    @property
    def signs(self) -> str:
        """What shows that rows depend on one another; empty if nothing does."""
        if self._batches:
            sides = [np.concatenate(parts) for parts in zip(*self._batches, strict=True)]
            self._signs = find_dependence([DiagnosticRows(side) for side in sides], screened=True).signs
            if self._n_rows == _FIRST_ROWS:
                self._batches = []
        return self._signs


_FIRST_ROWS = 512


_ENTRIES_AT_ONCE = 1 << 13
"""Number of entries of an outer product per step; few enough to stay in the cache and to reuse one buffer."""


@dataclass(frozen=True)
class SideSums:
    """Sums over one representation: its mean row, and the products of its centred rows.

    The mean row is origin + unit * offset. The origin is near the data, so that the offset is precise even for features
    far from zero.
    """

    origin: Vector
    offset: Vector
    unit: float
    """Unit of `offset` and `products`: a power of two, or 1 unless squares would leave the range of doubles."""
    products: Matrix
    """Products of the d centred features and, last, the centred squared length: (d + 1) x (d + 1)."""

    @property
    def n_features(self) -> int:
        """Number of columns of the representation."""
        return len(self.origin)

    @property
    def features(self) -> Matrix:
        """Products of the centred features, which are n times their covariance."""
        return self.products[:-1, :-1]

    @property
    def squared_norm(self) -> float:
        """Sum of the squared lengths of the centred rows."""
        return float(np.trace(self.features))

    @property
    def mean(self) -> Vector:
        """The mean row."""
        return self.origin + self.unit * self.offset


@dataclass(frozen=True)
class Sums:
    """Sums over n rows of several representations of the same inputs."""

    n_rows: int
    sides: tuple[SideSums, ...]
    cross: dict[tuple[int, int], Matrix]
    """For each pair of sides to be compared, the products of the columns of z of both sides."""

    def cross_products(self, first: int, second: int) -> Matrix:
        """Products of z between two sides, in either order, or of one side with itself."""
        if first == second:
            return self.sides[first].products
        block = self.cross.get((first, second))
        return self.cross[second, first].T if block is None else block

    def copy(self) -> Sums:
        """Return an independent copy of the sums."""
        sides = tuple(replace(side, products=side.products.copy()) for side in self.sides)
        return Sums(self.n_rows, sides, {pair: block.copy() for pair, block in self.cross.items()})


def merge(first: Sums, second: Sums, *, in_place: bool = False) -> Sums:
    """Return the sums over the rows of both arguments; `in_place` overwrites both."""
    meetings = [
        Meeting.build(a, b, first.n_rows, second.n_rows) for a, b in zip(first.sides, second.sides, strict=True)
    ]
    sides = tuple(
        meeting.join_sides(a, b, in_place=in_place)
        for meeting, a, b in zip(meetings, first.sides, second.sides, strict=True)
    )
    cross = {
        (i, j): join_blocks(block, second.cross[i, j], meetings[i], meetings[j], in_place=in_place)
        for (i, j), block in first.cross.items()
    }
    return Sums(first.n_rows + second.n_rows, sides, cross)


@dataclass(frozen=True)
class Meeting:
    """The shifts and scales that combine one side's sums over two sets of rows."""

    weight: float
    unit: float
    ratios: tuple[float, float]
    """Units of the two sets of rows, each divided by the common unit."""
    moves: tuple[Vector, Vector]
    """Vectors from the common mean row to the mean row of each set."""
    step: Vector
    """Difference between the two means of z, relative to the common mean row."""

    @classmethod
    def build(cls, a: SideSums, b: SideSums, n_a: int, n_b: int) -> Meeting:
        """Compute the shifts and scales for one side over two sets of rows."""
        unit = max(a.unit, b.unit)
        ratios = a.unit / unit, b.unit / unit
        gap = (b.origin - a.origin) / unit + (b.offset * ratios[1] - a.offset * ratios[0])
        n = n_a + n_b
        moves = -gap * (n_b / n), gap * (n_a / n)
        lengths = [
            side.squared_norm * ratio**2 / rows + float(move @ move)
            for side, ratio, rows, move in zip((a, b), ratios, (n_a, n_b), moves, strict=True)
        ]
        return cls(n_a * (n_b / n), unit, ratios, moves, np.append(gap, lengths[1] - lengths[0]))

    def join_sides(self, a: SideSums, b: SideSums, *, in_place: bool = False) -> SideSums:
        """Combine one side's sums over both sets of rows."""
        products = join_blocks(a.products, b.products, self, self, in_place=in_place)
        return SideSums(a.origin, a.offset * self.ratios[0] - self.moves[0], self.unit, products)


def join_blocks(first: Matrix, second: Matrix, row: Meeting, column: Meeting, *, in_place: bool = False) -> Matrix:
    """Combine products of two sides over both sets of rows; `in_place` overwrites both, returns the first."""
    total, other = (first, second) if in_place else (first.copy(), second.copy())
    for place, block in enumerate((total, other)):
        _rescale(block, row.ratios[place], column.ratios[place])
        shift_means(block, row.moves[place], column.moves[place])
    total += other
    add_outer_product(total, row.weight * row.step, column.step)
    return total


def add_outer_product(block: Matrix, column: Vector, row: Vector) -> None:
    """Add the outer product of two vectors to a block, in place."""
    n_rows = min(len(column), max(16, _ENTRIES_AT_ONCE // len(row)))
    # One buffer serves all steps: Dask workers return freed memory to the system, and allocating it again takes time.
    room = np.empty((n_rows, len(row)))
    for start in range(0, len(column), n_rows):
        some = column[start : start + n_rows, np.newaxis]
        block[start : start + n_rows] += np.multiply(some, row, out=room[: len(some)])


def merge_all(parts: Sequence[Sums]) -> Sums:
    """Return the sums over the rows of all parts."""
    return reduce(merge, parts)


def _rescale(block: Matrix, row: float, column: float) -> None:
    """Change the unit of z in place; its last entry is a square and scales accordingly."""
    if row == 1 and column == 1:
        return
    block *= row * column
    block[-1] *= row
    block[:, -1] *= column


def shift_means(block: Matrix, first: Vector, second: Vector) -> None:
    """Shift both mean rows in place; |x + s|^2 is |x|^2 + 2 s'x plus a constant that centring removes."""
    block[-1] += 2 * (first @ block[:-1])
    block[:, -1] += 2 * (block[:, :-1] @ second)


_ENTRIES = 1 << 20
"""Number of values in a block of rows; 8 MB in double precision."""
_BLOCKS = 4
"""Number of blocks per panel. The blocks of a panel are summed before the result is added to the totals."""
_MOST_TOGETHER = 2048
"""Largest total number of features for which a single product covers all sides."""
_PILOT_ROWS = 32
"""Number of rows whose mean is subtracted before products are computed. It is close enough to the panel's mean to
preserve all digits."""
_SAFE = 2.0**400
"""Largest squared length that is used without a change of unit; its inverse is the smallest."""
Pairs = Collection[tuple[int, int]]


def panel_rows(widths: Sequence[int]) -> int:
    """Number of rows in a panel: a power of two, so large that adding to the totals takes little time."""
    return _block_rows(widths) * (_BLOCKS if sum(widths) <= _MOST_TOGETHER else 1)


def _block_rows(widths: Sequence[int]) -> int:
    width = sum(widths) + len(widths)
    rows = max(_ENTRIES // width, width // 2, 64)
    return int(1 << (int(rows).bit_length() - 1))


def all_pairs(n_sides: int) -> list[tuple[int, int]]:
    """All pairs of different sides; the products of a side with itself are in its `SideSums`."""
    return list(combinations(range(n_sides), 2))


def sum_panel(sides: Sequence[Any], pairs: Pairs) -> Sums:
    """Sum over some rows of equally long matrices, which may be NumPy arrays, sparse, or on a device.

    Raises
    ------
    ValueError
        If an entry is NaN or infinite.
    """
    arrays = [_as_array(side) for side in sides]
    if all(map(is_numpy, arrays)) and len(pairs) == len(all_pairs(len(arrays))):
        together = _sum_in_one_product(arrays, pairs)
        if together is not None:
            return together
    panels = [Panel.build(side) for side in arrays]
    cross = {(i, j): panels[i].products(panels[j]) for i, j in pairs}
    sums = Sums(int(sides[0].shape[0]), tuple(panel.sums() for panel in panels), cross)
    for panel in panels:
        _recycle(panel.z)
    return sums


def _sum_in_one_product(arrays: Sequence[Array], pairs: Pairs) -> Sums | None:
    """Compute the sums for all pairs of sides from one symmetric product of their joined columns.

    Returns None if there are too many columns, or if squares would overflow or underflow.
    """
    n, widths = int(arrays[0].shape[0]), [int(side.shape[1]) for side in arrays]
    if sum(widths) > _MOST_TOGETHER:
        return None
    ends = np.cumsum([width + 1 for width in widths]).tolist()
    columns = [slice(end - width - 1, end) for end, width in zip(ends, widths, strict=True)]
    pilots = [_pilot_row(side) for side in arrays]
    size, width = min(n, _block_rows(widths)), ends[-1]
    room = _allocate_panel((size + 2 * width, width))
    block, product, products = np.split(room, [size, size + width])
    total = _add_blocks(arrays, pilots, columns, block, product, products)
    sums = None
    if total is not None:
        means = [total[span] / n for span in columns]

        def about_means(i: int, j: int) -> Matrix:
            return _about_means(products[columns[i], columns[j]].copy(), n, means[i], means[j])

        sides = [SideSums(pilots[i], means[i][:-1], 1.0, about_means(i, i)) for i in range(len(arrays))]
        sums = Sums(n, tuple(sides), {(i, j): about_means(i, j) for i, j in pairs})
    _recycle(room)
    return sums


def _add_blocks(
    arrays: Sequence[Array],
    pilots: Sequence[Vector],
    columns: Sequence[slice],
    block: Matrix,
    product: Matrix,
    products: Matrix,
) -> Vector | None:
    """Add the products of all columns of z to `products`, and return the sum of z; None on overflow."""
    products[:] = 0
    total, ones = np.zeros(len(products)), np.ones(len(block))
    lengths = [span.stop - 1 for span in columns]
    for start in range(0, len(arrays[0]), len(block)):
        z = block[: len(arrays[0]) - start]
        for side, pilot, span in zip(arrays, pilots, columns, strict=True):
            squares = _subtract(side[start : start + len(block)], pilot, z[:, span])
            if not _is_safe(squares, z[:, span][:, :-1]):
                return None
            z[:, span.stop - 1] = squares
        if start == 0:
            # Lengths lose no digits if they are taken relative to the mean of the first block.
            middles = z[:, lengths].mean(axis=0)
        z[:, lengths] -= middles
        products += np.matmul(z.T, z, out=product)
        total += ones[: len(z)] @ z
    return total


@dataclass(frozen=True)
class Panel:
    """Rows minus a pilot row, and their squared lengths as a last column, both approximately centred."""

    z: Any
    pilot: Vector
    unit: float
    mean: Vector
    """Mean row of z."""

    @classmethod
    def build(cls, side: Any) -> Panel:
        """Prepare a panel of rows from one representation."""
        rows = _as_array(side)
        z, pilot, unit = _centre(rows) if is_numpy(rows) else _centre_on_device(doubles(rows))
        ones = convert_like(np.ones(z.shape[0]), z)
        return cls(z, pilot, unit, to_host(ones @ z) / z.shape[0])

    def products(self, other: Panel) -> Matrix:
        """Products of this side's z with another side's z, both centred on their means in the panel."""
        return _about_means(to_host(self.z.T @ other.z), self.z.shape[0], self.mean, other.mean)

    def sums(self) -> SideSums:
        """Sums over the panel for this side alone."""
        return SideSums(self.pilot, self.mean[:-1], self.unit, self.products(self))


def _about_means(products: Matrix, n_rows: int, first: Vector, second: Vector) -> Matrix:
    """Convert products about pilot rows to products about mean rows, in place; the vectors are means of z."""
    add_outer_product(products, -(n_rows * first), second)
    shift_means(products, -first[:-1], -second[:-1])
    return products


_spare: list[Array] = []
"""Memory of finished panels, for reuse. Allocating new memory takes as long as the products of narrow matrices."""


def _allocate_panel(shape: tuple[int, int]) -> Matrix:
    size = shape[0] * shape[1]
    try:
        spare = _spare.pop()
    except IndexError:
        spare = np.empty(0)
    if spare.size < size:
        spare = np.empty(size)
    return spare[:size].reshape(shape)


def _recycle(z: Any) -> None:
    """Keep the memory of a panel for later panels, within a small share of the memory budget."""
    if is_numpy(z) and (len(_spare) + 1) * z.base.nbytes <= memory_budget() // 32:
        _spare.append(z.base)


def _as_array(side: Any) -> Any:
    if hasattr(side, "toarray"):
        return side.toarray()
    return side if stays(side) else to_host(side)


def _centre(rows: Array) -> tuple[Matrix, Vector, float]:
    pilot = _pilot_row(rows)
    z = _allocate_panel((rows.shape[0], rows.shape[1] + 1))
    moved = z[:, :-1]
    lengths = _subtract(rows, pilot, z)
    unit = 1.0
    if not _is_safe(lengths, moved):
        _require_finite(rows)
        _require_near(moved)
        unit = length_unit(moved)
        moved /= unit
        lengths = np.einsum("ij,ij->i", moved, moved)
    z[:, -1] = lengths - lengths.mean()
    return z, pilot, unit


def _subtract(rows: Array, pilot: Vector, z: Matrix) -> Vector:
    """Write rows minus the pilot row into all but the last column of z, and return their squared lengths."""
    moved = z[:, :-1]
    # `dtype` makes NumPy convert integers and single precision before the subtraction.
    with np.errstate(invalid="ignore", over="ignore"):
        # Infinity raises an error later.
        np.subtract(rows, pilot, out=moved, dtype=np.float64)
        return np.asarray(np.einsum("ij,ij->i", moved, moved))


def _centre_on_device(rows: Any) -> tuple[Any, Vector, float]:
    xp = namespace(rows)
    pilot = _pilot_row(to_host(rows[:: max(1, rows.shape[0] // _PILOT_ROWS), :]))
    moved = rows - convert_like(pilot, rows)
    lengths = squared_lengths(moved)
    unit = 1.0
    if not _is_safe(to_host(lengths), moved):
        _require_finite(to_host(rows))
        _require_near(to_host(moved))
        unit = length_unit(moved)
        moved = moved / unit
        lengths = squared_lengths(moved)
    lengths = lengths - xp.mean(lengths)
    return xp.concat([moved, xp.reshape(lengths, (-1, 1))], axis=1), pilot, unit


def _pilot_row(rows: Array) -> Vector:
    chosen = rows[:: max(1, rows.shape[0] // _PILOT_ROWS)].astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        # The mean is taken relative to the first row, so that the mean of equal rows is exact.
        return np.asarray(chosen[0] + (chosen - chosen[0]).mean(axis=0))


def _is_safe(lengths: Vector, moved: Any) -> bool:
    """Return whether the squares of the squared lengths of rows stay within the range of doubles."""
    top = float(lengths.max())
    # The squares of tiny numbers vanish.
    return not largest(moved) if top == 0 else 1 / _SAFE < top < _SAFE


def _require_finite(rows: Array) -> None:
    if not np.isfinite(rows).all():
        raise ValueError("rows must be finite, got NaN or infinity")


def _require_near(moved: Array) -> None:
    if not np.isfinite(moved).all():
        raise ValueError(f"rows must differ by less than {np.finfo(float).max:.1e}, got larger differences")


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
            size = min(panel_rows(self.widths), self.part_rows)
            filled = 0 if self.current is None else self.current.n_rows
            until_growth = (self.most_parts() - len(self.parts)) * self.part_rows - filled
            # Number of whole panels before the panel size changes.
            count = min((self.n_pending + n - start) // size, max(1, until_growth // size))
            if not count:
                self._keep(sides, start, n)
                return
            starts = range(start - self.n_pending, start - self.n_pending + count * size, size)
            work = partial(self._sum_rows, sides, size, start)
            # For each thread, one result is being computed and one is waiting.
            at_once = max(1, memory.memory_budget() // 4 // (4 * self._sums_bytes()))
            for panel in parallel(work, starts, at_once=at_once):
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
    return np.concatenate([to_dense(block) for block in blocks])
