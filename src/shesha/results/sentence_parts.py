"""Parts of sentences for a paper: numbers, intervals, verdicts and their null, short lists, and sources."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from shesha.results.base import reaches_level
from shesha.support.wording import count as count

if TYPE_CHECKING:
    from shesha.results.number import Number


_sources: dict[str, str] = {}
_REGISTRIES = ("measures", "stability", "descriptors")
"""Packages that register sources. A result loaded from a file may need them before they have been imported."""


def remember_source(name: str, reference: str) -> None:
    """Record the reference for a measure or score."""
    _sources[name] = reference


def add_source(name: str, words: str = "") -> str:
    """Return the words, or else the name, followed by the source in parentheses if it is known."""
    _fill_sources()
    reference = _sources.get(name.partition("(")[0].strip(), "")
    shown = words or name
    return f"{shown} ({reference})" if reference else shown


@cache
def _fill_sources() -> None:
    for room in _REGISTRIES:
        import_module(f"shesha.{room}")


MOST = 5
"""Largest number of items that a sentence lists before it only counts the others."""


def format_number(value: float) -> str:
    """Format a number with three significant digits."""
    return "0" if value == 0 else f"{value:.2g}" if abs(value) < 0.01 else f"{value:.3g}"


def format_p(value: float) -> str:
    """Return a p-value with two significant digits."""
    return f"{value:.2g}" if value < 0.1 else f"{value:.2f}"


def equal_p(value: float) -> str:
    """Return "p = " and the value, or an upper limit if the value is very small."""
    return f"p = {format_p(value)}" if value >= 1e-6 else "p < 1e-6"


def format_share(share: float) -> str:
    """Return a share, such as a confidence level, in percent."""
    return f"{100 * share:g} %"


def interval(low: float, high: float, confidence: float | None = None) -> str:
    """Return an interval in parentheses, preceded by a space; an empty string if there is none."""
    if low != low or high != high:
        return ""
    share = "" if confidence is None else f"{format_share(confidence)} "
    return f" ({share}interval {format_number(low)} to {format_number(high)})"


def null(found: Number, alpha: float, what: str = "null") -> str:
    """Return the verdict and the null, with an opening parenthesis that the caller must close."""
    spread = f"mean {format_number(found.chance)}, sd {format_number(found.chance_sd)}"
    return f"{verdict_phrase(found.p_value, alpha)} (p = {format_p(found.p_value)}, {what} {spread}"


def verdict_phrase(p: float, alpha: float, side: str = "above") -> str:
    """Return the verdict that corresponds to a p-value."""
    return f"{'' if reaches_level(p, alpha) else 'not '}{side} chance at {alpha:g}"


def draws(n: int, exchanged: str) -> str:
    """Return the number of permutations and a description of what they permute."""
    if exchanged.startswith("circular shifts"):
        return f"{n:,} {exchanged}"
    what = f"rows {exchanged}" if exchanged.startswith("within") else exchanged or "all rows"
    return f"{n:,} permutations of {what}"


def join_clauses(clauses: Sequence[str], others: str = "others") -> str:
    """Join clauses with semicolons, and only count those beyond the first few."""
    n_left = len(clauses) - MOST
    shown = clauses if n_left <= 1 else clauses[:MOST]
    return "; ".join([*shown, *([f"{n_left:,} {others}"] if n_left > 1 else [])])


def span(numbers: Sequence[int]) -> str:
    """Return the range of some counts, such as '3 to 7', or the number if all are equal."""
    low, high = min(numbers, default=0), max(numbers, default=0)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
