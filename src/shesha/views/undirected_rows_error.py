"""The error for rows without defined distances: zero rows for cosine, constant rows for correlation."""

from __future__ import annotations

from shesha.inputs import validation as check
from shesha.support.types import Index
from shesha.support.warnings import NotEstimable

_ADVICE = '; leave them out (missing="drop")'


class UndirectedRowsError(NotEstimable):
    """Raised if the distances of some rows are undefined under the metric."""

    def __init__(self, rows: Index, metric: str, name: str = "X") -> None:
        super().__init__(rows, metric, name)
        self.rows, self.metric, self.name = rows, metric, name

    @property
    def kind(self) -> str:
        """What is wrong with the rows: 'zero' or 'constant'."""
        return "zero" if self.metric == "cosine" else "constant"

    def __str__(self) -> str:
        """Name the rows that have no distance."""
        return f"{self.kind} rows have no {self.metric} distance: rows {check.join_items(self.rows)}{_ADVICE}"
