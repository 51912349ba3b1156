"""Rows as points in a plane, with lines that show how they moved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from shesha.charts._axes import PALETTE, axes_or_new, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Points = Sequence[tuple[float, float]]
_LINES = 25
"""Number of rows, those that moved most, for which a line is drawn."""
_CROWD = 500
"""Number of points from which on points are drawn small and faint."""
_CLASSES = len(PALETTE) - 2


def row_map(
    planes: Sequence[Points],
    labels: Sequence[str],
    moved: Sequence[int],
    names: Sequence[str],
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw rows as points; given two sets of positions, draw lines for the rows that moved most.

    Parameters
    ----------
    planes : sequence of points
        One or two sets of positions. Point i is the same input in both.
    labels : sequence of str
        The label of each row, shown by colour; the smallest classes share one grey. Empty if there are no labels.
    moved : sequence of int
        Row numbers, starting with the rows that moved most.
    names : sequence of str
        Titles of the planes.
    ax : matplotlib Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib Axes
    """
    ax = axes_or_new(ax, (5.4, 5.0))
    before, after = (np.asarray(plane, dtype=float) for plane in (planes[0], planes[-1]))
    size, alpha = (16, 0.8) if len(after) < _CROWD else (5, 0.5)
    known = [name for name, _ in Counter(labels).most_common()]
    colours = {name: PALETTE[i] if i < _CLASSES else "#7f7f7f" for i, name in enumerate(known)}
    points = [colours[label] for label in labels] if labels else PALETTE[0]
    ax.scatter(after[:, 0], after[:, 1], s=size, c=points, alpha=alpha, linewidths=0)
    if len(planes) > 1:
        for row in moved[:_LINES]:
            ax.plot(
                *np.stack([before[row], after[row]]).T, color="0.4", linewidth=0.8, marker="o", markevery=[0], ms=2.5
            )
    for name in known[:_CLASSES]:
        ax.scatter([], [], s=18, color=colours[name], label=shorten(name, 24))
    if len(known) > 1:
        ax.legend(fontsize="small", handletextpad=0.2)
    ax.set(xticks=[], yticks=[], title=" to ".join(shorten(name, 24) for name in names))
    ax.set_aspect("equal", "datalim")
    return ax
