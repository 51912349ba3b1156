"""Summaries of the shifts of each group's rows away from the controls."""

from __future__ import annotations

from dataclasses import dataclass

from shesha.support.types import Matrix, Vector


@dataclass(frozen=True)
class Shifts:
    """Summaries of shifts from which the scores and their standard errors are computed."""

    mean: Matrix
    """Mean shift of each group."""
    size: Vector
    """Length of the mean shift; NaN if it is zero."""
    inverse: Vector
    """One over the length of each row's shift; 0 if the shift is zero."""
    cosine: Vector
    """Cosine between each row's shift and the mean shift of its group."""
    units: Matrix
    """Sum of the unit shifts of each group."""
    directed: Vector
    """Number of rows in each group with a nonzero shift; NaN if there are fewer than two."""
    mean_cosine: Vector
    pairwise: Vector
