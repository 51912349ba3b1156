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
    """Number of rows of the stream so far, including these."""
    alpha: float
    """Upper bound of the probability that the stream ever raises an alarm although its rows are like the reference."""
    log10_martingale: float
    """Evidence against no change after these rows, as a power of ten."""
    log10_highest: float
    """The highest evidence so far; the alarm is at `log10_threshold`, and persists."""
    log10_threshold: float
    mean_p_value: float
    """About 0.5 if rows are like earlier ones; lower if farther from their centre; higher if nearer."""
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
                f"{self.state}: evidence of change 10^{self.log10_martingale:.1f} after {self.n_seen:,} new rows, "
                f"highest 10^{self.log10_highest:.1f}, alarm at 10^{self.log10_threshold:.1f} (for unchanged rows, "
                f"the probability of any alarm is at most {self.alpha:g}); mean p {self.mean_p_value:.3f}"
            )
        if self.alarm_since:
            text += f"; alarm since row {self.alarm_since:,}"
        lines = wrap(text, page_width())
        for note in self.notes:
            lines += wrap(f"! {note}", page_width())
        return "\n".join(lines)


@dataclass(frozen=True)
class TwoSample(Result):
    """A test of whether two samples of rows come from one distribution."""

    test: str
    statistic: float
    """0 for equal samples, and larger for different ones; for C2ST, the area under the curve, 0.5 for equal samples."""
    p_value: float
    n_reference: int
    n_window: int
    n_permutations: int
    alpha: float
    threshold: float
    """Value that equal samples exceed with probability alpha."""
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
        """Print the statistic with its value for equal samples."""
        if self.reason:
            return "\n".join(wrap(f"{self.test}: not estimable ({self.reason})", page_width()))
        verdict = "differ" if self.significant else "no difference found"
        return "\n".join(
            wrap(
                f"{self.test}: {self.statistic:.4g}, {verdict}: p = {self.p_value:.3g} ({self.n_permutations} "
                f"permutations); equal samples give {self.null_mean:.4g}, and {self.threshold:.4g} at {self.alpha:g} "
                f"({self.n_reference:,} and {self.n_window:,} rows)",
                page_width(),
            )
        )
