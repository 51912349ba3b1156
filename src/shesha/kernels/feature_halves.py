"""Distances of all pairs of rows in two halves of the features: frames, ranks, correlations, subsets, bootstrap."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from queue import SimpleQueue
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular

from shesha.inputs import validation as check
from shesha.kernels import native, ranks, sorting
from shesha.kernels.distances import PANEL, Metric, condensed_distances, distance_rounding, n_pairs, standard_rows
from shesha.kernels.sorting import Ordering, order_values
from shesha.kernels.threads import n_threads, parallel, single_threaded_blas
from shesha.support import memory as memory
from shesha.support.types import Index, Mask, Matrix, Vector
from shesha.support.warnings import NotEstimable

_LARGE = 256
"""Smallest number of dimensions for which matrix products are faster than reflections."""


class Axes:
    """Halves of the unrotated features, transposed to (features, rows); each draw is a permutation of the features."""

    copies = 1
    """Number of copies of the rows that a draw makes."""

    def __init__(self, rows: Matrix) -> None:
        # Features are stored contiguously, so that selecting half of them copies whole blocks.
        self.columns = np.ascontiguousarray(rows.T)

    def halves(self, draw: object) -> tuple[Matrix, Matrix]:
        """Take the first d // 2 features of the permutation, and the remaining features."""
        assert isinstance(draw, np.ndarray)
        half = len(draw) // 2
        return self.columns[draw[:half]], self.columns[draw[half:]]


class Rotations:
    """Halves of the features after a random rotation, transposed as well; each draw is a random generator.

    The rows are first expressed in their principal axes, with signs determined by the rows. A rotated or reflected copy
    of the data has the same coordinates, so the same seed gives both copies the same score.
    """

    copies = 2

    def __init__(self, rows: Matrix) -> None:
        self.n_features = rows.shape[1]
        self.coordinates = principal_coordinates(rows)

    def halves(self, draw: object) -> tuple[Matrix, Matrix]:
        """Rotate the rows by a Haar-random matrix and split the rotated features."""
        assert isinstance(draw, np.random.Generator)
        basis = haar_columns(self.n_features, self.coordinates.shape[1], draw)
        rotated = basis @ self.coordinates.T
        half = self.n_features // 2
        return rotated[:half], rotated[half:]


Frame = Axes | Rotations


def principal_coordinates(rows: Matrix) -> Matrix:
    """Express rows in their uncentred principal axes: an isometric copy with at most min(n, d) columns."""
    if rows.shape[0] < rows.shape[1]:
        # With fewer rows than features, the triangular factor preserves the inner products in only n columns.
        rows = np.asarray(np.linalg.qr(rows.T, mode="r")).T
    _, axes = np.linalg.eigh(rows.T @ rows)
    coordinates = rows @ axes[:, ::-1]
    largest = np.abs(coordinates).argmax(axis=0)
    signs = np.sign(coordinates[largest, np.arange(coordinates.shape[1])])
    return np.ascontiguousarray(coordinates * np.where(signs == 0, 1.0, signs))


def haar_columns(n: int, r: int, rng: np.random.Generator) -> Matrix:
    """Draw r orthonormal columns in n dimensions uniformly (Mezzadri 2007: fix the signs of R)."""
    drawn = rng.standard_normal((n, r))
    if n >= _LARGE and 2 * r <= n:
        # A matrix with so few columns is well conditioned (about 6), so Cholesky gives the same result in a third of
        # the time.
        triangle = cholesky(drawn.T @ drawn, check_finite=False)
        return np.asarray(solve_triangular(triangle, drawn.T, trans=1, overwrite_b=True, check_finite=False).T)
    q, triangle = np.linalg.qr(drawn)
    return np.asarray(q * np.where(np.diagonal(triangle) < 0, -1.0, 1.0))


Result = TypeVar("Result")

DENSE_ROWS = 4096
"""Largest number of rows for which full Gram matrices are stored; with more rows, halves are computed in panels."""
_DIRECT = 1 / 16
"""If the second half has less than this share of a row's squared length, subtraction would lose precision there."""


