"""Draw the values of any result's table: one line per value, from its chance level to its value."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shesha.charts import class_values
from shesha.support.types import Array

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_MOST_LINES = 40
_NOT_NAMES = {"closer", "verdict", "reason", "null", "exchanged", "family", "notes", "options"}


def draw_table(frame: pd.DataFrame, what: str, ax: Axes | None = None) -> Axes:
    """Draw the column `value` with its intervals and chance levels; raise ValueError if the table has none.

    Values on a scale that does not end at 1, such as distances, are left out if others do, and named below the axis.
    """
    known = frame[np.isfinite(frame["value"].astype(float))] if "value" in frame else frame.iloc[:0]
    if not len(known):
        raise ValueError(f"result must have values to be drawn, got {what}")
    notes = []
    if {"possible_low", "possible_high"} <= set(known):
        is_share = (known["possible_low"] >= -1) & (known["possible_high"] <= 1)
        if is_share.any() and not is_share.all():
            notes.append(f"not drawn, other scales: {', '.join(map(str, known['name'][~is_share][:6]))}")
            known = known[is_share]
    if len(known) > _MOST_LINES:
        notes.append(f"{len(known) - _MOST_LINES} more lines are in to_frame()")
        known = known.iloc[:_MOST_LINES]
    value, low, high, chance, p_value, corrected, alpha = (
        _numbers(known, name) for name in ("value", "low", "high", "chance", "p_value", "corrected_p_value", "alpha")
    )
    p_value = np.where(np.isfinite(corrected), corrected, p_value)
    return class_values(
        _names(known),
        value,
        chance,
        p_value <= np.where(np.isfinite(alpha), alpha, 0.05),
        ends=(low, high),
        label="\n".join(["value", *notes]),
        tested=bool(np.isfinite(p_value).any()),
        ax=ax,
    )


def _numbers(frame: pd.DataFrame, name: str) -> Array:
    return frame[name].to_numpy(dtype=float) if name in frame else np.full(len(frame), np.nan)


def _names(frame: pd.DataFrame) -> list[str]:
    """Return a name per line: the columns of text that differ between lines, or the first of them."""
    texts = [
        name
        for name in frame
        if name not in _NOT_NAMES and all(isinstance(entry, str) and entry for entry in frame[name])
    ]
    different = [name for name in texts if frame[name].nunique() > 1][:2] or texts[:1]
    lines = zip(*(frame[name] for name in different), strict=True) if different else ((str(i),) for i in frame.index)
    return [" - ".join(line) for line in lines]
