"""Linear CKA without some of the rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shesha.support.types import Index, Matrix, Vector

_DIGITS = 1e-6
"""Share of a sum of squares left by a subtraction below which the difference is imprecise."""


def linear_cka(grams: Sequence[Matrix], kept: Index) -> float:
    """Linear CKA of some of the rows, in their order, from the inner products of all."""
    everything = len(kept) == len(grams[0])
    first, second = (_centre(gram.copy() if everything else gram.take(kept, 0).take(kept, 1)) for gram in grams)
    length = float(np.linalg.norm(first) * np.linalg.norm(second))
    return float(np.vdot(first, second)) / length if length > 0 else 0.0


def cka_without_each(grams: Sequence[Matrix], n_first: int) -> tuple[float, list[float]]:
    """Linear CKA of all rows, and without each of the first few rows in turn.

    Leaving out row i subtracts n / (n - 1) times the product of its entries from the cross-covariance of n centred
    rows.
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
    # If a row contributes nearly all of a sum, the difference is a rounding error, so CKA is recomputed without it.
    digits = np.all(rest > _DIGITS * totals[:, None], axis=0)
    scores = both / np.sqrt(np.where(digits, rest, 1.0).prod(axis=0))
    every = np.arange(len(first))
    each = [
        float(score) if precise else linear_cka(grams, np.delete(every, place))
        for place, (score, precise) in enumerate(zip(scores, digits.tolist(), strict=True))
    ]
    return full_sum / float(np.sqrt(totals.prod())) if totals.all() else 0.0, each


def _centre(gram: Matrix) -> Matrix:
    """Inner products of some rows, centred on their own mean."""
    means = gram.mean(axis=0)
    gram -= means
    gram -= (means - means.mean())[:, None]
    return gram
