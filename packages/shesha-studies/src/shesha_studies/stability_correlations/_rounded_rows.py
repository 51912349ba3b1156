"""Rows rounded like those of the stored table."""

from __future__ import annotations

import pandas as pd


def round_as_stored(rows: pd.DataFrame) -> pd.DataFrame:
    """Round numbers as the stored table does, so that both give the same ranks and the same page."""
    floats = [str(name) for name in rows.columns if rows[name].dtype.kind == "f"]
    return rows.assign(**{name: rows[name].map(lambda value: float(f"{value:.6g}")) for name in floats})
