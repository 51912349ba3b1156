"""Charts in a plane: tables as heat maps, and rows or items as points."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from shesha.charts._axes import (
    OBSERVED,
    ON_DARK,
    ON_LIGHT,
    PALETTE,
    axes_or_new,
    draw_legend,
    extent,
    literal,
    name_points,
    short_label,
    tick_labels,
)
from shesha.support import types as kinds
from shesha.support.types import Matrix

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage


class Style(TypedDict, total=False):
    """Options for the appearance of a heat map."""

    title: str | None
    """Title. Default: a description of the values."""
    annotate: bool | None
    """Whether values are written into the cells. Default: only if they fit."""
    cmap: str
    """A matplotlib colour map that runs from dark to light."""
    vmin: float | None
    """Lower end of the colour scale. Default: 0 for similarities of at most 1, otherwise the smallest value."""
    vmax: float | None
    """Upper end of the colour scale. Default: 1 for similarities of at most 1, otherwise the largest value."""
    size: tuple[float, float] | None
    """Width and height of a new figure, in inches."""


def style_options(style: Style, title: str, limits: tuple[float | None, float | None] = (None, None)) -> dict[str, Any]:
    """Check the appearance that a user chose, and return it as options of `heat_map`, with defaults for the others."""
    if unknown := sorted(style.keys() - Style.__annotations__.keys()):
        raise TypeError(f"style must be among {', '.join(Style.__annotations__)}, got {', '.join(unknown)}")
    low, high = style.get("vmin"), style.get("vmax")
    if low is not None and high is not None and not low < high:
        raise ValueError(f"vmin must be below vmax ({high}), got {low}")
    chosen = style.get("title")
    return {
        "title": title if chosen is None else chosen,
        "annotate": style.get("annotate"),
        "cmap": style.get("cmap", "viridis"),
        "limits": tuple(end if chosen is None else chosen for end, chosen in zip(limits, (low, high), strict=True)),
        "size": style.get("size"),
    }


def full_range(values: Matrix, closer: str) -> tuple[float | None, float | None]:
    """Return the ends of the colour scale for similarities of at most 1: 0, or the lowest value if below, and 1.

    Examples
    --------
    >>> full_range(np.array([[0.8, -0.1]]), "higher"), full_range(np.array([[0.8, 3.0]]), "lower")
    ((-0.1, 1.0), (None, None))
    """
    low, high = _ends(np.asarray(values, dtype=float))
    return (min(0.0, low), 1.0) if closer == "higher" and high <= 1 else (None, None)


def leaf_order(values: Matrix, closer: str) -> list[int]:
    """Return the leaf order of an average-linkage clustering, which puts similar rows next to each other.

    Parameters
    ----------
    values : array of shape (n, n)
        Similarities or distances of all pairs. An asymmetric table is averaged with its transpose.
    closer : {"higher", "lower"}
        Whether higher or lower values are more similar.

    Returns
    -------
    list of int
        The order of the rows. Tables with fewer than three rows or with NaN keep their order.

    Examples
    --------
    >>> leaf_order(np.array([[0.0, 9.0, 1.0], [9.0, 0.0, 8.0], [1.0, 8.0, 0.0]]), "lower")
    [1, 2, 0]
    """
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    n = len(values)
    if n < 3 or np.isnan(values[~np.eye(n, dtype=bool)]).any():
        return list(range(n))
    means = (values + values.T) / 2
    distances = means if closer == "lower" else np.nanmax(means) - means
    np.fill_diagonal(distances, 0.0)
    tree = linkage(squareform(np.maximum(distances, 0.0), checks=False), "average", optimal_ordering=True)
    return [int(place) for place in leaves_list(tree)]


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
    logarithmic: bool = False,
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
    logarithmic : bool
        Whether the colours show orders of magnitude up to 1, as p-values need.
    ax : matplotlib Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib Axes
    """
    cells = np.asarray(values, dtype=float)
    n_rows, n_columns = cells.shape
    is_new = ax is None
    labels = tick_labels(rows)
    ax = axes_or_new(ax, size or _figure_size(labels, n_columns))
    low, high = (end if limit is None else limit for end, limit in zip(_ends(cells), limits, strict=True))
    scale: dict[str, Any] = {"vmin": low, "vmax": high}
    if logarithmic and low > 0:
        scale = {"norm": "log", "vmin": low, "vmax": high if limits[1] is not None else 1.0}
    image = ax.imshow(cells, cmap=f"{cmap}_r" if closer == "higher" else cmap, **scale)
    ax.figure.colorbar(image, ax=ax, shrink=0.8)
    _name(ax, labels, tick_labels(columns))
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
    if len(rows) > _MOST_NUMBERS and _label_spacing(rows) > 1:
        return 6.4, 5.4
    return extent(n_columns, 0.55, names + 1.4, 3.6), extent(len(rows), 0.5, 1.6, 3.0)


