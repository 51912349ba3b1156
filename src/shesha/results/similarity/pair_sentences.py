"""Sentences on how many measures are above chance, and on the value of the recommended measure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from shesha.results.base import reaches_level
from shesha.results.similarity.recommended_measure_names import RECOMMENDED
from shesha.support.plurals import count

if TYPE_CHECKING:
    from shesha.results.similarity.score import Score


def pair_sentences(first: str, second: str, scores: Sequence[Score], alpha: float) -> Iterable[str]:
    """Yield sentences that say, from the scores with a value, whether two representations are similar."""
    if not scores:
        yield f"No measure could be computed for {first} and {second}."
        return
    tested = [score for score in scores if score.has_null]
    if not tested:
        shown = [score for score in scores if score.measure in RECOMMENDED] or [scores[0]]
        yield f"Raw values, not tested against chance: {', '.join(_raw_value(score) for score in shown)}."
        return
    above = [score for score in tested if reaches_level(score.deciding_p_value, alpha)]
    best = max(tested, key=lambda score: -score.deciding_p_value)
    corrected = ", corrected for the number of measures" if len(tested) > 1 else ""
    n_untested = len(scores) - len(tested)
    untested = f" ({count(n_untested, 'other measure')} not tested)" if n_untested else ""
    yield (
        f"{_count_phrase(len(above), tested)} above chance at {alpha:g}{corrected}{untested}."
        f"{'' if above else f' The smallest p-value is {best.deciding_p_value:.2g} ({best.measure}).'}"
    )
    led = next((score for score in tested if score.measure in RECOMMENDED), best)
    yield (
        f"{led.measure} is {led.value:.3g}{format_interval(led)}, and {led.null_mean:.3g} on average for randomly "
        f"matched rows (p = {led.p_value:.2g}). The calibrated value is {led.score:.2f} (0 at the chance threshold, 1 "
        "at the best value)."
    )


def format_interval(score: Score) -> str:
    """Format the interval in brackets; empty if there is none."""
    return f" [{format_number(score.interval_low)}, {format_number(score.interval_high)}]" if score.has_interval else ""


def format_number(value: float) -> str:
    """Format a number with three decimals, or with four digits if it is large; empty for NaN."""
    return "" if value != value else f"{value:.3f}" if abs(value) < 10 else f"{value:.4g}"


def _raw_value(score: Score) -> str:
    by_chance = f" (chance level {format_number(score.expected)})" if score.expected == score.expected else ""
    return f"{score.measure} {format_number(score.value)}{by_chance}"


def _count_phrase(n: int, tested: Sequence[Score]) -> str:
    total = len(tested)
    if total == 1:
        return f"{tested[0].measure} is" if n else f"{tested[0].measure} is not"
    if n == total:
        return "Both measures are" if total == 2 else f"All {total} measures are"
    return f"{n or 'None'} of {total} measures {'is' if n == 1 else 'are'}"
