"""The verdict on a vector index (keep it, map new queries into it, or embed again), with its recall."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from shesha.report import page_width, wrap
from shesha.results.base import Result

IndexAdvice = Literal["keep", "map", "re-embed"]
NAN = float("nan")


@dataclass(frozen=True)
class Recall(Result):
    """The recall of one option: which share of the true neighbours a search finds."""

    way: str
    """How new queries are treated: 'as it is', 'orthogonal map' or 'linear map'; 're-encodings' is the old model
    itself."""
    recall: float
    """Share of the true neighbours that were found; NaN, with a reason, if it cannot be computed."""
    low: float = NAN
    """Lower end of the 95 % interval, which covers other queries."""
    high: float = NAN
    reason: str = ""


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

    def __getitem__(self, way: str) -> Recall:
        """Return the recall of this option."""
        for score in self.recalls:
            if score.way == way:
                return score
        raise KeyError(f"way must be one of {', '.join(score.way for score in self.recalls)}, got {way!r}")

    @property
    def headline(self) -> str:
        """The advice on the index, with the recall to expect."""
        does = {
            "keep": "keep it. New queries find",
            "map": f"map new queries into the old space ({self.best_map}). They then find",
            "re-embed": f"re-embed. Even after the best map ({self.best_map}), new queries find",
        }[self.advice]
        way = "as it is" if self.advice == "keep" else self.best_map
        base = self["re-encodings"]
        floor = f". Re-encodings of the old model find {base.recall:.1%}" if base.recall == base.recall else ""
        return f"Index: {does} {self[way].recall:.1%} of their {self.k} true neighbours{floor}."

    @property
    def in_numbers(self) -> str:
        """The recall of every option, in a single line."""
        known = (f"{score.way} {score.recall:.3f}" if score.recall == score.recall else "" for score in self.recalls)
        return f"recall@{self.k}: {', '.join(filter(None, known))}."

    def _text(self) -> str:
        """Return a text with the advice and one line per option."""
        from shesha.report import columns

        rows = [["new queries, old vectors", f"recall@{self.k}", "interval"]]
        for score in self.recalls:
            interval = f"[{score.low:.3f}, {score.high:.3f}]" if score.low == score.low else score.reason
            rows.append([score.way, f"{score.recall:.3f}" if score.recall == score.recall else "", interval])
        return "\n".join([*wrap(self.headline, page_width(), hanging=""), "", *columns(rows, "<><", indent="  ")])