@dataclass(frozen=True)
class Closeness:
    """Closeness (larger means closer) of all pairs i < j in both halves, with work memory."""

    first: Vector
    second: Vector
    scratch: Vector
    directed: Mask | None
    """Rows that have a direction in both halves; None if all rows have one."""

    def defined_pairs(self) -> Mask | None:
        """Mask of the pairs whose distance is defined in both halves; None if all are."""
        if self.directed is None:
            return None
        i, j = np.triu_indices(len(self.directed), k=1)
        return self.directed[i] & self.directed[j]


Use = Callable[[Closeness], Result]


class DenseHalves:
    """Halves that share one Gram matrix: a draw computes one half, because the two add up to the matrix."""

    def __init__(self, rows: Matrix, metric: Metric, frame: Frame) -> None:
        n, pairs = len(rows), n_pairs(len(rows))
        shared, each = 8 * (n * n + pairs + rows.size), 8 * (2 * n * n + 3 * pairs + frame.copies * rows.size)
        workers = min(n_threads(), max(1, (memory.memory_budget() - shared) // each))
        memory.require(
            8 * (2 * n * n + workers * (2 * n * n + 3 * pairs)), f"the pairs of {n:,} rows", "pass pairs=1_000_000"
        )
        self.metric: Metric = metric
        self.frame = frame
        self.gram = _gram(rows)
        i, j = np.triu_indices(n, k=1)
        self._upper = i * n + j
        # Work memory is reused, because allocating new memory pages takes as long as filling them. It limits the number
        # of partitions in progress.
        self._free: SimpleQueue[tuple[Matrix, Matrix, Matrix]] = SimpleQueue()
        for _ in range(workers):
            self._free.put((np.empty((n, n)), np.empty((n, n)), np.empty((3, pairs))))

    def visit(self, draw: object, use: Use[Result]) -> Result:
        """Compute the closeness values for one draw and pass them to `use`, which may overwrite them."""
        memory = self._free.get()
        try:
            return use(self._closeness(*self.frame.halves(draw), *memory))
        finally:
            self._free.put(memory)

    def _closeness(self, first: Matrix, second: Matrix, gram_1: Matrix, gram_2: Matrix, out: Matrix) -> Closeness:
        (first, mean_1), (second, mean_2) = _centred(first, self.metric), _centred(second, self.metric)
        np.matmul(first.T, first, out=gram_1)
        length_1, length_2 = (_squared_lengths(half, self.metric) for half in (first, second))
        few = np.flatnonzero(length_2 < _DIRECT * np.diagonal(self.gram))
        directed = _unless_all((length_1 > 0) & (length_2 > 0), self.metric)
        if native.is_available() and not len(few):
            directional = self.metric != "euclidean"
            scales = [_inverse_lengths(length) if directional else length for length in (length_1, length_2)]
            form = mean_1, mean_2, float(len(first)), float(len(second)), int(directional)
            native.call("shesha_halves", len(gram_1), self.gram, gram_1, *form, *scales, out[0], out[1])
            return Closeness(out[0], out[1], out[2], directed)
        np.subtract(self.gram, gram_1, out=gram_2)
        for size, mean in ((len(first), mean_1), (len(second), mean_2)):
            if mean is not None:
                gram_2 -= np.multiply.outer(size * mean, mean)
        if len(few):
            # Subtraction would lose precision in these rows.
            rows = second[:, few].T @ second
            gram_2[few] = rows
            gram_2[:, few] = rows.T
        self._take_upper(gram_1, length_1, out[0])
        self._take_upper(gram_2, length_2, out[1])
        return Closeness(out[0], out[1], out[2], directed)

    def _take_upper(self, gram: Matrix, squared_length: Vector, out: Vector) -> None:
        if self.metric == "euclidean":
            gram *= 2.0
            gram -= squared_length[:, None]
            gram -= squared_length[None, :]
        else:
            scale = _inverse_lengths(squared_length)
            gram *= scale[:, None]
            gram *= scale[None, :]
        np.take(gram.ravel(), self._upper, out=out, mode="clip")


class PanelHalves:
    """Halves for many rows, each computed separately, panel by panel, without a square matrix."""

    def __init__(self, rows: Matrix, metric: Metric, frame: Frame) -> None:
        memory.require(24 * n_pairs(len(rows)), f"the pairs of {len(rows):,} rows", "pass pairs=1_000_000")
        self.metric: Metric = metric
        self.frame = frame

    def visit(self, draw: object, use: Use[Result]) -> Result:
        """Compute the closeness values for one draw and pass them to `use`, which may overwrite them."""
        rows = [standard_rows(half.T, self.metric) for half in self.frame.halves(draw)]
        first, second = (np.negative(condensed_distances(half, self.metric, squared=True)) for half in rows)
        directed = _unless_all(np.logical_and(rows[0].any(axis=1), rows[1].any(axis=1)), self.metric)
        return use(Closeness(first, second, np.empty_like(first), directed))


def halves(rows: Matrix, metric: Metric, frame: Frame) -> DenseHalves | PanelHalves:
    """Choose the algorithm by the number of rows alone, so that the available memory has no influence."""
    return (DenseHalves if len(rows) <= DENSE_ROWS else PanelHalves)(rows, metric, frame)


class UndirectedHalfError(NotEstimable):
    """Raised if some rows have no direction within one half of the features."""

    def __init__(self, rows: Index, metric: Metric) -> None:
        super().__init__(rows, metric)
        self.rows, self.metric = rows, metric

    def __str__(self) -> str:
        """Name the rows that have no direction."""
        return f"rows without a direction within a half of the features: {check.join_items(self.rows)}"


def require_directed(found: Closeness, metric: Metric) -> None:
    """Raise an error if some rows have no direction in a half."""
    if found.directed is not None:
        raise UndirectedHalfError(np.flatnonzero(~found.directed), metric)


def correlation(found: Closeness, level: float, metric: Metric) -> float:
    """Rank correlation of the halves' distances (overwritten); NaN if all distances in a half are equal."""
    require_directed(found, metric)
    return ranks.spearman(found.first, found.second, (level, level), found.scratch)


def _gram(rows: Matrix) -> Matrix:
    gram = np.empty((len(rows), len(rows)))

    def fill(start: int) -> None:
        block = rows[start : start + PANEL] @ rows[start:].T
        gram[start : start + PANEL, start:] = block
        gram[start:, start : start + PANEL] = block.T

    for _ in parallel(fill, range(0, len(rows), PANEL)):
        pass
    return gram


def _unless_all(rows: Mask, metric: Metric) -> Mask | None:
    return None if metric == "euclidean" or rows.all() else rows


def _centred(half: Matrix, metric: Metric) -> tuple[Matrix, Vector | None]:
    """Subtract each row's mean over the half's features (rows of the data are stored as columns here)."""
    if metric != "correlation":
        return half, None
    mean = half.mean(axis=0)
    return half - mean, mean


def _squared_lengths(half: Matrix, metric: Metric) -> Vector:
    lengths = np.einsum("ij,ij->j", half, half)
    if metric == "correlation":
        # Rows have unit length, so whatever remains of a constant row after centring is a rounding error.
        lengths[lengths <= len(half) * np.finfo(float).eps ** 2] = 0.0
    return np.asarray(lengths)


def _inverse_lengths(squared: Vector) -> Vector:
    positive = squared > 0
    return np.asarray(np.where(positive, 1.0 / np.sqrt(np.where(positive, squared, 1.0)), 0.0))


Cells = NDArray[np.int32]

CELLS = 128
"""Number of cells along each axis of the rank table. With this size, the tables for 16 resamples fit in the cache."""
_TOGETHER = 16
_BLOCK = 1 << 17
COMPILED_TOGETHER = 16
"""Number of resamples that the compiled loops (cells.c) process together."""
UNDEFINED = CELLS * CELLS
"""Cell number assigned to pairs whose distance is undefined."""


def row_counts(n_rows: int, n_resamples: int, rng: np.random.Generator) -> Matrix:
    """Draw resamples of n_rows rows with replacement: the count of each row, one column per resample."""
    draws = rng.integers(n_rows, size=(n_resamples, n_rows))
    return np.stack([np.bincount(draw, minlength=n_rows) for draw in draws], axis=1).astype(np.float64)


def rank_cells(first: Ordering, second: Ordering) -> Cells:
    """Cell of each pair, from the orderings that `ranks.correlation` uses; tied pairs share a cell."""
    n = len(first.order)
    along_first = _coarse(first.ranks, n)
    along_second = np.empty(n, dtype=np.int32)
    along_second[second.order] = _coarse(second.ranks, n)
    cells = np.empty(n, dtype=np.int32)
    cells[first.order] = along_first * CELLS + along_second
    return cells


def _coarse(ranks: Vector | None, n: int) -> Cells:
    positions = np.arange(n) if ranks is None else ranks
    return np.asarray(positions * (CELLS / n), dtype=np.int32)


def bootstrap_correlations(
    cells: Sequence[Cells], counts: Matrix, pairs: tuple[NDArray[np.intp], NDArray[np.intp]]
) -> Iterator[tuple[int, Matrix]]:
    """Yield (index of the first resample, correlations of shape (draws, resamples)) for successive groups.

    `cells` holds one array per draw, with the cell of each pair; `counts` holds the row counts, one resample per
    column.
    """
    # Products of counts and their sums are integers, so the compiled loops give identical values in half the memory.
    if native.is_available() and len(pairs[0]) * counts.max(initial=0.0) ** 2 < 2**31:
        yield from _native_correlations(cells, counts, pairs)
        return
    for start in range(0, counts.shape[1], _TOGETHER):
        group = np.ascontiguousarray(counts[:, start : start + _TOGETHER])
        yield start, np.array(list(_tables(cells, group, pairs)))


def _native_correlations(
    cells: Sequence[Cells], counts: Matrix, pairs: tuple[NDArray[np.intp], NDArray[np.intp]]
) -> Iterator[tuple[int, Matrix]]:
    """Compute correlations in compiled code; each draw's pairs are sorted by cell once for all resamples."""
    firsts = range(0, counts.shape[1], COMPILED_TOGETHER)
    groups = [_weights(counts[:, first : first + COMPILED_TOGETHER]) for first in firsts]
    i, j = (np.ascontiguousarray(side, dtype=np.int64) for side in pairs)

    def correlations(draw: Cells) -> Vector:
        out = np.empty((len(groups), COMPILED_TOGETHER))
        for table, values in zip(_native_tables(draw, groups, i, j), out, strict=True):
            native.call("shesha_cell_correlations", table, values)
        return out.ravel()[: counts.shape[1]]

    scores = np.array(list(parallel(correlations, cells)))
    for first in firsts:
        yield first, scores[:, first : first + COMPILED_TOGETHER]


def _native_tables(
    cells: Cells, groups: Sequence[NDArray[np.int32]], i: NDArray[np.int64], j: NDArray[np.int64]
) -> Iterator[NDArray[np.int32]]:
    """Yield the weighted table of cells for each group of resamples, always in the same memory."""
    starts, sorted_pairs = np.zeros(UNDEFINED + 3, dtype=np.int64), np.empty((len(i), 2), dtype=np.int32)
    cell = np.ascontiguousarray(cells, dtype=np.int32)
    native.call("shesha_sort_pairs", len(i), UNDEFINED + 1, i, j, cell, starts, sorted_pairs)
    table = np.empty((UNDEFINED, COMPILED_TOGETHER), dtype=np.int32)
    for weights in groups:
        native.call("shesha_cells", UNDEFINED, starts, sorted_pairs, weights, table)
        yield table


def _weights(counts: Matrix) -> NDArray[np.int32]:
    """Row counts for one group of resamples, padded with zero columns."""
    weights = np.zeros((len(counts), COMPILED_TOGETHER), dtype=np.int32)
    weights[:, : counts.shape[1]] = counts
    return weights


def _tables(
    cells: Sequence[Cells], group: Matrix, pairs: tuple[NDArray[np.intp], NDArray[np.intp]]
) -> Iterator[Vector]:
    """Correlations for one group of resamples, computed from their rank tables without compiled code."""
    tables = np.zeros((len(cells), UNDEFINED + 1, group.shape[1]))
    for start in range(0, len(pairs[0]), _BLOCK):
        stretch = slice(start, start + _BLOCK)
        weights = group[pairs[0][stretch]] * group[pairs[1][stretch]]
        _add_weights(tables, [draw[stretch] for draw in cells], weights)
    return (_table_correlation(table[:UNDEFINED]) for table in tables)


def _add_weights(tables: NDArray[np.float64], cells: Sequence[Cells], weights: Matrix) -> None:
    from scipy.sparse import csc_array

    ones, ends = np.ones(len(weights)), np.arange(len(weights) + 1, dtype=np.int32)
    for table, draw in zip(tables, cells, strict=True):
        # The sparse matrix has one entry per pair; its product adds the weights of all resamples to the pair's cell.
        table += csc_array((ones, draw, ends), shape=(len(table), len(weights)), copy=False) @ weights


def _table_correlation(table: Matrix) -> Vector:
    """Rank correlation from each column of a weighted table of cells."""
    grid = table.reshape(CELLS, CELLS, -1)
    total = grid.sum(axis=(0, 1))
    centred = []
    for axis in (0, 1):
        marginal = grid.sum(axis=1 - axis)
        ranks = np.cumsum(marginal, axis=0) - marginal / 2 - total / 2
        centred.append((ranks, (marginal * ranks**2).sum(axis=0)))
    (x, x_variance), (y, y_variance) = centred
    covariance = (np.einsum("abr,br->ar", grid, y) * x).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(covariance / np.sqrt(x_variance * y_variance))


_PAIRS_OF_PANEL = 1 << 20


def subset_correlations(first: Vector, second: Vector, n_rows: int, subsets: Sequence[Index]) -> Vector:
    """Correlate the ranks of the pairs i < j within each subset of the rows.

    The ranks of all pairs are coarsened once, as in the bootstrap. This shifts the correlations of all subsets alike.
    """
    members = np.zeros((n_rows, len(subsets)))
    for number, subset in enumerate(subsets):
        members[subset, number] = 1.0
    ends = np.cumsum(np.arange(n_rows - 1, 0, -1))
    cuts = np.unique(np.searchsorted(ends, np.arange(0, ends[-1], _PAIRS_OF_PANEL)))
    places = [(ranks.min(), CELLS / np.ptp(ranks)) for ranks in (first, second)]

    def tables(panel: int) -> Matrix:
        rows = np.arange(cuts[panel], cuts[panel + 1] if panel + 1 < len(cuts) else n_rows - 1)
        lengths = n_rows - 1 - rows
        end = int(ends[rows[-1]])
        start = end - int(lengths.sum())
        i = np.repeat(rows, lengths)
        j = np.arange(start, end) - np.repeat(ends[rows] - n_rows, lengths)
        x, y = (
            np.minimum((ranks[start:end] - low) * scale, CELLS - 1).astype(np.int32)
            for ranks, (low, scale) in zip((first, second), places, strict=True)
        )
        return _subset_tables(x * CELLS + y, members, i, j)

    total = np.zeros((UNDEFINED, len(subsets)))
    for table in parallel(tables, range(len(cuts))):
        total += table
    return _table_correlation(total)


def _subset_tables(cells: Cells, members: Matrix, i: Index, j: Index) -> Matrix:
    """Count the pairs of each cell within each subset."""
    n_subsets = members.shape[1]
    if not native.is_available():
        table = np.zeros((UNDEFINED, n_subsets))
        for start in range(0, len(cells), _BLOCK):
            stretch = slice(start, start + _BLOCK)
            _add_weights(table[None], [cells[stretch]], members[i[stretch]] * members[j[stretch]])
        return table
    groups = [_weights(members[:, n : n + COMPILED_TOGETHER]) for n in range(0, n_subsets, COMPILED_TOGETHER)]
    tables = [table.copy() for table in _native_tables(cells, groups, i, j)]
    return np.concatenate(tables, axis=1)[:, :n_subsets].astype(np.float64)


@dataclass(frozen=True)
class Partition:
    """The order of the pairs by distance in the first half, and by distance in the second half."""

    first: Ordering | None
    """Ordering of the first half's distances; None if a half has only equal distances or fewer than two pairs."""
    second: Ordering | None
    """Ranks of the second half's distances, listed in the order given by the first half."""
    n_pairs: int
    """Number of all pairs, including those whose distance is undefined."""
    kept: Index | None
    """Positions of the pairs whose distance is defined in both halves; None if all are defined."""
    directed: Mask | None
    """Rows that have a direction in both halves; None if all rows have one."""

    @classmethod
    def build(cls, closeness: Closeness, level: float) -> Partition:
        """Rank the pairs in both halves; the closeness values are overwritten."""
        first, second, defined = closeness.first, closeness.second, closeness.defined_pairs()
        n_pairs = len(first)
        kept = None if defined is None else np.flatnonzero(defined)
        if kept is not None:
            first, second = first[kept], second[kept]
        nothing = cls(None, None, n_pairs, kept, closeness.directed)
        if len(first) < 2:
            return nothing
        outer = order_values(first, level, closeness.scratch[: len(first)].view(np.uint64))
        if outer.variance == 0:
            return nothing
        arranged = np.take(second, outer.order)
        inner = order_values(arranged, level, second.view(np.uint64))
        if inner.variance == 0:
            return nothing
        return cls(outer, inner, n_pairs, kept, closeness.directed)

    @property
    def n_dropped(self) -> int:
        """Number of pairs whose distance is undefined in at least one half."""
        return 0 if self.kept is None else self.n_pairs - len(self.kept)

    @property
    def correlation(self) -> float:
        """Rank correlation between the two halves' distances; NaN if a half gives no ranking."""
        if self.first is None or self.second is None:
            return float("nan")
        return ranks.correlation(self.first, self.second)

    def cells(self, chosen: Index | None) -> Cells | None:
        """Cell of each pair in the bootstrap's rank table; None if there is no correlation."""
        if self.first is None or self.second is None:
            return None
        found = rank_cells(self.first, self.second)
        if self.kept is not None:
            every = np.full(self.n_pairs, UNDEFINED, dtype=np.int32)
            every[self.kept] = found
            found = every
        return found if chosen is None else found[chosen]

    def unit_ranks(self) -> tuple[Vector, Vector] | None:
        """Centred ranks in each half, scaled to unit length, so that their inner product is the correlation."""
        if self.first is None or self.second is None:
            return None
        return self.first.unit_ranks(), self.second.unit_ranks(self.first.order[self.second.order])


_MOST_ROWS = 1 << 14
"""Largest number of rows for which row numbers fit in 16 bits and sums of rank products in 64 bits."""


def scores(rows: Matrix, metric: Metric, frame: Frame, draws: Sequence[object], subsets: Sequence[Index]) -> Matrix:
    """For each draw, correlate the two halves over the rows of each subset: shape (draws, subsets).

    In the frame, a row's coordinates must not depend on the other rows.
    """
    tolerance = distance_rounding(rows, metric)
    with single_threaded_blas():
        both = halves(rows, metric, frame)
    i, j = np.triu_indices(len(rows), k=1)
    pairs = (i << 16 | j).astype(np.uint32) if len(rows) <= _MOST_ROWS and native.is_available() else None

    def score(closeness: Closeness) -> Vector:
        require_directed(closeness, metric)
        if pairs is not None:
            values = _scores_from_full_order(closeness, tolerance, pairs, len(rows), subsets)
            if values is not None:
                return values
        correlations = []
        for subset in subsets:
            inside = np.zeros(len(rows), dtype=np.bool_)
            inside[subset] = True
            mask = inside[i] & inside[j]
            correlations.append(ranks.spearman(closeness.first[mask], closeness.second[mask], (tolerance, tolerance)))
        return np.array(correlations)

    return np.array(list(parallel(lambda draw: both.visit(draw, score), draws)))


def _scores_from_full_order(
    closeness: Closeness, tolerance: float, pairs: sorting.Pairs, n: int, subsets: Sequence[Index]
) -> Vector | None:
    """Sort all pairs once, then skip those outside each subset; None if any pairs tie."""
    first = order_values(closeness.first, tolerance, closeness.scratch.view(np.uint64))
    if first.ranks is not None:
        return None
    arranged = closeness.second[first.order]
    sorted_pairs = pairs[first.order]
    second = order_values(arranged, tolerance, closeness.scratch.view(np.uint64))
    if second.ranks is not None:
        return None
    place = np.empty(len(sorted_pairs), dtype=np.uint32)
    correlations = []
    for subset in subsets:
        inside = np.zeros(n, dtype=np.uint8)
        inside[subset] = 1
        correlations.append(sorting.subset_correlation(sorted_pairs, second.order, inside, place))
    return np.array(correlations)
