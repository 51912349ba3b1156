"""All pairs of several representations with its chance level: the tables, in text and on pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shesha.report import Column, Metric, Table, page_width, table, wrap
from shesha.results.base import reaches_level

if TYPE_CHECKING:
    from shesha.results.similarity.comparison import Score
    from shesha.results.similarity.pairwise import PairScore, PairwiseComparison

CALIBRATED_PAIRS_NOTE = (
    "Chance is the mean value when rows are matched at random; calibrated is 0 up to the threshold that chance rarely "
    "passes and 1 at the best value (where there is none: the excess). Corrected p allows for the number of pairs of "
    "one measure, not for the number of measures."
)
_MOST_LINES = 60
"""Of more pairs those with the smallest p-values are printed."""


def measure_lines(found: PairwiseComparison, measure: str) -> list[str]:
    """Print a line per pair of one measure, and how many are above chance."""
    width = page_width()
    pairs = printed_pairs(found, measure)
    closer = pairs[0].score.closer
    n_left = len(pairs_of(found, measure)) - len(pairs)
    left = [f"  {n_left} more pairs, none with a smaller p: to_frame() has all of them"] if n_left else []
    return [
        f"{measure} ({closer} is closer)",
        f"  {above_chance(found, measure)}",
        *table([f"{one.first}, {one.second}" for one in pairs], [[one] for one in _columns(pairs)], width),
        *left,
    ]


def measure_table(found: PairwiseComparison, measure: str) -> Table:
    """Return the table of one measure for a page."""
    pairs = pairs_of(found, measure)
    names = tuple(f"{one.first}, {one.second}" for one in pairs)
    return Table(names, tuple((one,) for one in _columns(pairs)), measure, "pair")


def above_chance(found: PairwiseComparison, measure: str) -> str:
    """Say how many pairs of a measure are above chance."""
    tested = [one.score for one in pairs_of(found, measure) if one.score.has_null]
    above = sum(reaches_level(one.corrected_p_value, found.alpha) for one in tested)
    if not tested:
        return "no chance level for any pair"
    if len(tested) == 1:
        return f"the pair is{'' if above else ' not'} above chance at {found.alpha:g}"
    return f"{above} of {len(tested)} pairs above chance at {found.alpha:g}, corrected for their number"


def pair_metrics(found: PairwiseComparison) -> list[Metric]:
    """Return the values with their null, for the head of a card: those of the first of each pair."""
    return [
        Metric(
            pair.first,
            f"{one.measure} with {pair.second}",
            one.value,
            one.interval_low,
            one.interval_high,
            one.threshold,
            one.deciding_p_value,
        )
        for pair in found.scores
        for one in (pair.score,)
        if one.has_null
    ]


def pairs_of(found: PairwiseComparison, measure: str) -> list[PairScore]:
    """Return the pairs of different representations of one measure."""
    return [one for one in found.scores if one.score.measure == measure and one.first != one.second]


def printed_pairs(found: PairwiseComparison, measure: str) -> list[PairScore]:
    """Return as many pairs as a page holds: all of few, those furthest from chance of many."""
    pairs = pairs_of(found, measure)
    if len(pairs) <= _MOST_LINES:
        return pairs
    # NaN comes last.
    return sorted(pairs, key=lambda one: (not one.score.has_null, one.score.deciding_p_value, -one.score.calibrated))[
        :_MOST_LINES
    ]


def _columns(pairs: list[PairScore]) -> list[Column]:
    scores = [one.score for one in pairs]
    cells: dict[str, list[str]] = {
        "value": [f"{score.value:.3f}" if score.has_value else "none" for score in scores],
        "interval": [_interval(score) for score in scores],
        "chance": [_number(score.null_mean) for score in scores],
        "calibrated": [_number(score.calibrated) for score in scores],
        "p": [_number(score.p_value) for score in scores],
        "corrected p": [_number(score.corrected_p_value) for score in scores],
    }
    return [Column(head, tuple(column)) for head, column in cells.items()]


def note_lines() -> list[str]:
    """Print what the columns mean."""
    return wrap(CALIBRATED_PAIRS_NOTE, page_width(), hanging="")


def _interval(score: Score) -> str:
    return f"[{score.interval_low:.3f}, {score.interval_high:.3f}]" if score.has_interval else ""


def _number(value: float) -> str:
    return "" if value != value else f"{value:.3f}"
