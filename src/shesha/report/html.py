"""HTML pages as single self-contained files, and their first screens for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import groupby
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shesha._version import __version__
from shesha.report._documentation_links import address
from shesha.report._heat_colours import LEVELS, colour, ink, level
from shesha.report._inline_markup import spans
from shesha.report._matplotlib_to_svg import draw_svg
from shesha.report._page_wide_tables import blocks
from shesha.report._point_map_data import map_data
from shesha.report.sections import Either
from shesha.support.optional import require

if TYPE_CHECKING:
    from shesha.report._page_wide_tables import Column, Strip
    from shesha.report.page import Page
    from shesha.report.sections import Drawing, HeatMap, Part, Table

_FOLDER = Path(__file__).with_name("web")


def as_html(page: Page) -> str:
    """Return a page as one HTML file that needs no network, fonts or external scripts.

    Parameters
    ----------
    page : Page
        The contents of the page.

    Raises
    ------
    ImportError
        If Jinja2 is not installed, or matplotlib is not and the page contains a picture.

    Examples
    --------
    >>> from shesha.report import Page
    >>> "&lt;b&gt;" in as_html(Page("<b>", "Is it text?", ("It is.",)))
    True
    """
    return str(_environment().get_template("page.html").render(page=page, version=__version__, draw=_Drawn(), **_OWN))


def as_notebook(page: Page) -> str:
    """Return the first screen of a page for a notebook: the answer, numbers and doubts."""
    return str(_environment().get_template("notebook.html").render(page=page, draw=_Drawn(), **_OWN))


@cache
def _environment() -> Any:
    jinja = require("jinja2", "report", "pages need Jinja2")
    environment = jinja.Environment(
        loader=jinja.FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=jinja.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["groupby_kind"] = _group_parts
    environment.filters["markup"] = require("markupsafe", "report").Markup
    return environment


class _Drawn:
    """Draws the pictures of one page, with unique identifiers."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, one: Drawing) -> str:
        self.count += 1
        return draw_svg(one.draw, f"p{self.count}")


def _read_asset(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


def _colours() -> str:
    """Return one style per colour level; inline styles would make a page three times as large."""
    lines = []
    for shade in range(LEVELS):
        rgb = colour(shade)
        lines.append(f".c{shade}{{background:#{rgb[0]:02x}{rgb[1]:02x}{rgb[2]:02x};color:{ink(rgb)}}}")
    return "\n".join(lines)


def _cells(heat: HeatMap) -> Iterator[tuple[str, list[tuple[int | None, str]]]]:
    """Yield the rows of a map: the row's name, and the level and text of each cell."""
    known = [value for line in heat.values for value in line if isfinite(value)]
    low, high = min(known, default=0.0), max(known, default=0.0)
    for name, line in zip(heat.rows, heat.values, strict=True):
        yield name, [(level(value, low, high, heat.closer), _short(value, heat.digits)) for value in line]


def _ends(heat: HeatMap) -> tuple[str, str]:
    """Return the values to which the lightest and the darkest colour of a map correspond."""
    known = [value for line in heat.values for value in line if isfinite(value)]
    ends = [_short(choose(known), heat.digits) if known else "none" for choose in (min, max)]
    return (ends[0], ends[1]) if heat.closer == "higher" else (ends[1], ends[0])


def _short(value: float, digits: int) -> str:
    if not isfinite(value):
        return "none" if value != value else f"{value}"
    # Values that would round to -0 are printed as 0.
    value = value if round(value, digits) else 0.0
    text = f"{value:.{digits}f}" if abs(value) < 100 else f"{value:.3g}"
    # The leading zero is omitted, as in tables of papers, because most cells have values between -1 and 1.
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


def _scale(column: Column) -> tuple[float, float] | None:
    """Limits of a column's scale, which normally include 0 and all known values; None without values."""
    ends = [
        end
        for strip in column.strips
        if strip is not None
        for end in (strip.value, strip.low, strip.high, strip.chance)
        if isfinite(end)
    ]
    low, high = min(0.0, *ends, 0.0), max(ends, default=0.0)
    if low == 0.0 and 0.4 < high <= 1.0:
        # Most scores have the maximum 1, and readers will assume that it is the right end.
        return low, 1.02
    if ends and min(ends) > 0.5 * high:
        # If all values are far from 0, a scale that starts at 0 would place them all at one end.
        low = min(ends) - 0.1 * (high - min(ends))
    return (low, high + 0.02 * (high - low)) if high > low else None


_ROOM = 104
"""Number of characters per line on a wide screen, and in small print on paper."""
_STRIP, _LONGEST_LINE, _NAME = 15, 32, 24
"""Width of a strip, and the longest lines of text and of names, in characters."""


def _blocks(part: Table) -> list[list[Column]]:
    """Divide columns into tables that fit the page, as in text output; groups of columns stay together."""
    return list(blocks(part.groups, _ROOM, _columns_that_fit)) or [[]]


def _columns_that_fit(columns: Sequence[Column]) -> int:
    return sum(2 + min(column.width, _LONGEST_LINE) + (_STRIP if column.strips else 0) for column in columns)


def _fit(part: Table, columns: Sequence[Column]) -> float:
    """Return the factor by which a wide table must shrink in print, where readers cannot scroll."""
    names = min(max(map(len, part.names), default=0), _NAME)
    return round(min(1.0, (_ROOM + _NAME) / max(1, names + _columns_that_fit(columns))), 2)


def _strip(strip: Strip | None, scale: tuple[float, float] | None) -> dict[str, float | None] | None:
    """Positions of a strip's marks, in percent of the scale."""
    if strip is None or scale is None:
        return None
    low, high = scale
    places = {"value": strip.value, "low": strip.low, "high": strip.high, "chance": strip.chance}
    return {
        name: round(100 * (value - low) / (high - low), 1) if isfinite(value) else None
        for name, value in places.items()
    }


def _group_parts(parts: Iterable[Part]) -> list[list[Part]]:
    """Group consecutive parts of the same kind into lists."""
    return [list(group) for _, group in groupby(parts, key=lambda part: part.kind)]


def _has(page: Page, kind: str) -> bool:
    """Return whether a page contains a part of the given kind."""
    parts = [*page.numbers, *page.doubts, *(part for section in page.sections for part in section.parts)]
    inner = [option for part in parts if isinstance(part, Either) for option in part.parts]
    return any(part.kind == kind for part in (*parts, *inner))


_OWN: dict[str, Any] = {
    "own": _read_asset,
    "colours": _colours,
    "blocks": _blocks,
    "cells": _cells,
    "ends": _ends,
    "fit": _fit,
    "scale": _scale,
    "spans": spans,
    "strip": _strip,
    "address": address,
    "has": _has,
    "map_data": map_data,
    "darkest": LEVELS - 1,
}
"""Functions and constants that the templates use."""
