"""Results of the cells of a study in one run: rows, failures, times and machines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from shesha.studies.study_definition import Study

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class StudyRun:
    """The results of the cells of a study."""

    study: Study
    rows: pd.DataFrame
    """One line per finished cell, in the order of the grid."""
    failures: dict[str, str]
    """Cells that raised an error, by their parameters, with the reason."""
    unreachable: dict[str, str]
    """Cells with missing data or weights."""
    n_cells: int
    quick: bool
    seconds: tuple[float, ...] = ()
    """Seconds of each row."""
    days: tuple[str, ...] = ()
    """Days on which rows were computed."""
    places: Mapping[str, int] = field(default_factory=dict)
    """Numbers of rows by machine and versions, if recorded."""

    @property
    def complete(self) -> bool:
        """Whether every cell has a row."""
        return len(self.rows) == self.n_cells
