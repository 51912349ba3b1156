"""The noise ceiling: the value that a measure can reach with noisy data."""

from __future__ import annotations

from dataclasses import dataclass

from shesha.results.base import Result


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
    corrected: float | None = None
    """`over_repeats` divided by the square roots of both reliabilities, which estimates the value without noise."""

    @property
    def has_ceiling(self) -> bool:
        """Whether there is a ceiling."""
        return self.ceiling_lower is not None and self.ceiling_lower == self.ceiling_lower
