"""What a drift monitor concludes about encodings, streams or windows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from shesha.report import Metric, Page
from shesha.results.base import Result
from shesha.results.plot_docstring import draws_axes

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

State = Literal["ok", "watch", "alert", "not estimable"]
NAN = float("nan")
_SAID = {
    "ok": "no change beyond that of unchanged encodings",
    "watch": "a sign of change, but no alarm",
    "alert": "the geometry changed",
    "not estimable": "the drift could not be estimated",
}


@dataclass(frozen=True)
class DriftScore(Result):
    """How far the encodings have drifted according to one measure."""

    measure: str
    tier: str
    """'primary' raises the alarm, 'confirm' shows how large the change is, 'early' and 'local' detect it early."""
    drift: float
    """Size of the drift: 0 for the same geometry; NaN, with a reason, if it cannot be computed."""
    threshold: float
    """Drift above which the score is significant at the monitor's level."""
    p_value: float
    unchanged: float = NAN
    """Mean drift of re-encodings by the unchanged model; NaN without re-encodings."""
    low: float = NAN
    """Lower limit of the drift for other rows of the same kind, if rows were resampled."""
    beyond: bool = False
    """Whether the drift exceeds its threshold."""
    reason: str = ""


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
    """Evidence that raises the alarm, chosen so that false alarms are `run_length` checks apart on average; NaN in
    results of earlier versions, which used `run_length` itself."""


@dataclass(frozen=True)
class DriftVerdict(Result):
    """The result of comparing new encodings of the same inputs with those by the unchanged model."""

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

    def __iter__(self) -> Iterator[DriftScore]:
        """Iterate over the scores."""
        return iter(self.scores)

    def __getitem__(self, measure: str) -> DriftScore:
        """Return the score according to this measure."""
        for score in self.scores:
            if score.measure == measure:
                return score
        raise KeyError(f"measure must be one of {', '.join(s.measure for s in self.scores)}, got {measure!r}")

    def to_frame(self) -> pd.DataFrame:
        """Return one row per score."""
        import pandas as pd

        return pd.DataFrame([score.to_dict() for score in self.scores])

    @draws_axes
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw each drift as a multiple of its threshold."""
        from shesha.charts import drift_bars

        scores = [score for score in self.scores if score.drift == score.drift]
        return drift_bars([s.measure for s in scores], [s.drift for s in scores], [s.threshold for s in scores], ax=ax)

    @property
    def state_in_words(self) -> str:
        """The state of the monitor in words."""
        if self.state == "ok" and self.basis == "row resamples":
            return f"no drift significantly above the tolerance of {self.tolerance:g}"
        return _SAID[self.state]

    def _page(self) -> Page:
        from shesha.results.drift.verdict_page import verdict_page

        return verdict_page(self)

    def _metrics(self, model: str) -> list[Metric]:
        return [
            Metric(
                model,
                f"{score.measure} since the reference",
                score.drift,
                score.low,
                chance=score.unchanged,
                threshold=score.threshold,
                p_value=score.p_value,
            )
            for score in self.scores
        ]

    def _text(self) -> str:
        """Return a text with the state, the scores, the rows that moved, and advice."""
        from shesha.results.drift.verdict_text import verdict_text

        return verdict_text(self)
