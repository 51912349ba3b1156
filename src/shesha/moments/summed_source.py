"""One representation in sums over rows, without its views."""

from __future__ import annotations

import numpy as np

from shesha.moments.sums import SideSums, Sums
from shesha.support.types import Matrix
from shesha.support.warnings import NotEstimable
from shesha.views import Representation

NEEDS_ROWS = "needs rows, got sums over rows; compare the arrays themselves, or a sample of their rows"


class SummedSource(Representation):
    """One representation of which only sums over rows are known."""

    def __init__(self, sums: Sums, index: int, precision: float) -> None:
        super().__init__(np.broadcast_to(np.float64(0), (sums.n_rows, sums.sides[index].n_features)), precision)
        self.sums, self.index = sums, index

    @property
    def side(self) -> SideSums:
        """Return the sums of this representation alone."""
        return self.sums.sides[self.index]

    @property
    def rows(self) -> Matrix:
        """Return None, because there are no rows."""
        raise NotEstimable(NEEDS_ROWS)
