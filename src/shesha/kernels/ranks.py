"""Ranks and rank correlations: by sorting packed integers twice, and under varying weights without sorting again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import kendalltau, rankdata

from shesha.kernels import device_kernels, native, sorting
from shesha.kernels.sorting import (
    Ordering,
    block_bounds,
    fixed_point,
    may_stay,
    order_values,
    rank_variance,
    value_range,
)
from shesha.support.device_arrays import elsewhere, to_host
from shesha.support.types import Index, Matrix, Vector

_DIGITS = 11
"""Number of decimals, relative to the largest value, beyond which digits are rounding errors."""


def spearman(
    a: Vector,
    b: Vector | Callable[[], Vector],
    tolerance: tuple[float, float] = (0.0, 0.0),
    scratch: Vector | None = None,
) -> float:
    """Rank correlation between two vectors, which are overwritten; NaN if either is constant.

    `b` may be a function that computes the vector; it is called once the work memory for sorting `a` is free again.
    """
    keys = (np.empty_like(a) if scratch is None else scratch).view(np.uint64)
    first = order_values(a, tolerance[0], keys)
    if first.variance == 0:
        return float("nan")
    values = b() if callable(b) else b
    # Once `b` is arranged in the order of `a`, positions are ranks, so no ranks need to be scattered.
    spread = _copy_in_order(values, first.order, a)
    # The order is no longer needed, and for long vectors, sorting needs its memory.
    first = replace(first, order=np.empty(0, dtype=np.intp))
    form = fixed_point(a, spread, tolerance[1]) if native.is_available() else None
    if form is not None:
        product, squares = sorting.sum_rank_products(a, form, values.view(np.uint64), first.ranks)
        if may_stay(squares, form, spread, tolerance[1], len(a)):
            return _coefficient(product, first.variance, rank_variance(len(a)))
    second = order_values(a, tolerance[1], values.view(np.uint64))
    if second.variance == 0:
        return float("nan")
    return correlation(first, second)


def _copy_in_order(values: Vector, order: Index, out: Vector) -> tuple[float, float]:
    """Copy the values in the given order, and return their minimum and maximum."""
    if native.is_available():
        return sorting.copy_in_order(values, order, out)
    np.take(values, order, out=out, mode="clip")
    return value_range(values)


def correlation(first: Ordering, second: Ordering) -> float:
    """Rank correlation from two orderings; the second is that of a vector arranged in the first's order."""
    total = (
        sorting.products(second.order, first.ranks, second.ranks) if native.is_available() else _product(first, second)
    )
    return _coefficient(total, first.variance, second.variance)


def _coefficient(product: float, first_variance: float, second_variance: float) -> float:
    return float(np.clip(product / np.sqrt(first_variance * second_variance), -1.0, 1.0))


def _product(first: Ordering, second: Ordering) -> float:
    n = len(second.order)
    centre = (n - 1) / 2
    total = 0.0
    for start, stop in block_bounds(n):
        x = second.order[start:stop] if first.ranks is None else np.take(first.ranks, second.order[start:stop])
        y = np.arange(start, stop) if second.ranks is None else second.ranks[start:stop]
        # NumPy's pairwise sum is used because the rounding of a BLAS product depends on the number of threads.
        total += float(((x - centre) * (y - centre)).sum())
    return total


def midranks(values: Vector, tolerance: float = 0.0) -> tuple[Vector, float]:
    """Ranks from 0, with mean ranks for ties, and the sum of their squared deviations from the mean."""
    ordering = order_values(values, tolerance, np.empty(len(values), dtype=np.uint64))
    return _scatter_ranks(ordering, np.empty(len(values)), 0.0, 1.0), ordering.variance


@elsewhere(device_kernels.unit_ranks)
def unit_ranks(values: Vector, tolerance: float = 0.0, out: Vector | None = None) -> Vector:
    """Centred ranks scaled to unit length, written to `out`, which may be `values` itself; all NaN if all are equal."""
    ordering = order_values(values, tolerance, np.empty(len(values), dtype=np.uint64))
    scale = 1 / np.sqrt(ordering.variance) if ordering.variance > 0 else np.nan
    return _scatter_ranks(ordering, np.empty(len(values)) if out is None else out, (len(values) - 1) / 2, scale)


def _scatter_ranks(ordering: Ordering, out: Vector, centre: float, scale: float) -> Vector:
    """Write (rank - centre) * scale for each value."""
    if native.is_available():
        sorting.write_ranks(ordering.order, ordering.ranks, centre, float(scale), out)
    else:
        ranks = np.arange(len(out), dtype=np.float64) if ordering.ranks is None else ordering.ranks
        out[ordering.order] = (ranks - centre) * scale
    return out


def pearson(a: Vector, b: Vector, tolerance: tuple[float, float] = (0.0, 0.0)) -> float:
    """Pearson correlation of two vectors (overwritten); NaN if either is constant within its tolerance."""
    for values, level in ((a, tolerance[0]), (b, tolerance[1])):
        if not values.max() - values.min() > level:
            return float("nan")
        values -= values.mean()
        values /= np.abs(values).max()
    products = [
        sum(float((x[s:e] * y[s:e]).sum()) for s, e in block_bounds(len(a))) for x, y in ((a, b), (a, a), (b, b))
    ]
    return float(np.clip(products[0] / np.sqrt(products[1] * products[2]), -1.0, 1.0))


