"""The noise ceiling of a measure for noisy data."""

from __future__ import annotations

from dataclasses import dataclass

from shesha.results.base import Result


@dataclass(frozen=True)
class NoiseCeiling(Result):
    """How close the truth itself would come to single repeats of a noisy representation."""

    measure: str
    closer: str
    """Whether 'higher' or 'lower' values mean more similar."""
    lower: float
    """Mean value of each repeat with the mean of the others: too far, since that mean is noisy."""
    upper: float
    """Mean value of each repeat with the mean of all: too close, since it is part of that mean."""
    reliability: float
    """Mean value of two repeats."""
    n_repeats: int
    n_rows: int
    left_out: tuple[float, ...] = ()
    """Of each repeat with the mean of the others."""
    included: tuple[float, ...] = ()
    """Of each repeat with the mean of all."""
    reason: str = ""
    """Why there is no ceiling, if there is none."""
    seed: int | None = None

    @property
    def has_value(self) -> bool:
        """Whether there is a ceiling."""
        return self.lower == self.lower

    def __str__(self) -> str:
        """Print where the ceiling lies."""
        if not self.has_value:
            return f"{self.measure}: no noise ceiling ({self.reason})"
        return (
            f"{self.measure}: noise ceiling {self.lower:.4g} to {self.upper:.4g}, reliability {self.reliability:.4g} "
            f"({self.n_repeats} repeats of {self.n_rows:,} rows; {self.closer} is closer)"
        )


@dataclass(frozen=True, kw_only=True)
class BesideRepeats(Result):
    """What a value is worth beside repeated measurements: None without these, NaN where they cannot say it."""

    over_repeats: float | None = None
    """Mean value over the repeats: what the ceiling is the ceiling of."""
    ceiling_lower: float | None = None
    """The truth would score at least this: repeats with the mean of the others."""
    ceiling_upper: float | None = None
    """The truth would score at most this: repeats with the mean of all."""
    reliability_first: float | None = None
    """Mean value of two repeats of the first."""
    reliability_second: float | None = None
    """Mean value of two repeats of the second."""
    corrected: float | None = None
    """`over_repeats` divided by the roots of the reliabilities: what it would be without noise."""

    @property
    def has_ceiling(self) -> bool:
        """Whether the value stands beside a ceiling."""
        return self.ceiling_lower is not None and self.ceiling_lower == self.ceiling_lower
