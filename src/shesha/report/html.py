"""HTML pages as single self-contained files, and their first screens for notebooks."""

from __future__ import annotations

import io
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, metadata
from itertools import groupby
from math import inf, isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from shesha._version import DISTRIBUTION, __version__
from shesha.report.text_layout import blocks
from shesha.report.words import WORDS
from shesha.support.optional import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from shesha.report.sections import Drawing, HeatMap, Page, Part, PointMap, Table
    from shesha.report.text_layout import Column, Strip


_ANCHORS = (
    (0xFD, 0xF6, 0xE3),
    (0xC7, 0xE3, 0xC4),
    (0x6C, 0xBB, 0xB0),
    (0x2A, 0x83, 0x9B),
    (0x1F, 0x4B, 0x7C),
    (26, 20, 66),
)
"""Colours from light to dark that also suit colour-blind readers and black-and-white print."""
LEVELS = 32


def colour(level: int) -> tuple[int, int, int]:
    """Return the red, green and blue values of a level, from 0 (light) to LEVELS - 1 (dark)."""
    place = level / (LEVELS - 1) * (len(_ANCHORS) - 1)
    channels = zip(*_ANCHORS, strict=True)
    red, green, blue = (round(float(np.interp(place, range(len(_ANCHORS)), channel))) for channel in channels)
    return red, green, blue


def luminance(rgb: Sequence[int]) -> float:
    """Return the relative luminance of a colour, as the web's contrast guidelines define it.

    Examples
    --------
    >>> luminance((0, 0, 0)), luminance((255, 255, 255))
    (0.0, 1.0)
    """
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (channel / 255 for channel in rgb)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def ink(rgb: Sequence[int]) -> str:
    """Return black or white, whichever has the higher contrast (always at least 4.58)."""
    light = luminance(rgb)
    return "#000" if (light + 0.05) / 0.05 >= 1.05 / (light + 0.05) else "#fff"


def level(value: float, low: float, high: float, closer: str) -> int | None:
    """Return the colour level of a value between the limits of a map; None for a missing value."""
    if not isfinite(value):
        return None
    share = 0.5 if high <= low else (value - low) / (high - low)
    return round((share if closer == "higher" else 1 - share) * (LEVELS - 1))


_MARKS = re.compile(
    r"`(?P<code>[^`]+)`"
    r"|\[(?P<text>[^\[\]]+)\]\((?P<target>[^()\s]+)\)"
    # Asterisks next to a space on their inner side, or within a word, are multiplication signs.
    r"|(?<![\w*])\*\*(?=[^\s*])(?P<strong>[^*]+)(?<=[^\s*])\*\*(?![\w*])"
    r"|(?<![\w*])\*(?=[^\s*])(?P<em>[^*]+)(?<=[^\s*])\*(?![\w*])"
)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)


@dataclass(frozen=True)
class Span:
    """A stretch of a sentence with one kind of markup."""

    kind: Literal["plain", "code", "strong", "em", "link"]
    text: str = ""
    inner: tuple[Span, ...] = ()
    """Spans inside this one, which may have markup themselves."""
    target: str = ""
    """Address to which a link leads."""


def spans(text: str) -> tuple[Span, ...]:
    """Split a text at its Markdown marks: bold, emphasis, code and links.

    HTML is not interpreted. Links may lead to the web, to relative addresses or to the page itself; a link to any other
    target, such as a script, remains plain text.

    Examples
    --------
    >>> [(one.kind, one.text) for one in spans("is `x`, **not** 2 * 3")]
    [('plain', 'is '), ('code', 'x'), ('plain', ', '), ('strong', ''), ('plain', ' 2 * 3')]
    """
    pieces: list[Span] = []
    end = 0
    for mark in _MARKS.finditer(text):
        if mark["target"] and not is_safe_link(mark["target"]):
            continue
        if mark.start() > end:
            pieces.append(Span("plain", text[end : mark.start()]))
        pieces.append(_span(mark))
        end = mark.end()
    return (*pieces, Span("plain", text[end:])) if end < len(text) else tuple(pieces)


def _span(mark: re.Match[str]) -> Span:
    if mark["code"]:
        return Span("code", mark["code"])
    if mark["target"]:
        return Span("link", inner=spans(mark["text"]), target=mark["target"])
    kind: Literal["strong", "em"] = "strong" if mark["strong"] else "em"
    return Span(kind, inner=spans(mark[kind]))


