"""Correction of inner products of Gram matrices for the products of rows with themselves."""

from __future__ import annotations

from shesha.support.types import Vector


def diagonal_correction(a: Vector, b: Vector) -> float:
    """Correction term in the U-statistic for two centred Gram matrices, given their diagonals.

    See Song et al. 2012, eq. 5. Each row of a centred Gram matrix sums to zero, so its sum without the diagonal entry
    is minus that entry.
    """
    n = len(a)
    return -n / (n - 2) * float((a * b).sum()) + float(a.sum() * b.sum()) / ((n - 1) * (n - 2))
