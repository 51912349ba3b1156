"""Reports as plain text."""

from __future__ import annotations

from collections.abc import Iterable

from shesha.report._page_wide_tables import table
from shesha.report._wrapping import page_width, wrap
from shesha.report.sections import Either, Explained, Item, Lines, Part, Point, Section, Table, Text


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