def is_safe_link(target: str) -> bool:
    """Return whether a link leads to the web, to a relative address, or to the page itself.

    Examples
    --------
    >>> [is_safe_link(one) for one in ("https://host/a", "../page.md#b", "#c", "javascript:1", "//host", "data:,")]
    [True, True, True, False, False, False]
    """
    # Browsers read backslashes as slashes and ignore control characters.
    if any(ord(sign) <= 32 or sign == "\\" for sign in target) or target.startswith("//"):
        return False
    return target.lower().startswith(("https://", "http://")) or not _SCHEME.match(target)


@cache
def documentation() -> str:
    """Return the base address of the documentation; empty if the package metadata contain none."""
    try:
        named = metadata(DISTRIBUTION).get_all("Project-URL") or []
    except PackageNotFoundError:
        return ""
    urls = [entry.partition(",")[2].strip() for entry in named if entry.startswith("Documentation,")]
    return urls[0].rsplit("/", 1)[0] + "/" if urls else ""


def address(page: str) -> str:
    """Return the full address of a documentation page; empty if the base address is unknown."""
    home = documentation()
    return home + page if home and page else ""


def heading_anchor(title: str) -> str:
    """Return the anchor that a Markdown heading gets."""
    return "".join(c for c in title.lower().replace(" ", "-") if c.isalnum() or c in "-_")


_INKS = {"#000000": "currentColor", "#ffffff": "none", "#1f4e79": "var(--first)", "#c55a11": "var(--second)"}
_INKS |= {"#7f7f7f": "var(--quiet)", "#b9c7d6": "var(--band)", "#009e73": "var(--third)"}
"""Replacements for colours that would be invisible on a dark page."""
# The font of charts has the size of the text around them: 12 points are 16 pixels.
_SETTINGS = {"font.size": 12, "svg.fonttype": "none", "svg.hashsalt": "shesha", "font.family": "sans-serif"}
_UNWANTED = re.compile(r"<\?xml.*?\?>|<!DOCTYPE.*?>|<metadata>.*?</metadata>|<!--.*?-->", re.DOTALL)
_NAMED = re.compile(r'(\bid="|xlink:href="#|url\(#)')


def draw_svg(draw: Callable[[], Axes], name: str) -> str:
    """Draw a picture and return it as an SVG element; `name` makes its identifiers unique on the page."""
    settings = require("matplotlib", "report", "pages need matplotlib").rc_context(_SETTINGS)
    with settings, warnings.catch_warnings():
        # The SVG contains text instead of glyphs, and readers may have fonts for characters that are missing here.
        warnings.filterwarnings("ignore", "Glyph .* missing from font", UserWarning)
        figure: Any = draw().figure
        text = io.StringIO()
        figure.savefig(text, format="svg", transparent=True, metadata={"Date": None})
        require("matplotlib.pyplot", "report").close(figure)
    svg = _NAMED.sub(rf"\g<1>{name}-", _UNWANTED.sub("", text.getvalue())).strip()
    for plain, ink in _INKS.items():
        svg = svg.replace(plain, ink)
    # On small screens, a picture shrinks until its text would become too small; from then on, it scrolls.
    return svg.replace("<svg ", f'<svg style="--natural:{figure.get_figwidth():g}in" ', 1)


SIZE = 8000
"""Number of grid steps across a map; the grid is finer than the pixels of a screen."""
_MARGIN = 0.04
_LONGEST_NAME = 300
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
        "names": [name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}..." for name in part.rows],
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


_ROOM = 112
"""Number of characters per line on a wide screen, and in small print on paper."""
_PHONE = 42
"""Number of characters per line of a table on a phone."""
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


def _is_wide(part: Table, columns: Sequence[Column]) -> bool:
    """Return whether a table is wider than a phone."""
    names = min(max(map(len, part.names), default=0), _NAME)
    return names + _columns_that_fit(columns) > _PHONE


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
    return any(part.kind == kind for part in parts)


_OWN: dict[str, Any] = {
    "own": _read_asset,
    "words": WORDS,
    "colours": _colours,
    "blocks": _blocks,
    "cells": _cells,
    "ends": _ends,
    "fit": _fit,
    "is_wide": _is_wide,
    "scale": _scale,
    "spans": spans,
    "strip": _strip,
    "address": address,
    "has": _has,
    "map_data": map_data,
    "darkest": LEVELS - 1,
}
"""Functions and constants that the templates use."""
