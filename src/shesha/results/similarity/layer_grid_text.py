"""A grid of layers as text that fits a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

_WIDTH = 120
"""Most characters per line; the lines of a wider grid would wrap and become unreadable."""


def printed_grid(measure: str, closer: str, grid: pd.DataFrame, *, digits: int = 4) -> list[str]:
    """Return the whole grid or, if it is too wide for a terminal, the closest column for each row."""
    title = f"{measure} ({closer} is closer)"
    text = grid.to_string(float_format=f"%.{digits}g")
    if len(text.split("\n", 1)[0]) <= _WIDTH:
        return [title, text]
    return [
        f"{title}: the closest layer of the second model for each layer of the first",
        _closest_columns(grid, closer).to_string(index=False, float_format=f"%.{digits}g"),
        f"The grid of {len(grid)} x {len(grid.columns)} layers is too wide to print. See matrix(), plot() or --html.",
    ]


def _closest_columns(grid: pd.DataFrame, closer: str) -> pd.DataFrame:
    import pandas as pd

    values = grid.to_numpy(dtype=float)
    known = np.isfinite(values).any(axis=1)
    ranked = np.where(np.isfinite(values), values if closer == "higher" else -values, -np.inf)
    best = ranked.argmax(axis=1)
    table = {
        "layer": list(grid.index),
        "closest layer": [grid.columns[place] if there else "" for place, there in zip(best, known, strict=True)],
        "value": values[np.arange(len(values)), best],
    }
    if list(grid.index) == list(grid.columns):
        table["layer with the same name"] = np.diagonal(values)
    return pd.DataFrame(table)
