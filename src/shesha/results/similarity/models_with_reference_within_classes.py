"""Several representations compared with one reference representation within each class of rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shesha.report import Page, page_width, table, wrap
from shesha.results.base import Result
from shesha.results.plot_docstring import draws_axes
from shesha.results.similarity.within_classes import WithinClasses

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class SeveralWithinClasses(Result):
    """How several representations compare with one reference representation within each class."""

    reference: str
    comparisons: tuple[WithinClasses, ...]
    """One comparison per representation, each corrected for the number of classes."""

    def __iter__(self) -> Iterator[WithinClasses]:
        """Iterate over the comparisons with the reference."""
        return iter(self.comparisons)

    def __getitem__(self, name: str) -> WithinClasses:
        """Return how the representation with this name compares with the reference."""
        known = {comparison.second: comparison for comparison in self.comparisons}
        if name not in known:
            raise KeyError(f"name must be one of {', '.join(known)}, got {name!r}")
        return known[name]

    @property
    def notes(self) -> tuple[str, ...]:
        """Possible problems, such as batches that were not declared."""
        return tuple(dict.fromkeys(note for comparison in self for note in comparison.notes))

    @property
    def mixing_note(self) -> str:
        """How well blocks are mixed in each representation; empty without blocks."""
        mixing = {name: values for comparison in self for name, values in comparison.mixing.items()}
        if not mixing:
            return ""
        texts = [
            f"{score} {', '.join(f'{values[score]:.2f} in {name}' for name, values in mixing.items())}"
            for score in next(iter(mixing.values()))
            if all(values[score] == values[score] for values in mixing.values())
        ]
        return f"Mixing of blocks (0 separate, 1 mixed): {'; '.join(texts)}." if texts else ""

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes within which at least one representation was compared."""
        return tuple(dict.fromkeys(name for comparison in self for name in comparison.classes))

    @property
    def measures(self) -> tuple[str, ...]:
        """Names of the measures that were used."""
        return self.comparisons[0].measures

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended a comparison."""
        return any(comparison.is_interrupted for comparison in self)

    @property
    def column_note(self) -> str:
        """What the columns of the table mean."""
        return (
            f"{WithinClasses.calibrated_note} p-values are corrected for the number of classes of one representation. "
            f"{self.levels_note}"
        )

    @property
    def levels_note(self) -> str:
        """Level of the tests and confidence of the intervals, which all comparisons share."""
        return self.comparisons[0].levels_note

    @property
    def headline(self) -> str:
        """One sentence per representation."""
        return " ".join(comparison.headline for comparison in self)

    def to_frame(self) -> pd.DataFrame:
        """Return a line per representation, class and measure."""
        import pandas as pd

        parts = [comparison.to_frame().assign(representation=comparison.second) for comparison in self]
        frame = pd.concat(parts, ignore_index=True)
        return frame[["representation", *(name for name in frame.columns if name != "representation")]]

    @draws_axes
    def plot(self, measure: str | None = None, ax: Axes | None = None) -> Axes:
        """Draw one measure's calibrated score for each class and representation, with frames if above chance."""
        from shesha.charts import heat_map

        all_rows = self.comparisons[0].whole
        chosen = all_rows.scores[0].measure if measure is None else all_rows[measure].measure
        scores = [
            [comparison[name][chosen].score if name in comparison.classes else np.nan for comparison in self]
            for name in self.classes
        ]
        others = [comparison.second for comparison in self]
        title = f"{chosen} with {self.reference}, calibrated"
        framed = [
            (row, column)
            for column, comparison in enumerate(self)
            for row, name in enumerate(self.classes)
            if name in comparison.classes and comparison.is_above(chosen, name)
        ]
        values, names = np.array(scores, dtype=float), list(self.classes)
        return heat_map(values, names, others, title=title, framed=framed, limits=(0.0, 1.0), ax=ax)

    def _page(self) -> Page:
        from shesha.results.similarity.within_classes_page import several_within_classes_page

        return several_within_classes_page(self)

    def _text(self) -> str:
        """Return a text with a sentence per representation and a table of calibrated scores per measure."""
        from shesha.results.similarity.within_classes_page import several_columns

        width = page_width()
        lines = [line for comparison in self for line in wrap(comparison.headline, width)]
        for text in (self.mixing_note, *self.notes, self.comparisons[0].excluded_note):
            lines += wrap(text, width, hanging="") if text else []
        for measure in self.measures:
            columns = [[column] for column in several_columns(self, measure)]
            lines += ["", f"{measure} with {self.reference}, calibrated (* above chance)"]
            lines += table(list(self.classes), columns, width)
        return "\n".join([*lines, "", *wrap(self.column_note, width, hanging="")])
