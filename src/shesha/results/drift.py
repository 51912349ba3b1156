"""What a drift monitor concludes about encodings and streams, and the comparison of two samples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Literal

from shesha.report import (
    Columns,
    Drawing,
    Explained,
    Item,
    Metric,
    Page,
    Part,
    Section,
    Strip,
    Table,
    Text,
    numeral,
    page_width,
    texts,
    wrap,
)
from shesha.results import sentence_parts as say
from shesha.results.base import Listed, Result, draws_axes
from shesha.results.generic_page import run_details
from shesha.results.number import NAN, Number, frame_of_numbers
from shesha.support.wording import count

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


State = Literal["ok", "watch", "alert", "not estimable"]
_SAID = {
    "ok": "no change beyond that of unchanged encodings",
    "watch": "a sign of change, but no alarm",
    "alert": "the geometry changed",
    "not estimable": "the drift could not be estimated",
}


@dataclass(frozen=True, kw_only=True)
class DriftScore(Number):
    """How far the encodings have drifted according to one measure."""

    tier: str
    """'primary' raises the alarm, 'confirm' shows how large the change is, 'early' and 'local' detect it early."""
    value: float
    """Size of the drift: 0 for the same geometry; NaN, with a reason, if it cannot be computed."""
    threshold: float
    """Drift above which the score is significant at the monitor's level."""
    chance: float = NAN
    """Mean drift of re-encodings by the unchanged model; NaN without re-encodings."""
    low: float = NAN
    """Lower limit of the drift for other rows of the same kind, if rows were resampled."""
    beyond: bool = False
    """Whether the drift exceeds its threshold."""


@dataclass(frozen=True)
class Moved(Result):
    """How far a row, or the mean of a class, has moved relative to the others."""

    name: str
    movement: float
    """1 minus the correlation between the row's distances to all other rows before and after."""
    floor: float = NAN
    """Largest movement of this row in any re-encoding by the unchanged model; NaN without re-encodings."""
    label: str = ""


@dataclass(frozen=True)
class CheckSequence(Result):
    """Evidence of a change that has accumulated over successive checks."""

    number: int
    """Number of this check, counted from 1."""
    run_length: float
    """Mean number of checks between two false alarms."""
    e_value: float
    """Evidence of a change from this check alone; its mean is 1 if nothing has changed."""
    shiryaev_roberts: float
    """Evidence accumulated over all times at which the change may have happened; it raises the alarm at `threshold`."""
    cusum: float
    """CUSUM: evidence since the earlier check with which the suspicion is greatest. It is shown only for comparison."""
    alarm_since: int = 0
    """Number of the check that raised an alarm that is not yet acknowledged; 0 if there is none."""
    threshold: float = NAN
    """Evidence that raises the alarm, chosen so that false alarms are `run_length` checks apart on average."""


