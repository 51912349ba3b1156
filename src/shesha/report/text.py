"""Reports as plain text, with colours on terminals that show them."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable

from shesha.report.sections import Either, Explained, Item, Lines, Part, Point, Section, Table, Text
from shesha.report.text_layout import page_width, table, wrap

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


def _lines(part: Part, width: int) -> list[str]:
    match part:
        case Text():
            return wrap(part.text, width, hanging=part.hanging)
        case Item():
            return wrap(f"- {part.text}", width)
        case Point():
            matter = wrap(f"{part.name} ({part.evidence}): {part.text}", width)
            return [*matter, *wrap(f"-> {part.advice}", width, "  ")]
        case Table():
            return table(part.names, part.groups, width)
        case Explained():
            return wrap(f"{part.name}: {part.brief}", width) if part.brief else []
        case Lines() | Either():
            return list(part.lines)
    return []
