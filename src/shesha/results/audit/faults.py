"""Faults in the numbers of a representation, and the rows and columns where they occur."""

from __future__ import annotations

from dataclasses import dataclass

from shesha.results.base import Result
from shesha.support.plurals import agree

_NAMED = 5
"""Most rows or columns that one sentence names."""


@dataclass(frozen=True)
class Faults(Result):
    """Faults in the numbers of a representation; rows and columns are counted from 0."""

    not_finite: int = 0
    """Number of entries that are NaN or infinite."""
    not_finite_rows: tuple[int, ...] = ()
    zero_rows: tuple[int, ...] = ()
    duplicate_rows: tuple[int, ...] = ()
    """Numbers of the rows that exactly repeat an earlier row."""
    constant_columns: tuple[int, ...] = ()

    def lines(self) -> list[str]:
        """A sentence for each fault: how often it occurs, and where."""
        faults = [
            (f"NaN or infinite entries: {self.not_finite:,} (row", self.not_finite_rows),
            (f"rows of zeros: {len(self.zero_rows):,} (row", self.zero_rows),
            (f"rows that repeat an earlier row: {len(self.duplicate_rows):,} (row", self.duplicate_rows),
            (f"constant columns: {len(self.constant_columns):,} (column", self.constant_columns),
        ]
        return [f"{text}{agree(len(where), '', 's')} {list_indices(where)})" for text, where in faults if where]


def list_indices(where: tuple[int, ...]) -> str:
    """Name the first few of the given rows or columns."""
    text = ", ".join(map(str, where[:_NAMED]))
    return text if len(where) <= _NAMED else f"{text}, ..."
