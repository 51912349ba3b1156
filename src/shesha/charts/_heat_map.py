"""A table of values as a heat map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from shesha.charts._axes import OBSERVED, axes_or_new, literal, shorten
from shesha.support.types import Matrix

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WRITTEN = 16
"""Largest number of columns with values written into the cells."""


def heat_map(
    values: Matrix,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    title: str = "",
    closer: str = "higher",
    ax: Axes | None = None,
) -> Axes:
    """Draw a table of values; darker is closer.

    Parameters
    ----------
    values : array of shape (n_rows, n_columns)
        NaN where there is no value: the cell stays empty.
    rows, columns : sequences of str
        Their names.
    title : str
        What is shown.
    closer : {'higher', 'lower'}
        Which values are dark.
    ax : matplotlib Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib Axes
    """
    cells = np.asarray(values, dtype=float)
    n_rows, n_columns = cells.shape
    ax = axes_or_new(ax, (max(3.6, 0.55 * n_columns + 2.2), max(3.0, 0.5 * n_rows + 1.6)))
    image = ax.imshow(cells, cmap="viridis_r" if closer == "higher" else "viridis")
    ax.figure.colorbar(image, ax=ax, shrink=0.8)
    _name(ax, list(map(shorten, rows)), list(map(shorten, columns)))
    if max(n_rows, n_columns) <= _WRITTEN:
        _write(ax, cells, closer)
    ax.set_title(literal(title), fontsize="medium")
    return ax


def _name(ax: Axes, rows: list[str], columns: list[str]) -> None:
    ax.set_yticks(range(len(rows)), rows)
    slanted = max(map(len, columns)) > 4
    ax.set_xticks(range(len(columns)), columns, rotation=40 if slanted else 0, ha="right" if slanted else "center")
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)


def _write(ax: Axes, cells: Matrix, closer: str) -> None:
    finite = cells[np.isfinite(cells)]
    middle = (finite.min() + finite.max()) / 2 if len(finite) else 0.0
    for i, j in np.ndindex(cells.shape):
        dark = (cells[i, j] > middle) == (closer == "higher")
        text = f"{cells[i, j]:.2f}" if np.isfinite(cells[i, j]) and abs(cells[i, j]) < 100 else f"{cells[i, j]:.3g}"
        text = "-" if not np.isfinite(cells[i, j]) else text
        ax.text(j, i, text, ha="center", va="center", fontsize=8, color="white" if dark else "black")


def frame_cell(ax: Axes, row: int, column: int) -> None:
    """Mark one cell of a heat map."""
    from matplotlib.patches import Rectangle

    ax.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, edgecolor=OBSERVED, linewidth=2.5))
