"""The state of a stream of new inputs, and the comparison of two samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shesha.report import page_width, wrap
from shesha.results.base import Result, draws_axes
from shesha.results.drift.verdict import State
from shesha.results.number import Number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    pass


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

    def _text(self) -> str:
        """Return a text with the evidence and the threshold of the alarm."""
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
        lines = wrap(text, page_width())
        for note in self.notes:
            lines += wrap(f"! {note}", page_width())
        return "\n".join(lines)


@dataclass(frozen=True, kw_only=True)
class TwoSample(Number):
    """A test of whether two samples of rows come from the same distribution."""

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

    @draws_axes
    def plot(self, ax: Axes | None = None, *, title: str | None = None) -> Axes:
        """Draw the null distribution with the observed value and the threshold."""
        from shesha.charts import null_distribution

        drawn = "rows divided at random"
        return null_distribution(self.null, self.value, self.threshold, label=self.name, drawn=drawn, ax=ax)

    def _text(self) -> str:
        """Return a text with the statistic and the values that samples from the same distribution give."""
        if self.reason:
            return "\n".join(wrap(f"{self.name}: not estimable ({self.reason})", page_width()))
        verdict = "the samples differ" if self.significant else "no difference found"
        if self.dependence and self.significant:
            verdict = "cannot decide"
        doubt = f" The p-value is too small: {self.dependence}." if self.dependence else ""
        return "\n".join(
            wrap(
                f"{self.name}: {self.value:.4g}, {verdict} (p = {self.p_value:.3g}, {self.n_draws} "
                f"permutations). Samples from one distribution have a mean of {self.chance:.4g} and exceed "
                f"{self.threshold:.4g} in {100 * self.alpha:g} % of cases ({self.n_reference:,} and {self.n_window:,} "
                f"rows).{doubt}",
                page_width(),
            )
        )
