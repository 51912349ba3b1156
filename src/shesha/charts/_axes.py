"""Elements that all charts share: axes, names and colours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from shesha.support.optional import require
from shesha.support.wording import shorten

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
    ('a', 'embeddings embeddings embeddi...')
    """
    return literal(shorten(str(name), most))


_TICKS = 24


def name_ticks(ax: Axes, names: Sequence[object]) -> None:
    """Write names at the positions 0, 1, ... of the horizontal axis; of more than 24, only every second, third, ..."""
    step = max(1, -(-len(names) // _TICKS))
    shown = [short_label(name, 24) for name in names[::step]]
    ax.set_xticks(range(0, len(names), step), shown, rotation=30, ha="right")


def literal(name: object) -> str:
    """Return a name escaped so that matplotlib does not read it as a formula."""
    return str(name).replace("$", r"\$")


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


def finish(ax: Axes, *, legend: bool = True, above: bool = False) -> Axes:
    """Remove the upper and the right line of the frame and draw the legend; above the axes, it covers no point."""
    ax.spines[["top", "right"]].set_visible(False)
    place: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "ncols": 2} if above else {}
    if legend:
        ax.legend(frameon=False, fontsize="small", **place)
    return ax
