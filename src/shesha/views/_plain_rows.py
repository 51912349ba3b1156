"""The view that consists of the matrix itself."""

from __future__ import annotations

from dataclasses import dataclass

from shesha.support.types import Index, Matrix
from shesha.views.representation import Representation, View


@dataclass(frozen=True)
class Plain(View):
    """Rows as they were given, in their original units."""

    rows: Matrix

    @classmethod
    def build(cls, source: Representation) -> Plain:
        """Store the rows unchanged."""
        return cls(source.rows)

    def permute(self, order: Index) -> Plain:
        """Reorder the rows: row i of the result is row order[i] of this view."""
        return Plain(self.rows[order])
