"""The structure of a page: the answer first, every number, and what was run."""

from __future__ import annotations

from dataclasses import dataclass

from shesha.report.sections import Part, Section


@dataclass(frozen=True)
class Page:
    """The contents of a page, in this order."""

    title: str
    question: str
    """What was asked."""
    answer: tuple[str, ...]
    """The answer, with the most important sentence first."""
    numbers: tuple[Part, ...] = ()
    """The main numbers behind the answer, with interval and chance."""
    doubts: tuple[Part, ...] = ()
    """What to doubt first."""
    sections: tuple[Section, ...] = ()
    """Every number."""
    ran: tuple[tuple[str, str], ...] = ()
    """The run: names and values that are needed to repeat it."""
