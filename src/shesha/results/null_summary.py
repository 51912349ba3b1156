"""The fields of a number compared with its null distribution, which many results share."""

from __future__ import annotations

from dataclasses import dataclass

from shesha.results.base import Result

NAN = float("nan")


@dataclass(frozen=True, kw_only=True)
class NullComparison(Result):
    """A number compared with its null distribution; the fields are NaN if there is no null."""

    null_mean: float = NAN
    """Chance level: the mean of the null distribution."""
    null_sd: float = NAN
    """Standard deviation of the null distribution."""
    threshold: float = NAN
    """Chance threshold: the value of rank ceil((1 - alpha)(draws + 1)) among the observed and the null values, sorted
    from farthest to closest."""
    score: float = NAN
    """Calibrated score: 0 at the threshold and 1 at the best value. If there is no best value, it is the excess over
    the threshold."""
    p_value: float = NAN
    """p-value: (1 + number of draws at least as close) / (draws + 1), which is never 0."""

    @property
    def has_null(self) -> bool:
        """Whether the number has a chance level."""
        return self.p_value == self.p_value


@dataclass(frozen=True, kw_only=True)
class NullSummary(NullComparison):
    """The full summary of a number and its null, in the direction in which the measure is closer."""

    percentile: float = NAN
    """Percentage of the null values that are less close than the observed value; ties count half."""
    centred: float = NAN
    """Observed value minus the mean of the null; positive if the observed value is closer than that."""
    z: float = NAN
    """`centred` divided by the standard deviation of the null distribution; NaN if that is 0."""
    adjusted: float = NAN
    """`centred` divided by (best value - null mean), as in the adjusted Rand index; NaN if there is no best value."""
    n_lost: int = 0
    """Number of draws without a score; they count as at least as close as the observed value."""