def _ends(cells: Matrix) -> tuple[float, float]:
    finite = cells[np.isfinite(cells)]
    return (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)


def _largest_font(ax: Axes, shape: tuple[int, ...]) -> float:
    """Return the largest font size, at most 8 points, at which four digits fit into a cell."""
    box = ax.get_window_extent()
    cell = min(box.width / shape[1], box.height / shape[0]) * 72 / ax.figure.dpi
    return float(min(8.0, 0.9 * cell / (_DIGITS * _DIGIT_WIDTH)))


_MOST_NUMBERS = 20
"""If there are more rows or columns and their names are numbers, such as times, about ten names are written."""
_MOST_NAMES = 60


def _name(ax: Axes, rows: list[str], columns: list[str]) -> None:
    down, across = _label_spacing(rows), _label_spacing(columns)
    ax.set_yticks(range(0, len(rows), down), rows[::down])
    slanted = max(map(len, columns[::across])) > 4
    ha, angle = ("right", 40) if slanted else ("center", 0)
    ax.set_xticks(range(0, len(columns), across), columns[::across], rotation=angle, ha=ha)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0, labelsize="x-small" if max(len(rows) / down, len(columns) / across) > 24 else "medium")


def _label_spacing(names: list[str]) -> int:
    """Return how many cells lie between two names: one, or about a tenth of many numbers."""
    numbers = len(names) > _MOST_NUMBERS and all(re.fullmatch(r"-?\d*\.?\d+(e-?\d+)?", name) for name in names)
    return -(-len(names) // (10 if numbers else _MOST_NAMES))


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

    width = 2.5 if max(ax.get_images()[0].get_size()) <= _MOST_NUMBERS else 0.8
    # Frames at the border of the map are not cut in half.
    style: dict[str, Any] = {"fill": False, "edgecolor": OBSERVED, "linewidth": width, "clip_on": False}
    ax.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, **style))


Points = Sequence[tuple[float, float]]
_LINES = 25
"""Number of rows, those that moved most, for which a line is drawn."""
_CROWD = 500
"""Number of points from which on points are drawn small and faint."""
_OTHERS = "#9f9f9f"
_COLOURS = tuple(colour for colour in PALETTE if colour not in ("#7f7f7f", "#000000"))


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
    colours = {name: _COLOURS[i] if i < len(_COLOURS) else _OTHERS for i, name in enumerate(known)}
    points = [colours[label] for label in labels] if labels else PALETTE[0]
    ax.scatter(after[:, 0], after[:, 1], s=size, c=points, alpha=alpha, linewidths=0)
    if len(planes) > 1:
        for row in moved[:_LINES]:
            ax.plot(
                *np.stack([before[row], after[row]]).T, color="0.4", linewidth=0.8, marker="o", markevery=[0], ms=2.5
            )
    for name in known[: len(_COLOURS)]:
        ax.scatter([], [], s=18, color=colours[name], label=short_label(name, 24))
    if len(known) > len(_COLOURS):
        ax.scatter([], [], s=18, color=_OTHERS, label="other labels")
    if len(known) > 1:
        ax.legend(frameon=False, fontsize="small", handletextpad=0.2, loc="center left", bbox_to_anchor=(1.0, 0.5))
    ax.set(xticks=[], yticks=[], title=" to ".join(short_label(name, 24) for name in names))
    ax.set_aspect("equal", "datalim")
    return ax


_MARKS = "osD^vP*X"


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
    known = list(dict.fromkeys(group_of))
    for number, (kind, label) in enumerate(zip(known, tick_labels(known), strict=True)):
        points = places[[group == kind for group in group_of]]
        colour, mark = PALETTE[number % len(PALETTE)], _MARKS[number % len(_MARKS)]
        ax.scatter(points[:, 0], points[:, 1], s=36, label=label, color=colour, marker=mark)
    # Only distances are meaningful, so both axes have the same scale and no tick labels.
    ax.set_aspect("equal", adjustable="datalim")
    ax.margins(0.15)
    ax.set(xticks=[], yticks=[], title=literal(title))
    if explained is not None:
        ax.set_xlabel(f"the map shows {100 * explained:.0f} % of the squared distances", fontsize="small")
    if groups is not None:
        draw_legend(ax)
    name_points(ax, list(map(tuple, places)), dict(enumerate(names)))
    return ax
