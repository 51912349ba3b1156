"""The value of one measure for one pair of representations."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from shesha.results.null_summary import NullComparison
from shesha.results.similarity.noise_ceiling import NoiseCeilingFields
from shesha.support import argument_types as kinds


@dataclass(frozen=True)
class Score(NullComparison, NoiseCeilingFields):
    """The value of one measure for one pair of representations."""

    measure: str
    family: str
    value: float
    """Value of the measure; NaN, with a reason, if it cannot be computed."""
    closer: str
    """Whether 'higher' or 'lower' values mean that representations are more similar."""
    possible_low: float
    """Smallest value that the measure can have."""
    possible_high: float
    """Largest value that the measure can have."""
    seconds: float = 0.0
    """Computing time in seconds, including a share of the time for intermediate results that several measures use."""
    reason: str = ""
    interval_low: float = float("nan")
    """Lower end of the value's interval, which covers samples of other rows of the same kind."""
    interval_high: float = float("nan")
    note: str = ""
    """Note on parts that could not be computed."""
    corrected_p_value: float = field(default=float("nan"), kw_only=True)
    """p-value corrected for the number of measures that compare a pair, or for the number of pairs that a measure
    compares."""
    held_out: float | None = field(default=None, kw_only=True)
    """Value for held-out rows; None if the measure fits no map or if it was not requested."""
    expected: float = field(default=float("nan"), kw_only=True)
    """Chance level: mean value over all matchings of the rows, if there is a formula for it."""
    sampling_error: float | None = field(default=None, kw_only=True)
    """Monte Carlo standard error if the value was estimated from sampled rows or pairs; None if it is exact."""
    sampling_low: float | None = field(default=None, kw_only=True)
    """Lower end of an interval for the exact value, computed from the sample."""
    sampling_high: float | None = field(default=None, kw_only=True)
    aliases: ClassVar[tuple[str, ...]] = ("calibrated",)

    @property
    def observed(self) -> float:
        """The value, under the name that all results with a null distribution use."""
        return self.value

    @property
    def calibrated(self) -> float:
        """The calibrated score, which is 0 at the threshold and 1 at the best value."""
        return self.score

    @property
    def has_interval(self) -> bool:
        """Whether the value has an interval."""
        return self.interval_low == self.interval_low

    @property
    def has_value(self) -> bool:
        """Whether there is a value."""
        return self.value == self.value

    @property
    def deciding_p_value(self) -> float:
        """The corrected p-value, or the uncorrected one if there was no correction."""
        return self.corrected_p_value if self.corrected_p_value == self.corrected_p_value else self.p_value

    def _text(self) -> str:
        """Return a text with the value and its direction."""
        if not self.has_value:
            return f"{self.measure}: not estimable ({self.reason})"
        possible = format_range(self.possible_low, self.possible_high)
        return f"{self.measure}: {self.value:.4g} ({self.closer} is closer, {possible})"


def format_range(low: float, high: float) -> str:
    """Format the range of possible values."""
    return f"from {low:.4g}" if high == float("inf") else f"{low:.4g} to {high:.4g}"


def plain_name(name: str) -> str:
    """Return the name of a measure in the form in which names are looked up."""
    base, bracket, options = kinds.text(name, "measure").lower().partition("(")
    # Signs in options are kept, because 1e-16 differs from 1e16.
    return "".join(c for c in base if c.isalnum()) + bracket + "".join(c for c in options if not c.isspace())