@dataclass(frozen=True)
class DriftVerdict(Listed[DriftScore], Result):
    """The result of comparing new encodings of the same inputs with those by the unchanged model."""

    ITEMS = "scores"
    KEY = "measure"

    state: State
    scores: tuple[DriftScore, ...]
    n_rows: int
    basis: Literal["re-encodings", "row resamples"]
    """How the noise floor was obtained."""
    n_nulls: int
    level: float
    """Share of checks in which a score exceeds its threshold although nothing has changed."""
    realised: float
    """Upper limit (with 95 % confidence) for the monitor's actual share of false alarms, which is uncertain because the
    threshold is estimated."""
    tolerance: float
    """Largest drift that does not raise an alert."""
    rows: tuple[Moved, ...] = ()
    """The rows that moved most."""
    classes: tuple[Moved, ...] = ()
    sequence: CheckSequence | None = None
    by_sequence: bool = False
    """Whether the accumulated evidence of many checks raised the alert, rather than this check alone."""
    advice: str = ""
    notes: tuple[str, ...] = ()
    reason: str = ""
    """Why the primary score has no value; empty if it has one."""
    dependence: str = ""
    """How reference rows depend on their neighbours, with advice, so that resampling them does not give the stated
    confidence; empty if there is no sign of it, or if re-encodings give the noise floor."""
    about: dict[str, str] = field(default_factory=dict)
    """Conditions recorded with the checked encodings, such as model revision and batch size."""

    @property
    def needs_attention(self) -> bool:
        """Whether there is an alert, or the encodings could not be evaluated."""
        return self.state in ("alert", "not estimable")

    def _frame(self, *, full: bool) -> pd.DataFrame:
        """Return one row per score."""
        frame = frame_of_numbers(self.scores, "name", "tier", "threshold", full=full)
        return frame.drop(columns="verdict", errors="ignore").assign(beyond=[score.beyond for score in self.scores])

    @draws_axes
    def plot(self, ax: Axes | None = None, *, title: str | None = None) -> Axes:
        """Draw each drift as a multiple of its threshold."""
        from shesha.charts import drift_bars

        scores = [score for score in self.scores if score.value == score.value]
        return drift_bars([s.name for s in scores], [s.value for s in scores], [s.threshold for s in scores], ax=ax)

    @property
    def state_in_words(self) -> str:
        """The state of the monitor in words."""
        if self.state == "ok" and self.basis == "row resamples":
            return f"no drift significantly above the tolerance of {self.tolerance:g}"
        return _SAID[self.state]

    def _claim(self) -> str:
        score = self.scores[0]
        dependent = f" {_not_confident(self)}" if self.dependence else ""
        by_sequence = "; the accumulated evidence of all checks raised the alert" * self.by_sequence
        return (
            f"{next(_answer_sentences(self)).removesuffix('.')} ({say.add_source(score.name)}; {self.n_nulls:,} "
            f"{self.basis}, level {self.level:g}, tolerance {self.tolerance:g}{by_sequence}). "
            f"{rates_sentence(self)}{dependent}"
        ).removesuffix(".")

    def _page(self) -> Page:
        return verdict_page(self)

    def _metrics(self, model: str) -> list[Metric]:
        return [score.as_metric(model, f"{score.name} since the reference") for score in self.scores]


LIMIT_CONFIDENCE = 0.95
"""Confidence of the upper limit of a monitor's own share of false alarms."""


def short_names(scores: tuple[DriftScore, ...]) -> dict[str, str]:
    """Return names of the measures that omit options where names alone distinguish them."""
    bases = [score.name.partition("(")[0] for score in scores]
    return {s.name: base if bases.count(base) == 1 else s.name for s, base in zip(scores, bases, strict=True)}


def rates_sentence(verdict: DriftVerdict) -> str:
    """Return how often scores exceed their thresholds without a change."""
    if verdict.basis == "row resamples":
        return (
            f"A score exceeds its threshold if, with {100 * (1 - verdict.level):g} % confidence, its drift is above "
            f"{verdict.tolerance:g} for any sample of inputs of the same kind."
        )
    if verdict.scores[0].threshold == 0:
        return (
            f"All {verdict.n_nulls:,} re-encodings equal the reference, so it is unknown how much unchanged encodings "
            "vary and how often they exceed a threshold."
        )
    rate = f"Without a change, each score exceeds its threshold in {100 * verdict.level:.3g} % of checks"
    return (
        f"{rate}, averaged over monitors like this one. The rate of this monitor, with {verdict.n_nulls:,} "
        f"re-encodings, is below {100 * verdict.realised:.3g} % ({100 * LIMIT_CONFIDENCE:g} % confidence)."
    )


def sequence_sentence(verdict: DriftVerdict) -> str:
    """Return the evidence accumulated over successive checks, its alarm threshold, and which rule raises alerts."""
    sequence = verdict.sequence
    if sequence is None:
        return ""
    limit = sequence.run_length if sequence.threshold != sequence.threshold else sequence.threshold
    sentence = (
        f"Over {count(sequence.number, 'check')}, the evidence of a change is {sequence.shiryaev_roberts:.3g}, and an "
        f"alarm needs {round(limit, 1):g} (one false alarm in {sequence.run_length:g} checks on average)."
    )
    rule = (
        "In this monitor, only this evidence raises alerts (run_length)."
        if verdict.by_sequence
        else "In this monitor, each check raises alerts on its own (false_alarm); the evidence is for information."
    )
    alarm = f" The alarm was raised at check {sequence.alarm_since}." if sequence.alarm_since else ""
    return f"{sentence}{alarm} {rule}"


