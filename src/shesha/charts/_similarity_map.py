"""Maps of items in a plane, on which similar items are close to each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from shesha.charts._axes import PALETTE, axes_or_new, literal
from shesha.support import argument_types as kinds
from shesha.support.types import Matrix

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MARKS = "osD^vP*X<"


def similarity_map(
    coordinates: Matrix,
    names: Sequence[str],
    *,
    explained: float | None = None,
    groups: Sequence[str] | None = None,
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw items as named points in a plane.

    Parameters
    ----------
    coordinates : array of shape (n_items, 2)
        Positions of the items.
    names : sequence of str
        Names of the items, printed next to the points.
    explained : float, optional
        Share of the squared distances that the plane shows, printed below it: a plane that shows only half of them can
        mislead.
    groups : sequence of str, optional
        The group of each item, shown by colour and shape.
    title : str
        Title of the picture.
    ax : matplotlib Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib Axes
    """
    places = np.asarray(coordinates, dtype=float)
    if places.ndim != 2 or places.shape != (len(names), 2):
        raise ValueError(f"coordinates must have a row of two numbers per name ({len(names)}), got {places.shape}")
    ax = axes_or_new(ax, (5.0, 4.2))
    group_of = (
        ["" for _ in names] if groups is None else [str(group) for group in kinds.iterable(groups, "groups", "names")]
    )
    if len(group_of) != len(names):
        raise ValueError(f"groups must have one entry per name ({len(names)}), got {len(group_of)}")
    for number, kind in enumerate(dict.fromkeys(group_of)):
        points = places[[group == kind for group in group_of]]
        colour, mark = PALETTE[number % len(PALETTE)], _MARKS[number % len(_MARKS)]
        ax.scatter(points[:, 0], points[:, 1], s=36, label=literal(kind), color=colour, marker=mark)
    for (x, y), name in zip(places, names, strict=True):
        ax.annotate(literal(name), (x, y), xytext=(5, 4), textcoords="offset points", fontsize="small")
    # Only distances are meaningful, so both axes have the same scale and no tick labels.
    ax.set_aspect("equal", adjustable="datalim")
    ax.margins(0.15)
    ax.set(xticks=[], yticks=[], title=literal(title))
    if explained is not None:
        ax.set_xlabel(f"the map shows {100 * explained:.0f} % of the squared distances", fontsize="small")
    if groups is not None:
        ax.legend(frameon=False, fontsize="small")
    return ax
