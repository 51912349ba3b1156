"""The result of a comparison: a score for each measure, with the direction in which it is better."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shesha.report import Column, Metric, Page, Section, Table
from shesha.results.audit.doubts import Doubts
from shesha.results.base import Result, reaches_level
from shesha.results.number import frame_of_numbers, numeral
from shesha.results.similarity.score import RECOMMENDED, Score, plain_name
from shesha.support.wording import count, duration

if TYPE_CHECKING:
    import pandas as pd


def pair_sentences(first: str, second: str, scores: Sequence[Score], alpha: float) -> Iterable[str]:
    """Yield sentences that say, from the scores with a value, whether two representations are similar."""
    if not scores:
        yield f"No measure could be computed for {first} and {second}."
        return
    tested = [score for score in scores if score.has_null]
    if not tested:
        shown = [score for score in scores if score.name in RECOMMENDED] or [scores[0]]
        yield f"Raw values, not tested against chance: {', '.join(_raw_value(score) for score in shown)}."
        return
    above = [score for score in tested if reaches_level(score.deciding_p_value, alpha)]
    best = max(tested, key=lambda score: -score.deciding_p_value)
    corrected = ", corrected for the number of measures" if len(tested) > 1 else ""
    n_untested = len(scores) - len(tested)
    untested = f" ({count(n_untested, 'other measure')} not tested)" if n_untested else ""
    yield (
        f"{_count_phrase(len(above), tested)} above chance at {alpha:g}{corrected}{untested}."
        f"{'' if above else f' The smallest p-value is {best.deciding_p_value:.2g} ({best.name}).'}"
    )
    led = next((score for score in tested if score.name in RECOMMENDED), best)
    yield (
        f"{led.name} is {led.value:.3g}{format_interval(led)}, and {led.chance:.3g} on average for randomly "
        f"matched rows (p = {led.p_value:.2g}). The calibrated value is {led.calibrated:.2f} (0 at the chance "
        "threshold, 1 at the best value)."
    )


def format_interval(score: Score) -> str:
    """Format the interval in brackets; empty if there is none."""
    return f" [{numeral(score.low)}, {numeral(score.high)}]" if score.has_interval else ""


def _raw_value(score: Score) -> str:
    by_chance = f" (chance level {numeral(score.chance)})" if score.chance == score.chance else ""
    return f"{score.name} {numeral(score.value)}{by_chance}"


def _count_phrase(n: int, tested: Sequence[Score]) -> str:
    total = len(tested)
    if total == 1:
        return f"{tested[0].name} is" if n else f"{tested[0].name} is not"
    if n == total:
        return "Both measures are" if total == 2 else f"All {total} measures are"
    return f"{n or 'None'} of {total} measures {'is' if n == 1 else 'are'}"


_HELD_OUT_NOTE = (
    "Held out: the map is fitted on the rows outside each fold and evaluated on the rows of the fold. All rows: the "
    "map is evaluated on the rows on which it was fitted, so the representations look closer than they are."
)


def held_out_sections(scores: Sequence[Score], folds: int | None) -> tuple[Section, ...]:
    """Return the section of a page with held-out values; empty if not requested."""
    held_out_scores = [score for score in scores if score.held_out is not None]
    if not held_out_scores:
        return ()
    cells = (
        Column("all rows", tuple(f"{score.value:.4g}" for score in held_out_scores)),
        Column("held out", tuple(f"{score.held_out:.4g}" for score in held_out_scores)),
    )
    table = Table(tuple(score.name for score in held_out_scores), (cells,), f"{folds} folds", "measure")
    return (Section(f"Held out, {count(folds or 0, 'fold')}", (table,), _HELD_OUT_NOTE),)


@dataclass(frozen=True)
class Comparison(Result):
    """How two representations of the same inputs compare according to several measures."""

    first: str
    second: str
    shapes: tuple[tuple[int, ...], tuple[int, ...]]
    scores: tuple[Score, ...]
    seed: int | None = None
    interrupted: bool = False
    exchanged: str = ""
    """Which rows are exchangeable under the null hypothesis; empty without calibration."""
    doubts: Doubts | None = None
    """Possible problems with the conclusion. If there are fewer than five measures, only quick checks are made."""
    folds: int | None = None
    """Number of folds that the held-out values used; None if there are no such values."""
    alpha: float = 0.05
    """Significance level of the verdicts and thresholds."""
    confidence: float = 0.95
    """Confidence level of the intervals."""
    n_draws: int = 0
    """Number of permutations for the chance levels; 0 if there are none."""
    exact_seconds: float = 0.0
    """About how long the exact values would take, if scores were estimated from a sample to save time; otherwise 0."""

    def __getitem__(self, measure: str) -> Score:
        """Return the score according to the measure with this name."""
        key = plain_name(measure)
        for score in self.scores:
            if plain_name(score.name) == key:
                return score
        raise KeyError(f"measure must be one of {', '.join(s.name for s in self.scores)}, got {measure!r}")

    def __iter__(self) -> Iterator[Score]:
        """Iterate over the scores; there is one per measure."""
        return iter(self.scores)

    @property
    def headline(self) -> str:
        """How many measures are above chance, or the raw values if none was tested."""
        known = [score for score in self.scores if score.has_value]
        return " ".join([next(iter(pair_sentences(self.first, self.second, known, self.alpha))), *self.sampled()])

    def sampled(self) -> Iterator[str]:
        """Yield a sentence on the scores that were estimated from a sample, and how long exact values take."""
        errors = [
            f"{score.name} +-{(score.sampling_high - score.sampling_low) / 2:.1g}"
            for score in self.scores
            if score.sampling_error and score.sampling_low is not None and score.sampling_high is not None
        ]
        if errors:
            time = (
                f"; `--exact` (`exact=True`) takes about {duration(self.exact_seconds)}" if self.exact_seconds else ""
            )
            yield f"Estimated from a sample: {', '.join(errors)}{time}."

    def _frame(self, *, full: bool) -> pd.DataFrame:
        """Return one row per measure."""
        return frame_of_numbers(self.scores, full=full)

    def _page(self) -> Page:
        from shesha.results.similarity.comparison_pages import comparison_page

        return comparison_page(self)

    def _metrics(self, model: str) -> list[Metric]:
        from shesha.results.similarity.comparison_pages import comparison_metrics

        return comparison_metrics(self)


_REPEATS_NOTE = (
    "Single repeats are noisy, so on average even the true model would score between the two ends of the ceiling. "
    "The corrected value is the value over repeats divided by the square roots of the reliabilities. It estimates the "
    "value without noise."
)


def repeats_sections(scores: Sequence[Score]) -> tuple[Section, ...]:
    """Return the section of a page with the noise ceilings of scores over repeats; empty if there are none."""
    repeated = [score for score in scores if score.over_repeats is not None]
    if not repeated:
        return ()
    columns = {
        "over repeats": [_format_known(score.over_repeats) for score in repeated],
        "ceiling": [
            f"{score.ceiling_lower:.4g} to {score.ceiling_upper:.4g}" if score.has_ceiling else "" for score in repeated
        ],
        "reliability": [
            ", ".join(filter(None, map(_format_known, (score.reliability_first, score.reliability_second))))
            for score in repeated
        ],
        "corrected": [_format_known(score.disattenuated) for score in repeated],
    }
    table = Table.of([score.name for score in repeated], columns, "Over repeats", "measure")
    return (Section("Compared with repeats", (table,), _REPEATS_NOTE),)


def _format_known(value: float | None) -> str:
    return "" if value is None or value != value else f"{value:.4g}"
