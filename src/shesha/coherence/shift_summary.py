"""Summaries of the shifts of each group's rows away from the controls."""

from __future__ import annotations

from dataclasses import dataclass

from shesha.support.types import Matrix, Vector


@dataclass(frozen=True)
class Shifts:
    """Summaries of the shifts from which the scores are computed."""

    mean: Matrix
    """Mean shift of each group."""
    size: Vector
    """Length of the mean shift; NaN if it is zero."""
    inverse: Vector
    """Inverse length of each row's shift; 0 if the shift is zero."""
    cosine: Vector
    """Cosine of each row with the mean shift."""
    units: Matrix
    """Sum of the unit shifts of each group."""
    directed: Vector
    """Number of rows of each group with a nonzero shift; NaN if fewer than two."""
    mean_cosine: Vector
    pairwise: Vector
