"""What a comparison found: one number per measure, and which way each is to be read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from shesha.report import Metric, Page, page_width, wrap
from shesha.results.audit.doubts import Doubts
from shesha.results.base import Result
from shesha.results.null_summary import BesideNull
from shesha.results.similarity.held_out import held_out_lines
from shesha.results.similarity.noise_ceiling import BesideRepeats
from shesha.results.similarity.recommended import RECOMMENDED
from shesha.support import argument_types as kinds

if TYPE_CHECKING:
    import pandas as pd

_MANY = 8
"""Of so many numbers some are to be read first."""


@dataclass(frozen=True)
class Score(BesideNull, BesideRepeats):
    """The value of one measure for one pair of representations."""

    measure: str
    family: str
    value: float
    """NaN if the data cannot give it; then there is a reason."""
    closer: str
    """Whether 'higher' or 'lower' values mean more similar."""
    possible_low: float
    """Smallest possible value."""
    possible_high: float
    """Largest possible value."""
    seconds: float = 0.0
    """Time to compare, with its share of the time for views that other measures use as well."""
    reason: str = ""
    interval_low: float = float("nan")
    """Where other rows could have put the value."""
    interval_high: float = float("nan")
    note: str = ""
    """What could not be added to the value."""
    corrected_p_value: float = field(default=float("nan"), kw_only=True)
    """The p-value, corrected for the other measures of a pair, or for the other pairs of a measure."""
    held_out: float | None = field(default=None, kw_only=True)
    """The value on rows that did not fit the measure's map; None where it fits none, or nobody asked."""
    expected: float = field(default=float("nan"), kw_only=True)
    """Mean value over all matchings of the rows, where a closed form is known: what chance gives."""
    sampling_error: float | None = field(default=None, kw_only=True)
    """Monte-Carlo standard error of a value from sampled rows or pairs; None where the value is that of all."""
    sampling_low: float | None = field(default=None, kw_only=True)
    """Where the value of all rows lies, as far as the sample tells."""
    sampling_high: float | None = field(default=None, kw_only=True)
    aliases: ClassVar[tuple[str, ...]] = ("calibrated",)

    @property
    def observed(self) -> float:
        """The value, by the name that every number with a null has."""
        return self.value

    @property
    def calibrated(self) -> float:
        """The score beside the null: 0 at the threshold, 1 at the best value."""
        return self.score

    @property
    def has_interval(self) -> bool:
        """Whether the value has an interval."""
        return self.interval_low == self.interval_low

    @property
    def has_value(self) -> bool:
        """Whether there is a value."""
        return self.value == self.value

    @property
    def deciding_p_value(self) -> float:
        """The corrected p-value, or the p-value where it stands alone."""
        return self.corrected_p_value if self.corrected_p_value == self.corrected_p_value else self.p_value

    def __str__(self) -> str:
        """Print the value and which way is closer."""
        if not self.has_value:
            return f"{self.measure}: not estimable ({self.reason})"
        possible = format_range(self.possible_low, self.possible_high)
        return f"{self.measure}: {self.value:.4g} ({self.closer} is closer, {possible})"


def format_range(low: float, high: float) -> str:
    """Print the possible values."""
    return f"from {low:.4g}" if high == float("inf") else f"{low:.4g} to {high:.4g}"


