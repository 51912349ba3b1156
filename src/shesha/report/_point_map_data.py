"""Data that the page's script needs to draw a map of points."""

from __future__ import annotations

from collections import Counter
from math import inf
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shesha.report.sections import PointMap

SIZE = 8000
"""Number of grid steps across a map; the grid is finer than the pixels of a screen."""
_MARGIN = 0.04
_NAME = 300
"""Largest number of characters of a name on the page."""
_COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#7570b3", "#8a7a00", "#a6512a")
"""The colours of Okabe and Ito (and some more), without those that are hard to see on dark or light pages."""
_REST = "#8c8c8c"


def map_data(part: PointMap) -> dict[str, Any]:
    """Return the data for the script: points on a common grid, groups, colours and names."""
    labels, groups = _groups(part)
    coloured, rest = labels[: len(_COLOURS)], labels[len(_COLOURS) :]
    others = [rest[0] if len(rest) == 1 else f"{len(rest):,} others"] if rest else []
    return {
        "size": SIZE,
        "planes": _grid_points(part),
        "names": [name if len(name) <= _NAME else f"{name[:_NAME]}..." for name in part.rows],
        "labels": labels,
        "groups": groups,
        "legend": [*coloured, *others],
        "colours": [*_COLOURS[: max(1, len(coloured))], *(_REST for _ in others)],
        "moved": [round(100 * share) for share in part.moved],
        "order": list(part.order or range(len(part.rows))),
    }


def _groups(part: PointMap) -> tuple[list[str], list[int]]:
    """Return the labels, coloured ones first, and for each row the index of its label."""
    if not part.labels:
        return [], [0] * len(part.rows)
    known = [name for name, _ in sorted(Counter(part.labels).items(), key=lambda item: (-item[1], item[0]))]
    # If there is just one more class than colours, that class gets the grey that the smallest classes would share.
    shown = len(_COLOURS) + (len(known) == len(_COLOURS) + 1)
    known[:shown] = sorted(known[:shown], key=_place)
    number = {name: i for i, name in enumerate(known)}
    return known, [number[label] for label in part.labels]


def _place(name: str) -> tuple[float, str]:
    """Sort key that puts numbers and ranges first, by value, then all other names alphabetically."""
    try:
        return float(name.split(" ")[0]), name
    except ValueError:
        return inf, name


def _grid_points(part: PointMap) -> list[list[int]]:
    """Scale all planes to a common square; per plane, list each row's x and y as whole numbers."""
    xs, ys = ([point[axis] for plane in part.planes for point in plane] for axis in (0, 1))
    reach = max(max(xs) - min(xs), max(ys) - min(ys)) or 1.0
    side = reach * (1 + 2 * _MARGIN)
    left, low = ((max(values) + min(values)) / 2 - side / 2 for values in (xs, ys))
    return [
        [round(SIZE * (value - start) / side) for x, y in plane for value, start in ((x, left), (y, low))]
        for plane in part.planes
    ]
