"""Distances between conditions, as an array that knows the names of its conditions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from shesha.support.types import Array

if TYPE_CHECKING:
    import pandas as pd


class ConditionDistances(np.ndarray[Any, np.dtype[np.float64]]):
    """A matrix of distances between conditions, with their names in `names`; a NumPy array in all other respects.

    Entries, parts and results of arithmetic are ordinary arrays. `shesha.Rdm` uses the names to match conditions.

    Parameters
    ----------
    values : array of shape (n_conditions, n_conditions)
    names : sequence of str
        Name of each condition, in the order of the rows.
    read : sequence of str
        Statements on the input, such as trials that were left out.
    """

    names: tuple[str, ...]
    """Names of the conditions, in the order of the rows."""
    read: tuple[str, ...]
    """Statements on the input, such as trials that were left out."""

    def __new__(cls, values: Array, names: Sequence[str], read: Sequence[str] = ()) -> ConditionDistances:
        """Attach names to distances."""
        distances = np.asarray(values, dtype=np.float64).view(cls)
        distances.names, distances.read = tuple(names), tuple(read)
        return distances

    def __array_finalize__(self, source: Any) -> None:
        """Keep the names in copies of the whole matrix."""
        whole = source is not None and self.shape == source.shape
        self.names = getattr(source, "names", ()) if whole else ()
        self.read = getattr(source, "read", ()) if whole else ()

    def __array_wrap__(self, array: Array, context: Any = None, return_scalar: bool = False) -> Any:
        """Return results of arithmetic as ordinary arrays."""
        return array[()] if return_scalar else np.asarray(array)

    def __getitem__(self, key: Any) -> Any:
        """Return parts as ordinary arrays."""
        return np.asarray(self)[key]

    def __repr__(self) -> str:
        """Show the names."""
        return f"{self.to_frame()}"

    def __str__(self) -> str:
        """Show the names."""
        return f"{self.to_frame()}"

    def __reduce__(self) -> Any:
        """Pickle values and names."""
        return ConditionDistances, (np.asarray(self), self.names, self.read)

    def to_frame(self) -> pd.DataFrame:
        """Return a table whose rows and columns are named by the conditions."""
        import pandas as pd

        values = np.asarray(self)
        if values.ndim != 2 or len(self.names) != len(values):
            return pd.DataFrame(values)
        return pd.DataFrame(values, index=list(self.names), columns=list(self.names))
