"""A score with its null distribution."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from shesha.results.base import Result, reaches_level


@dataclass(frozen=True)
class Chance(Result):
    """A score with its null distribution; `exchanged` describes what was permuted."""

    variant: str
    observed: float
    level: float
    """Mean of the null distribution, which is the expected score without agreement."""
    spread: float
    """Standard deviation of the null distribution."""
    threshold: float
    """Chance threshold: the value at rank ceil((1 - alpha)(K + 1)) among the observed score and the K null scores."""
    p_value: float
    """(1 + number of null scores at least as large) / (K + 1), for K permutations."""
    corrected: float
    """max(0, (observed - threshold) / (1 - threshold)): 0 at the threshold, 1 for a perfect score."""
    alpha: float
    n_permutations: int
    n_samples: int
    null: tuple[float, ...] = ()
    reason: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    exchanged: str = "all rows"
    """What the null permutes: all rows, or only those that a design or `keep` allows to be exchanged, and whether each
    feature is permuted separately."""
    aliases: ClassVar[tuple[str, ...]] = ("null_mean", "null_sd", "score")

    @property
    def null_mean(self) -> float:
        """The chance level, under the name that all results with a null distribution use."""
        return self.level

    @property
    def null_sd(self) -> float:
        """The standard deviation, under the name that all results with a null distribution use."""
        return self.spread

    @property
    def score(self) -> float:
        """The corrected score, under the name that all results with a null distribution use."""
        return self.corrected

    @property
    def significant(self) -> bool:
        """Whether the score is above chance at the level alpha."""
        return reaches_level(self.p_value, self.alpha)

    @property
    def _design(self) -> str:
        return "" if self.exchanged == "all rows" else f" of {self.exchanged}"

    def _text(self) -> str:
        """Return a text with the score and its null distribution."""
        if self.observed != self.observed:
            return f"{self.variant}: not estimable ({self.reason})"
        return (
            f"{self.variant}: {self.observed:.4f}, chance {self.level:.4f} +- {self.spread:.4f}, "
            f"threshold {self.threshold:.4f} (alpha {self.alpha:g}), p = {self.p_value:.3g} "
            f"({self.n_permutations} permutations{self._design}), corrected {self.corrected:.4f}"
        )
