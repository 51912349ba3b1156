"""Linear CKA when some of the rows are left out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shesha.support.types import Index, Matrix, Vector

_DIGITS = 1e-6
"""If a subtraction leaves less than this share of a sum of squares, the difference is imprecise."""


def linear_cka(grams: Sequence[Matrix], kept: Index) -> float:
    """Return the linear CKA of the given rows, in their order, from the inner products of all rows."""
    everything = len(kept) == len(grams[0])
    first, second = (_centre(gram.copy() if everything else gram.take(kept, 0).take(kept, 1)) for gram in grams)
    length = float(np.linalg.norm(first) * np.linalg.norm(second))
    return float(np.vdot(first, second)) / length if length > 0 else 0.0


def cka_without_each(grams: Sequence[Matrix], n_first: int) -> tuple[float, list[float]]:
    """Return the linear CKA of all rows, and without each of the first `n_first` rows in turn.

    Leaving out row i of n centred rows changes their cross-products by n / (n - 1) times the product of its entries.
    """
    first, second = (_centre(gram.copy()) for gram in grams)
    times = len(first) / (len(first) - 1)

    def row_deleted_products(first: Matrix, other: Matrix) -> tuple[Vector, float]:
        every = np.einsum("ij,ij->i", first, other)
        squares = np.diagonal(first)[:n_first] * np.diagonal(other)[:n_first]
        total = float(every.sum())
        return total - 2 * times * every[:n_first] + times**2 * squares, total

    (both, full_sum), *parts = (
        row_deleted_products(first, second),
        row_deleted_products(first, first),
        row_deleted_products(second, second),
    )
    rest, totals = np.stack([lengths for lengths, _ in parts]), np.array([total for _, total in parts])
    # If a row contributes nearly all of a sum, what remains is rounding error, so CKA is recomputed without this row.
    digits = np.all(rest > _DIGITS * totals[:, None], axis=0)
    scores = both / np.sqrt(np.where(digits, rest, 1.0).prod(axis=0))
    every = np.arange(len(first))
    each = [
        float(score) if precise else linear_cka(grams, np.delete(every, place))
        for place, (score, precise) in enumerate(zip(scores, digits.tolist(), strict=True))
    ]
    return full_sum / float(np.sqrt(totals.prod())) if totals.all() else 0.0, each


def _centre(gram: Matrix) -> Matrix:
    """Return the inner products of the rows after their mean is subtracted; changes `gram` in place."""
    means = gram.mean(axis=0)
    gram -= means
    gram -= (means - means.mean())[:, None]
    return gram
