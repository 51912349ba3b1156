"""Bars of models with intervals, noise ceiling and significance, in the style of RSA studies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from shesha.charts._axes import EXPECTED, PALETTE, axes_or_new, literal, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_LINES = 15
_STEP = 0.045
"""Vertical distance between significance lines, relative to the height of the plotted values."""


def model_bars(
    names: Sequence[str],
    values: Sequence[float],
    intervals: Sequence[tuple[float, float]],
    *,
    band: tuple[float, float] | None = None,
    different: Sequence[tuple[int, int]] = (),
    above_chance: Sequence[bool] = (),
    label: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw bars with intervals, the noise ceiling as a band, and lines between models that differ.

    Parameters
    ----------
    names : sequence of str
        Names of the models, from left to right.
    values : sequence of float
        The value of each model.
    intervals : sequence of pairs of float
        The interval of each value, NaN where there is none.
    band : pair of float, optional
        Lower and upper end of the noise ceiling. Default: no band.
    different : sequence of pairs of int
        Positions of the two models in each significantly different pair. If there are more than 15 such pairs, lines
        are drawn only between neighbouring bars.
    above_chance : sequence of bool
        Whether each model is above chance; if so, a dot marks its bar.
    label : str
        Label of the value axis.
    ax : matplotlib Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib Axes
    """
    ax = axes_or_new(ax, (max(3.6, 0.75 * len(names) + 1.6), 4.0))
    places, heights = np.arange(len(names)), np.asarray(values, dtype=float)
    ends = np.asarray(intervals, dtype=float).reshape(-1, 2)
    if band is not None:
        ax.axhspan(min(band), max(band), color="#d4d4d4", zorder=0, label="noise ceiling")
    ax.bar(places, heights, width=0.62, color=[PALETTE[k % len(PALETTE)] for k in places], zorder=2)
    spread = np.maximum(np.stack([heights - ends[:, 0], ends[:, 1] - heights]), 0.0)
    ax.errorbar(places, heights, yerr=spread, fmt="none", ecolor="black", capsize=3, linewidth=1.2, zorder=3)
    known = np.concatenate([heights, ends.ravel(), np.asarray(band or (), dtype=float)])
    known = known[np.isfinite(known)]
    low, high = min(0.0, known.min(initial=0.0)), max(0.0, known.max(initial=0.0))
    height = (high - low) or 1.0
    marked = [place for place, above in enumerate(above_chance) if above]
    if marked:
        feet = np.full(len(marked), 0.025 * height)
        ax.scatter(marked, feet, s=16, color="white", edgecolor="black", linewidth=0.6, zorder=4, label="above chance")
    _draw_differences(ax, different, high, height)
    ax.axhline(0.0, color="black", linewidth=0.8)
    slanted = max(map(len, names), default=0) > 8 or len(names) > 6
    shown = [shorten(name) for name in names]
    ax.set_xticks(places, shown, rotation=35 if slanted else 0, ha="right" if slanted else "center")
    ax.set_ylabel(literal(label))
    ax.spines[["top", "right"]].set_visible(False)
    if band is not None or marked:
        ax.legend(frameon=False, fontsize="small", loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2)
    return ax


def _draw_differences(ax: Axes, different: Sequence[tuple[int, int]], high: float, height: float) -> None:
    """Draw a horizontal line for each pair that differs, with the shortest lines lowest."""
    pairs = sorted((tuple(sorted(pair)) for pair in different), key=lambda pair: (pair[1] - pair[0], pair))
    if len(pairs) > _MOST_LINES:
        pairs = [pair for pair in pairs if pair[1] - pair[0] == 1]
    for level, (i, j) in enumerate(pairs):
        ax.plot(
            [i, j], [high + (level + 1.2) * _STEP * height] * 2, color=EXPECTED, linewidth=1.4, solid_capstyle="butt"
        )
