"""Tables of all pairs with their chance levels, for texts and pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shesha.report import Column, Metric, Table, page_width, table, wrap
from shesha.results.base import reaches_level
from shesha.results.sentence_parts import format_share
from shesha.support.plurals import agree

if TYPE_CHECKING:
    from shesha.results.similarity.pairwise import PairScore, PairwiseComparison
    from shesha.results.similarity.score import Score

_CALIBRATED_PAIRS_NOTE = (
    "The chance level is the mean value for randomly matched rows. The calibrated value is 0 up to the chance "
    "threshold at the level {alpha:g}, and 1 at the best possible value. For a measure without a best possible value, "
    "it is the excess over the threshold. The corrected p-value accounts for the number of pairs of one measure, "
    "not for the number of measures."
)
_MOST_LINES = 60
"""Most pairs that are printed; if there are more, those with the smallest p-values are printed."""


def measure_lines(result: PairwiseComparison, measure: str) -> list[str]:
    """Return one line per pair for a measure, followed by the number of pairs above chance."""
    width = page_width()
    pairs = choose_printed_pairs(result, measure)
    closer = pairs[0].score.closer
    n_left = len(select_pairs(result, measure)) - len(pairs)
    rest = [f"  {n_left} more pairs are in to_frame(); none has a smaller p"] if n_left else []
    return [
        f"{measure} ({closer} is closer)",
        f"  {significance_sentence(result, measure)}",
        *table([f"{pair.first}, {pair.second}" for pair in pairs], [[column] for column in _columns(pairs)], width),
        *rest,
    ]


def measure_table(result: PairwiseComparison, measure: str) -> Table:
    """Return the table for one measure on a page."""
    pairs = select_pairs(result, measure)
    names = tuple(f"{pair.first}, {pair.second}" for pair in pairs)
    return Table(names, tuple((column,) for column in _columns(pairs)), measure, "pair")


def significance_sentence(result: PairwiseComparison, measure: str) -> str:
    """Return in words how many pairs are above chance according to a measure."""
    tested = [pair.score for pair in select_pairs(result, measure) if pair.score.has_null]
    above = sum(reaches_level(score.corrected_p_value, result.alpha) for score in tested)
    if not tested:
        return "no pair has a chance level"
    if len(tested) == 1:
        return f"the pair is{'' if above else ' not'} above chance at {result.alpha:g}"
    verb = agree(above, "is", "are")
    return f"{above} of {len(tested)} pairs {verb} above chance at {result.alpha:g}, corrected for the number of pairs"


def pair_metrics(result: PairwiseComparison) -> list[Metric]:
    """Return the scores that have a null, each for the card header of its pair's first representation."""
    return [
        Metric(
            pair.first,
            f"{score.measure} with {pair.second}",
            score.value,
            score.interval_low,
            score.interval_high,
            score.null_mean,
            score.threshold,
            score.deciding_p_value,
        )
        for pair in result.scores
        for score in (pair.score,)
        if score.has_null
    ]


def select_pairs(result: PairwiseComparison, measure: str) -> list[PairScore]:
    """Return the pairs of different representations that were compared by one measure."""
    return [pair for pair in result.scores if pair.score.measure == measure and pair.first != pair.second]


def choose_printed_pairs(result: PairwiseComparison, measure: str) -> list[PairScore]:
    """Return the pairs to show: all if there are few, otherwise those farthest from chance."""
    pairs = select_pairs(result, measure)
    if len(pairs) <= _MOST_LINES:
        return pairs
    # NaN values are sorted to the end.
    return sorted(
        pairs, key=lambda pair: (not pair.score.has_null, pair.score.deciding_p_value, -pair.score.calibrated)
    )[:_MOST_LINES]


def _columns(pairs: list[PairScore]) -> list[Column]:
    scores = [pair.score for pair in pairs]
    cells: dict[str, list[str]] = {
        "value": [f"{score.value:.3f}" if score.has_value else "none" for score in scores],
        "interval": [_interval(score) for score in scores],
        "chance": [_format_number(score.null_mean) for score in scores],
        "calibrated": [_format_number(score.calibrated) for score in scores],
        "p": [_format_number(score.p_value) for score in scores],
        "corrected p": [_format_number(score.corrected_p_value) for score in scores],
    }
    return [Column(head, tuple(column)) for head, column in cells.items()]


def note_lines(result: PairwiseComparison) -> list[str]:
    """Return lines that explain the columns."""
    return wrap(calibrated_pairs_note(result), page_width(), hanging="")


def calibrated_pairs_note(result: PairwiseComparison) -> str:
    """Return sentences that explain the columns, with the levels of the intervals and of the thresholds."""
    brackets = f"Brackets are {format_share(result.confidence)} intervals. " if result.confidence is not None else ""
    return brackets + _CALIBRATED_PAIRS_NOTE.format(alpha=result.alpha)


def _interval(score: Score) -> str:
    return f"[{score.interval_low:.3f}, {score.interval_high:.3f}]" if score.has_interval else ""


def _format_number(value: float) -> str:
    return "" if value != value else f"{value:.3f}"
