"""Elements that all charts share: axes, names and colours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

from shesha.support.optional import require
from shesha.support.wording import differing_parts, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OBSERVED = "#c55a11"
EXPECTED = "#7f7f7f"
# Text colours on coloured cells. They are not pure black and white, because pages replace these two by the page's own
# text and background colours.
ON_LIGHT, ON_DARK = "#010101", "#fefefe"
# The palette of Okabe and Ito, whose colours colour-blind readers can distinguish.
PALETTE = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#7f7f7f", "#000000", "#c5b000")


def pyplot() -> Any:
    """Import and return matplotlib.pyplot."""
    return require("matplotlib.pyplot", "plot", "plots need matplotlib")


def axes_or_new(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """Return the given axes, or those of a new figure whose size is in inches."""
    plt = pyplot()
    if ax is None:
        _, ax = plt.subplots(figsize=size, layout="constrained")
    if not hasattr(ax, "get_figure") or not hasattr(ax, "imshow"):
        raise TypeError(f"ax must be Axes of matplotlib, got {type(ax).__name__}")
    return ax


def sequence_of_colours(n: int) -> tuple[str, ...]:
    """Return colours from dark to light for ordered items, such as layers.

    Examples
    --------
    >>> sequence_of_colours(2)
    ('#440154', '#7ad151')
    """
    colours = require("matplotlib", "plot", "plots need matplotlib").colormaps["viridis"]
    to_hex = require("matplotlib.colors", "plot").to_hex
    # Omit the lightest yellow, which is hard to see on a white background.
    return tuple(to_hex(colours(0.8 * place / max(1, n - 1))) for place in range(n))


def short_label(name: object, most: int = 32) -> str:
    """Return a shortened name, as matplotlib prints it.

    Examples
    --------
    >>> short_label("a"), short_label("embeddings " * 9)
    ('a', 'embeddings embedding...mbeddings')
    """
    return literal(shorten(str(name), most))


_LARGEST = 12.0
"""Largest width or height of a new figure in inches."""


def extent(n_items: int, per_item: float, rest: float, least: float = 0.0) -> float:
    """Return the width or height in inches of a figure with a number of items."""
    return min(_LARGEST, max(least, per_item * n_items + rest))


_ACROSS, _DOWN = 24, 60
"""Most names below and beside the axes."""
_INCHES_PER_LETTER, _INCHES_PER_SLANTED = 0.1, 0.28


def tick_labels(names: Sequence[object]) -> list[str]:
    """Return names as labels of an axis; long names lose the parts that they share.

    Examples
    --------
    >>> tick_labels([f"model.encoder.layer.{i}.output.dense" for i in range(2)])
    ['layer.0', 'layer.1']
    """
    labels = [str(name) for name in names]
    if max(map(len, labels), default=0) > _ACROSS:
        parts, _ = differing_parts(labels)
        labels = [parts[label] for label in labels]
    return [short_label(label) for label in labels]


def name_ticks(ax: Axes, names: Sequence[object], *, down: bool = False) -> None:
    """Write names at the positions 0, 1, ... of an axis; if there are too many, only every second, third, ..."""
    room = ax.get_window_extent().width / ax.figure.dpi
    most = _DOWN if down else min(_ACROSS, max(1, int(room / _INCHES_PER_SLANTED)))
    step = max(1, -(-len(names) // most))
    places, shown = range(0, len(names), step), tick_labels(names)[::step]
    if down:
        ax.set_yticks(places, shown)
        return
    slanted = _INCHES_PER_LETTER * sum(len(label) + 2 for label in shown) > room
    ax.set_xticks(places, shown, rotation=30 if slanted else 0, ha="right" if slanted else "center")


def literal(name: object) -> str:
    """Return a name escaped so that matplotlib does not read it as a formula."""
    return str(name).replace("$", r"\$")


def axis_label(text: str, most: int = 24) -> str:
    """Return the label of an axis in lines of at most 24 characters; below the axes, more have room."""
    return literal(fill(text, most))


BELOW = 48
"""Characters per line of a label below the axes."""


def set_title(ax: Axes, title: str) -> None:
    """Set the title of the axes, above a legend that is placed above them."""
    ax.set_title("")
    pad, legend = 6.0, ax.get_legend()
    figure = ax.get_figure(root=True)
    if title and legend is not None and figure is not None:
        figure.draw_without_rendering()
        above = legend.get_window_extent().y1 - ax.get_window_extent().y1
        pad += max(0.0, above) * 72 / figure.dpi
    ax.set_title(literal(title), fontsize="medium", pad=pad)


_BESIDE = ((5, 2, "left"), (-5, 2, "right"), (5, -8, "left"), (-5, -8, "right"), (0, 6, "center"), (0, -12, "center"))
"""Where the name of a point may stand: horizontal and vertical distance in points, and alignment."""


def name_points(ax: Axes, points: Sequence[tuple[float, float]], names: Mapping[int, str]) -> None:
    """Write names beside points, the first ones first; a name that would cover a point or a name is left out."""
    from matplotlib.transforms import Bbox

    ax.figure.draw_without_rendering()  # type: ignore[union-attr]
    inside = ax.get_window_extent()
    boxes: list[Any] = [Bbox.from_bounds(x - 4, y - 4, 8, 8) for x, y in ax.transData.transform(points)]
    for place, label in zip(names, tick_labels(list(names.values())), strict=True):
        for right, up, side in _BESIDE:
            text = ax.annotate(
                label, points[place], (right, up), textcoords="offset points", ha=side, fontsize="x-small"
            )
            # The layout stays that for which the places were chosen.
            text.set_in_layout(False)
            box = text.get_window_extent()
            fits = all(inside.contains(*corner) for corner in (box.min, box.max))
            if fits and not any(box.overlaps(other) for other in boxes):
                boxes.append(box)
                break
            text.remove()


_ENTRIES, _INSIDE = 10, 4
"""Most entries of a legend, and most that have room inside the axes."""


def draw_legend(ax: Axes, **place: Any) -> None:
    """Draw the legend, beside the axes if it is long; of more than ten entries, it shows ten and says so."""
    handles, labels = ax.get_legend_handles_labels()
    n = len(labels)
    if n > _INSIDE and not place:
        place = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)}
    if n > _ENTRIES:
        shown = [round(i * (n - 1) / (_ENTRIES - 1)) for i in range(_ENTRIES)]
        handles, labels = ([entries[i] for i in shown] for entries in (handles, labels))
        place["title"] = f"{_ENTRIES} of {n}"
    ax.legend(handles, labels, frameon=False, **{"fontsize": "small"} | place)


def finish(ax: Axes, *, legend: bool = True, above: bool = False) -> Axes:
    """Remove the upper and the right line of the frame and draw the legend; above the axes, it covers no point."""
    ax.spines[["top", "right"]].set_visible(False)
    place: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "ncols": 2} if above else {}
    if legend:
        draw_legend(ax, **place)
    return ax
