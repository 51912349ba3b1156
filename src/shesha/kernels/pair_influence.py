"""The influence of each pair of rows on a rank correlation, and standard errors derived from it."""

from __future__ import annotations

import numpy as np

from shesha.kernels import ranks
from shesha.kernels.fixed_point_argsort import order_values
from shesha.kernels.packed_sort import repeated_places
from shesha.support.types import Index, Vector


def spearman_influence(a: Vector, b: Vector, tolerance: tuple[float, float]) -> tuple[float, Vector]:
    """Rank correlation, and the influence of each entry on it; the vectors are overwritten.

    Let u and v be the ranks scaled to (0, 1). The influence is 12 [(u - 1/2)(v - 1/2) + A(u) + B(v)] - 3 rho, where
    A(u) is the sum of (v' - 1/2) over entries with u' >= u, divided by n, and B(v) is the same with u and v swapped.
    Ties are broken arbitrarily, because they are rare among distances between distinct rows.
    """
    n = len(a)
    first = order_values(a, tolerance[0], np.empty(n, dtype=np.uint64))
    if first.variance == 0:
        return float("nan"), a
    np.take(b, first.order, out=a, mode="clip")
    second = order_values(a, tolerance[1], b.view(np.uint64))
    if second.variance == 0:
        return float("nan"), a
    rho = ranks.correlation(first, second)
    u = (np.arange(n) + (0.5 - n / 2)) / n
    v, by_second, total = a, np.take(u, second.order), np.empty(n)
    v[second.order] = u
    _write_means_above(v, out=total)
    v *= u
    total += v
    _write_means_above(by_second, out=by_second)
    v[second.order] = by_second
    total += v
    total *= 12
    total -= 3 * rho
    v[first.order] = total
    return rho, v


def _write_means_above(values: Vector, out: Vector) -> None:
    np.cumsum(values[::-1], out=out[::-1])
    out /= len(values)


def standard_errors(
    influence: Vector, i: Index, j: Index, drawn: Index | None = None, share: float = 0.0
) -> tuple[float, float]:
    """Standard errors of the mean, for the sampling of pairs and for the sampling of both pairs and rows.

    The first treats the pairs as independent draws from all pairs of these rows. If a pair may have been scored several
    times, `drawn` gives the drawn pair behind each score; if pairs were drawn without replacement, `share` is the
    fraction of all pairs that was drawn. The second adds the products of pairs that share a row (dyadic-robust: Aronow,
    Samii and Assenova 2015). If `i` and `j` are group codes from 0 instead of row numbers, it accounts for the sampling
    of groups.
    """
    own_part = (1 - share) * _sum_of_squares(influence, drawn)
    size = int(max(i.max(initial=0), j.max(initial=0))) + 1
    if size > 2 * len(i):
        # Renumber the rows, because rows without pairs would only take memory.
        codes = np.unique(np.concatenate([i, j]), return_inverse=True)[1]
        i, j, size = codes[: len(i)], codes[len(i) :], 2 * len(i)
    n_influences = len(influence)
    per_row = np.bincount(i, weights=influence, minlength=size)
    cross_pairs = i != j
    if not cross_pairs.all():
        # A pair within one group must be counted only once for this group.
        influence, i, j = influence[cross_pairs], i[cross_pairs], j[cross_pairs]
    per_row += np.bincount(j, weights=influence, minlength=size)
    numbers = np.minimum(i, j).astype(np.int64, copy=False)
    numbers *= size
    numbers += np.maximum(i, j)
    # The product of two pairs that share both rows was counted twice, once for each row.
    shared = float((per_row**2).sum()) - _sum_of_squares(influence, numbers)
    return np.sqrt(own_part) / n_influences, np.sqrt(max(shared, own_part)) / n_influences


def _sum_of_squares(values: Vector, numbers: Index | None) -> float:
    """Sum the values that share a number, square and total the sums; without numbers, square each value."""
    total = float((values**2).sum())
    places = np.empty(0, dtype=np.intp) if numbers is None else repeated_places(numbers)
    if len(places):
        assert numbers is not None
        several = values[places]
        sums = np.bincount(np.unique(numbers[places], return_inverse=True)[1], weights=several)
        total += float((sums**2).sum()) - float((several**2).sum())
    return total
