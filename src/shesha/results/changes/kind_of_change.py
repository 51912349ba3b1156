"""What kind of change occurred: rotation, rescaling, collapse or new structure, and how classes moved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from shesha.results.base import Result

Kind = Literal["none", "rescaling", "rotation", "collapse", "new structure", "mixing of features", "small moves"]
_SAID: dict[str, str] = {
    "none": "the vectors did not change beyond noise",
    "rescaling": "all vectors were rescaled and kept their directions",
    "rotation": "the space was rotated, so the geometry is the same but the features are not",
    "collapse": "the representation collapsed into fewer directions",
    "new structure": "there is new structure that no linear map of the old vectors explains",
    "mixing of features": "features were mixed by a linear map, which explains nearly all of the change",
    "small moves": "vectors moved slightly and kept the old features",
}


@dataclass(frozen=True)
class StructureChange(Result):
    """How the vectors of one layer changed."""

    layer: str
    kind: Kind
    kept: float
    """Share of the variance after the change that the old vectors explain, apart from a scale factor and without any
    rotation; NaN if the numbers of features differ."""
    linear: float
    """Share of the variance after the change that the best linear map from the old vectors explains on held-out rows.
    """
    new: float
    """Share of the variance after the change that no linear map explains. It does not include what a map misses merely
    because it is fitted to few rows."""
    scale: float
    """Spread of the rows after the change, divided by their spread before it."""
    rank_before: float
    """Participation ratio (an effective number of directions) before the change."""
    rank_after: float
    anisotropy_before: float
    """Share of the variance along the first principal direction before the change."""
    anisotropy_after: float

    @property
    def in_words(self) -> str:
        """The kind of change, described with its numbers."""
        rank = f"effective number of directions {self.rank_before:.0f} before and {self.rank_after:.0f} after"
        share = (
            f"variance along the first direction {self.anisotropy_before:.0%} before and {self.anisotropy_after:.0%} "
            "after"
        )
        new = f"; {self.new:.0%} of the variance is new" if self.new == self.new else ""
        return f"{_SAID[self.kind]}{new}; {rank}; {share}"


@dataclass(frozen=True)
class ClassChange(Result):
    """The distance between two classes, or between rows of one class, before and after the change."""

    first: str
    second: str
    before: float
    """Mean distance between rows of the two classes before the change, divided by the mean distance over all pairs."""
    after: float
    p_value: float
    """p-value: share of permutations of the labels for which the change is at least as large."""
    p_adjusted: float
    """p-value corrected for the number of pairs of classes (Benjamini and Hochberg)."""

    @property
    def change(self) -> float:
        """How much the distance changed; positive if the classes moved apart."""
        return self.after - self.before

    @property
    def in_words(self) -> str:
        """A description of the movement."""
        first, second = (f"class {name}" if name.isdigit() else name for name in (self.first, self.second))
        if self.first == self.second:
            return f"{first} {'spread out' if self.change > 0 else 'contracted'}"
        return f"{first} and {second} moved {'apart' if self.change > 0 else 'closer'}"


@dataclass(frozen=True)
class SeparationChange(Result):
    """Held-out accuracy of a linear classifier before and after the change."""

    layer: str
    before: float
    """Balanced accuracy (mean over classes) before the change."""
    after: float
    low: float
    """Lower end of the 95 % interval of the difference between the accuracies."""
    high: float
    chance: float

    @property
    def in_words(self) -> str:
        """Whether labels are classified better or worse after the change."""
        difference = self.after - self.before
        verdict = "no significant change" if self.low <= 0 <= self.high else "better" if difference > 0 else "worse"
        return (
            f"held-out accuracy {self.before:.1%} before and {self.after:.1%} after ({verdict}; difference "
            f"{difference:+.1%} [{self.low:+.1%}, {self.high:+.1%}], chance {self.chance:.0%})"
        )
