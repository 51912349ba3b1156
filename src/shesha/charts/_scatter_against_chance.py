"""A scatter plot of two scores with their chance levels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from shesha.charts._axes import EXPECTED, PALETTE, axes_or_new, literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NAMED = 30
"""Maximum number of points whose names are printed."""


def against_chance(
    values: tuple[ArrayLike, ArrayLike],
    chance: tuple[ArrayLike, ArrayLike],
    names: Sequence[str] = (),
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw each point together with its chance level, a hollow point that a thin line joins to it.

    Parameters
    ----------
    values, chance : pairs of arrays of shape (n,)
        Horizontal and vertical coordinates of the points and of their chance levels.
    names : sequence of str
        Names of the items, printed next to the points if there are at most thirty.
    ax : matplotlib Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib Axes
    """
    ax = axes_or_new(ax, (6.4, 4.6))
    x, y = (np.asarray(coordinate, dtype=float) for coordinate in values)
    x0, y0 = (np.asarray(coordinate, dtype=float) for coordinate in chance)
    ax.plot(np.stack([x0, x]), np.stack([y0, y]), color=EXPECTED, linewidth=0.6, alpha=0.5, zorder=1)
    ax.scatter(x0, y0, s=26, facecolors="none", edgecolors=EXPECTED, zorder=2, label="chance, groups of the same size")
    ax.scatter(x, y, s=26, color=PALETTE[0], linewidths=0, zorder=3, label="groups")
    if len(names) <= _NAMED:
        # Only the upper half is named, because names in the crowded lower half would overlap.
        for place in np.flatnonzero(y >= np.nanmedian(y)).tolist():
            if place < len(names):
                ax.annotate(
                    literal(names[place]), (x[place], y[place]), (4, 3), textcoords="offset points", fontsize="x-small"
                )
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize="small")
    return ax
