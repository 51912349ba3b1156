"""The result of a comparison: a score for each measure, with the direction in which it is better."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shesha.report import Column, Metric, Page, Section, Table, columns, page_width, wrap
from shesha.results.audit.doubts import Doubts
from shesha.results.base import Result, reaches_level
from shesha.results.number import frame_of_numbers
from shesha.results.sentence_parts import format_share
from shesha.results.similarity.score import RECOMMENDED, Score, format_range, plain_name
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
    return f" [{format_number(score.low)}, {format_number(score.high)}]" if score.has_interval else ""


def format_number(value: float) -> str:
    """Format a number with three decimals, or with four digits if it is large; empty for NaN."""
    return "" if value != value else f"{value:.3f}" if abs(value) < 10 else f"{value:.4g}"


def _raw_value(score: Score) -> str:
    by_chance = f" (chance level {format_number(score.chance)})" if score.chance == score.chance else ""
    return f"{score.name} {format_number(score.value)}{by_chance}"


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


def held_out_lines(scores: Sequence[Score], folds: int | None) -> list[str]:
    """Return a table of values for all rows and for held-out rows; empty if not requested."""
    held_out_scores = [score for score in scores if score.held_out is not None]
    if not held_out_scores:
        return []
    rows = [["measure", "all rows", "held out"]]
    rows += [[score.name, f"{score.value:.4g}", f"{score.held_out:.4g}"] for score in held_out_scores]
    return [
        "",
        f"Held out, {folds} folds",
        *columns(rows, "<>>", indent="  "),
        *wrap(_HELD_OUT_NOTE, page_width(), hanging=""),
    ]


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
    return (Section("Held out", (table,), _HELD_OUT_NOTE),)


_MANY = 8
"""If there are more scores than this, the text recommends which measures to read first."""


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
        return " ".join([next(iter(pair_sentences(self.first, self.second, known, self.alpha))), *self._sampled()])

    def _sampled(self) -> Iterator[str]:
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

    def _text(self) -> str:
        """Return a table of the numbers with their directions, followed by missing values with reasons."""
        with_value = [score for score in self.scores if score.has_value]
        missing = [score for score in self.scores if not score.has_value]
        lines = [
            f"{self.first} ({_format_shape(self.shapes[0])}) and {self.second} ({_format_shape(self.shapes[1])})",
            *wrap(self.headline, page_width(), hanging=""),
        ]
        calibrated = any(score.has_null or score.has_interval for score in with_value)
        if with_value:
            lines += ["", *(_calibrated_table(with_value) if calibrated else _table(with_value))]
        if self.doubts:
            lines += ["", "What could be wrong", *(f"  {line}" for line in str(self.doubts).split("\n"))]
        if missing:
            lines += ["", "Without a value", *_remark_lines((score.name, score.reason) for score in missing)]
        if with_value:
            brackets = f"Brackets are {format_share(self.confidence)} intervals. "
            has_interval = any(score.has_interval for score in with_value)
            note = brackets * has_interval + _CALIBRATED_NOTE.format(alpha=self.alpha) if calibrated else _NOTE
            advice = [*_reading_advice(with_value), note]
            lines += ["", *(line for text in advice for line in wrap(text, page_width(), hanging=""))]
        if with_value and calibrated and self.exchanged not in ("", "all rows"):
            both = " Value and chance level both include the differences between blocks." * ("blocks" in self.exchanged)
            lines += wrap(f"Permuted under the null: {self.exchanged}.{both}", page_width(), hanging="")
        repeated = [score for score in with_value if score.over_repeats is not None]
        if repeated:
            lines += [
                "",
                "Compared with repeats",
                *_repeats_table(repeated),
                "",
                *wrap(_REPEATS_NOTE, page_width(), hanging=""),
            ]
        lines += held_out_lines(with_value, self.folds)
        notes = [(score.name, note) for score in with_value for note in score.notes]
        if notes:
            lines += ["", "Notes", *_remark_lines(notes)]
        if self.interrupted:
            lines += ["", "Interrupted: the remaining measures were not compared."]
        return "\n".join(lines)


def _reading_advice(scores: list[Score]) -> list[str]:
    """Return advice on which of many measures to read first."""
    there = [f"{name} ({sees})" for name, sees in RECOMMENDED.items() if name in {score.name for score in scores}]
    if len(scores) <= _MANY or not there:
        return []
    return [
        f"Read these measures first: {', '.join(there)}. The other measures show how much the answer depends on "
        "the measure."
    ]


_NOTE = (
    "Values are not calibrated. The chance level is the mean value over all matchings of the rows, if there is a "
    "formula. For other measures this mean is rarely 0 and grows with the number of features. `--calibrate` "
    "(`calibrate=True`) adds intervals and p-values. `shesha measures NAME` explains what a measure responds to "
    "and when it misleads."
)


_CALIBRATED_NOTE = (
    "The chance level is the mean value for randomly matched rows. The calibrated value is 0 up to the chance "
    "threshold at the level {alpha:g}, and 1 at the best possible value. For a measure without a best possible value, "
    "it is the excess over the threshold. With many measures, some p-values are small by chance alone. Use the "
    "corrected p-value, which accounts for the number of measures, unless you chose one measure in advance. Measures "
    "that do not depend on the matching of rows have no null distribution."
)


_REPEATS_NOTE = (
    "Single repeats are noisy, so on average even the true model would score between the two ends of the ceiling. "
    "The corrected value is the value over repeats divided by the square roots of the reliabilities. It estimates the "
    "value without noise."
)


def _repeats_table(scores: list[Score]) -> list[str]:
    head = f"{'over repeats':>12}  {'ceiling':<18}  {'reliability':<18}  {'corrected':>10}"

    def cells(score: Score) -> str:
        ceiling = f"{score.ceiling_lower:.4g} to {score.ceiling_upper:.4g}" if score.has_ceiling else ""
        reliable = ", ".join(
            filter(None, (_format_known(score.reliability_first), _format_known(score.reliability_second)))
        )
        line = f"{score.over_repeats:>#12.4g}  {ceiling:<18}  {reliable:<18}  {_format_known(score.disattenuated):>10}"
        return line.rstrip()

    return _family_lines(scores, head, cells)


_CHANCE = "  chance"


def _format_known(number: float | None, digits: str = ".4g") -> str:
    return "" if number is None or number != number else f"{number:{digits}}"


def _table(scores: list[Score]) -> list[str]:
    known = any(score.chance == score.chance for score in scores)
    head = f"{'value':>10}  {f'{_CHANCE}  ' * known}{'closer is':<9}  {'possible':<14}  {'seconds':>7}"

    def cells(score: Score) -> str:
        chance = f"{_format_known(score.chance + 0.0, '#.4g'):>{len(_CHANCE)}}  " * known
        return (
            f"{score.value:>#10.4g}  {chance}{score.closer:<9}  "
            f"{format_range(score.possible_low, score.possible_high):<14}  {score.seconds:>7.3f}"
        )

    return _family_lines(scores, head, cells)


def _format_p(p: float) -> str:
    return "<0.001" if p < 0.0005 else f"{p:.3f}"


def _calibrated_table(scores: list[Score]) -> list[str]:
    head = (
        f"{'value':>10}  {'interval':<20}  {'closer is':<9}  {'chance':>10}  {'calibrated':>10}  {'p':>6}  corrected p"
    )

    def cells(score: Score) -> str:
        interval = f"[{score.low:.4g}, {score.high:.4g}]" if score.has_interval else ""
        corrected = "" if score.corrected_p_value != score.corrected_p_value else _format_p(score.corrected_p_value)
        chance = f"{score.chance:>#10.4g}  {score.calibrated:>#10.4g}"
        null = f"{chance}  {_format_p(score.p_value):>6}  {corrected:>11}" if score.has_null else ""
        return f"{score.value:>#10.4g}  {interval:<20}  {score.closer:<9}  {null}".rstrip()

    return _family_lines(scores, head, cells)


def _remark_lines(remarks: Iterable[tuple[str, str]]) -> list[str]:
    """Return each note once, with all the measures to which it applies."""
    measures: dict[str, list[str]] = {}
    for measure, remark in remarks:
        measures.setdefault(remark, []).append(measure)
    lines = []
    for remark, names in measures.items():
        lines += wrap(f"{', '.join(names)}: {remark}", page_width(), "  ", "    ")
    return lines


def _family_lines(scores: list[Score], head: str, cells: Callable[[Score], str]) -> list[str]:
    width = max(len("measure"), *(len(score.name) for score in scores))
    lines = [f"  {'measure':<{width}}  {head}"]
    order = {family: place for place, family in enumerate(dict.fromkeys(score.family for score in scores))}
    family = ""
    for score in sorted(scores, key=lambda score: order[score.family]):
        if score.family != family:
            family = score.family
            lines.append(family)
        lines.append(f"  {score.name:<{width}}  {cells(score)}")
    return lines


def _format_shape(shape: tuple[int, ...]) -> str:
    return f"distances of {shape[0]:,} rows" if len(shape) == 1 else " x ".join(f"{n:,}" for n in shape)
