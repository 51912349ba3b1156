"""Horizontal box plots, one below the other, coloured by kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

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
