"""The kind of a change: rotation, rescaling, collapse or new structure; moved classes; the task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from shesha.results.base import Result

Kind = Literal["none", "rescaling", "rotation", "collapse", "new structure", "mixing of features", "small moves"]
_SAID: dict[str, str] = {
    "none": "the vectors did not change beyond noise",
    "rescaling": "all vectors were rescaled and kept their directions",
    "rotation": "the space was rotated: the geometry is the same, the features are not",
    "collapse": "the representation collapsed into fewer directions",
    "new structure": "there is new structure, which no linear map of the old vectors explains",
    "mixing of features": "features were mixed: a linear map explains nearly all of the change",
    "small moves": "vectors moved slightly, in the old features",
}


@dataclass(frozen=True)
class StructureChange(Result):
    """The change of the vectors of one layer."""

    layer: str
    kind: Kind
    kept: float
    """Share of the variance after the change that the old vectors explain up to one scale; NaN if the number of
    features differs."""
    linear: float
    """Share that the best linear map of the old vectors explains on held-out rows."""
    new: float
    """Share that no linear map explains, relative to the share of the old vectors that these rows suffice to
    explain."""
    scale: float
    """Ratio of the spread after the change to that before."""
    rank_before: float
    """Participation ratio: the effective number of directions."""
    rank_after: float
    anisotropy_before: float
    """Share of the variance in the first direction."""
    anisotropy_after: float

    @property
    def in_words(self) -> str:
        """The kind of change, with its numbers."""
        rank = f"variance in {self.rank_before:.0f} directions before and {self.rank_after:.0f} after"
        share = f"{self.anisotropy_before:.0%} and {self.anisotropy_after:.0%} of it in the first"
        new = f"; {self.new:.0%} of the variance is new" if self.new == self.new else ""
        return f"{_SAID[self.kind]}{new}; {rank}, {share}"


@dataclass(frozen=True)
class ClassChange(Result):
    """Two classes, or one with itself, and their relative distance."""

    first: str
    second: str
    before: float
    """Mean distance between their rows, divided by the mean distance between all rows."""
    after: float
    p_value: float
    """p-value: how often shuffled labels change at least as much."""
    p_adjusted: float
    """p-value corrected for the number of pairs (Benjamini and Hochberg)."""

    @property
    def change(self) -> float:
        """Change of the distance, above 0 if they moved apart."""
        return self.after - self.before

    @property
    def in_words(self) -> str:
        """Description of the movement."""
        first, second = (f"class {name}" if name.isdigit() else name for name in (self.first, self.second))
        if self.first == self.second:
            return f"{first} {'spread' if self.change > 0 else 'drew together'}"
        return f"{first} and {second} moved {'apart' if self.change > 0 else 'together'}"


@dataclass(frozen=True)
class SeparationChange(Result):
    """Held-out accuracy of a linear classifier."""

    layer: str
    before: float
    """Balanced accuracy: mean over classes."""
    after: float
    low: float
    """Lower end of the 95 % interval of the difference."""
    high: float
    chance: float

    @property
    def in_words(self) -> str:
        """Whether labels are classified better or worse."""
        difference = self.after - self.before
        verdict = "kept" if self.low <= 0 <= self.high else "better" if difference > 0 else "worse"
        return (
            f"labels held out: {self.before:.1%} to {self.after:.1%} right ({verdict}; difference "
            f"{difference:+.1%} [{self.low:+.1%}, {self.high:+.1%}], chance {self.chance:.0%})"
        )
