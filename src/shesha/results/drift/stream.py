"""The state of a stream, or of a window, of new inputs compared with earlier ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shesha.report import page_width, wrap
from shesha.results.base import Result, reaches_level
from shesha.results.drift.verdict import State
from shesha.results.plot_docstring import draws_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class StreamVerdict(Result):
    """New inputs, compared row by row with all earlier ones."""

    state: State
    n_rows: int
    n_seen: int
    """Number of rows of the stream so far, including this batch."""
    alpha: float
    """Upper bound of the probability of any false alarm, however long the stream runs."""
    log10_martingale: float
    """Evidence of a change after this batch, as a power of ten."""
    log10_highest: float
    """Highest evidence so far, as a power of ten. From `log10_threshold` on, it raises an alarm, which persists."""
    log10_threshold: float
    mean_p_value: float
    """About 0.5 if rows are like earlier rows; lower if rows are farther from the centre, higher if they are nearer."""
    strangest: tuple[int, ...] = ()
    """Rows of the batch that are farthest from the centre of the reference, farthest first."""
    alarm_since: int = 0
    """Number of the row that raised the alarm; 0 if there is none."""
    reason: str = ""
    notes: tuple[str, ...] = ()

    @property
    def needs_attention(self) -> bool:
        """Whether there is an alert."""
        return self.state in ("alert", "not estimable")

    def __str__(self) -> str:
        """Print the evidence and the threshold of the alarm."""
        if self.state == "not estimable":
            text = f"not estimable: {self.reason}"
        else:
            text = (
                f"{self.state}: the evidence of a change is 10^{self.log10_martingale:.1f} after {self.n_seen:,} new "
                f"rows; its maximum is 10^{self.log10_highest:.1f}, and the alarm is at 10^{self.log10_threshold:.1f}. "
                f"For unchanged rows, the probability of any alarm is at most {self.alpha:g}. The mean p-value is "
                f"{self.mean_p_value:.3f}."
            )
        if self.alarm_since:
            text += f" The alarm was raised at row {self.alarm_since:,}."
        lines = wrap(text, page_width())
        for note in self.notes:
            lines += wrap(f"! {note}", page_width())
        return "\n".join(lines)


@dataclass(frozen=True)
class TwoSample(Result):
    """A test of whether two samples of rows come from one distribution."""

    test: str
    statistic: float
    """Value of the test statistic: about 0 for samples from one distribution, otherwise larger. For C2ST: area under
    the ROC curve, about 0.5 or larger."""
    p_value: float
    n_reference: int
    n_window: int
    n_permutations: int
    alpha: float
    threshold: float
    """Critical value, which samples from one distribution exceed with probability alpha."""
    null_mean: float
    null: tuple[float, ...] = ()
    reason: str = ""

    @property
    def significant(self) -> bool:
        """Whether the samples differ at the level alpha."""
        return reaches_level(self.p_value, self.alpha)

    @draws_axes
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the null with the observed value and the threshold."""
        from shesha.charts import null_distribution

        drawn = "rows divided at random"
        return null_distribution(self.null, self.statistic, self.threshold, label=self.test, drawn=drawn, ax=ax)

    def __str__(self) -> str:
        """Print the statistic, and what samples from one distribution give."""
        if self.reason:
            return "\n".join(wrap(f"{self.test}: not estimable ({self.reason})", page_width()))
        verdict = "the samples differ" if self.significant else "no difference found"
        return "\n".join(
            wrap(
                f"{self.test}: {self.statistic:.4g}, {verdict} (p = {self.p_value:.3g}, {self.n_permutations} "
                f"permutations). Samples from one distribution have a mean of {self.null_mean:.4g} and exceed "
                f"{self.threshold:.4g} in {100 * self.alpha:g} % of cases ({self.n_reference:,} and {self.n_window:,} "
                "rows).",
                page_width(),
            )
        )
