"""The structure of a page: the answer first, then every number, and what was run."""

from __future__ import annotations

from dataclasses import dataclass

from shesha.report.sections import Part, Section


@dataclass(frozen=True)
class Page:
    """The contents of a page, in the order in which they appear."""

    title: str
    question: str
    """The question that the page answers."""
    answer: tuple[str, ...]
    """The answer, starting with the most important sentence."""
    numbers: tuple[Part, ...] = ()
    """The main numbers behind the answer, with intervals and chance levels."""
    doubts: tuple[Part, ...] = ()
    """Possible problems, starting with the one that has the largest effect."""
    sections: tuple[Section, ...] = ()
    """Sections that contain every number."""
    ran: tuple[tuple[str, str], ...] = ()
    """The names and values that are needed to repeat the run."""
