"""The result of a comparison: a score for each measure, with the direction in which it is better."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shesha.report import Metric, Page, page_width, wrap
from shesha.results.audit.doubts import Doubts
from shesha.results.base import Result
from shesha.results.sentence_parts import format_share
from shesha.results.similarity.held_out_sections import held_out_lines
from shesha.results.similarity.pair_sentences import pair_sentences
from shesha.results.similarity.recommended_measure_names import RECOMMENDED
from shesha.results.similarity.score import Score, format_range, plain_name

if TYPE_CHECKING:
    import pandas as pd

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
    n_permutations: int = 0
    """Number of permutations for the chance levels; 0 if there are none."""

    def __getitem__(self, measure: str) -> Score:
        """Return the score according to the measure with this name."""
        key = plain_name(measure)
        for score in self.scores:
            if plain_name(score.measure) == key:
                return score
        raise KeyError(f"measure must be one of {', '.join(s.measure for s in self.scores)}, got {measure!r}")

    def __iter__(self) -> Iterator[Score]:
        """Iterate over the scores; there is one per measure."""
        return iter(self.scores)

    @property
    def headline(self) -> str:
        """How many measures are above chance, or the raw values if none was tested."""
        known = [score for score in self.scores if score.has_value]
        return next(iter(pair_sentences(self.first, self.second, known, self.alpha)))

    def to_frame(self) -> pd.DataFrame:
        """Return one row per measure."""
        import pandas as pd

        return pd.DataFrame([score.to_dict() for score in self.scores])

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
            lines += ["", "Without a value", *_remark_lines((score.measure, score.reason) for score in missing)]
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
        notes = [(score.measure, score.note) for score in with_value if score.note]
        if notes:
            lines += ["", "Notes", *_remark_lines(notes)]
        if self.interrupted:
            lines += ["", "Interrupted: the remaining measures were not compared."]
        return "\n".join(lines)


def _reading_advice(scores: list[Score]) -> list[str]:
    """Return advice on which of many measures to read first."""
    there = [f"{name} ({sees})" for name, sees in RECOMMENDED.items() if name in {score.measure for score in scores}]
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
        line = f"{score.over_repeats:>#12.4g}  {ceiling:<18}  {reliable:<18}  {_format_known(score.corrected):>10}"
        return line.rstrip()

    return _family_lines(scores, head, cells)


_CHANCE = "  chance"


def _format_known(number: float | None, digits: str = ".4g") -> str:
    return "" if number is None or number != number else f"{number:{digits}}"


def _table(scores: list[Score]) -> list[str]:
    known = any(score.expected == score.expected for score in scores)
    head = f"{'value':>10}  {f'{_CHANCE}  ' * known}{'closer is':<9}  {'possible':<14}  {'seconds':>7}"

    def cells(score: Score) -> str:
        chance = f"{_format_known(score.expected + 0.0, '#.4g'):>{len(_CHANCE)}}  " * known
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
        interval = f"[{score.interval_low:.4g}, {score.interval_high:.4g}]" if score.has_interval else ""
        corrected = "" if score.corrected_p_value != score.corrected_p_value else _format_p(score.corrected_p_value)
        chance = f"{score.null_mean:>#10.4g}  {score.calibrated:>#10.4g}"
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
    width = max(len("measure"), *(len(score.measure) for score in scores))
    lines = [f"  {'measure':<{width}}  {head}"]
    order = {family: place for place, family in enumerate(dict.fromkeys(score.family for score in scores))}
    family = ""
    for score in sorted(scores, key=lambda score: order[score.family]):
        if score.family != family:
            family = score.family
            lines.append(family)
        lines.append(f"  {score.measure:<{width}}  {cells(score)}")
    return lines


def _format_shape(shape: tuple[int, ...]) -> str:
    return f"distances of {shape[0]:,} rows" if len(shape) == 1 else " x ".join(f"{n:,}" for n in shape)