_TIERS = {
    "primary": "Raises the alarm",
    "confirm": "Measures the extent of a change",
    "early": "Shows early signs of a change",
    "local": "Detects changes of neighbours",
}
_BARE = "Only the canary rows are checked, so a change that affects only other inputs is not detected."
_NO_FLOOR = (
    "Without re-encodings the noise floor is unknown, so only drift above the tolerance, {:g}, counts as a change. "
    "Pass re-encodings of the same rows (`--nulls`) to detect smaller changes."
)
_DRIFT = "Drift is 0 without a change. RDM drift is about 1 for an unrelated geometry."
_QUESTION = "Has the model changed? That is, do the same {} inputs, encoded again, keep the distances of the reference?"
_DRAWN = 3.0
"""Largest multiple of the threshold that is drawn beside a number."""
_PICTURE = "Each drift (dot) and its threshold (tick), on a logarithmic scale."
_TITLES = {
    "ok": "no change found",
    "watch": "a sign of change",
    "alert": "alert",
    "not estimable": "not estimable",
}


def verdict_page(verdict: DriftVerdict) -> Page:
    """Return the report: the state, the scores, the rows that moved, and advice."""
    in_a_row = sequence_sentence(verdict)
    moved = {"Rows that moved most": verdict.rows, "Classes": verdict.classes}
    doubts = (
        _not_confident(verdict) if verdict.dependence else "",
        *verdict.notes,
        _NO_FLOOR.format(verdict.tolerance) if verdict.basis == "row resamples" else "",
    )
    return Page(
        title=f"Drift monitor: {_TITLES[verdict.state]}",
        question=_QUESTION.format(f"{verdict.n_rows:,}"),
        answer=tuple(_answer_sentences(verdict)),
        numbers=(
            _scores(verdict),
            *texts([f"{score.name}: no value ({score.reason})." for score in verdict.scores if score.reason]),
            Text(_DRIFT, ""),
            Text(rates_sentence(verdict), ""),
        ),
        doubts=(*(Item(text) for text in doubts if text), Text(_BARE)),
        sections=(
            *((Section("Successive checks", (Text(in_a_row, ""),)),) if in_a_row else ()),
            *(Section(title, (_movement_part(title, rows),), _MOVED) for title, rows in moved.items() if rows),
            *_picture(verdict),
            Section("What each score is for", tuple(_explanations(verdict))),
        ),
        ran=(
            *((name, text) for name, text in sorted(verdict.about.items())),
            ("noise floor", f"{verdict.n_nulls:,} {verdict.basis}"),
            ("false alarm rate", f"{verdict.level:g}"),
            ("tolerance", f"{verdict.tolerance:g}"),
            *run_details(verdict)[1:],
        ),
    )


_MOVED = (
    "The column 'moved' has 1 minus the correlation of a row's distances to all other rows before and after. The "
    "last column has the largest such value in any re-encoding of the unchanged model."
)


def _answer_sentences(verdict: DriftVerdict) -> Iterator[str]:
    primary = verdict.scores[0]
    state = f"{verdict.state[:1].upper()}{verdict.state[1:]}: {verdict.state_in_words} ({verdict.n_rows:,} rows)"
    if primary.value != primary.value:
        yield f"Not estimable ({verdict.n_rows:,} rows): {verdict.reason or primary.reason}."
    else:
        yield f"{state}. {_drift_against_floor(verdict, primary)}."
    yield "Nothing needs to be done." if verdict.advice == "Nothing." else f"What to do: {verdict.advice}"


def _not_confident(verdict: DriftVerdict) -> str:
    return f"The confidence of the thresholds does not hold: {verdict.dependence}."