def centred_ranks(values: Matrix) -> Matrix:
    """Centred unit-length ranks of each line's finite entries, 0 for other entries; NaN if all are equal."""
    known = np.isfinite(values)
    filled = np.where(known, values, 0.0)
    top = np.abs(filled).max(axis=1, keepdims=True)
    # Non-finite entries rank last, so they do not affect the ranks of the finite ones.
    ranks = rankdata(np.where(known, np.round(filled / np.where(top > 0, top, 1.0), _DIGITS), np.inf), axis=1)
    counts = known.sum(axis=1, keepdims=True)
    ranks = np.where(known, ranks - (counts + 1) / 2, 0.0)
    lengths = np.sqrt((ranks**2).sum(axis=1, keepdims=True))
    unit_ranks: Matrix = ranks / np.where(lengths > 0, lengths, np.nan)
    return unit_ranks


def share_of_untied_pairs(values: Vector, size: int = 2) -> float:
    """Return how many pairs of values (size 2) differ, or the variance of the ranks (size 3), relative to no ties."""
    n, counts = len(values), np.unique(to_host(values), return_counts=True)[1].astype(np.float64)
    return float(1 - (counts**size - counts).sum() / (n**size - n))


def kendall_tau_a(a: Vector, b: Vector) -> float:
    """Kendall's tau-a: concordant less discordant pairs of entries, as a share of all pairs; ties count as neither."""
    tau_b = kendalltau(to_host(a), to_host(b), method="asymptotic").statistic
    return float(tau_b * np.sqrt(share_of_untied_pairs(a) * share_of_untied_pairs(b)))


@dataclass(frozen=True)
class SortedVectors:
    """Vectors with the sorting order of their entries, so that ranks under any weights need no sorting."""

    values: Matrix
    order: Index
    first: Index
    """For each entry, the position of the first equal entry in the sorted order."""
    behind: Index
    """For each entry, the position after the last entry equal to it."""

    @classmethod
    def build(cls, values: Matrix) -> SortedVectors:
        """Sort the entries of each line once."""
        order = np.argsort(values, axis=1, kind="stable")
        first, behind = np.empty_like(order), np.empty_like(order)
        for line, (vector, places) in enumerate(zip(values, order, strict=True)):
            first[line, places], behind[line, places] = _runs(vector[places])
        return cls(values, order, first, behind)

    def take(self, lines: list[int]) -> SortedVectors:
        """Return some of the vectors."""
        return SortedVectors(self.values[lines], self.order[lines], self.first[lines], self.behind[lines])

    def ranks(self, weights: Vector) -> Matrix:
        """Mean rank of each entry if entry p occurs weights[p] times."""
        below, counts = np.empty(self.values.shape), np.zeros(self.values.shape[1] + 1)
        # Lines are processed one at a time, so that each stays in the cache.
        for line, ranks in enumerate(below):
            np.cumsum(weights[self.order[line]], out=counts[1:])
            np.take(counts, self.first[line], out=ranks, mode="clip")
            ranks += counts[self.behind[line]]
        below += 1
        below /= 2
        return below


def _runs(ordered: Vector) -> tuple[Index, Index]:
    """For each sorted position, the first position with an equal entry and the position after the last."""
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])) if len(ordered) else np.empty(0, np.intp)
    lengths = np.diff(np.append(starts, len(ordered)))
    return np.repeat(starts, lengths), np.repeat(starts + lengths, lengths)


def weighted_correlations(values: Matrix, weights: Vector) -> Matrix:
    """Correlations between all pairs of lines if entry p occurs weights[p] times; NaN for constant lines."""
    total = weights.sum()
    if not total > 0:
        return np.full((len(values), len(values)), np.nan)
    centred = values - (values @ weights / total)[:, None]
    products = (centred * weights) @ centred.T
    lengths = np.sqrt(np.diagonal(products))
    largest = np.abs(values).max(axis=1) * np.sqrt(total)
    lengths = np.where(lengths > 1e-10 * largest, lengths, np.nan)
    correlations: Matrix = np.clip(products / np.outer(lengths, lengths), -1.0, 1.0)
    return correlations


def correlation_influence(lines: SortedVectors, cells: Sequence[tuple[int, int]], *, ranked: bool) -> Matrix:
    """Influence of each entry's weight on the correlation of each pair of lines, one output line per pair.

    With weights w, a correlation is approximately its unweighted value plus sum((w - 1) influence) / sum(w). With
    `ranked`, this includes the change in the ranks themselves, also with ties. Constant lines give NaN.
    """
    n = lines.values.shape[1]
    values = lines.ranks(np.ones(n)) / n if ranked else lines.values
    centred = values - values.mean(axis=1, keepdims=True)
    spread = np.sqrt(np.einsum("lp,lp->l", centred, centred) / n)
    spread = np.where(spread > 1e-10 * np.abs(values).max(axis=1), spread, np.nan)
    unit = centred / spread[:, None]

    def covariance(a: int, b: int) -> Vector:
        """Influence on the covariance, up to an additive constant."""
        products: Vector = unit[a] * unit[b]
        if ranked:
            products += _sum_of_larger(lines, a, unit[b]) / spread[a]
            products += _sum_of_larger(lines, b, unit[a]) / spread[b]
        return products

    own = {line: covariance(line, line) for line in {line for cell in cells for line in cell}}
    out = np.empty((len(cells), n))
    for influence, (a, b) in zip(out, cells, strict=True):
        np.subtract(covariance(a, b), float(unit[a] @ unit[b]) / (2 * n) * (own[a] + own[b]), out=influence)
        influence -= influence.mean()
    return out


def _sum_of_larger(lines: SortedVectors, line: int, other: Vector) -> Vector:
    """For each entry, the sum of `other` over the entries above it (ties count half), divided by n.

    The mean of `other` must be zero.
    """
    below = np.zeros(len(other) + 1)
    np.cumsum(other[lines.order[line]], out=below[1:])
    sums: Vector = below[lines.first[line]]
    sums += below[lines.behind[line]]
    # The total is zero, so the sum above is minus the sum below.
    sums /= -2 * len(other)
    return sums
