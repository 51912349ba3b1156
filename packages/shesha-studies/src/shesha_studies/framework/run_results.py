"""Results from the cells of a study in one run: rows, failures, times and machines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from shesha_studies.framework.study_decorator import Study

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class StudyRun:
    """The results from the cells of a study."""

    study: Study
    rows: pd.DataFrame
    """One line per finished cell, in the order of the grid."""
    failures: dict[str, str]
    """The reason for each cell that raised an error, by the cell's parameters."""
    unreachable: dict[str, str]
    """The missing data or weights for each cell that could not be computed, by the cell's parameters."""
    n_cells: int
    quick: bool
    seconds: tuple[float, ...] = ()
    """Computing time of each row, in seconds."""
    days: tuple[str, ...] = ()
    """Days on which rows were computed."""
    places: Mapping[str, int] = field(default_factory=dict)
    """Number of rows by machine and versions, as far as these were recorded."""

    @property
    def complete(self) -> bool:
        """Whether every cell has a row."""
        return len(self.rows) == self.n_cells
