"""A part of a report: a title, lines, and a sentence on how to read them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Section:
    """One part of a report, free of any form."""

    title: str
    lines: tuple[str, ...] = ()
    explanation: str = ""
    """What the lines mean, and what they do not."""
