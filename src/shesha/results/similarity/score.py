"""The value of one measure for one pair of representations, with its noise ceiling."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from shesha.results.audit.doubts import Doubts
from shesha.results.base import Result
from shesha.results.number import Number
from shesha.support import argument_types as kinds

RECOMMENDED = {
    "unbiased CKA": "the whole geometry",
    "RSA": "the order of distances",
    "mutual kNN": "the nearest neighbours",
}
"""The recommended measures, each with what it compares. Their chance levels do not rise with the number of features."""


@dataclass(frozen=True)
class NoiseCeiling(Result):
    """The score that the true representation would have with single repeats of a noisy measurement of it."""

    measure: str
    closer: str
    """Whether 'higher' or 'lower' values mean that representations are more similar."""
    lower: float
    """Lower end: average value between a repeat and the mean of the other repeats, which is itself noisy."""
    upper: float
    """Upper end: average value between a repeat and the mean of all repeats, which includes that repeat."""
    reliability: float
    """Average value between two different repeats."""
    n_repeats: int
    n_rows: int
    left_out: tuple[float, ...] = ()
    """Value between each repeat and the mean of the other repeats; the average of these values is `lower`."""
    included: tuple[float, ...] = ()
    """Value between each repeat and the mean of all repeats; the average of these values is `upper`."""
    n_pairs: int = 0
    """Number of pairs of rows, for ceilings of distances."""
    n_known_pairs: tuple[int, ...] = ()
    """Number of pairs of rows with a distance in each repeat; fewer than `n_pairs` if some are missing."""
    reason: str = ""
    """Why there is no ceiling; empty if there is one."""
    notes: tuple[str, ...] = ()
    seed: int | None = None

    @property
    def has_value(self) -> bool:
        """Whether there is a ceiling."""
        return self.lower == self.lower

    def _text(self) -> str:
        """Return a text with the ceiling."""
        ceiling = f"no noise ceiling ({self.reason})"
        if self.has_value:
            ceiling = (
                f"noise ceiling {self.lower:.4g} to {self.upper:.4g}, reliability {self.reliability:.4g} "
                f"({self.n_repeats} repeats of {self.n_rows:,} rows{self._known}; {self.closer} is closer)"
            )
        return "\n".join([f"{self.measure}: {ceiling}", *(f"  note: {text}" for text in self.notes)])

    @property
    def _known(self) -> str:
        if not self.n_known_pairs or min(self.n_known_pairs) == self.n_pairs:
            return ""
        low, high = min(self.n_known_pairs), max(self.n_known_pairs)
        return f", {low:,}{'' if low == high else f' to {high:,}'} of {self.n_pairs:,} pairs of rows known in each"


@dataclass(frozen=True, kw_only=True)
class NoiseCeilingFields(Result):
    """A value with its noise ceiling from repeats; fields are None without repeats, and NaN if undefined."""

    over_repeats: float | None = None
    """Mean value over the repeats, to which the ceiling applies."""
    ceiling_lower: float | None = None
    """Lower end of the ceiling: average value between a repeat and the mean of the other repeats."""
    ceiling_upper: float | None = None
    """Upper end of the ceiling: average value between a repeat and the mean of all repeats."""
    reliability_first: float | None = None
    """Average value between two different repeats of the first representation."""
    reliability_second: float | None = None
    """Average value between two different repeats of the second representation."""
    disattenuated: float | None = None
    """`over_repeats` divided by the square roots of both reliabilities, which estimates the value without noise."""

    @property
    def has_ceiling(self) -> bool:
        """Whether there is a ceiling."""
        return self.ceiling_lower is not None and self.ceiling_lower == self.ceiling_lower


@dataclass(frozen=True, kw_only=True)
class Score(Number, NoiseCeilingFields):
    """The value of one measure for one pair of representations."""

    first: str = ""
    """Name of the first representation, or of the pair."""
    second: str = ""
    family: str = ""
    possible_low: float = float("-inf")
    """Smallest value that the measure can have."""
    possible_high: float = float("inf")
    """Largest value that the measure can have."""
    seconds: float = 0.0
    """Computing time in seconds, including a share of the time for intermediate results that several measures use."""
    held_out: float | None = None
    """Value for held-out rows; None if the measure fits no map or if it was not requested."""
    sampling_error: float | None = None
    """Monte Carlo standard error if the value was estimated from sampled rows or pairs; None if it is exact."""
    sampling_low: float | None = None
    """Lower end of an interval for the exact value, computed from the sample."""
    sampling_high: float | None = None
    interrupted: bool = False
    options: dict[str, Any] = field(default_factory=dict)
    doubts: Doubts | None = None
    """Possible problems with the conclusion, if they were checked."""

    def pair(self, joint: str = " and ") -> str:
        """Return the names of both representations, or the name of the pair."""
        return joint.join(filter(None, (self.first, self.second)))

    def _further_lines(self) -> Iterable[str]:
        """Yield the possible range, the calibration, and what could be wrong."""
        if self.has_value and self.family:
            direction = "higher is closer, " if self.closer == "higher" else ""
            yield f"{direction}possible values {format_range(self.possible_low, self.possible_high)}"
        yield from super()._further_lines()
        if self.interrupted:
            yield "interrupted: fewer permutations than requested"
        if self.doubts:
            yield from (f"! {line}" for line in str(self.doubts).split("\n"))


def format_range(low: float, high: float) -> str:
    """Format the range of possible values."""
    return f"from {low:.4g}" if high == float("inf") else f"{low:.4g} to {high:.4g}"


def plain_name(name: str) -> str:
    """Return the name of a measure in the form in which names are looked up."""
    base, bracket, options = kinds.text(name, "measure").lower().partition("(")
    # Signs in options are kept, because 1e-16 differs from 1e16.
    return "".join(c for c in base if c.isalnum()) + bracket + "".join(c for c in options if not c.isspace())
