"""Charts of values on one axis: box plots, bars, intervals, and null distributions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, nan
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from shesha.charts._axes import (
    BELOW,
    EXPECTED,
    OBSERVED,
    PALETTE,
    axes_or_new,
    axis_label,
    draw_legend,
    extent,
    finish,
    name_ticks,
    short_label,
)
from shesha.support.types import Vector

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_ENTRY = 1.3
"""Width of a legend entry in inches."""


def boxes(ax: Axes, values: Mapping[str, Vector], colours: Sequence[str], *, label: str = "") -> Axes:
    """Draw one horizontal box per set of values, the first on top.

    Parameters
    ----------
    ax : matplotlib Axes
        Where to draw.
    values : mapping of str to array
        The values that each box summarises, by the name of the box.
    colours : sequence of str
        The colour of each box.
    label : str
        Label of the value axis.

    Returns
    -------
    matplotlib Axes
        Boxes extend from the first to the third quartile, with a line at the median. Whiskers reach the extremes.
    """
    places = range(len(values))
    drawn = ax.boxplot(
        list(values.values()),
        positions=places,
        orientation="horizontal",
        widths=0.65,
        whis=(0, 100),
        patch_artist=True,
        medianprops={"color": "black", "linewidth": 1.5},
    )
    for box, colour in zip(drawn["boxes"], colours, strict=True):
        box.set(facecolor=colour, edgecolor="0.25", linewidth=0.7)
    for line in (*drawn["whiskers"], *drawn["caps"]):
        line.set(color="0.45", linewidth=0.7)
    ax.set_yticks(places, list(values), fontsize=8)
    ax.set_ylim(len(values) - 0.4, -0.6)
    ax.set_xlabel(label)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.grid(axis="x", color="0.9", linewidth=0.6)
    ax.set_axisbelow(True)
    return ax


def legend_of_colours(figure: Any, colours: Mapping[str, str]) -> None:
    """Draw a legend below a figure that explains its colours."""
    from matplotlib.patches import Patch

    handles = [Patch(facecolor=colour, label=kind) for kind, colour in colours.items()]
    columns = min(len(handles), max(2, int(figure.get_size_inches()[0] / _ENTRY)))
    figure.legend(handles=handles, loc="outside lower center", ncols=columns, frameon=False, fontsize="small")


def class_values(
    names: Sequence[str],
    values: ArrayLike,
    chance: ArrayLike,
    above: ArrayLike,
    *,
    ends: tuple[ArrayLike, ArrayLike] | None = None,
    label: str = "",
    tested: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw a line for each class or other item, from its chance level to its value.

    Parameters
    ----------
    names : sequence of str
        The classes, from top to bottom.
    values, chance : array of shape (n,)
        The value and the chance level of each class. NaN entries are not drawn.
    above : sequence of bool
        Whether each class is above chance; if so, its dot is filled, otherwise hollow.
    ends : pair of arrays of shape (n,), optional
        Lower and upper ends of the intervals, NaN where there is none.
    label : str
        Label of the value axis.
    tested : bool
        Whether the values were compared with chance; if not, all dots are filled and there is no legend.
    ax : matplotlib Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib Axes
        The value axis shows 0 to 1, and more where values need it, unless a value exceeds 1.
    """
    ax = axes_or_new(ax, (5.6, extent(len(names), 0.3, 0.9)))
    places, scores = np.arange(len(names)), np.asarray(values, dtype=float)
    level, filled = np.asarray(chance, dtype=float), np.asarray(above, dtype=bool)
    ax.hlines(places, level, scores, color=EXPECTED, linewidth=0.8, zorder=1)
    if ends is not None:
        ax.hlines(places, *ends, color=PALETTE[0], linewidth=2, zorder=2)
    if tested:
        ax.plot(level, places, "|", color=EXPECTED, markersize=9, zorder=2, label="chance")
    kinds = ((filled, PALETTE[0], "above chance"), (~filled, "white", "not above chance"))
    for chosen, fill, words in kinds if tested else ((np.ones_like(filled), PALETTE[0], ""),):
        if chosen.any():
            ax.plot(scores[chosen], places[chosen], "o", color=PALETTE[0], markerfacecolor=fill, zorder=3, label=words)
    name_ticks(ax, names, down=True)
    low, _high = ax.get_xlim()
    ax.set(xlabel=label, ylim=(max(len(names), 1) - 0.5, -0.5))
    if np.nanmax(scores, initial=0.0) <= 1:
        ax.set_xlim(min(-0.02, low), 1.02)
    return finish(ax, legend=tested, above=True)


_LEAST = 1e-16


