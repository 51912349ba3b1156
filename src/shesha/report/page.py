"""The structure of a page: the answer first, every number, and what was run."""

from __future__ import annotations

from dataclasses import dataclass

from shesha.report.sections import Part, Section


@dataclass(frozen=True)
class Page:
    """What a page shows, in this order."""

    title: str
    question: str
    """What was asked."""
    answer: tuple[str, ...]
    """The answer, the first sentence alone if there is no time for more."""
    numbers: tuple[Part, ...] = ()
    """The few that the answer rests on, with interval and chance."""
    doubts: tuple[Part, ...] = ()
    """What to doubt first."""
    sections: tuple[Section, ...] = ()
    """Every number."""
    ran: tuple[tuple[str, str], ...] = ()
    """What was run, by name: enough to repeat it."""
