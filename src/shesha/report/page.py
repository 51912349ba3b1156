"""The structure of a page: the answer first, every number, and what was run."""

from __future__ import annotations

from dataclasses import dataclass

from shesha.report.sections import Part, Section


@dataclass(frozen=True)
class Page:
    """The contents of a page, in this order."""

    title: str
    question: str
    """The question that the page answers."""
    answer: tuple[str, ...]
    """The answer, with the most important sentence first."""
    numbers: tuple[Part, ...] = ()
    """The main numbers behind the answer, with intervals and chance levels."""
    doubts: tuple[Part, ...] = ()
    """Possible problems, the largest effect first."""
    sections: tuple[Section, ...] = ()
    """Sections with every number."""
    ran: tuple[tuple[str, str], ...] = ()
    """The run: names and values that are needed to repeat it."""