def drift_bars(
    names: Sequence[str], drifts: Sequence[float], thresholds: Sequence[float], *, ax: Axes | None = None
) -> Axes:
    """Draw drifts and thresholds on a logarithmic scale, because measures differ by orders of magnitude.

    Parameters
    ----------
    names : sequence of str
        Names of the measures.
    drifts, thresholds : sequence of float
        The drift and the threshold of each measure. Values of 0 or less are drawn at the left edge.
    ax : matplotlib Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib Axes
    """
    ax = axes_or_new(ax, (5.6, extent(len(names), 0.5, 1.2)))
    places = np.arange(len(names))[::-1]
    values, limits = (np.maximum(np.asarray(part, dtype=float), _LEAST) for part in (drifts, thresholds))
    ax.scatter(values, places, color=OBSERVED, zorder=3, label="drift")
    ax.scatter(limits, places, color=EXPECTED, marker="|", s=200, label="threshold")
    ax.hlines(places, np.minimum(values, limits), np.maximum(values, limits), color="#b9c7d6")
    ax.set_xscale("log")
    name_ticks(ax, names[::-1], down=True)
    ax.set_xlabel("drift (0 = same geometry)")
    return finish(ax, above=True)


_STYLES = (("o", "#1f4e79"), ("s", "#c55a11"), ("^", "#009e73"), ("D", "#cc79a7"), ("v", "#56b4e9"))


@dataclass(frozen=True)
class Series:
    """One score of several items: its values and the ends of their intervals, NaN where missing."""

    values: Sequence[float]
    lows: Sequence[float]
    highs: Sequence[float]

    @classmethod
    def of(cls, numbers: Iterable[Any]) -> Series:
        """Return the values and intervals of numbers; None is a missing one."""
        ends = ("value", "low", "high")
        return cls(*zip(*([getattr(one, end, nan) for end in ends] for one in numbers), strict=True))


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
    ax = axes_or_new(ax, (extent(len(names), 0.9, 2.0, 4.5), 3.4))
    places = np.arange(len(names))
    for place, (name, series) in enumerate(scores.items()):
        value, low, high = (np.asarray(part, dtype=float) for part in (series.values, series.lows, series.highs))
        marker, colour = _STYLES[place % len(_STYLES)]
        spread = np.abs(np.vstack([value - low, high - value]))
        ax.errorbar(
            *(places, value),
            yerr=spread,
            label=short_label(name),
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
    name_ticks(ax, names)
    ax.set_ylabel(axis_label(label))
    ax.set_ylim(min(-0.05, ax.get_ylim()[0]), 1.02)
    # Unconnected points may lie in any corner.
    return finish(ax, above=not joined)


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
    draw_legend(ax)


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
    ax = axes_or_new(ax, (extent(len(names), 0.5, 1.6, 4.0), 4.0))
    places, heights = np.arange(len(names)), np.asarray(values, dtype=float)
    ends = np.asarray(intervals, dtype=float).reshape(-1, 2)
    if band is not None:
        ax.axhspan(min(band), max(band), color="#d4d4d4", zorder=0, label="noise ceiling")
    ax.bar(places, heights, width=0.62, color=PALETTE[0], zorder=2)
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
    name_ticks(ax, names)
    ax.set_ylabel(axis_label(label))
    return finish(ax, legend=band is not None or bool(marked), above=True)


def _draw_differences(ax: Axes, different: Sequence[tuple[int, int]], high: float, height: float) -> None:
    """Draw a horizontal line for each pair that differs, with the shortest lines lowest."""
    pairs = sorted((tuple(sorted(pair)) for pair in different), key=lambda pair: (pair[1] - pair[0], pair))
    if len(pairs) > _MOST_LINES:
        pairs = [pair for pair in pairs if pair[1] - pair[0] == 1]
    for level, (i, j) in enumerate(pairs):
        ax.plot(
            [i, j], [high + (level + 1.2) * _STEP * height] * 2, color=EXPECTED, linewidth=1.4, solid_capstyle="butt"
        )


def null_distribution(
    null: Sequence[float],
    observed: float,
    threshold: float,
    *,
    label: str = "",
    drawn: str = "rows matched at random",
    ax: Axes | None = None,
) -> Axes:
    """Draw a histogram of a null distribution, the observed value and the threshold.

    Parameters
    ----------
    null : sequence of float
        The draws. NaN and infinite values are omitted.
    observed, threshold : float
        Values at which vertical lines are drawn, unless they are NaN.
    label : str
        Name of the measured value.
    drawn : str
        Description of the null distribution for the legend.
    ax : matplotlib Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib Axes
    """
    ax = axes_or_new(ax, (4.8, 3.0))
    finite = [value for value in null if isfinite(value)]
    ax.hist(
        finite, bins=min(30, max(5, len(finite) // 8)), color="#b9c7d6", edgecolor="#6d8093", linewidth=0.8, label=drawn
    )
    if isfinite(threshold):
        ax.axvline(threshold, color=EXPECTED, linestyle="--", linewidth=1.2, label="threshold")
    if isfinite(observed):
        ax.axvline(observed, color=OBSERVED, linewidth=2, label="observed")
    ax.set_xlabel(axis_label(label, BELOW))
    ax.set_ylabel("draws")
    # Vertical lines cross every place inside the axes.
    return finish(ax, above=True)
