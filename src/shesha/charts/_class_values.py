"""One value per class with its chance level, with filled markers for values above chance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from shesha.charts._axes import EXPECTED, PALETTE, axes_or_new, literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def class_values(
    names: Sequence[str],
    values: ArrayLike,
    chance: ArrayLike,
    above: Sequence[bool],
    *,
    label: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw a line for each class, from its chance level to its value.

    Parameters
    ----------
    names : sequence of str
        The classes, from top to bottom.
    values, chance : array of shape (n,)
        The value and the chance level of each class. NaN entries are not drawn.
    above : sequence of bool
        Whether each class is above chance; if so, its dot is filled, otherwise hollow.
    label : str
        Label of the value axis.
    ax : matplotlib Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib Axes
    """
    ax = axes_or_new(ax, (5.6, 0.9 + 0.3 * len(names)))
    places, scores = np.arange(len(names)), np.asarray(values, dtype=float)
    level, filled = np.asarray(chance, dtype=float), np.asarray(above, dtype=bool)
    ax.hlines(places, level, scores, color=EXPECTED, linewidth=0.8, zorder=1)
    ax.plot(level, places, "|", color=EXPECTED, markersize=9, zorder=2, label="chance")
    for chosen, fill, words in ((filled, PALETTE[0], "above chance"), (~filled, "white", "not above chance")):
        if chosen.any():
            ax.plot(scores[chosen], places[chosen], "o", color=PALETTE[0], markerfacecolor=fill, zorder=3, label=words)
    ax.set_yticks(places, [literal(name) for name in names])
    ax.set(xlabel=label, ylim=(len(names) - 0.5, -0.5))
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))
    return ax
