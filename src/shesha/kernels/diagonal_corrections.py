"""Corrections of unbiased inner products of Gram matrices for products of rows with themselves."""

from __future__ import annotations

from shesha.support.types import Vector


def diagonal_correction(a: Vector, b: Vector) -> float:
    """Correction term of the U-statistic for two centred Gram matrices with these diagonals.

    See Song et al. 2012, eq. 5. Rows of a centred Gram matrix sum to zero, so without the diagonal they
    sum to minus the diagonal.
    """
    n = len(a)
    return -n / (n - 2) * float((a * b).sum()) + float(a.sum() * b.sum()) / ((n - 1) * (n - 2))
