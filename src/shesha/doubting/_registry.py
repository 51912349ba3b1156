"""The decorator and the registry of doubts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from shesha.doubting.doubt_input import Subject
from shesha.results import Doubt
from shesha.support.warnings import NotEstimable

Asks = Callable[[Subject], Doubt | None]
Of = Literal["rows", "pair", "both"]


@dataclass(frozen=True)
class Doubting:
    """A marked function, with its name and its possible subjects."""

    name: str
    asks: Asks = field(repr=False)
    of: Of
    cheap: bool
    """Whether it needs only sums over rows, and so is cheap next to a single null."""


_marked: dict[str, Doubting] = {}


def doubt(name: str, *, of: Of = "rows", cheap: bool = False) -> Callable[[Asks], Asks]:
    """Mark a function of a subject (rows, a pair or both) that returns a doubt or None."""

    def mark(asks: Asks) -> Asks:
        _marked[f"{name}, {of}"] = Doubting(name, asks, of, cheap)
        return asks

    return mark


def marked_functions() -> list[Asks]:
    """Return every marked function; stores use them to recognise changed code."""
    return [check.asks for check in _marked.values()]


def raise_doubts(subject: Subject, *, only_cheap: bool = False) -> tuple[tuple[Doubt, ...], str]:
    """All doubts about a subject, the largest effect first, and the reasons for skipped checks."""
    kind = "pair" if subject.is_pair else "rows"
    doubts, reason = [], ""
    for check in _marked.values():
        if check.of not in (kind, "both") or (only_cheap and not check.cheap):
            continue
        try:
            answer = check.asks(subject)
        except NotEstimable as cause:
            # What the data cannot give cannot be doubted either.
            reason = str(cause)
            continue
        if answer is not None:
            doubts.append(answer)
    return tuple(sorted(doubts, key=lambda answer: -answer.effect)), reason
