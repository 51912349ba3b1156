"""Scores with intervals and chance levels, and the null band for the best of several scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shesha.charts._axes import EXPECTED, axes_or_new, literal, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_STYLES = (("o", "#1f4e79"), ("s", "#c55a11"), ("^", "#009e73"), ("D", "#cc79a7"), ("v", "#56b4e9"))


@dataclass(frozen=True)
class Series:
    """One score of several items: its values and the ends of their intervals, NaN where missing."""

    values: Sequence[float]
    lows: Sequence[float]
    highs: Sequence[float]


def intervals(
    names: Sequence[str],
    scores: Mapping[str, Series],
    thresholds: Sequence[float] | None = None,
    *,
    label: str = "",
    joined: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw scores of several items with their intervals and chance thresholds, from left to right.

    Parameters
    ----------
    names : sequence of str
        Names of the scored items, from left to right.
    scores : mapping of str to Series
        Values and intervals of each score, with one entry per scored item.
    thresholds : sequence of float, optional
        The chance threshold of each item, NaN where there is none.
    label : str
        Label of the score axis.
    joined : bool
        Whether to connect neighbouring items by lines. If False, each threshold is a separate dash.
    ax : matplotlib Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib Axes
    """
    ax = axes_or_new(ax, (max(4.5, 0.9 * len(names) + 2), 3.4))
    places = np.arange(len(names))
    for place, (name, series) in enumerate(scores.items()):
        value, low, high = (np.asarray(part, dtype=float) for part in (series.values, series.lows, series.highs))
        marker, colour = _STYLES[place % len(_STYLES)]
        spread = np.abs(np.vstack([value - low, high - value]))
        ax.errorbar(
            *(places, value),
            yerr=spread,
            label=shorten(name),
            marker=marker,
            color=colour,
            capsize=3,
            linewidth=1.2,
            markersize=5,
            linestyle="-" if joined else "none",
        )
    if thresholds is not None and joined:
        ax.plot(places, thresholds, color=EXPECTED, linestyle="--", linewidth=1, label="chance threshold")
    elif thresholds is not None and np.isfinite(np.asarray(thresholds, dtype=float)).any():
        ax.hlines(thresholds, places - 0.3, places + 0.3, color=EXPECTED, linestyle="--", label="chance threshold")
    labels = [shorten(name) for name in names]
    slanted = max(map(len, labels)) > 6
    ax.set_xticks(places, labels, rotation=30 if slanted else 0, ha="right" if slanted else "center")
    ax.set_ylabel(literal(label))
    ax.set_ylim(min(-0.05, ax.get_ylim()[0]), 1.02)
    ax.spines[["top", "right"]].set_visible(False)
    # Unconnected points may lie in any corner, so the legend is placed above the axes.
    placement: dict[str, Any] = {} if joined else {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "ncols": 2}
    ax.legend(frameon=False, fontsize="small", **placement)
    return ax


def chance_band(ax: Axes, chances: Sequence[float], null: Sequence[float], threshold: float) -> None:
    """Draw the 5th to 95th percentile of the best score under the null as a band, with its threshold.

    Parameters
    ----------
    ax : matplotlib Axes
        Axes with one tick per item.
    chances : sequence of float
        The chance level of each item.
    null : sequence of float
        The best score among all items, for each draw from the null.
    threshold : float
        Value that the best score rarely exceeds if the data are unrelated.
    """
    low, high = np.nanquantile(np.asarray(null, dtype=float), [0.05, 0.95])
    ax.axhspan(low, high, color=EXPECTED, alpha=0.2, linewidth=0, label="best of all under the null (5 to 95 %)")
    ax.plot(range(len(chances)), chances, ":", color=EXPECTED, linewidth=1.5, label="chance level of each")
    ax.axhline(threshold, color=EXPECTED, linestyle="--", linewidth=1, label="threshold for the best")
    ax.legend(frameon=False, fontsize="small")
