"""What kind of change occurred: rotation, rescaling, collapse or new structure, and how classes moved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from shesha.results.base import Result

Kind = Literal[
    "none",
    "rescaling",
    "row rescaling",
    "offset",
    "feature scaling",
    "new features",
    "fewer features",
    "rotation",
    "collapse",
    "new structure",
    "new dimensions",
    "mixing of features",
    "small moves",
    "untested",
]
_SAID: dict[str, str] = {
    "none": "no kind of change was found beyond noise",
    "rescaling": "all vectors were rescaled by a factor of {scale:.3g} and kept their directions",
    "row rescaling": "rows changed their lengths and kept their directions",
    "offset": "one offset was added to all vectors",
    "feature scaling": "features were rescaled, each by a factor of its own",
    "new features": "the old features were kept and further features were added",
    "fewer features": "features were left out and the others were kept",
    "rotation": (
        "the space was rotated: an orthogonal map, fitted to other rows, recovers {neighbours:.0%} of the nearest "
        "neighbours, but old and new features differ"
    ),
    "collapse": "the representation collapsed into fewer directions",
    "new structure": "there is new structure that no linear map of the old vectors explains",
    "new dimensions": "old vectors can be computed from the new ones, which have new dimensions",
    "mixing of features": "features were mixed by a linear map, which explains nearly all of the change",
    "small moves": "vectors moved slightly and kept the old features",
    "untested": (
        "the features changed although the geometry did not, as after a rotation; {n_rows:,} rows are too few to test "
        "a map between {n_features:,} features"
    ),
}
_SPECTRUM = {"collapse", "new structure", "new dimensions", "mixing of features", "small moves"}
"""Kinds whose description includes the number of directions and the new variance."""


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
    explained: float = float("nan")
    """Share of the variance of held-out rows that the named kind of change explains; NaN if it is not a map."""
    neighbours: float = float("nan")
    """Share of the nearest neighbours of held-out rows that an orthogonal map recovers; NaN unless it was a rotation.
    """
    n_rows: int = 0
    n_features: int = 0

    @property
    def in_words(self) -> str:
        """The kind of change, described with its numbers."""
        said = _SAID[self.kind].format(
            scale=self.scale, neighbours=self.neighbours, n_rows=self.n_rows, n_features=self.n_features
        )
        if self.kind not in _SPECTRUM:
            known = self.explained == self.explained and self.kind != "none"
            return f"{said} (explains {_percent(self.explained)} of the variance of held-out rows)" if known else said
        rank = f"effective number of directions {self.rank_before:.0f} before and {self.rank_after:.0f} after"
        share = (
            f"variance along the first direction {self.anisotropy_before:.0%} before and {self.anisotropy_after:.0%} "
            "after"
        )
        new = f"; {self.new:.0%} of the variance is new" if self.new == self.new else ""
        return f"{said}{new}; {rank}; {share}"


def _percent(share: float) -> str:
    """Format a share so that only a share of 1 reads as 100 %."""
    return "all" if share >= 1 - 1e-6 else f"{min(share, 0.9999):.2%}" if share > 0.995 else f"{share:.0%}"


@dataclass(frozen=True, kw_only=True)
class ClassChange(Result):
    """The distance between two classes, or between rows of one class, before and after the change."""

    first: str
    second: str
    before: float
    """Mean cosine distance between rows of the two classes before the change."""
    after: float
    p_value: float = float("nan")
    """Share of permutations of the labels, or of signs of groups, for which the change is at least as large."""
    corrected_p_value: float = float("nan")
    """p-value corrected for the number of pairs of classes (step-down maximum, Westfall and Young 1993)."""
    limit: float = float("nan")
    """Change that noise alone may cause, by the same rule as the noise limit of layers."""
    significant: bool = False
    """Whether the corrected p-value is at most 1 minus the confidence level, and the change exceeds the noise."""

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
    """Lower end of the interval of the difference between the accuracies. It covers other rows (or groups of rows), and
    classifiers fitted to them."""
    high: float
    chance: float
    confidence: float = 0.95

    @property
    def in_words(self) -> str:
        """Whether labels are classified better or worse after the change."""
        difference = self.after - self.before
        is_clear = self.low > 0 or self.high < 0
        verdict = ("better" if difference > 0 else "worse") if is_clear else "no significant change"
        return (
            f"held-out accuracy {self.before:.1%} before and {self.after:.1%} after ({verdict}; difference "
            f"{difference:+.1%}, {100 * self.confidence:g}% interval [{self.low:+.1%}, {self.high:+.1%}], chance "
            f"{self.chance:.0%})"
        )
