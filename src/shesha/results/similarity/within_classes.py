"""Two representations compared within each class of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from shesha.report import Page
from shesha.results.base import Result, reaches_level
from shesha.results.plot_docstring import draws_axes
from shesha.results.similarity.comparison import Comparison
from shesha.results.similarity.score import Score
from shesha.support.plurals import agree

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_LEVEL = 0.05
_ALL = "all rows"


@dataclass(frozen=True)
class WithinClasses(Result):
    """Comparisons within each class, and of all rows, with null distributions that keep the classes."""

    first: str
    second: str
    classes: dict[str, Comparison]
    sizes: dict[str, int]
    """Number of rows that were compared in each class."""
    whole: Comparison
    """Comparison of all rows. Its null keeps the differences between classes, so that its p-value tests the structure
    within classes."""
    excluded: dict[str, str]
    """Classes that were not compared, each with the reason."""
    corrected: dict[str, dict[str, float]]
    """p-values by measure and class, corrected for the number of classes (Benjamini and Hochberg)."""
    calibrated_note: ClassVar[str] = (
        "The chance level is the mean value when rows are matched at random within the class (and block). The "
        "calibrated value is 0 up to the chance threshold and 1 at the best possible value."
    )
    column_note: ClassVar[str] = (
        f"{calibrated_note} The line '{_ALL}' permutes rows within classes only. Its value is high because classes "
        "differ, and its p-value tests the structure within classes."
    )

    def __iter__(self) -> Iterator[Comparison]:
        """Iterate over the classes."""
        return iter(self.classes.values())

    def __getitem__(self, name: str) -> Comparison:
        """Return the comparison within the class with this name."""
        if name not in self.classes:
            raise KeyError(f"name must be one of {', '.join(self.classes)}, got {name!r}")
        return self.classes[name]

    @property
    def is_interrupted(self) -> bool:
        """Whether Ctrl-C interrupted a comparison."""
        return any(comparison.interrupted for comparison in (*self.classes.values(), self.whole))

    @property
    def measures(self) -> tuple[str, ...]:
        """Names of the measures that were used."""
        return tuple(self.corrected)

    @property
    def kept(self) -> tuple[str, ...]:
        """Classes within which every measure finds a shared geometry above chance, corrected for all classes."""
        return self._classes_with(lambda n_above: n_above == len(self.corrected))

    @property
    def lost(self) -> tuple[str, ...]:
        """Classes within which no measure finds a shared geometry above chance."""
        return self._classes_with(lambda n_above: not n_above)

    def _classes_with(self, holds: Callable[[int], bool]) -> tuple[str, ...]:
        above = {name: sum(self.is_above(measure, name) for measure in self.corrected) for name in self.classes}
        return tuple(name for name, count in above.items() if holds(count))

    @property
    def headline(self) -> str:
        """In which classes the second representation lost the geometry of the first, and in which it kept it."""
        kept, lost = self.kept, self.lost
        mixed = [name for name in self.classes if name not in (*kept, *lost)]
        parts, compared = [], " compared" if self.excluded else ""
        if lost:
            parts.append(f"lost the geometry within {_join(lost)} ({_no_measure(self.measures)})")
        if kept:
            every = len(kept) == len(self.classes) > 1
            it, where = "it" if lost else "the geometry", _join(kept)
            if every:
                where = f"both{compared} classes" if len(kept) == 2 else f"all {len(kept)}{compared} classes"
            parts.append(f"kept {it} within {where} (above chance by {_every_measure(self.measures)})")
        clause = " and ".join(parts)
        if mixed:
            some = f"by only some of the measures within {_join(mixed)}"
            clause = f"{clause}; above chance {some}" if clause else f"shares the geometry above chance {some}"
        return f"{self.second}, compared with {self.first}, {clause}."

    @property
    def excluded_note(self) -> str:
        """Which classes were not compared, and why; empty if all of them were."""
        reasons = "; ".join(f"{name} ({why})" for name, why in self.excluded.items())
        return f"Not compared: {reasons}." if reasons else ""

    def is_above(self, measure: str, name: str) -> bool:
        """Return whether a measure is above chance within a class, corrected for the number of classes.

        Parameters
        ----------
        measure, name : str
            Names of the measure and the class.
        """
        return reaches_level(self.corrected[measure].get(name, float("nan")), _LEVEL)

    @draws_axes
    def plot(self, measure: str | None = None, ax: Axes | None = None) -> Axes:
        """Draw each class's value of one measure (default: the first) with its chance level."""
        from shesha.charts import class_values

        chosen = self.whole.scores[0].measure if measure is None else self.whole[measure].measure
        scores = [comparison[chosen] for comparison in self.classes.values()]
        return class_values(
            [f"{name} (n = {self.sizes[name]:,})" for name in self.classes],
            [score.value for score in scores],
            [score.null_mean for score in scores],
            [self.is_above(chosen, name) for name in self.classes],
            label=f"{chosen} ({scores[0].closer} is closer)" if scores else chosen,
            ax=ax,
        )

    def to_frame(self) -> pd.DataFrame:
        """Return a table of one line per class and measure, then of all rows; p-values are corrected."""
        import pandas as pd

        lines: list[dict[str, Any]] = []
        for name, comparison in {**self.classes, _ALL: self.whole}.items():
            size = self.sizes.get(name, self.whole.shapes[0][0])
            lines += [{"class": name, "n": size, **_line(score)} for score in comparison.scores]
        frame = pd.DataFrame(lines, columns=["class", "n", *_line_names()])
        adjusted = [self.corrected[line["measure"]].get(line["class"], float("nan")) for line in lines]
        return frame.assign(p_adj=adjusted)

    def _page(self) -> Page:
        from shesha.results.similarity.within_classes_page import within_classes_page

        return within_classes_page(self)

    def _text(self) -> str:
        """Return a text with one table per measure and one line per class."""
        from shesha.report import Column, page_width, table, wrap

        width, frame = page_width(), self.to_frame()
        lines = [
            *wrap(self.headline, width, hanging=""),
            "",
            f"{self.first} and {self.second}, within {len(self.classes)} classes",
            "",
        ]
        for measure, part in frame.groupby("measure", sort=False):
            heads = {"rows": "n", "value": "value", "chance": "chance", "calibrated": "calibrated", "p": "p"}
            heads |= {"corrected p": "p_adj"}
            columns = [[Column(head, tuple(map(_cell, part[name])))] for head, name in heads.items()]
            reasons = dict.fromkeys(reason for reason in part["reason"] if reason)
            notes = [line for reason in reasons for line in wrap(f"  {reason}", width)]
            lines += [
                f"{measure} ({part['closer'].iloc[0]} is closer)",
                *table(list(part["class"]), columns, width),
                *notes,
            ]
            lines.append("")
        for text in (self.column_note, self.excluded_note):
            lines += wrap(text, width, hanging="")
        return "\n".join(lines)


_NAMED = 3
"""Most classes that one sentence names."""


def _join(names: Sequence[str]) -> str:
    if len(names) > _NAMED:
        return f"{len(names)} classes"
    listed = ", ".join(names)
    return f"{agree(len(names), 'class', 'classes')} {listed}" if all(map(str.isdigit, names)) else listed


def _no_measure(measures: Sequence[str]) -> str:
    if len(measures) == 1:
        return f"not above chance by {measures[0]}"
    return f"not above chance by any of {len(measures)} measures"


def _every_measure(measures: Sequence[str]) -> str:
    return {1: measures[0], 2: "both measures"}.get(len(measures), f"all {len(measures)} measures")


def _line(score: Score) -> dict[str, Any]:
    values = (
        *(score.measure, score.value, score.null_mean, score.p_value, score.score, score.interval_low),
        *(score.interval_high, score.closer, score.reason or score.note),
    )
    return dict(zip(_line_names(), values, strict=True))


def _line_names() -> tuple[str, ...]:
    return ("measure", "value", "chance", "p", "calibrated", "interval_low", "interval_high", "closer", "reason")


def _cell(value: float) -> str:
    return "" if value != value else f"{value:,}" if isinstance(value, int) else f"{value:.3f}"
