"""A similarity with its null distribution under permutations."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from shesha.results.audit.doubts import Doubts
from shesha.results.base import reaches_level
from shesha.results.null_summary import NullSummary
from shesha.results.plot_docstring import draws_axes
from shesha.support.plurals import agree, count

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Calibrated(NullSummary):
    """A similarity with its distribution when rows are matched at random."""

    measure: str
    closer: str
    """Whether 'higher' or 'lower' values mean that representations are more similar."""
    observed: float
    maximum: float | None
    """Value that means perfect agreement; None if the measure has no such value."""
    alpha: float
    n_permutations: int
    n_rows: int
    exchanged: str = "all rows"
    """Which rows are exchangeable under the null hypothesis."""
    null: tuple[float, ...] = ()
    seed: int | None = None
    interrupted: bool = False
    reason: str = ""
    """Why the score is missing; empty if it is not."""
    options: dict[str, Any] = field(default_factory=dict)
    doubts: Doubts | None = None
    """Possible problems with the conclusion, if they were checked."""

    @property
    def significant(self) -> bool:
        """Whether the score is above chance at the level alpha."""
        return reaches_level(self.p_value, self.alpha)

    @draws_axes
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the null distribution with the observed value and the threshold."""
        from shesha.charts import null_distribution

        label = f"{self.measure} ({self.closer} is closer)"
        return null_distribution(self.null, self.observed, self.threshold, label=label, ax=ax)

    def _text(self) -> str:
        """Return a text with the score, its chance level and the calibrated score."""
        if self.observed != self.observed:
            return f"{self.measure}: not estimable ({self.reason})"
        verdict = "above" if self.significant else "not above"
        kind = "calibrated" if self.maximum is not None else "excess over the threshold"
        lines = [
            f"{self.measure}: {self.observed:.4g} ({self.closer} is closer), {verdict} chance",
            f"  {kind} {self.score:.4g}, p = {self.p_value:.3g} ({self.n_permutations} permutations, {self.exchanged})",
            f"  chance {self.null_mean:.4g} +- {self.null_sd:.2g}, threshold {self.threshold:.4g} at {self.alpha:g}",
        ]
        if self.n_lost:
            were = agree(self.n_lost, "was", "were")
            lines.append(f"  {count(self.n_lost, 'draw')} without a score {were} counted as at least as close")
        if self.interrupted:
            lines.append("  interrupted: fewer permutations than requested")
        lines += [f"  ! {line}" for line in str(self.doubts).split("\n")] if self.doubts else []
        return "\n".join(lines)
