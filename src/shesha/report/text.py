"""Sections as plain text."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from shesha.report._width import page_width
from shesha.report.sections import Section


def wrapped(text: str, width: int, indent: str = "", hanging: str = "  ") -> list[str]:
    """Break a text between words; what is longer than a line, such as a path, stays whole.

    Examples
    --------
    >>> wrapped("halves of the features agree", 16)
    ['halves of the', '  features agree']
    """
    return textwrap.wrap(
        text,
        width,
        initial_indent=indent,
        subsequent_indent=indent + hanging,
        break_long_words=False,
        break_on_hyphens=False,
    )


def as_text(sections: Iterable[Section], width: int | None = None) -> str:
    """Return the sections below one another: title, indented lines, and the explanation indented further.

    Parameters
    ----------
    sections : iterable of Section
        Lines are printed as they are; explanations are broken between words.
    width : int, optional
        Columns of the page; default: those of the terminal.
    """
    columns = page_width() if width is None else width
    return "\n\n".join(_section(one, columns) for one in sections)


def _section(one: Section, width: int) -> str:
    explanation = wrapped(one.explanation, width, "    ", "")
    return "\n".join([*wrapped(one.title, width), *(f"  {line}".rstrip() for line in one.lines), *explanation])
