"""Frozen results: a number with its uncertainty, printable, serialisable, tabular."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


class NotEstimableWarning(UserWarning):
    """The data cannot give this score; NaN was returned, and the message says why."""


class NotIdentifiableWarning(UserWarning):
    """The score has no identifiable estimand; the message names what to use instead."""


class Result:
    """What every result can do: become plain values, and a table of one row."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return asdict(self)  # type: ignore[call-overload, no-any-return]

    def to_frame(self) -> pd.DataFrame:
        """Return a table of one row."""
        import pandas as pd

        return pd.DataFrame([{name: _cell(value) for name, value in self.to_dict().items()}])


@dataclass(frozen=True)
class Estimate(Result):
    """A score with its uncertainty."""

    variant: str
    value: float
    """The score on the full data; NaN if the data cannot give it."""
    low: float
    high: float
    """Ends of the interval over rows; NaN if none could be computed."""
    confidence: float
    standard_error: float
    """Standard error over rows: what another sample of inputs would change."""
    monte_carlo_error: float
    """Standard error over random partitions: what another seed would change; 0 for a score without draws."""
    pair_error: float
    """Standard error from sampling pairs instead of using all; 0 if all were used."""
    n_samples: int
    n_features: int
    n_draws: int
    """Partitions, rotations or resamples that the score averages."""
    n_bootstrap: int
    """Resamples of the rows behind the interval; 0 if it is analytic or absent."""
    n_pairs: int
    """Pairs of rows per draw: all, or the number sampled; 0 for a score that does not use pairs."""
    pairs_dropped: int
    """Pairs left out because a row had no direction within a half, summed over draws."""
    reason: str = ""
    """Why the value is NaN."""
    warnings: tuple[str, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    """Everything needed to repeat the computation, the seed among it."""

    def __str__(self) -> str:
        """Print value, interval and what was used."""
        if self.value != self.value:
            return f"{self.variant}: not estimable ({self.reason})"
        lines = [f"{self.variant}: {self.value:.4f}"]
        if self.low == self.low:
            how = f"{self.n_bootstrap} row resamples" if self.n_bootstrap else "analytic, over rows"
            lines[0] += f"  [{self.low:.4f}, {self.high:.4f}] at {self.confidence:.0%} ({how})"
        lines.append(f"  {self.n_samples:,} rows x {self.n_features:,} features, {self.n_draws} draws, {self.n_pairs:,} pairs")
        errors = {"partitions": self.monte_carlo_error, "sampled pairs": self.pair_error}
        lines.append("  standard error from " + ", ".join(f"{name}: {error:.1g}" for name, error in errors.items()))
        if self.pairs_dropped:
            lines.append(f"  {self.pairs_dropped:,} undefined pairs left out")
        return "\n".join([*lines, *(f"  note: {text}" for text in self.warnings)])


@dataclass(frozen=True)
class Chance(Result):
    """A score beside its distribution when the rows of the two halves are matched at random."""

    variant: str
    observed: float
    level: float
    """Mean of the null: the score that no agreement gives."""
    spread: float
    """Standard deviation of the null."""
    threshold: float
    """Smallest value of rank ceil((1 - alpha)(K + 1)) among observed and null: scores above it are above chance."""
    p_value: float
    """(1 + number of null scores at least as large) / (K + 1)."""
    corrected: float
    """max(0, (observed - threshold) / (1 - threshold)): 0 at the threshold, 1 for a perfect score."""
    alpha: float
    n_permutations: int
    n_samples: int
    null: tuple[float, ...] = ()
    reason: str = ""
    options: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        """Print the score against its null."""
        if self.observed != self.observed:
            return f"{self.variant}: not estimable ({self.reason})"
        return (
            f"{self.variant}: {self.observed:.4f}, chance {self.level:.4f} +- {self.spread:.4f}, "
            f"threshold {self.threshold:.4f} (alpha {self.alpha:g}), p = {self.p_value:.3g} "
            f"({self.n_permutations} permutations), corrected {self.corrected:.4f}"
        )


@dataclass(frozen=True)
class DriftPath(Result):
    """Drift of each representation in a sequence."""

    names: tuple[str, ...]
    from_first: tuple[float, ...]
    from_previous: tuple[float, ...]
    method: str
    metric: str

    def to_frame(self) -> pd.DataFrame:
        """Return one row per representation."""
        import pandas as pd

        return pd.DataFrame(
            {"representation": self.names, "from_first": self.from_first, "from_previous": self.from_previous}
        )

    def __str__(self) -> str:
        """Print one line per representation."""
        width = max(map(len, self.names))
        rows = zip(self.names, self.from_first, self.from_previous, strict=True)
        lines = [f"{name:<{width}}  {first:10.4f}  {previous:10.4f}" for name, first, previous in rows]
        return "\n".join([f"{'':<{width}}  from first  from prev.", *lines])


def _cell(value: Any) -> Any:
    return "; ".join(map(str, value)) if isinstance(value, tuple) else value
