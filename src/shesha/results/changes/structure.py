"""The kind of a change: rotation, rescaling, collapse or new structure; moved classes; the task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from shesha.results.base import Result

Kind = Literal["none", "rescaling", "rotation", "collapse", "new structure", "mixing of features", "small moves"]
_SAID: dict[str, str] = {
    "none": "no change of the vectors beyond noise",
    "rescaling": "all vectors were rescaled, and kept their directions",
    "rotation": "the space was rotated: the geometry is the same, the features are not",
    "collapse": "the representation collapsed into fewer directions",
    "new structure": "new structure, which no linear map of the old vectors gives",
    "mixing of features": "features were mixed: a linear map gives nearly all of it",
    "small moves": "vectors moved a little, in the old features",
}


@dataclass(frozen=True)
class StructureChange(Result):
    """What became of the vectors of one layer."""

    layer: str
    kind: Kind
    kept: float
    """Share of the variance after the change that the old vectors give as they are, up to one scale; NaN for another
    number of features."""
    linear: float
    """The same after the best linear map, on rows that it has not seen."""
    new: float
    """Share that no linear map gives, beside what these rows suffice to give of the old vectors themselves."""
    scale: float
    """Spread after the change over that before."""
    rank_before: float
    """Participation ratio: how many directions carry the variance."""
    rank_after: float
    anisotropy_before: float
    """Share of the variance in the first direction."""
    anisotropy_after: float

    @property
    def in_words(self) -> str:
        """What kind of change it was, with its numbers."""
        rank = f"variance in {self.rank_before:.0f} directions before and {self.rank_after:.0f} after"
        share = f"{self.anisotropy_before:.0%} and {self.anisotropy_after:.0%} of it in the first"
        new = f"; {self.new:.0%} of the variance is new" if self.new == self.new else ""
        return f"{_SAID[self.kind]}{new}; {rank}, {share}"


@dataclass(frozen=True)
class ClassChange(Result):
    """Two classes, or one with itself, and how far apart they are among all rows."""

    first: str
    second: str
    before: float
    """Mean distance between their rows over the mean distance between all rows."""
    after: float
    p_value: float
    """How often shuffled labels change as much."""
    p_adjusted: float
    """Corrected for the number of pairs (Benjamini and Hochberg)."""

    @property
    def change(self) -> float:
        """Above 0 where they moved apart."""
        return self.after - self.before

    @property
    def in_words(self) -> str:
        """Who moved where."""
        first, second = (f"class {name}" if name.isdigit() else name for name in (self.first, self.second))
        if self.first == self.second:
            return f"{first} {'spread' if self.change > 0 else 'drew together'}"
        return f"{first} and {second} moved {'apart' if self.change > 0 else 'together'}"


@dataclass(frozen=True)
class SeparationChange(Result):
    """How well a linear rule tells the classes of rows that it has not seen."""

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
        """Whether labels are told apart better or worse."""
        difference = self.after - self.before
        said = "kept" if self.low <= 0 <= self.high else "better" if difference > 0 else "worse"
        return (
            f"labels held out: {self.before:.1%} to {self.after:.1%} right ({said}; difference "
            f"{difference:+.1%} [{self.low:+.1%}, {self.high:+.1%}], chance {self.chance:.0%})"
        )
