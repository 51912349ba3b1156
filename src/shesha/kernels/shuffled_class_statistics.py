"""Class statistics for many label shuffles, which share everything that does not depend on labels.

A shuffle is a line of class codes, one per row of the data. All shuffles have the same class sizes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shesha.kernels.class_statistics import centred_rows, mean_of_known
from shesha.kernels.threads import parallel
from shesha.support.types import Index, Matrix, Vector

Panels = Callable[[int], Matrix]

_TOGETHER = 16
"""Number of shuffles in one task for a thread."""
_ENTRIES = 1 << 15
"""Number of values processed in one step, limited by the cache size."""
_PAIRS = 1 << 11
_ROWS = 1 << 10
_FEW = 16
"""Largest number of classes for which one matrix product covers all classes."""
_ROUNDING = 1e-13


def sums_of_classes(X: Matrix, shuffled: Index, n_classes: int) -> Matrix:
    """Sum of the rows in each class for each shuffle, of shape (n_shuffles, n_classes, n_features)."""
    from scipy.sparse import csc_array

    n_shuffles, n = shuffled.shape
    # The sparse matrix has one column per row of X; each row is read once and added to its class in every shuffle.
    places = (np.arange(n_shuffles)[:, None] * n_classes + shuffled).T.ravel().astype(np.int32)
    ends = np.arange(n + 1, dtype=np.int32) * n_shuffles
    which = csc_array((np.ones(len(places)), places, ends), shape=(n_shuffles * n_classes, n))
    return np.asarray(which @ X).reshape(n_shuffles, n_classes, -1)


def class_variance_shares(X: Matrix, shuffled: Index, n_classes: int) -> Vector:
    """Between-class share of the sum of squares for each shuffle of the labels."""
    centred = centred_rows(X)
    sizes = np.maximum(np.bincount(shuffled[0], minlength=n_classes), 1)
    total = float(np.einsum("ij,ij->", centred, centred))

    def some(start: int) -> Vector:
        sums = sums_of_classes(centred, shuffled[start : start + _TOGETHER], n_classes)
        return np.asarray(np.einsum("bcj,bcj->bc", sums, sums) @ (1 / sizes))

    ss_between = np.concatenate(list(parallel(some, range(0, len(shuffled), _TOGETHER))))
    return np.asarray(np.clip(ss_between / total, 0.0, 1.0))


def mean_separations(X: Matrix, shuffled: Index, n_classes: int) -> Vector:
    """Mean over classes of (inter - intra) / (inter + intra), for each shuffle; NaN if undefined."""
    centred = centred_rows(X)
    total, lengths = centred.sum(axis=0), np.einsum("ij,ij->i", centred, centred)
    dots = centred @ total

    def some(start: int) -> Vector:
        codes = shuffled[start : start + _TOGETHER]
        sums = sums_of_classes(centred, codes, n_classes)
        products = _own_class_products(centred, codes, sums)
        return np.array([_separation(lengths, dots, total, *draw) for draw in zip(codes, sums, products, strict=True)])

    return np.concatenate(list(parallel(some, range(0, len(shuffled), _TOGETHER))))


def _own_class_products(X: Matrix, codes: Index, sums: Matrix) -> Matrix:
    """Inner product of each row with the sum of its class, for each shuffle: shape (n_shuffles, n_rows)."""
    own_products, (n_shuffles, n_classes, d) = np.empty(codes.shape), sums.shape
    if n_classes > _FEW:
        step = max(1, (_ENTRIES << 3) // d)
        for labels, of_classes, out in zip(codes, sums, own_products, strict=True):
            for start in range(0, len(X), step):
                part = slice(start, start + step)
                np.einsum("ij,ij->i", X[part], of_classes[labels[part]], out=out[part])
        return own_products
    for start in range(0, len(X), _ROWS):
        part = slice(start, start + _ROWS)
        products = (sums.reshape(-1, d) @ X[part].T).reshape(n_shuffles, n_classes, -1)
        own_products[:, part] = np.take_along_axis(products, codes[:, None, part], axis=1)[:, 0]
    return own_products


def _separation(lengths: Vector, dots: Vector, total: Vector, codes: Index, sums: Matrix, product: Vector) -> float:
    """Mean separation for one shuffle, given the inner product of each row with the sum of its class."""
    n, sizes = len(lengths), np.bincount(codes, minlength=len(sums))
    usable = (sizes >= 2) & (sizes < n)
    means = []
    for centre, times, number in ((sums, product, sizes), (total - sums, dots - product, n - sizes)):
        number = np.maximum(number, 1)
        length = np.einsum("cj,cj->c", centre, centre) / number**2
        squared = lengths - 2 * times / number[codes] + length[codes]
        # If a row coincides with its centre, the remaining distance is a rounding error.
        squared[squared < _ROUNDING * (lengths + length[codes])] = 0.0
        means.append(np.bincount(codes, np.sqrt(squared), len(sums)) / np.maximum(sizes, 1))
    intra, inter = means
    with np.errstate(invalid="ignore", divide="ignore"):
        score = np.where(usable & (inter + intra > 0), (inter - intra) / (inter + intra), np.nan)
    return float(mean_of_known(score[:, None])[0])


def class_sums(panel: Panels, width: int, shuffled: Index, n_classes: int) -> Vector:
    """For each shuffle of the labels, sum the values of all pairs of rows in the same class.

    Parameters
    ----------
    panel : function
        Function that takes the first row number of a panel and returns the values of `width` rows with themselves and
        all later rows; the returned array is overwritten.
    shuffled : array of shape (n_shuffles, n_rows)
        Class codes, numbered from 0.
    """
    work = _sums_by_products if n_classes <= _FEW else _sums_by_masks
    codes = _compact_codes(shuffled)

    def some(start: int) -> Vector:
        numbers = panel(start)
        numbers[np.tril_indices(len(numbers))] = 0.0  # Keep only the pairs i < j.
        return work(numbers, codes[:, start:], n_classes)

    return np.asarray(np.sum(list(parallel(some, range(0, shuffled.shape[1], width))), axis=0))


def _compact_codes(codes: Index) -> NDArray[Any]:
    """Convert codes to the smallest integer type, because comparing them is most of the work."""
    return codes.astype(np.min_scalar_type(int(codes.max(initial=0))))


def _sums_by_products(numbers: Matrix, codes: NDArray[Any], n_classes: int) -> Vector:
    """Multiply a panel with the class indicators, and select the sum for each row's class in each shuffle."""
    totals = []
    for start in range(0, len(codes), _TOGETHER):
        batch = codes[start : start + _TOGETHER]
        members = (batch.T[:, :, None] == np.arange(n_classes, dtype=batch.dtype)).astype(np.float64)
        sums = (numbers @ members.reshape(batch.shape[1], -1)).reshape(len(numbers), *members.shape[1:])
        totals.append(np.einsum("ibc,ibc->b", sums, members[: len(numbers)]))
    return np.concatenate(totals)


