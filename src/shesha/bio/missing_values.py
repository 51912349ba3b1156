"""Select the rows of a table that have no missing values."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from shesha.inputs import validation as check
from shesha.support import argument_types as kinds


def complete_lines(table: pd.DataFrame, names: Sequence[str], name: str) -> pd.DataFrame:
    """Return the rows of a table that have no missing values in the named columns."""
    kinds.frame(table, name)
    missing = [column for column in names if kinds.label(column, "a column") not in table]
    if missing:
        raise ValueError(f"{name} must have the columns {check.join_items(names)}, got no column {missing[0]!r}")
    return table.dropna(subset=names)
