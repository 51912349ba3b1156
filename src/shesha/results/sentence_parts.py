"""Parts of sentences for a paper: numbers with their evidence, designs, short lists, and sources."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from shesha.support.wording import count as count

if TYPE_CHECKING:
    from shesha.results.number import Number


_sources: dict[str, str] = {}
_REGISTRIES = ("measures", "stability", "descriptors")
"""Packages that register sources. A result loaded from a file may need them before they have been imported."""
CORRECTIONS = {"holm": "Holm", "benjamini-hochberg": "Benjamini and Hochberg", "": "step-down maximum"}


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
    share = "" if confidence is None or confidence != confidence else f"{format_share(confidence)} "
    return f" ({share}interval {format_number(low)} to {format_number(high)})"


def draws(n: int, exchanged: str) -> str:
    """Return the number of permutations and a description of what they permute."""
    if exchanged.startswith("circular shifts"):
        return f"{n:,} {exchanged}"
    what = f"rows {exchanged}" if exchanged.startswith("within") else exchanged or "all rows"
    return f"{n:,} permutations of {what}"


def statement(one: Number, subject: str, over: str, *, null: str = "null", side: str = "above", drawn: str = "") -> str:
    """Return the sentence about one number: its value with interval, what it is based on, and its null distribution.

    Parameters
    ----------
    one : Number
    subject : str
        What was computed, with its source.
    over : str
        Rows or other units that the value is based on.
    null, side : str
        Name of the null distribution, and on which side of chance a significant value lies.
    drawn : str
        The draws from the null distribution. Default: permutations of what was exchanged.
    """
    if not one.has_value:
        return f"{subject} could not be estimated: {one.reason}"
    start = f"{subject} was {format_number(one.value)}{interval(one.low, one.high, one.confidence)} over {over}"
    if not one.has_null:
        known = one.chance == one.chance
        level = f"not tested (chance level {format_number(one.chance)})" if known else "without a chance level"
        return f"{start}, {level}"
    kind = "calibrated score" if one.best == one.best else "excess over the threshold"
    calibrated = f"; {kind} {format_number(one.calibrated)}" if one.calibrated == one.calibrated else ""
    corrected = "corrected " * (one.corrected_p_value == one.corrected_p_value)
    spread = f", sd {format_number(one.chance_sd)}" if one.chance_sd == one.chance_sd else ""
    return (
        f"{start}, {'' if one.significant else 'not '}{side} chance at {one.alpha:g} ({corrected}"
        f"{equal_p(one.deciding_p_value)}, {null} mean {format_number(one.chance)}{spread}, "
        f"{drawn or draws(one.n_draws, one.exchanged)}{calibrated})"
    )


def clause(one: Number, name: str = "", confidence: float | None = None) -> str:
    """Return one of several numbers with its interval, chance level and p-value.

    Parameters
    ----------
    one : Number
    name : str
        Default: that of the number.
    confidence : float, optional
        Default: that of the number.
    """
    if not one.has_value:
        return f"{name or one.name} not estimable"
    ends = interval(one.low, one.high, one.confidence if confidence is None else confidence)
    chance = f", chance {format_number(one.chance)}" if one.chance == one.chance else ""
    p, corrected = one.deciding_p_value, "corrected " * (one.corrected_p_value == one.corrected_p_value)
    test = f", {corrected}{equal_p(p)}" if p == p else ""
    return f"{name or one.name} {format_number(one.value)}{ends}{chance}{test}"


def listing(head: str, clauses: Iterable[str], *methods: str, others: str = "rows") -> str:
    """Return the sentence about a table: its answer, its numbers, and how they were obtained.

    Parameters
    ----------
    head : str
        The answer, such as the headline; its full stop is left out.
    clauses : iterable of str
        The numbers. Those beyond the first few are only counted.
    *methods : str
        How they were obtained; empty texts are left out.
    others : str
        What the numbers are that are only counted.
    """
    known, how = list(clauses), "; ".join(filter(None, methods))
    n_left = len(known) - MOST
    shown = [*known[:MOST], f"{n_left:,} more {others}"] if n_left > 1 else known
    numbers = f": {'; '.join(shown)}" if shown else ""
    return f"{head.removesuffix('.')}{numbers}{f' ({how})' if how else ''}"


def span(numbers: Iterable[int]) -> str:
    """Return the range of some counts, such as '3 to 7', or the number if all are equal."""
    known = list(numbers)
    low, high = min(known, default=0), max(known, default=0)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