@dataclass(frozen=True)
class Comparison(Result):
    """Two representations of the same inputs, compared by several measures."""

    first: str
    second: str
    shapes: tuple[tuple[int, ...], tuple[int, ...]]
    scores: tuple[Score, ...]
    seed: int | None = None
    interrupted: bool = False
    exchanged: str = ""
    """Which rows take each other's place under the null; empty where nothing is calibrated."""
    doubts: Doubts | None = None
    """What could be wrong with the conclusion; of fewer than five measures, what sums over rows can tell."""
    folds: int | None = None
    """Folds of the held-out values, if any."""

    def __getitem__(self, measure: str) -> Score:
        """Return the score of the measure of this name."""
        key = plain_name(measure)
        for score in self.scores:
            if plain_name(score.measure) == key:
                return score
        raise KeyError(f"measure must be one of {', '.join(s.measure for s in self.scores)}, got {measure!r}")

    def __iter__(self) -> Iterator[Score]:
        """Go through the scores, one per measure."""
        return iter(self.scores)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per measure."""
        import pandas as pd

        return pd.DataFrame([score.to_dict() for score in self.scores])

    def _page(self) -> Page:
        from shesha.results.similarity.pages import comparison_page

        return comparison_page(self)

    def _metrics(self, model: str) -> list[Metric]:
        from shesha.results.similarity.pages import comparison_metrics

        return comparison_metrics(self)

    def __str__(self) -> str:
        """Print a table that says for each number which way is closer, then what has no number and why."""
        found = [score for score in self.scores if score.has_value]
        missing = [score for score in self.scores if not score.has_value]
        lines = [f"{self.first} ({_format_shape(self.shapes[0])}) and {self.second} ({_format_shape(self.shapes[1])})"]
        calibrated = any(score.has_null or score.has_interval for score in found)
        if found:
            lines += ["", *(_calibrated_table(found) if calibrated else _table(found))]
        if self.doubts:
            lines += ["", "What could be wrong", *(f"  {line}" for line in str(self.doubts).split("\n"))]
        if missing:
            lines += ["", "Without a value", *_remark_lines((score.measure, score.reason) for score in missing)]
        if found:
            told = [*_reading_advice(found), _CALIBRATED_NOTE if calibrated else _NOTE]
            lines += ["", *(line for text in told for line in wrap(text, page_width(), hanging=""))]
        if found and calibrated and self.exchanged not in ("", "all rows"):
            lines.append(f"Exchanged: {self.exchanged}.")
        repeated = [score for score in found if score.over_repeats is not None]
        if repeated:
            lines += ["", "Beside repeats", *_repeats_table(repeated), "", *_REPEATS_NOTE]
        lines += held_out_lines(found, self.folds)
        notes = [(score.measure, score.note) for score in found if score.note]
        if notes:
            lines += ["", "Notes", *_remark_lines(notes)]
        if self.interrupted:
            lines += ["", "Interrupted: the rest was not compared."]
        return "\n".join(lines)


def _reading_advice(scores: list[Score]) -> list[str]:
    """Say where to begin among many numbers."""
    there = [f"{name} ({sees})" for name, sees in RECOMMENDED.items() if name in {score.measure for score in scores}]
    if len(scores) <= _MANY or not there:
        return []
    return [f"Read first: {', '.join(there)}; the others tell how far an answer depends on what is measured."]


_NOTE = (
    "Values are raw. By chance: the mean over all matchings of the rows, where a formula gives it; elsewhere it is "
    "rarely 0, and grows with the numbers of features. "
    "`shesha measures NAME` tells what a measure sees and where it misleads."
)


_CALIBRATED_NOTE = (
    "Chance is the mean value when rows are matched at random; calibrated is 0 up to the threshold that chance "
    "rarely passes and 1 at the best value (where there is none: the excess). Many measures are many tests, so some p "
    "is often small by chance. Corrected p allows for their number: read it unless you named one measure beforehand. "
    "Measures that do not look at which row is which have no such null."
)


_REPEATS_NOTE = (
    "With single repeats the truth itself would score between the two ends of the ceiling, on average. Corrected",
    "is the value over repeats divided by the roots of the reliabilities: what it would be about without noise.",
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


_BY_CHANCE = "by chance"


def _format_known(number: float | None, digits: str = ".4g") -> str:
    return "" if number is None or number != number else f"{number:{digits}}"


def _table(scores: list[Score]) -> list[str]:
    known = any(one.expected == one.expected for one in scores)
    head = f"{'value':>10}  {f'{_BY_CHANCE}  ' * known}{'closer is':<9}  {'possible':<14}  {'seconds':>7}"

    def cells(one: Score) -> str:
        chance = f"{_format_known(one.expected + 0.0, '#.4g'):>{len(_BY_CHANCE)}}  " * known
        return (
            f"{one.value:>#10.4g}  {chance}{one.closer:<9}  "
            f"{format_range(one.possible_low, one.possible_high):<14}  {one.seconds:>7.3f}"
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
    """Say each remark once, of all the measures that it is made of."""
    measures: dict[str, list[str]] = {}
    for measure, remark in remarks:
        measures.setdefault(remark, []).append(measure)
    lines = []
    for remark, names in measures.items():
        lines += wrap(f"{', '.join(names)}: {remark}", page_width(), "  ", "    ")
    return lines


def _family_lines(scores: list[Score], head: str, cells: Callable[[Score], str]) -> list[str]:
    width = max(len(score.measure) for score in scores)
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


def plain_name(name: str) -> str:
    """Return a measure's name as lookup compares it."""
    base, bracket, options = kinds.text(name, "measure").lower().partition("(")
    # Among options signs count: 1e-16 is not 1e16.
    return "".join(c for c in base if c.isalnum()) + bracket + "".join(c for c in options if not c.isspace())
