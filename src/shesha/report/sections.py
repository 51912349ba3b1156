"""Sections of a report and their parts, independent of the output format.

Text and HTML output contain the same parts. Heat maps and pictures, which need space or colour, appear only in HTML.
`Either` has a second form for terminals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from shesha.report._text_tables import Column

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str
    hanging: str = "  "
    """Indentation of continuation lines."""
    marked: bool = False
    """Whether the text is trusted and may contain Markdown marks, unlike a name from the user."""
    kind: ClassVar[str] = "text"


@dataclass(frozen=True)
class Item:
    """A list item."""

    text: str
    marked: bool = False
    """Whether the text may contain Markdown marks."""
    kind: ClassVar[str] = "item"


@dataclass(frozen=True)
class Point:
    """A possible problem: its name, effect, description and remedy."""

    name: str
    evidence: str
    text: str
    advice: str
    kind: ClassVar[str] = "point"


@dataclass(frozen=True)
class Table:
    """A table with names in rows; columns of a group stay together."""

    names: tuple[str, ...]
    groups: tuple[tuple[Column, ...], ...]
    title: str = ""
    head: str = ""
    """Header of the column with the names."""
    kind: ClassVar[str] = "table"

    @property
    def columns(self) -> list[Column]:
        """Columns that have a cell."""
        return [column for group in self.groups for column in group if not column.empty]


@dataclass(frozen=True)
class HeatMap:
    """A table of numbers in colours."""

    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]
    closer: str = "higher"
    """Which values are dark: 'higher' or 'lower'."""
    framed: tuple[tuple[int, int], ...] = ()
    """The cells (row, column) with a frame."""
    frame_legend: str = ""
    """Meaning of the frames; default: the names of the first framed cell."""
    digits: int = 2
    legend: str = ""
    """Meaning of dark colours, if it is not closeness."""
    kind: ClassVar[str] = "heat"


@dataclass(frozen=True)
class Drawing:
    """A picture with its description; it is drawn when the page is written."""

    shows: str
    draw: Callable[[], Axes] = field(compare=False)
    wide: bool = False
    """Whether the picture has the full width of the page."""
    kind: ClassVar[str] = "drawing"


@dataclass(frozen=True)
class Explained:
    """The name of a number, its meaning in a sentence, and a link to the documentation."""

    name: str
    says: str
    page: str = ""
    """A page of the documentation, with an anchor if there is one: `measures.md#cka`."""
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
class Either:
    """The same content in two forms: lines of text, or other parts on a page."""

    lines: tuple[str, ...]
    parts: tuple[Any, ...]
    kind: ClassVar[str] = "either"


@dataclass(frozen=True)
class PointMap:
    """Rows as points of one or two planes, which the page's script draws; a selected row is marked in all."""

    titles: tuple[str, ...]
    """Titles of the planes."""
    notes: tuple[str, ...]
    """Trustworthiness of each plane."""
    planes: tuple[tuple[tuple[float, float], ...], ...]
    """Points of each plane; row i is the same input in all."""
    rows: tuple[str, ...]
    labels: tuple[str, ...] = ()
    """Label of each row for colours; empty without labels."""
    moved: tuple[float, ...] = ()
    """Movement of each row, from 0 to 1; empty with one plane."""
    order: tuple[int, ...] = ()
    """Rows, starting with those that moved most."""
    colours: str = "Label"
    kind: ClassVar[str] = "map"


Part = Text | Item | Point | Table | HeatMap | Drawing | Explained | Lines | Either | PointMap


@dataclass(frozen=True)
class Section:
    """A format-independent part of a report."""

    title: str
    parts: tuple[Part, ...] = ()
    explanation: str = ""
    """Meaning and limits of the parts."""


def texts(paragraphs: Sequence[str]) -> tuple[Text, ...]:
    """Return paragraphs for the non-empty texts."""
    return tuple(Text(paragraph) for paragraph in paragraphs if paragraph)
