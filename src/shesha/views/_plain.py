"""The matrix itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shesha.views._representation import Representation, View

Matrix = NDArray[np.float64]
Index = NDArray[np.intp]


@dataclass(frozen=True)
class Plain(View):
    """Rows as they were given, in their own units."""

    rows: Matrix

    @classmethod
    def of(cls, source: Representation) -> Plain:
        """Take the rows as they are."""
        return cls(source.rows)

    def permuted(self, order: Index) -> Plain:
        """Relabel: row i of the result is row order[i] of this."""
        return Plain(self.rows[order])
