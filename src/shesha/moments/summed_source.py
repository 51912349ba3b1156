"""A representation that is known only by sums over its rows, without its views."""

from __future__ import annotations

import numpy as np

from shesha.moments.sums import SideSums, Sums
from shesha.support.types import Matrix
from shesha.support.warnings import NotEstimable
from shesha.views import Representation

NEEDS_ROWS = "needs rows, got sums over rows; compare the arrays themselves, or a sample of their rows"


class SummedSource(Representation):
    """A representation of which only the sums over its rows are known."""

    def __init__(self, sums: Sums, index: int, precision: float) -> None:
        super().__init__(np.broadcast_to(np.float64(0), (sums.n_rows, sums.sides[index].n_features)), precision)
        self.sums, self.index = sums, index

    @property
    def side(self) -> SideSums:
        """The sums for this representation alone."""
        return self.sums.sides[self.index]

    @property
    def rows(self) -> Matrix:
        """Raise an error, because there are no rows."""
        raise NotEstimable(NEEDS_ROWS)
