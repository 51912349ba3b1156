"""Class labels of rows, as one code per row and the names of the classes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shesha.support.types import Index, Labels


@dataclass(frozen=True)
class Classes:
    """Class labels: one code per row, counted from 0, and the class name for each code."""

    codes: Labels
    names: NDArray[Any]

    @property
    def n_classes(self) -> int:
        """Number of classes, including classes without rows."""
        return len(self.names)

    @cached_property
    def members(self) -> list[Index]:
        """Row numbers of each class."""
        return [np.flatnonzero(self.codes == code) for code in range(self.n_classes)]

    @property
    def present(self) -> list[Index]:
        """Row numbers of each class that has at least one row."""
        return [rows for rows in self.members if len(rows)]

    def take(self, rows: Index) -> Classes:
        """Labels of a selection of rows, in the given order."""
        return Classes(self.codes[rows], self.names)
