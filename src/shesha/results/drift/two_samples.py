"""The result of comparing two samples of inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shesha.report import page_width, wrap
from shesha.results.base import Result, reaches_level
from shesha.results.plot_docstring import draws_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class TwoSample(Result):
    """A test of whether two samples of rows come from the same distribution."""

    test: str
    statistic: float
    """Value of the test statistic, which is about 0 for samples from the same distribution and larger otherwise. For
    C2ST: the area under the ROC curve, which is about 0.5 or larger."""
    p_value: float
    n_reference: int
    n_window: int
    n_permutations: int
    alpha: float
    threshold: float
    """Critical value, which samples from the same distribution exceed with probability alpha."""
    null_mean: float
    null: tuple[float, ...] = ()
    reason: str = ""
    dependence: str = ""
    """How rows depend on their neighbours, with advice; the p-value is then too small. Empty if there is no sign of
    it."""
    seed: int | None = None

    @property
    def significant(self) -> bool:
        """Whether the samples differ at the level alpha."""
        return reaches_level(self.p_value, self.alpha)

    @draws_axes
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the null distribution with the observed value and the threshold."""
        from shesha.charts import null_distribution

        drawn = "rows divided at random"
        return null_distribution(self.null, self.statistic, self.threshold, label=self.test, drawn=drawn, ax=ax)

    def _text(self) -> str:
        """Return a text with the statistic and the values that samples from the same distribution give."""
        if self.reason:
            return "\n".join(wrap(f"{self.test}: not estimable ({self.reason})", page_width()))
        verdict = "the samples differ" if self.significant else "no difference found"
        if self.dependence and self.significant:
            verdict = "cannot decide"
        doubt = f" The p-value is too small: {self.dependence}." if self.dependence else ""
        return "\n".join(
            wrap(
                f"{self.test}: {self.statistic:.4g}, {verdict} (p = {self.p_value:.3g}, {self.n_permutations} "
                f"permutations). Samples from one distribution have a mean of {self.null_mean:.4g} and exceed "
                f"{self.threshold:.4g} in {100 * self.alpha:g} % of cases ({self.n_reference:,} and {self.n_window:,} "
                f"rows).{doubt}",
                page_width(),
            )
        )
