"""Reports as plain text: the first screen, or everything; with colours on terminals that show them."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable
from dataclasses import replace
from math import isfinite

from shesha.report.sections import Explained, HeatMap, Item, Lines, Page, Part, Point, Section, Table, Text
from shesha.report.text_layout import columns, fit_names, page_width, table, wrap
from shesha.support.wording import count, shorten, visible_name

_BOLD, _CARE, _GOOD, _QUIET, _PLAIN = (f"\x1b[{code}m" for code in (1, 33, 32, 2, 0))
_BEYOND = re.compile(r"\b(not above chance|above chance)\b", re.IGNORECASE)
_LONGEST = 60
"""Maximum length of a title."""


def use_colour() -> bool:
    """Return whether to use colours: NO_COLOR and FORCE_COLOR decide; otherwise, only on a terminal."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def colour_report(text: str) -> str:
    """Return a report with titles in bold, scores above chance in green, and warnings in yellow.

    Examples
    --------
    >>> colour_report("Data\\n  ! zero rows: 2")
    '\\x1b[1mData\\x1b[0m\\n  \\x1b[33m! zero rows: 2\\x1b[0m'
    """
    lines = text.split("\n")
    before = ["", *lines]
    return "\n".join(_line(line, not above.strip()) for line, above in zip(lines, before, strict=False))


def _line(line: str, first: bool) -> str:
    bare = line.strip()
    start = line[: len(line) - len(line.lstrip())]
    if first and bare and not start and len(bare) <= _LONGEST and not bare.endswith("."):
        return f"{_BOLD}{line}{_PLAIN}"
    if re.match(r"(.{0,40}: )?! ", bare):
        return f"{start}{_CARE}{bare}{_PLAIN}"
    if bare.startswith("note: "):
        return f"{start}{_QUIET}{bare}{_PLAIN}"
    return _BEYOND.sub(lambda match: f"{_CARE if 'ot ' in match[0] else _GOOD}{match[0]}{_PLAIN}", line)


SCREEN = 30
"""Most lines of a first screen."""
_FEWEST = 4
"""Fewest rows of a main table on a first screen."""
_BRIEF = 4
"""Rows of the tables in further sections on a first screen."""


MORE = "More: full_text() prints everything, and save_html() writes a page."
"""How to see what a first screen leaves out."""


def as_screen(page: Page, *, most: int = SCREEN, width: int | None = None, more: Section | str = MORE) -> str:
    """Return the answer, the main numbers, the doubts, and as many sections as fit, as text.

    Long tables are shortened, and of several possible problems the first is explained.

    Parameters
    ----------
    page : Page
        The contents of the report.
    most : int
        Number of lines that the text should not exceed. Answer, doubts and a few rows are shown in any case.
    width : int, optional
        Line width in characters. Default: the width of the terminal.
    more : Section or str
        What comes last if something was left out: how to see it.
    """
    width = page_width() if width is None else width
    answer, doubts = _answer(page, width), _doubts(page, width, brief=True)
    last = wrap(more, width) if isinstance(more, str) else _section(more, width).split("\n")
    used = len(answer) + len(doubts) + len(last) + 2 + bool(doubts)
    fewest = min(len(_block(page.numbers, width, _FEWEST)), max(0, most - used))
    sections, is_short = [], True
    for section in page.sections:
        lines = _brief(section, width)
        fits = used + fewest + len(lines) + 1 <= most
        is_short = is_short and (fits or not lines)
        if lines and fits:
            sections.append(lines)
            used += len(lines) + 1
    blocks = [answer, _main_numbers(page, width, most - used), doubts, *sections]
    # Long reports, which take time to write out, are known to be incomplete.
    if not is_short or not _is_complete(page, blocks, width):
        blocks.append(last)
    return "\n\n".join("\n".join(block) for block in blocks if block)


def _main_numbers(page: Page, width: int, most: int) -> list[str]:
    """Return the main numbers in at most so many lines, without further columns, texts and rows if need be."""
    tables = [part for part in page.numbers if not isinstance(part, Text)]
    for parts, narrow in ((page.numbers, False), (page.numbers, True), (tables, True)):
        for rows in range(most, _FEWEST - 1, -1):
            lines = _block(parts, width, rows, narrow=narrow)
            if len(lines) <= most:
                return lines
    return _block(tables, width, _FEWEST, narrow=True)


def as_full_text(page: Page, width: int | None = None) -> str:
    """Return everything on a page that text can show.

    Parameters
    ----------
    page : Page
        The contents of the report.
    width : int, optional
        Line width in characters. Default: the width of the terminal.
    """
    width = page_width() if width is None else width
    blocks = [_answer(page, width), _block(page.numbers, width), _doubts(page, width)]
    sections = [_section(section, width) for section in page.sections if section.printed]
    return "\n\n".join([*("\n".join(block) for block in blocks if block), *(text for text in sections if "\n" in text)])


def _answer(page: Page, width: int) -> list[str]:
    return [line for text in page.answer for line in wrap(text, width, hanging="")]


def _doubts(page: Page, width: int, *, brief: bool = False) -> list[str]:
    """Return the possible problems; if brief, the first ones, the first explanation, and the names of the others."""
    points = [part for part in page.doubts if isinstance(part, Point)]
    others = [part for part in page.doubts if not isinstance(part, Point | Explained)]
    n_left = len(others) - _BRIEF if brief else 0
    lines = [line for part in (others[:_BRIEF] if brief else others) for line in _doubt(part, width)]
    lines += [f"! {count(n_left, 'more problem')}: see `full_text()`"] if n_left > 0 else []
    if not points:
        return lines
    explained = [line for part in (points[:1] if brief else points) for line in _lines(part, width - 2)]
    if brief and len(points) > 1:
        explained += wrap(f"Other problems: {', '.join(point.name for point in points[1:])}.", width - 2)
    return [*lines, "What could be wrong", *(f"  {line}" for line in explained)]


