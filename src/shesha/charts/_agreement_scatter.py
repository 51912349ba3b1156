"""Scatter plots of two values of the same items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from shesha.charts._axes import PALETTE, axes_or_new
from shesha.support.types import Vector

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CROWD = 500
"""Number of points above which they are drawn small and faint."""


def agreement(
    x: Vector, y: Vector, groups: Sequence[str], *, labels: tuple[str, str] = ("", ""), ax: Axes | None = None
) -> Axes:
    """Draw two values of the same items, one colour per group, with the diagonal.

    Parameters
    ----------
    x, y : arrays of shape (n_points,)
        The two values of each thing.
    groups : sequence of str
        The group of each thing; colours follow the order in which groups first come.
    labels : pair of str
        What x and y are.
    ax : matplotlib Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib Axes
    """
    ax = axes_or_new(ax, (5.2, 5.0))
    colours = {group: PALETTE[place % len(PALETTE)] for place, group in enumerate(dict.fromkeys(groups))}
    # In the order of the values no group lies on top of the others.
    order = np.argsort(y, kind="stable")
    size, alpha = (14, 0.75) if len(y) < _CROWD else (5, 0.45)
    ax.axline((0, 0), slope=1, color="0.6", linewidth=1, zorder=1)
    points = [colours[groups[place]] for place in order]
    ax.scatter(np.asarray(x)[order], np.asarray(y)[order], s=size, color=points, alpha=alpha, linewidths=0)
    limits = _limits(np.array([x, y], dtype=float))
    ax.set(xlim=limits, ylim=limits, xlabel=labels[0], ylabel=labels[1])
    ax.set_box_aspect(1)
    ax.spines[["top", "right"]].set_visible(False)
    for group, colour in colours.items():
        ax.scatter([], [], s=18, color=colour, label=group)
    ax.legend(loc="lower right", fontsize="small", handletextpad=0.2)
    return ax


def _limits(values: Vector) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())
    margin = 0.04 * max(high - low, 0.1)
    return low - margin, high + margin
