"""The verdict on a vector index (keep it, map new queries into it, or embed again), with its recall."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from shesha.report import Part
from shesha.results.base import Result
from shesha.results.number import Number, table_of_numbers

IndexAdvice = Literal["keep", "map", "re-embed", "undecided"]
IndexMetric = Literal["cosine", "ip", "l2"]
METRICS = {"cosine": "cosine similarity", "ip": "inner product", "l2": "Euclidean distance"}
NAN = float("nan")
_WHOLE = ("as it is", "re-encodings")
"""Options that were tested among all rows."""


@dataclass(frozen=True, kw_only=True)
class Recall(Number):
    """The recall of one option: which share of the true neighbours a search finds."""


@dataclass(frozen=True)
class IndexChange(Result):
    """How well new queries find their neighbours among old vectors, compared with new vectors."""

    layer: str
    k: int
    n_rows: int
    advice: IndexAdvice
    loss: float
    """Recall lost by following the advice, compared with re-encodings by the unchanged model."""
    tolerance: float
    """Largest loss of recall that is acceptable."""
    best_map: str
    """The map that loses the least recall."""
    recalls: tuple[Recall, ...]
    metric: IndexMetric = "cosine"
    chance: float = NAN
    """Recall among unrelated vectors: k divided by the number of other rows."""
    confidence: float = 0.95
    undecided: str = ""
    """Why no advice can be given; empty if there is advice."""

    def __getitem__(self, way: str) -> Recall:
        """Return the recall of this option."""
        for score in self.recalls:
            if score.name == way:
                return score
        raise KeyError(f"way must be one of {', '.join(score.name for score in self.recalls)}, got {way!r}")

    @property
    def headline(self) -> str:
        """The advice on the index, with the recall to expect."""
        direct, best, base = self["as it is"], self[self.best_map], self["re-encodings"]
        mapped = f"{best.value:.1%} after the best map ({self.best_map})"
        found = f"{direct.value:.1%} as they are and {mapped}" if direct.value == direct.value else mapped
        does = {
            "keep": f"keep it. New queries find {direct.value:.1%}",
            "map": f"map new queries into the old space. They find {found}",
            "re-embed": f"re-embed: more than {self.tolerance:.0%} would be lost. New queries find {found}",
            "undecided": f"cannot be decided: {self.undecided}. New queries find {found}",
        }[self.advice]
        floor = f". Re-encodings of the old model find {base.value:.1%}" if base.value == base.value else ""
        chance = f" (chance {self.chance:.1%})" if self.chance == self.chance else ""
        return (
            f"Index: {does} of their {self.k} true neighbours by {METRICS[self.metric]} in {self.layer}{chance}{floor}."
        )

    @property
    def in_numbers(self) -> str:
        """The recall of every option, in a single line."""
        known = [score for score in self.recalls if score.value == score.value]
        whole, halves = ([score for score in known if (score.name in _WHOLE) == is_whole] for is_whole in (True, False))
        lists = [
            ", ".join(f"{score.name.removesuffix(', in halves')} {score.value:.3f}" for score in scores)
            for scores in (whole, halves)
        ]
        tested = f"; among half of the rows, as maps are tested: {lists[1]}" if halves else ""
        return f"recall@{self.k}: {lists[0]}{tested}. A loss of {self.tolerance:g} is accepted."

    def _numbers(self) -> tuple[Part, ...]:
        """Return the recall of each way to search."""
        return table_of_numbers(self.recalls, f"Recall of the {self.k} nearest, new queries among old vectors")
