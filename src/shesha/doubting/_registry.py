"""The decorator that registers checks for doubts, and their registry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from shesha.doubting.doubt_input import Subject
from shesha.results import Doubt

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


def registered_doubts() -> list[RegisteredDoubt]:
    """Return every marked function with its name and subjects, in the order of registration."""
    return list(_marked.values())


def marked_functions() -> list[DoubtFunction]:
    """Return every registered function; stores use them to detect changes of the code."""
    return [check.function for check in _marked.values()]
