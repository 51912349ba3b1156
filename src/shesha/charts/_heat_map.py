"""A table of values as a heat map."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np

from shesha.charts._axes import OBSERVED, ON_DARK, ON_LIGHT, axes_or_new, literal, shorten
from shesha.support.types import Matrix

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage

_WRITTEN = 16
"""Maximum number of rows or columns for which values are written into the cells."""
_SMALLEST_FONT = 5.0
_INCHES_PER_LETTER = 0.08
_DIGITS, _DIGIT_WIDTH = 4, 0.58
"""Number of characters per value, and the width of a character relative to the font size."""


def heat_map(
    values: Matrix,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    title: str = "",
    closer: str = "higher",
    framed: Iterable[tuple[int, int]] = (),
    limits: tuple[float | None, float | None] = (None, None),
    cmap: str = "viridis",
    annotate: bool | None = None,
    size: tuple[float, float] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a table of values as a heat map, in which darker cells are more similar.

    Parameters
    ----------
    values : array of shape (n_rows, n_columns)
        The values. Cells with NaN stay empty.
    rows, columns : sequences of str
        Names of the rows and columns.
    title : str
        Title of the picture.
    closer : {'higher', 'lower'}
        Whether higher or lower values are more similar, and so darker.
    framed : iterable of (row, column)
        Cells to draw with a frame.
    limits : (low, high)
        Values at the ends of the colour scale; set them to make several pictures comparable. None: the smallest and the
        largest value.
    cmap : str
        Name of a matplotlib colour map that runs from dark to light.
    annotate : bool, optional
        Whether to write values into the cells. Default: only if they fit.
    size : (width, height), optional
        Size of a new figure, in inches.
    ax : matplotlib Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib Axes
    """
    cells = np.asarray(values, dtype=float)
    n_rows, n_columns = cells.shape
    is_new = ax is None
    ax = axes_or_new(ax, size or _figure_size(list(map(shorten, rows)), n_columns))
    low, high = (end if limit is None else limit for end, limit in zip(_ends(cells), limits, strict=True))
    image = ax.imshow(cells, cmap=f"{cmap}_r" if closer == "higher" else cmap, vmin=low, vmax=high)
    ax.figure.colorbar(image, ax=ax, shrink=0.8)
    _name(ax, list(map(shorten, rows)), list(map(shorten, columns)))
    ax.set_title(literal(fill(title, max(28, round(7 * n_columns)))), fontsize="medium")
    figure = ax.get_figure(root=True)
    if is_new and figure is not None:
        # The size of the cells is known only once the layout has been computed.
        figure.draw_without_rendering()
    font = _largest_font(ax, cells.shape)
    fits = font >= _SMALLEST_FONT and max(n_rows, n_columns) <= _WRITTEN
    if fits if annotate is None else annotate:
        _write(ax, cells, image, max(font, 3.0))
    for row, column in framed:
        frame_cell(ax, row, column)
    return ax


def _figure_size(rows: list[str], n_columns: int) -> tuple[float, float]:
    """Return a figure size in inches that gives each cell about half an inch and leaves space for names."""
    names = _INCHES_PER_LETTER * max(map(len, rows), default=0)
    return max(3.6, names + 0.55 * n_columns + 1.4), max(3.0, 0.5 * len(rows) + 1.6)


def _ends(cells: Matrix) -> tuple[float, float]:
    finite = cells[np.isfinite(cells)]
    return (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)


def _largest_font(ax: Axes, shape: tuple[int, ...]) -> float:
    """Return the largest font size, at most 8 points, at which four digits fit into a cell."""
    box = ax.get_window_extent()
    cell = min(box.width / shape[1], box.height / shape[0]) * 72 / ax.figure.dpi
    return float(min(8.0, 0.9 * cell / (_DIGITS * _DIGIT_WIDTH)))


def _name(ax: Axes, rows: list[str], columns: list[str]) -> None:
    ax.set_yticks(range(len(rows)), rows)
    slanted = max(map(len, columns)) > 4
    ax.set_xticks(range(len(columns)), columns, rotation=40 if slanted else 0, ha="right" if slanted else "center")
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)


def _write(ax: Axes, cells: Matrix, image: AxesImage, font: float) -> None:
    for i, j in np.ndindex(cells.shape):
        known = np.isfinite(cells[i, j])
        text = f"{cells[i, j]:.2f}" if known and abs(cells[i, j]) < 100 else f"{cells[i, j]:.3g}" if known else "-"
        # The text colour depends on the luminance of the cell, so that text is legible with any colour map.
        red, green, blue, _ = image.cmap(image.norm(cells[i, j])) if known else (1.0, 1.0, 1.0, 1.0)
        dark = 0.299 * red + 0.587 * green + 0.114 * blue < 0.5
        ax.text(j, i, text, ha="center", va="center", fontsize=font, color=ON_DARK if dark else ON_LIGHT)


def frame_cell(ax: Axes, row: int, column: int) -> None:
    """Draw a frame around one cell of a heat map."""
    from matplotlib.patches import Rectangle

    ax.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, edgecolor=OBSERVED, linewidth=2.5))
