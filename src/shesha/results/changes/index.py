"""The verdict on a vector index: keep it, map it, or embed again, with its recall."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from shesha.report import page_width, wrap
from shesha.results.base import Result

IndexAdvice = Literal["keep", "map", "re-embed"]
NAN = float("nan")


@dataclass(frozen=True)
class Recall(Result):
    """Share of the true neighbours that a search finds."""

    way: str
    """'as it is', 'orthogonal map', 'linear map', or 're-encodings', which change nothing."""
    recall: float
    """NaN where it cannot be asked, with a reason."""
    low: float = NAN
    """Lower end of the 95 % interval over queries."""
    high: float = NAN
    reason: str = ""


@dataclass(frozen=True)
class IndexChange(Result):
    """What new queries find among old vectors, of what they would find among new ones."""

    layer: str
    k: int
    n_rows: int
    advice: IndexAdvice
    loss: float
    """Recall lost by following the advice, compared with re-encodings of the unchanged model."""
    tolerance: float
    """Loss that is accepted."""
    best_map: str
    """The map that loses least."""
    recalls: tuple[Recall, ...]

    def __getitem__(self, way: str) -> Recall:
        """Return the recall of one way."""
        for one in self.recalls:
            if one.way == way:
                return one
        raise KeyError(f"way must be one of {', '.join(one.way for one in self.recalls)}, got {way!r}")

    @property
    def headline(self) -> str:
        """What to do with the index, and what it costs."""
        does = {
            "keep": "keep the index: new queries find",
            "map": f"map new queries into the old space ({self.best_map}): they find",
            "re-embed": f"re-embed: even after the best map ({self.best_map}) new queries find",
        }[self.advice]
        way = "as it is" if self.advice == "keep" else self.best_map
        base = self["re-encodings"]
        floor = f"; re-encodings of the old model find {base.recall:.1%}" if base.recall == base.recall else ""
        return f"Index: {does} {self[way].recall:.1%} of their {self.k} true neighbours{floor}."

    @property
    def in_numbers(self) -> str:
        """The recall of every way, in a line."""
        known = (f"{one.way} {one.recall:.3f}" if one.recall == one.recall else "" for one in self.recalls)
        return f"recall@{self.k}: {', '.join(filter(None, known))}."

    def __str__(self) -> str:
        """Print the advice and a line per way."""
        from shesha.report import columns

        rows = [["new queries, old vectors", f"recall@{self.k}", "interval"]]
        for one in self.recalls:
            interval = f"[{one.low:.3f}, {one.high:.3f}]" if one.low == one.low else one.reason
            rows.append([one.way, f"{one.recall:.3f}" if one.recall == one.recall else "", interval])
        return "\n".join([*wrap(self.headline, page_width(), hanging=""), "", *columns(rows, "<><", indent="  ")])
