"""Sections of a report and the structure of a page, independent of the output format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar

from shesha.report.text_layout import Column, Strip

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str
    hanging: str = "  "
    """Indentation of continuation lines."""
    marked: bool = False
    """Whether the text is trusted and may contain Markdown, unlike a name from the user."""
    kind: ClassVar[str] = "text"


@dataclass(frozen=True)
class Item:
    """A list item."""

    text: str
    marked: bool = False
    """Whether the text may contain Markdown."""
    kind: ClassVar[str] = "item"


@dataclass(frozen=True)
class Point:
    """A possible problem: its name, effect, description and remedy."""

    name: str
    evidence: str
    text: str
    advice: str
    kind: ClassVar[str] = "point"


Columns = dict[str, Iterable[str | float | None]]
"""The cells of a table by the headers of its columns: texts, counts, or numbers."""


@dataclass(frozen=True)
class Table:
    """A table whose rows have names; the columns of a group stay together."""

    names: tuple[str, ...]
    groups: tuple[tuple[Column, ...], ...]
    title: str = ""
    head: str = ""
    """Header of the column that contains the names, and what the rows are, in the singular."""
    important: tuple[int, ...] = ()
    """Rows that remain, in order of importance, if there is no room for all; others are then evenly spaced. Default:
    the first rows."""
    kind: ClassVar[str] = "table"

    @classmethod
    def of(
        cls,
        names: Iterable[str],
        columns: Mapping[str, Iterable[str | float | None]],
        title: str = "",
        head: str = "",
        *,
        important: tuple[int, ...] = (),
        strips: Mapping[str, Iterable[Strip | None]] = MappingProxyType({}),
    ) -> Table:
        """Return a table from its columns: the header and the cells of each, numbers to the right.

        Cells are texts, counts, or numbers, which are formatted by `numeral`; `strips` are drawn beside a column.

        Examples
        --------
        >>> [column.align for column in Table.of(["a"], {"value": [0.5], "verdict": ["above"]}).columns]
        ['>', '<']
        """
        made = ((Column.of(name, cells, strips.get(name, ())),) for name, cells in columns.items())
        return cls(tuple(names), tuple(made), title, head, important)

    @property
    def columns(self) -> list[Column]:
        """All columns that have at least one non-empty cell."""
        return [column for group in self.groups for column in group if not column.empty]


@dataclass(frozen=True)
class HeatMap:
    """A table whose numbers are shown as colours."""

    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]
    closer: str = "higher"
    """Whether 'higher' or 'lower' values are dark."""
    framed: tuple[tuple[int, int], ...] = ()
    """The cells (row, column) that are framed."""
    frame_legend: str = ""
    """What the frames mean. Default: the row and column names of the first framed cell."""
    digits: int = 2
    legend: str = ""
    """What dark colours mean, if it is not closeness."""
    kind: ClassVar[str] = "heat"


@dataclass(frozen=True)
class Drawing:
    """A picture with its description; it is drawn only when the page is written."""

    shows: str
    draw: Callable[[], Axes] = field(compare=False)
    kind: ClassVar[str] = "drawing"


@dataclass(frozen=True)
class Explained:
    """The name of a number, its meaning in one sentence, and a link to the documentation."""

    name: str
    says: str
    page: str = ""
    """A page of the documentation, with an anchor if there is one, such as `measures.md#cka`."""
    command: str = ""
    """Command that prints a full explanation."""
    brief: str = ""
    """Short form of the explanation for terminals."""
    kind: ClassVar[str] = "explained"


@dataclass(frozen=True)
class Lines:
    """Preformatted lines."""

    lines: tuple[str, ...]
    kind: ClassVar[str] = "lines"


@dataclass(frozen=True)
class PointMap:
    """Rows as points in one or two planes, drawn by the page's script; a selection is marked in all."""

    titles: tuple[str, ...]
    """Titles of the planes."""
    notes: tuple[str, ...]
    """The trustworthiness of each plane."""
    planes: tuple[tuple[tuple[float, float], ...], ...]
    """The points of each plane; row i is the same input in all planes."""
    rows: tuple[str, ...]
    labels: tuple[str, ...] = ()
    """The label of each row, which sets its colour; empty without labels."""
    moved: tuple[float, ...] = ()
    """How far each row moved, from 0 to 1; empty if there is only one plane."""
    order: tuple[int, ...] = ()
    """Row numbers, starting with the rows that moved most."""
    colours: str = "Label"
    kind: ClassVar[str] = "map"


Part = Text | Item | Point | Table | HeatMap | Drawing | Explained | Lines | PointMap


@dataclass(frozen=True)
class Section:
    """One part of a report, independent of the output format."""

    title: str
    parts: tuple[Part, ...] = ()
    explanation: str = ""
    """What the parts mean, and their limits."""
    printed: bool = True
    """Whether text output shows the section; it leaves out tables of every number, which `to_frame` returns."""


def texts(paragraphs: Sequence[str]) -> tuple[Text, ...]:
    """Return a paragraph for each text that is not empty."""
    return tuple(Text(paragraph) for paragraph in paragraphs if paragraph)


@dataclass(frozen=True)
class Page:
    """The contents of a page, in the order in which they appear."""

    title: str
    question: str
    """The question that the page answers."""
    answer: tuple[str, ...]
    """The answer, starting with the most important sentence."""
    numbers: tuple[Part, ...] = ()
    """The main numbers behind the answer, with intervals and chance levels."""
    doubts: tuple[Part, ...] = ()
    """Possible problems, starting with the one that has the largest effect."""
    sections: tuple[Section, ...] = ()
    """Sections that contain every number."""
    ran: tuple[tuple[str, str], ...] = ()
    """The names and values that are needed to repeat the run."""