def _drift_against_floor(verdict: DriftVerdict, score: DriftScore) -> str:
    """Compare the primary drift with that of unchanged encodings, or with the tolerance."""
    drift = f"{score.name} is {score.value:.3g}"
    if verdict.basis == "re-encodings":
        # The rate is the one of `rates_sentence`; re-encodings that equal the reference have none.
        known = f"{100 * verdict.level:.2g} % of which exceed {score.threshold:.3g}" * bool(score.threshold)
        return (
            f"{drift}, compared with a mean of {score.chance:.3g} for encodings of the unchanged model, "
            f"{known or 'which all equal the reference'} (p = {score.p_value:.2g})"
        )
    if score.low != score.low:
        return f"{drift} for these rows; other samples of inputs were not considered"
    return f"{drift}, and at least {score.low:.3g} for any sample of inputs of the same kind"


def _scores(verdict: DriftVerdict) -> Table:
    scores, names = verdict.scores, short_names(verdict.scores)
    columns: Columns = {
        "role": [score.tier for score in scores],
        "drift": [_number(score.value) for score in scores],
        "lower limit": [_number(score.low) for score in scores],
        "mean if unchanged": [_number(score.chance) for score in scores],
        "threshold": [_number(score.threshold) for score in scores],
        "p": [score.p_value for score in scores],
        "verdict": [("above" if score.beyond else "below") if score.has_value else "no value" for score in scores],
    }
    strips = {"drift": map(_strip, scores)}
    return Table.of([names[score.name] for score in scores], columns, "Scores", "measure", strips=strips)


def _strip(score: DriftScore) -> Strip | None:
    ratio = score.value / score.threshold if score.threshold > 0 else float("nan")
    if ratio != ratio:
        return None
    shown = min(ratio, _DRAWN)
    return Strip(shown, min(score.low / score.threshold, _DRAWN), shown, 1.0)


def _picture(verdict: DriftVerdict) -> tuple[Section, ...]:
    if all(score.value != score.value for score in verdict.scores):
        return ()
    return (Section("Drift and thresholds", (Drawing(_PICTURE, verdict.plot),)),)


def _movement_part(title: str, moved: tuple[Moved, ...]) -> Table:
    columns: Columns = {
        "label": [row.label for row in moved],
        "moved": [_number(row.movement) for row in moved],
        "largest if unchanged": [_number(row.floor) for row in moved],
    }
    return Table.of([row.name for row in moved], columns, title, "name")


def _explanations(verdict: DriftVerdict) -> Iterator[Part]:
    where = "monitoring.md#what-a-verdict-says"
    for score in verdict.scores:
        base = score.name.partition("(")[0]
        command = "" if ":" in base else f"shesha measures '{base}'"
        does = _TIERS.get(score.tier, score.tier)
        yield Explained(score.name, f"{does}.{_SEES.get(base, '')}", where, command)


_SEES = {
    "RDM drift": " The score is 1 minus the rank correlation of all distances between rows.",
    "unbiased CKA": " The score is 1 minus the alignment of the inner products of rows. Directions of large "
    "variance dominate it.",
    "Procrustes similarity": " The score is the difference that remains after the best rotation. It detects "
    "small changes of single rows.",
    "mutual kNN": " The score is the share of each row's nearest neighbours that changed.",
}


_number = partial(numeral, least=0.01)
"""Format a drift, which may be as small as rounding errors."""


