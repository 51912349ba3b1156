"""Comparison of two representations within each class of rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shesha.results.base import Result, reaches_level
from shesha.results.draw_docs import draws_axes
from shesha.results.similarity.comparison import Comparison, Score

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_LEVEL = 0.05


@dataclass(frozen=True)
class WithinClasses(Result):
    """Comparisons of each class, and of all rows permuted within classes, with their nulls."""

    first: str
    second: str
    classes: dict[str, Comparison]
    sizes: dict[str, int]
    """Number of compared rows of each class."""
    whole: Comparison
    """Comparison of all rows: its null keeps the differences between classes, so its p-value concerns structure
    within classes."""
    excluded: dict[str, str]
    """Classes that were not compared, with the reason."""
    corrected: dict[str, dict[str, float]]
    """p-values by measure and class, corrected over classes (Benjamini and Hochberg)."""

    def __iter__(self) -> Iterator[Comparison]:
        """Iterate over the classes."""
        return iter(self.classes.values())

    def __getitem__(self, name: str) -> Comparison:
        """Return the comparison within one class."""
        if name not in self.classes:
            raise KeyError(f"name must be one of {', '.join(self.classes)}, got {name!r}")
        return self.classes[name]

    @property
    def is_interrupted(self) -> bool:
        """Whether Ctrl-C interrupted a comparison."""
        return any(one.interrupted for one in (*self.classes.values(), self.whole))

    def sentence(self) -> str:
        """The classes in which both share a geometry above chance (corrected over classes), and the others."""
        measures = list(self.corrected)
        above = {name: sum(self._is_above(measure, name) for measure in measures) for name in self.classes}
        kept = [name for name, count in above.items() if count == len(measures)]
        lost = [name for name, count in above.items() if not count]
        mixed = [name for name in above if name not in kept and name not in lost]
        by = measures[0] if len(measures) == 1 else _every(len(measures))
        parts = []
        if lost:
            by_none = measures[0] if len(measures) == 1 else _any(len(measures))
            parts.append(f"no shared geometry above chance within {', '.join(lost)} by {by_none}")
        if kept:
            whose = "every class" if len(kept) == len(above) else f"{len(kept)} of {len(above)} classes"
            parts.append(f"shared geometry within {whose} by {by}")
        if mixed:
            parts.append(f"by some measures only within {', '.join(mixed)}")
        told = "; ".join(parts) or "no class could be compared"
        return f"{self.first} and {self.second}: {told}."

    def _is_above(self, measure: str, name: str) -> bool:
        return reaches_level(self.corrected[measure].get(name, float("nan")), _LEVEL)

    @draws_axes
    def plot(self, measure: str | None = None, ax: Axes | None = None) -> Axes:
        """Draw the value of each class with its chance level, by one measure (default: the first)."""
        from shesha.charts import class_values

        chosen = self.whole.scores[0].measure if measure is None else self.whole[measure].measure
        scores = [one[chosen] for one in self.classes.values()]
        return class_values(
            [f"{name} (n = {self.sizes[name]:,})" for name in self.classes],
            [one.value for one in scores],
            [one.null_mean for one in scores],
            [self._is_above(chosen, name) for name in self.classes],
            label=f"{chosen} ({scores[0].closer} is closer)" if scores else chosen,
            ax=ax,
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one line per class and measure, then lines of all rows, with p-values corrected over classes."""
        import pandas as pd

        lines: list[dict[str, Any]] = []
        for name, one in {**self.classes, _ALL: self.whole}.items():
            size = self.sizes.get(name, self.whole.shapes[0][0])
            lines += [{"class": name, "n": size, **_line(score)} for score in one.scores]
        frame = pd.DataFrame(lines, columns=["class", "n", *_line_names()])
        adjusted = [self.corrected[one["measure"]].get(one["class"], float("nan")) for one in lines]
        return frame.assign(p_adj=adjusted)

    def __str__(self) -> str:
        """Print one table per measure, with one line per class."""
        from shesha.report import Column, page_width, table, wrap

        width, frame = page_width(), self.to_frame()
        lines = [
            *wrap(self.sentence(), width, hanging=""),
            "",
            f"{self.first} and {self.second}, within {len(self.classes)} classes",
            "",
        ]
        for measure, part in frame.groupby("measure", sort=False):
            heads = {"rows": "n", "value": "value", "chance": "chance", "calibrated": "calibrated", "p": "p"}
            heads |= {"corrected p": "p_adj"}
            columns = [[Column(head, tuple(map(_cell, part[name])))] for head, name in heads.items()]
            reasons = dict.fromkeys(reason for reason in part["reason"] if reason)
            told = [line for reason in reasons for line in wrap(f"  {reason}", width)]
            lines += [
                f"{measure} ({part['closer'].iloc[0]} is closer)",
                *table(list(part["class"]), columns, width),
                *told,
            ]
            lines.append("")
        left = "; ".join(f"{name} ({why})" for name, why in self.excluded.items())
        for text in (_NOTE, f"Not compared: {left}." if left else ""):
            lines += wrap(text, width, hanging="")
        return "\n".join(lines)


def _every(n: int) -> str:
    return "both measures" if n == 2 else f"all {n} measures"


def _any(n: int) -> str:
    return "either measure" if n == 2 else f"any of {n} measures"


_ALL = "all rows"
_NOTE = (
    "Chance is the mean value when rows are matched at random within the class (and block). Calibrated is 0 up to "
    f"the chance threshold and 1 at the best value. '{_ALL}' permutes rows within classes only. Its value is high "
    "because classes differ, and its p concerns structure within classes."
)


def _line(score: Score) -> dict[str, Any]:
    values = (
        *(score.measure, score.value, score.null_mean, score.p_value, score.score, score.interval_low),
        *(score.interval_high, score.closer, score.reason or score.note),
    )
    return dict(zip(_line_names(), values, strict=True))


def _line_names() -> tuple[str, ...]:
    return ("measure", "value", "chance", "p", "calibrated", "interval_low", "interval_high", "closer", "reason")


def _cell(value: float) -> str:
    return "" if value != value else f"{value:,}" if isinstance(value, int) else f"{value:.3g}"
