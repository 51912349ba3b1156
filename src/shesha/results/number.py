"""A number with its evidence: interval, chance level and p-value, under the names that all results share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from math import isfinite, isnan
from typing import TYPE_CHECKING, Any, ClassVar

from shesha.report import Metric, Part, Strip, Table, numeral, page_width, texts, wrap
from shesha.results.base import Listed, Result, as_cell, draws_axes, reaches_level
from shesha.support.seeds import ALPHA
from shesha.support.wording import agree, agree_with_share, count, join_names

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

NAN = float("nan")
INTERRUPTED = "interrupted"
"""Reason for values that were not computed because of Ctrl-C."""
TIE = 1e-12
"""Values that differ by less than this share of the largest value are ties."""


@dataclass(frozen=True, kw_only=True)
class Number(Result):
    """A number with its evidence. What is not known is NaN; `reason` says why the value itself is missing."""

    name: str = ""
    """What was computed: the name of a measure, score, group, layer or model."""
    value: float = NAN
    low: float = NAN
    """Lower end of the interval for samples of other rows (or units) of the same kind."""
    high: float = NAN
    confidence: float = NAN
    """Confidence level of the interval."""
    chance: float = NAN
    """Chance level: mean of the null distribution, from its draws or by a formula."""
    chance_sd: float = NAN
    """Standard deviation of the null distribution."""
    threshold: float = NAN
    """Chance threshold: the value of rank ceil((1 - alpha)(draws + 1)) among the observed and the null values, sorted
    from farthest to closest."""
    calibrated: float = NAN
    """0 at the chance threshold and 1 at the best value; without a best value, the excess over the threshold."""
    p_value: float = NAN
    """(1 + number of draws at least as close) / (draws + 1), which is never 0."""
    corrected_p_value: float = NAN
    """p-value corrected for the number of tests that were made together."""
    alpha: float = ALPHA
    """Significance level of verdict and threshold."""
    closer: str = "higher"
    """Whether 'higher' or 'lower' values mean more agreement; 'either' if the test has two sides."""
    best: float = NAN
    """Value for perfect agreement; NaN if there is no such value."""
    n_rows: int = 0
    n_draws: int = 0
    """Number of draws from the null distribution."""
    exchanged: str = ""
    """Which rows (or units) the null distribution permutes."""
    null: tuple[float, ...] = ()
    """Draws from the null distribution, NaN for those without a value; empty if they were not kept."""
    seed: int | None = None
    reason: str = ""
    """Why the value or its chance level is missing; empty if neither is."""
    notes: tuple[str, ...] = ()

    aliases: ClassVar[tuple[str, ...]] = ("significant",)
    SHOWS_DIRECTION: ClassVar[bool] = True
    """Whether the first line of the text and the figure say if lower or higher values mean more agreement."""

    @property
    def has_value(self) -> bool:
        """Whether there is a value."""
        return not isnan(self.value)

    @property
    def has_interval(self) -> bool:
        """Whether the value has an interval."""
        return not (isnan(self.low) and isnan(self.high))

    @property
    def has_null(self) -> bool:
        """Whether the value was compared with a null distribution."""
        return not isnan(self.p_value)

    @property
    def deciding_p_value(self) -> float:
        """The corrected p-value, or the uncorrected one if there was no correction."""
        return self.p_value if isnan(self.corrected_p_value) else self.corrected_p_value

    @property
    def significant(self) -> bool:
        """Whether the (corrected) p-value reaches the level alpha."""
        return reaches_level(self.deciding_p_value, self.alpha)

    @property
    def verdict(self) -> str:
        """'above chance', 'not above chance', 'not tested' or 'no value'."""
        if not self.has_value:
            return "no value"
        if not self.has_null:
            return "not tested"
        return "above chance" if self.significant else "not above chance"

    @property
    def n_lost(self) -> int:
        """Number of draws without a value; they count as at least as close as the value."""
        return sum(map(isnan, self.null))

    @property
    def centred(self) -> float:
        """Value minus chance level; positive if the value is closer than that."""
        return self._sign * self.value - self._sign * self.chance

    @property
    def z(self) -> float:
        """`centred` divided by the standard deviation of the null distribution; NaN if that is 0."""
        return self.centred / self.chance_sd if self.chance_sd > self._tie else NAN

    @property
    def adjusted(self) -> float:
        """`centred` divided by (best value - chance level), as in the adjusted Rand index; NaN without best value."""
        room = self._sign * self.best - self._sign * self.chance
        return self.centred / room if room > 0 else NAN

    @property
    def percentile(self) -> float:
        """Percentage of the null values that are less close than the value; ties count half. NaN without draws."""
        if not self.null or not self.has_value:
            return NAN
        tie = self._tie
        if self.closer == "either":
            value, *draws = (abs(x - self.chance) for x in (self.value, *self.null) if not isnan(x))
        else:
            value, *draws = (self._sign * x for x in (self.value, *self.null) if not isnan(x))
        ties = sum(draw == value or abs(draw - value) <= tie for draw in draws)
        return 100 * (sum(draw < value - tie for draw in draws) + 0.5 * ties) / len(self.null)

    @property
    def _sign(self) -> float:
        return -1.0 if self.closer == "lower" else 1.0

    @property
    def _tie(self) -> float:
        return TIE * max((abs(x) for x in (self.value, *self.null) if isfinite(x)), default=0.0)

    def to_dict(self) -> dict[str, Any]:
        """Return the number as plain values that can be written as JSON; what is not known is left out."""
        defaults = {one.name: one.default for one in fields(self)}
        return {
            name: value
            for name, value in super().to_dict().items()
            if name in ("name", "value") or not _is_unknown(value, defaults.get(name))
        }

    def evidence(self) -> dict[str, Any]:
        """Return chance level, threshold, calibrated value and p-value, to add them to another number."""
        return {name: getattr(self, name) for name in _EVIDENCE}

    def as_metric(self, model: str, what: str) -> Metric:
        """Return the number for the header of a card: what it is, and of which model."""
        p_value = self.deciding_p_value
        return Metric(
            model,
            what,
            self.value,
            low=self.low,
            high=self.high,
            chance=self.chance,
            threshold=self.threshold,
            p_value=p_value,
        )

    def _frame(self, *, full: bool) -> pd.DataFrame:
        """Return the number as a table with one row, or with the columns that the class names."""
        return super()._frame(full=full) if self.COLUMNS else frame_of_numbers([self], full=full)

    @draws_axes
    def plot(self, ax: Axes | None = None, *, title: str | None = None) -> Axes:
        """Draw the null distribution, the value and the threshold, or the value and its interval if there is none."""
        from shesha.charts import null_distribution

        if not self.null and self.has_value:
            return super().plot(ax)
        label = f"{self.name} ({self.closer} is closer)" if self.SHOWS_DIRECTION else self.name
        threshold = NAN if self.closer == "either" else self.threshold
        drawn = ", ".join(filter(None, [f"{self.n_draws:,} draws", self.exchanged]))
        return null_distribution(self.null, self.value, threshold, label=label, drawn=drawn, ax=ax)

    def _text(self) -> str:
        """Return the number in one line, with its calibration, its extras and its notes below."""
        lines = [self.line()]
        if self.has_value:
            lines += [f"  {line}" for line in self._further_lines()]
        lines += [f"  note: {note}" for note in self.notes if self.has_value]
        return "\n".join(part for line in lines for part in wrap(line, page_width(), hanging="    "))

    @property
    def _what(self) -> str:
        """What the value is, as the first line of the text calls it."""
        return self.name

    @property
    def _verdict_at_level(self) -> str:
        return f"{self.verdict} at {self.alpha:g}"

    def line(self) -> str:
        """Return the value with its interval, verdict and p-value as one line."""
        if not self.has_value:
            return f"{self.name}: not estimable ({self.reason})"
        interval = f" [{self.low:.4g}, {self.high:.4g}]" if self.has_interval else ""
        direction = " (lower is closer)" if self.closer == "lower" and self.SHOWS_DIRECTION else ""
        corrected = "" if isnan(self.corrected_p_value) else f", corrected {self.corrected_p_value:.3g}"
        test = f", {self._verdict_at_level} (p = {self.p_value:.3g}{corrected})" if self.has_null else ""
        return f"{self._what} {self.value:.4g}{interval}{direction}{test}"

    def _further_lines(self) -> Iterable[str]:
        """Yield further lines of the text; classes with more fields extend this."""
        if self.has_value and not isnan(self.chance):
            draws = (
                f" ({self.n_draws:,} draws{f', {self.exchanged}' if self.exchanged else ''})" if self.n_draws else ""
            )
            yield f"chance {self.chance:.4g}{draws}"
        if self.has_value and not isnan(self.threshold):
            kind = "excess over the threshold" if isnan(self.best) else "calibrated"
            yield f"{kind} {self.calibrated:.4g}, threshold {self.threshold:.4g}, null sd {self.chance_sd:.2g}"
        if self.n_lost:
            lost = count(self.n_lost, "draw")
            yield f"{lost} without a value {agree(self.n_lost, 'counts', 'count')} as at least as close"


def _is_unknown(value: Any, default: Any) -> bool:
    """Return whether a field says nothing: NaN, or an empty default."""
    if isinstance(value, float):
        return isnan(value)
    return value is None or (isinstance(value, str | tuple) and not value and value == default)


_EVIDENCE = ("chance", "chance_sd", "threshold", "calibrated", "p_value", "alpha", "best", "n_draws")
NARROW = ("value", "low", "high", "chance", "p_value", "corrected_p_value", "verdict")
"""The columns that a table of numbers shows after its names."""


def frame_of_numbers(
    numbers: Iterable[Number],
    *names: str,
    full: bool = False,
    lead: Mapping[str, Sequence[Any]] | None = None,
    further: Iterable[str] = (),
) -> pd.DataFrame:
    """Return one row per number: its names, value, interval, chance level, p-values and verdict, or every field.

    Columns of the narrow table that are empty in all rows are left out.

    Parameters
    ----------
    numbers : iterable of Number
    *names : str
        Fields that name a row. Default: 'name'.
    full : bool
        Whether to return every field except the draws.
    lead : mapping of str to sequence, optional
        Further columns, which come first.
    further : iterable of str
        Fields or properties that the table shows as well.
    """
    import pandas as pd

    rows, head = list(numbers), dict(lead or {})
    if full:
        left_out = {"inputs", "null", "doubts", *head}
        known = dict.fromkeys(one.name for row in rows for one in fields(row) if one.name not in left_out)
        known |= dict.fromkeys((*(name for row in rows for name in row.aliases), *further))
        return pd.DataFrame(head | {name: [as_cell(getattr(row, name, None)) for row in rows] for name in known})
    shown = (*(names or ("name",)), *NARROW)
    table = {name: [getattr(row, name) for row in rows] for name in shown if name not in head}
    empty = {name for name, cells in table.items() if not any(cell == cell for cell in cells)}
    left_out = empty & set(NARROW) - {"value", "verdict"}
    last = {name: [getattr(row, name) for row in rows] for name in further}
    return pd.DataFrame(head | {name: cells for name, cells in table.items() if name not in left_out} | last)


def format_value(number: Number | None) -> str:
    """Format a value with its interval for a cell; empty if there is none."""
    if number is None:
        return ""
    ends = f" [{numeral(number.low)}, {numeral(number.high)}]" if number.has_interval else ""
    return f"{numeral(number.value)}{ends}"


def table_of_numbers(
    numbers: Sequence[Number],
    title: str = "",
    head: str = "",
    further: Mapping[str, Iterable[str | float | None]] | None = None,
) -> tuple[Part, ...]:
    """Return the table of a report with one row per number, and below it why values or chance levels are missing.

    Parameters
    ----------
    numbers : sequence of Number
    title, head : str
        Title of the table, and what a row is, in the singular.
    further : mapping of str to sequence, optional
        Further columns: the header, and one cell per number.
    """
    are_tested = any(each.has_null for each in numbers)
    table = Table.of(
        [each.name for each in numbers],
        {
            "value": map(format_value, numbers),
            "chance": [each.chance for each in numbers],
            "p": [each.p_value for each in numbers],
            "corrected p": [each.corrected_p_value for each in numbers],
            **(further or {}),
            "verdict": [each.verdict if are_tested else "" for each in numbers],
        },
        title,
        head,
        strips={"value": map(strip, numbers)},
    )
    reasons: dict[str, list[str]] = {}
    for each in numbers:
        if each.reason:
            reasons.setdefault(each.reason, []).append(each.name)
    missing = [f"{join_names(names)}: {reason}" for reason, names in reasons.items()]
    return (table, *texts(missing))


def strip(number: Number | None) -> Strip | None:
    """Return the drawing of a number beside its value; None if there is no value."""
    if number is None or not number.has_value:
        return None
    return Strip(number.value, number.low, number.high, number.threshold)


_MOST_DRAWN = 20
"""Most numbers in one picture."""


@dataclass(frozen=True, kw_only=True)
class NumberTable(Listed[Number], Result):
    """Several numbers of one kind that were tested together."""

    numbers: tuple[Number, ...]
    notes: tuple[str, ...] = ()

    WHAT: ClassVar[str] = "numbers"
    """What the numbers describe, in the plural."""
    VALUE: ClassVar[str] = ""
    """What the numbers measure, for the axis of the figure. Default: what they describe."""
    NAMES: ClassVar[tuple[str, ...]] = ()
    """Further fields of each number that its row of the table shows after its name."""

    def __len__(self) -> int:
        """Return how many numbers there are."""
        return len(self.numbers)

    @property
    def significant(self) -> tuple[Number, ...]:
        """The numbers above chance at the level alpha, after the correction."""
        return tuple(each for each in self.numbers if each.significant)

    @property
    def headline(self) -> str:
        """How many numbers are above chance."""
        n, level = len(self.significant), f" at {self.numbers[0].alpha:g}" if self.numbers else ""
        return f"{n} of {len(self):,} {self.WHAT} {agree_with_share(n, len(self), 'is', 'are')} above chance{level}."

    def _frame(self, *, full: bool) -> pd.DataFrame:
        """Return a table with one row per number."""
        return frame_of_numbers(self.numbers, "name", *self.NAMES, full=full)

    @draws_axes
    def plot(self, ax: Axes | None = None, *, title: str | None = None) -> Axes:
        """Draw the values with their intervals and chance thresholds."""
        from shesha.charts import Series, intervals

        shown = self.numbers[:_MOST_DRAWN]
        thresholds = [each.threshold for each in shown]
        series = {"value": Series.of(shown)}
        ax = intervals(
            [each.name for each in shown], series, thresholds, label=self.VALUE or self.WHAT, joined=False, ax=ax
        )
        tallest = [x for each in shown for x in (each.value, each.high, each.threshold) if isfinite(x)]
        ax.set_ylim(top=max(1.02, 1.05 * max(tallest, default=1.0)))
        return ax

    def _in_order(self) -> Sequence[Number]:
        """Return the numbers in the order in which the report shows them."""
        return self.numbers

    def _numbers(self) -> tuple[Part, ...]:
        """Return the table of the numbers."""
        return table_of_numbers(self._in_order(), self.WHAT, "row")
