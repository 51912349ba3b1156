"""Sections as plain text."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from shesha.report.sections import Section

WIDTH = 100


def wrapped(text: str, pad: str) -> list[str]:
    """Break a text into lines of a section, each after the same indentation."""
    return textwrap.wrap(text, WIDTH - 2, initial_indent=pad, subsequent_indent=f"{pad}  ")


def as_text(sections: Iterable[Section]) -> str:
    """Return the sections below one another: title, indented lines, and the explanation indented further."""
    return "\n\n".join(map(_section, sections))


def _section(one: Section) -> str:
    explanation = textwrap.wrap(one.explanation, WIDTH, initial_indent="    ", subsequent_indent="    ")
    return "\n".join([one.title, *(f"  {line}" for line in one.lines), *explanation])
