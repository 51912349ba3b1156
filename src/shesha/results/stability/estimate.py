"""A score with its uncertainty."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import hypot
from typing import Any, ClassVar

from shesha.results.base import Result


@dataclass(frozen=True)
class Estimate(Result):
    """A score with its uncertainty."""

    variant: str
    value: float
    """The score for the full data; NaN if it cannot be computed."""
    low: float
    high: float
    """Limits of the interval, which covers other rows and partitions; NaN if there is none."""
    confidence: float
    standard_error: float
    """Standard error due to the sample of rows."""
    monte_carlo_error: float
    """Standard error due to the random partitions (the seed); 0 for a score without draws."""
    pair_error: float
    """Standard error due to sampling pairs of rows; 0 if all pairs were used."""
    n_samples: int
    n_features: int
    n_draws: int
    """Number of partitions, rotations or resamples over which the score is averaged."""
    n_bootstrap: int
    """Number of resamples of the rows from which the interval was computed; 0 if it is analytic or missing."""
    n_pairs: int
    """Number of pairs of rows per draw, either all pairs or a sample; 0 for a score that does not use pairs."""
    pairs_dropped: int
    """Number of pairs left out because a row has no direction within a half, summed over the draws."""
    reason: str = ""
    """Why the value is missing; empty if it is not."""
    warnings: tuple[str, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    """Options, and the seed, with which the computation can be repeated."""
    aliases: ClassVar[tuple[str, ...]] = ("total_error",)

    @property
    def total_error(self) -> float:
        """Square root of the sum of the three squared errors, all of which the interval covers."""
        return hypot(self.standard_error, self.monte_carlo_error, self.pair_error)

    def _text(self) -> str:
        """Return a text with the value, its interval and the data that it is based on."""
        if self.value != self.value:
            return f"{self.variant}: not estimable ({self.reason})"
        lines = [f"{self.variant}: {self.value:.4f}"]
        if self.low == self.low:
            how = f"{self.n_bootstrap} row resamples" if self.n_bootstrap else "analytic, over rows"
            lines[0] += f"  [{self.low:.4f}, {self.high:.4f}] at {100 * self.confidence:g}% ({how})"
        lines.append(
            f"  {self.n_samples:,} rows x {self.n_features:,} features, {self.n_draws} draws, {self.n_pairs:,} pairs"
        )
        parts = {
            "rows": self.standard_error,
            "partitions": self.monte_carlo_error,
            "sampled pairs": self.pair_error,
            "all": self.total_error,
        }
        known = (f"{name}: {f'{error:.1g}' if error == error else 'unknown'}" for name, error in parts.items())
        lines.append(f"  standard error from {', '.join(known)}")
        if self.pairs_dropped:
            lines.append(f"  {self.pairs_dropped:,} undefined pairs left out")
        return "\n".join([*lines, *(f"  note: {text}" for text in self.warnings)])
