"""Curves over the same x values, with the chance band of the best of many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from shesha.charts._axes import EXPECTED, PALETTE, axes_or_new, literal

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
        Where the values stand.
    values : mapping of str to sequence of float
        One curve per name.
    labels : pair of str
        What x and the values are.
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


def chance_band(ax: Axes, chances: Sequence[float], null: Sequence[float], threshold: float) -> None:
    """Draw the chance band of the best of all, from the 5th to the 95th percentile, with its threshold.

    Parameters
    ----------
    ax : matplotlib Axes
        One tick per thing that was looked through.
    chances : sequence of float
        The chance level of each.
    null : sequence of float
        The best of all, draw by draw.
    threshold : float
        What the best of chance rarely passes.
    """
    low, high = np.nanquantile(np.asarray(null, dtype=float), [0.05, 0.95])
    ax.axhspan(low, high, color=EXPECTED, alpha=0.2, linewidth=0, label="best of all by chance (5 to 95 %)")
    ax.plot(range(len(chances)), chances, ":", color=EXPECTED, linewidth=1.5, label="each by chance")
    ax.axhline(threshold, color=EXPECTED, linestyle="--", linewidth=1, label="threshold of the best")
    ax.legend(frameon=False, fontsize="small")
