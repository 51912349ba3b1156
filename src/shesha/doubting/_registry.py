"""The decorator that registers checks for doubts, and their registry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from shesha.doubting.doubt_input import Subject
from shesha.results import Doubt
from shesha.support.warnings import NotEstimable

DoubtFunction = Callable[[Subject], Doubt | None]
SubjectKind = Literal["rows", "pair", "both"]


@dataclass(frozen=True)
class RegisteredDoubt:
    """A registered check, with its name and the kind of subject that it applies to."""

    name: str
    function: DoubtFunction = field(repr=False)
    of: SubjectKind
    cheap: bool
    """Whether the check uses only sums over rows, which cost little compared with one null distribution."""


_marked: dict[str, RegisteredDoubt] = {}


def doubt(name: str, *, of: SubjectKind = "rows", cheap: bool = False) -> Callable[[DoubtFunction], DoubtFunction]:
    """Register a function that checks a subject (rows, a pair or both) and returns a doubt or None."""

    def mark(function: DoubtFunction) -> DoubtFunction:
        _marked[f"{name}, {of}"] = RegisteredDoubt(name, function, of, cheap)
        return function

    return mark


def marked_functions() -> list[DoubtFunction]:
    """Return every registered function; stores use them to detect changes of the code."""
    return [check.function for check in _marked.values()]


def raise_doubts(subject: Subject, *, only_cheap: bool = False) -> tuple[tuple[Doubt, ...], str]:
    """Return all doubts about a subject, largest effect first, and why checks were skipped, if any were."""
    kind = "pair" if subject.is_pair else "rows"
    doubts, reason = [], ""
    for check in _marked.values():
        if check.of not in (kind, "both") or (only_cheap and not check.cheap):
            continue
        try:
            answer = check.function(subject)
        except NotEstimable as cause:
            # If the score is not estimable, its change is not estimable either.
            reason = str(cause)
            continue
        if answer is not None:
            doubts.append(answer)
    return tuple(sorted(doubts, key=lambda answer: -answer.effect)), reason
