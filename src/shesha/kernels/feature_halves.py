"""Distances between all pairs of rows in two halves of the features, for many random partitions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from queue import SimpleQueue
from typing import TypeVar

import numpy as np

from shesha.inputs import validation as check
from shesha.kernels import native, ranks
from shesha.kernels.distances import PANEL, Metric, condensed_distances, n_pairs, standard_rows
from shesha.kernels.feature_split_frames import Frame
from shesha.kernels.threads import n_threads, parallel
from shesha.support import memory as memory
from shesha.support.types import Index, Mask, Matrix, Vector
from shesha.support.warnings import NotEstimable

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
        return None if self.directed is None else mark_pairs(self.directed)


def mark_pairs(rows: Mask) -> Mask:
    """Mark those pairs i < j, in condensed order, whose rows are both marked."""
    i, j = np.triu_indices(len(rows), k=1)
    return rows[i] & rows[j]


Use = Callable[[Closeness], Result]
_Means = tuple[int, Vector | None]
"""Number of features in a half, and each row's mean over these features; None if means are not subtracted."""


class DenseHalves:
    """Halves that share one Gram matrix: a draw computes one half, because the two add up to the matrix."""

    def __init__(self, rows: Matrix, metric: Metric, frame: Frame) -> None:
        n, pairs, workers = len(rows), n_pairs(len(rows)), n_threads()
        memory.require(
            8 * (2 * n * n + workers * (2 * n * n + 3 * pairs)), f"the pairs of {n:,} rows", "pass pairs=1_000_000"
        )
        self.metric: Metric = metric
        self.frame = frame
        self.gram = _gram(rows)
        i, j = np.triu_indices(n, k=1)
        self._upper = i * n + j
        # Work memory is reused, because allocating new memory pages takes as long as filling them.
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
        means = [(len(first), mean_1), (len(second), mean_2)]
        if native.is_available() and not len(few):
            self._write_uppers(gram_1, means, length_1, length_2, out)
        else:
            self._uppers(gram_1, gram_2, means, second, length_1, length_2, few, out)
        return Closeness(out[0], out[1], out[2], _unless_all((length_1 > 0) & (length_2 > 0), self.metric))

    def _write_uppers(
        self, gram: Matrix, means: Sequence[_Means], length_1: Vector, length_2: Vector, out: Matrix
    ) -> None:
        directional = self.metric != "euclidean"
        scales = [_inverse_lengths(length) if directional else length for length in (length_1, length_2)]
        (size_1, mean_1), (size_2, mean_2) = means
        form = mean_1, mean_2, float(size_1), float(size_2), int(directional)
        native.call("shesha_halves", len(gram), self.gram, gram, *form, *scales, out[0], out[1])

    def _uppers(
        self,
        gram_1: Matrix,
        gram_2: Matrix,
        means: Sequence[_Means],
        second: Matrix,
        length_1: Vector,
        length_2: Vector,
        few: Index,
        out: Matrix,
    ) -> None:
        np.subtract(self.gram, gram_1, out=gram_2)
        for size, mean in means:
            if mean is not None:
                gram_2 -= np.multiply.outer(size * mean, mean)
        _compute_rows(gram_2, second, few)
        self._take_upper(gram_1, length_1, out[0])
        self._take_upper(gram_2, length_2, out[1])

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


def _compute_rows(gram: Matrix, half: Matrix, few: Index) -> None:
    """Recompute, without subtraction, the rows for which the subtraction would lose precision."""
    if len(few):
        rows = half[:, few].T @ half
        gram[few] = rows
        gram[:, few] = rows.T