def _sums_by_masks(numbers: Matrix, codes: NDArray[Any], n_classes: int) -> Vector:
    """Compute the sums for `class_sums` by comparing the codes of each pair."""
    totals, step = np.zeros(len(codes)), max(1, _ENTRIES // numbers.shape[1])
    for start in range(0, len(numbers), step):
        stretch = numbers[start : start + step]
        for b, labels in enumerate(codes):
            totals[b] += np.vdot(stretch, labels[start : start + len(stretch), None] == labels)
    return totals


def sums_of_pairs(numbers: Vector, i: Index, j: Index, shuffled: Index) -> tuple[Vector, Vector]:
    """For each shuffle, the sum of the given values over pairs in the same class, and their number."""
    codes = _compact_codes(shuffled)

    def some(start: int) -> Matrix:
        batch = np.ascontiguousarray(codes[start : start + _TOGETHER].T)
        totals = np.zeros((2, batch.shape[1]))
        for offset in range(0, len(i), _PAIRS):
            part = slice(offset, offset + _PAIRS)
            same_class = batch.take(i[part], axis=0) == batch.take(j[part], axis=0)
            totals += numbers[part] @ same_class, same_class.sum(axis=0)
        return totals

    sums, n_alike = np.concatenate(list(parallel(some, range(0, len(shuffled), _TOGETHER))), axis=1)
    return sums, n_alike
