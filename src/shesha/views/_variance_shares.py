"""Variance shares of the principal directions, for rows in memory or on disk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shesha.inputs import validation as check
from shesha.kernels.corrected_participation import FourthMoments, fourth_moments
from shesha.kernels.spectrum import centred_variances
from shesha.support.types import Index, Vector
from shesha.views.representation import Representation, View

if TYPE_CHECKING:
    from shesha.views._lazy_rows import Rows


_ENTRIES = 1 << 18
"""Number of values processed together."""


@dataclass(frozen=True)
class Variances(View):
    """Share of the variance along each principal direction, descending; zeros if all rows are equal."""

    shares: Vector
    moments: FourthMoments
    """Sums that correct for a small number of rows or columns."""

    @classmethod
    def build(cls, source: Representation) -> Variances:
        """Compute the shares for rows in memory."""
        rows = source.to_numpy.rows
        return cls(centred_variances(rows), fourth_moments(rows))

    @classmethod
    def from_rows(cls, source: Rows) -> Variances:
        """Compute the shares for rows from any source, in blocks."""
        for start, block in source.blocks(_ENTRIES):
            check.finite(block, source.name, first_row=start)
        return cls(centred_variances(source), fourth_moments(source))

    def permute(self, order: Index) -> Variances:
        """Return this view, because the order of the rows does not matter."""
        return self