@dataclass(frozen=True)
class StreamVerdict(Result):
    """New inputs, each compared with all earlier ones."""

    state: State
    n_rows: int
    n_seen: int
    """Number of rows that the stream has delivered so far, including this batch."""
    alpha: float
    """Upper bound on the probability of any false alarm, however long the stream runs."""
    log10_martingale: float
    """Evidence of a change after this batch, as a power of ten."""
    log10_highest: float
    """Highest evidence so far, as a power of ten. Once it reaches `log10_threshold`, the alarm is raised and persists.
    """
    log10_threshold: float
    mean_p_value: float
    """About 0.5 if rows resemble earlier rows; lower if they are farther from the centre, higher if they are nearer."""
    strangest: tuple[int, ...] = ()
    """Rows of the batch that are farthest from the centre of the reference, starting with the farthest."""
    alarm_since: int = 0
    """Number of the row that raised the alarm; 0 if there is no alarm."""
    reason: str = ""
    dependence: str = ""
    """How rows depend on their neighbours, with advice; `alpha` is then no bound. Empty if there is no sign of it."""
    unit: str = "row"
    """What is counted: rows, or groups of rows."""
    notes: tuple[str, ...] = ()
    seed: int | None = None

    @property
    def needs_attention(self) -> bool:
        """Whether there is an alert."""
        return self.state in ("alert", "not estimable")

    @property
    def _promise(self) -> str:
        if self.dependence:
            return f"The bound of {self.alpha:g} on false alarms does not hold: {self.dependence}."
        return f"For unchanged {self.unit}s, the probability of any alarm is at most {self.alpha:g}."

    def _claim(self) -> str:
        return f"Conformal test martingale, {self._sentences.removesuffix('.')}"

    @property
    def _sentences(self) -> str:
        """The evidence and the threshold of the alarm."""
        if self.state == "not estimable":
            text = f"not estimable: {self.reason}"
            if self.alarm_since:
                text += (
                    f". The evidence reached 10^{self.log10_highest:.1f} (alarm at 10^{self.log10_threshold:.1f}), but "
                    f"on dependent {self.unit}s it is no sign of a change."
                )
        else:
            text = (
                f"{self.state}: the evidence of a change is 10^{self.log10_martingale:.1f} after {self.n_seen:,} new "
                f"{self.unit}s; its maximum is 10^{self.log10_highest:.1f}, and the alarm is at "
                f"10^{self.log10_threshold:.1f}. {self._promise} The mean p-value is {self.mean_p_value:.3f}."
            )
        if self.alarm_since:
            text += f" The alarm was raised at {self.unit} {self.alarm_since:,}."
        return text

    def _text(self) -> str:
        """Return a text with the evidence and the threshold of the alarm."""
        lines = wrap(self._sentences, page_width())
        for note in self.notes:
            lines += wrap(f"! {note}", page_width())
        return "\n".join(lines)


@dataclass(frozen=True, kw_only=True)
class TwoSample(Number):
    """A test of whether two samples of rows come from the same distribution."""

    SHOWS_DIRECTION = False

    value: float
    """Value of the test statistic, which is about 0 for samples from the same distribution and larger otherwise. For
    C2ST: the area under the ROC curve, which is about 0.5 or larger."""
    n_reference: int
    n_window: int
    threshold: float
    """Critical value, which samples from the same distribution exceed with probability alpha."""
    dependence: str = ""
    """How rows depend on their neighbours, with advice; the p-value is then too small. Empty if there is no sign of
    it."""

    @property
    def _verdict_at_level(self) -> str:
        if self.dependence and self.significant:
            return "cannot decide"
        return f"{'the samples differ' if self.significant else 'no difference found'} at {self.alpha:g}"

    def _further_lines(self) -> Iterator[str]:
        """Yield the values that samples from the same distribution give, and why p may be too small."""
        yield (
            f"{self.n_reference:,} and {self.n_window:,} rows. Samples from one distribution have a mean of "
            f"{self.chance:.4g} and exceed {self.threshold:.4g} in {100 * self.alpha:g} % of cases ({self.n_draws:,} "
            "permutations)"
        )
        if self.dependence:
            yield f"The p-value is not valid: {self.dependence}"

    def _claim(self) -> str:
        dependent = ", which are not independent, so that p is too small" if self.dependence else ""
        over = f"{self.n_reference:,} reference rows and {self.n_window:,} new ones"
        drawn = f"threshold {say.format_number(self.threshold)}, {self.n_draws:,} permutations of rows{dependent}"
        return say.statement(self, f"The difference by {say.add_source(self.name)}", over, drawn=drawn)
