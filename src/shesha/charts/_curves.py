"""Several curves over the same x values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from shesha.charts._axes import PALETTE, axes_or_new, literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DASHES = ("-", "--", ":", "-.")


def curves(
    x: Sequence[float],
    values: Mapping[str, Sequence[float]],
    *,
    labels: tuple[str, str] = ("", ""),
    ax: Axes | None = None,
) -> Axes:
    """Draw curves over the same x values, distinguished by colour and dashes.

    Parameters
    ----------
    x : sequence of float
        Horizontal positions of the values.
    values : mapping of str to sequence of float
        The values of each curve, by name.
    labels : pair of str
        Labels of the horizontal and the vertical axis.
    ax : matplotlib Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib Axes
    """
    ax = axes_or_new(ax, (4.8, 3.2))
    for place, (name, curve) in enumerate(values.items()):
        dash, colour = DASHES[place % len(DASHES)], PALETTE[place % len(PALETTE)]
        ax.plot(x, curve, dash, color=colour, marker="o", markersize=3, label=literal(name))
    ax.set(xlabel=literal(labels[0]), ylabel=literal(labels[1]))
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize="small")
    return ax