def _is_complete(page: Page, blocks: list[list[str]], width: int) -> bool:
    """Return whether the blocks contain everything that text can show."""
    shown = {line for block in blocks for line in block}
    return all(line in shown for line in as_full_text(page, width).split("\n") if line)


def _brief(section: Section, width: int) -> list[str]:
    """Return the title and the parts of a section without explanations; nothing if no part can be printed."""
    if not section.printed:
        return []
    parts = [part for part in section.parts if not isinstance(part, Explained)]
    lines = _block(parts, width, _BRIEF)
    return [*wrap(section.title, width), *lines] if lines else []


def _block(parts: Iterable[Part], width: int, rows: int | None = None, *, narrow: bool = False) -> list[str]:
    return [f"  {line}".rstrip() for part in parts for line in _lines(part, width - 2, rows, narrow=narrow)]


def _doubt(part: Part, width: int) -> list[str]:
    """Mark a possible problem, so that it stands out below the numbers."""
    return wrap(f"! {part.text}", width) if isinstance(part, Item) else _lines(part, width)


def _short_table(part: Table, rows: int) -> list[int]:
    """Choose the rows of a table that remain: the important ones and evenly spaced others, or else the first."""
    n = len(part.names)
    if n <= rows:
        return list(range(n))
    # One line says how many rows were left out.
    room = max(1, rows - 1)
    chosen = set(part.important[:room]) if part.important else set(range(room))
    n_others = room - len(chosen)
    spaced = (round((i + 1) * (n - 1) / (n_others + 1)) for i in range(n_others))
    for place in (*spaced, *range(n)):
        if len(chosen) < room:
            chosen.add(place)
    return sorted(chosen)


def _table(part: Table, width: int, rows: int | None, *, narrow: bool) -> list[str]:
    places = range(len(part.names)) if rows is None else _short_table(part, rows)
    groups = [
        [replace(column, cells=tuple(column.cells[i] for i in places), strips=()) for column in group]
        for group in part.groups
    ]
    # Names may break lines, and a name that is still too long is cut at the end.
    names = fit_names([" ".join(part.names[i].split()) for i in places], groups, width)
    names = [shorten(name, width // 2 - 2) for name in names]
    left_out = len(part.names) - len(names)
    more = f"{left_out:,} more: see to_frame(), --json or --html"
    lines = table(names, groups, width)
    # An empty line separates the columns that fit next to each other from further ones.
    shown = lines[: lines.index("")] if narrow and "" in lines else lines
    return [*shown, *([more] if left_out else [])]


def _grid(part: HeatMap, width: int) -> list[str]:
    """Return a map as numbers or, if it is too wide for a line, the closest column for each row."""
    cells = [[(f"{value:.{part.digits}f}" if isfinite(value) else "") for value in line] for line in part.values]
    head = part.title if part.legend else f"{part.title} ({part.closer} is closer)"
    lines = columns(
        [["", *part.columns], *([name, *line] for name, line in zip(part.rows, cells, strict=True))],
        "<" + ">" * len(part.columns),
    )
    if max(map(len, lines)) <= width:
        return [head, *lines]
    sign = -1 if part.closer == "lower" else 1
    closest = [["", "closest", "value"]]
    has_diagonal = part.rows == part.columns
    for row, (name, line, texts) in enumerate(zip(part.rows, part.values, cells, strict=True)):
        known = [place for place, value in enumerate(line) if isfinite(value) and not (has_diagonal and place == row)]
        place = max(known, key=lambda place: sign * line[place], default=None)
        closest.append([name, *(("", "") if place is None else (part.columns[place], texts[place]))])
    size = f"The grid of {len(part.rows)} x {len(part.columns)} is too wide to print. See matrix(), plot() or --html."
    which = "closest other" if has_diagonal else "closest column"
    return [f"{head}: the {which} for each row", *columns(closest, "<<>"), *wrap(size, width)]


def as_text(sections: Iterable[Section], width: int | None = None) -> str:
    """Return the sections as text: titles, indented lines, and explanations that are indented further.

    Parameters
    ----------
    sections : iterable of Section
        Sections of the report. Parts that only an HTML page can show are omitted.
    width : int, optional
        Line width in characters. Default: the width of the terminal.
    """
    columns = page_width() if width is None else width
    return "\n\n".join(_section(section, columns) for section in sections)


def _section(section: Section, width: int) -> str:
    explanation = wrap(section.explanation, width, "    ", "")
    lines = [line for part in section.parts for line in _lines(part, width - 2)]
    return "\n".join([*wrap(section.title, width), *(f"  {line}".rstrip() for line in lines), *explanation])


def _lines(part: Part, width: int, rows: int | None = None, *, narrow: bool = False) -> list[str]:
    match part:
        case Text():
            return wrap(part.text, width, hanging=part.hanging)
        case Item():
            return wrap(f"- {part.text}", width)
        case Point():
            matter = wrap(f"{part.name} ({part.evidence}): {part.text}", width)
            return [*matter, *wrap(f"-> {part.advice}", width, "  ")]
        case Table():
            return _table(part, width, rows, narrow=narrow)
        case HeatMap():
            return _grid(part, width)
        case Explained():
            return wrap(f"{part.name}: {part.brief}", width) if part.brief else []
        case Lines():
            return list(map(visible_name, part.lines))
    return []
