"""Sections of a report and their parts, independent of the output format.

Text and page show the same parts. A part that needs room or colour (a heat map, a picture) is on the page only, and
what a terminal shows in another way stands beside it in `Either`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from shesha.report._tables import Column

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str
    hanging: str = "  "
    """What further lines begin with where it is broken into lines."""
    marked: bool = False
    """Whether it is a sentence of ours with marks of Markdown, and no name that may hold anything."""
    kind: ClassVar[str] = "text"


@dataclass(frozen=True)
class Item:
    """A line of a list."""

    text: str
    marked: bool = False
    """Whether it has marks of Markdown."""
    kind: ClassVar[str] = "item"


@dataclass(frozen=True)
class Point:
    """A matter to look at: its name, how much hangs on it, what is the matter, and what to do."""

    name: str
    evidence: str
    text: str
    advice: str
    kind: ClassVar[str] = "point"


@dataclass(frozen=True)
class Table:
    """Names down, columns across; columns of a group stay together."""

    names: tuple[str, ...]
    groups: tuple[tuple[Column, ...], ...]
    title: str = ""
    head: str = ""
    """What the names are."""
    kind: ClassVar[str] = "table"

    @property
    def columns(self) -> list[Column]:
        """Those that have a cell."""
        return [one for group in self.groups for one in group if not one.empty]


@dataclass(frozen=True)
class HeatMap:
    """A table of numbers in colours."""

    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]
    closer: str = "higher"
    """Which values are dark."""
    marked: tuple[int, int] | None = None
    """The cell to look at."""
    digits: int = 2
    legend: str = ""
    """What dark means, where it is not closeness."""
    kind: ClassVar[str] = "heat"


@dataclass(frozen=True)
class Drawing:
    """A picture, drawn when it is shown, and what it shows in words."""

    shows: str
    draw: Callable[[], Axes] = field(compare=False)
    wide: bool = False
    """Whether it takes the whole width of the page."""
    kind: ClassVar[str] = "drawing"


@dataclass(frozen=True)
class Explained:
    """What a number is called, what it says in a sentence, and where the documentation says more."""

    name: str
    says: str
    page: str = ""
    """A page of the documentation, with an anchor if there is one: `measures.md#cka`."""
    command: str = ""
    """What prints more."""
    brief: str = ""
    """What is said of it where there is little room: in a terminal."""
    kind: ClassVar[str] = "explained"


@dataclass(frozen=True)
class Lines:
    """Lines whose breaks and spaces matter."""

    lines: tuple[str, ...]
    kind: ClassVar[str] = "lines"


@dataclass(frozen=True)
class Either:
    """The same in two forms: lines of text, or other parts on a page."""

    lines: tuple[str, ...]
    parts: tuple[Any, ...]
    kind: ClassVar[str] = "either"


@dataclass(frozen=True)
class PointMap:
    """Rows as points of one plane or two, which the page's script draws: the same row is marked in all."""

    titles: tuple[str, ...]
    """What each plane shows."""
    notes: tuple[str, ...]
    """How far to trust each plane."""
    planes: tuple[tuple[tuple[float, float], ...], ...]
    """Points of each plane; row i is the same thing in all."""
    rows: tuple[str, ...]
    labels: tuple[str, ...] = ()
    """What colours mean, one per row; empty without."""
    moved: tuple[float, ...] = ()
    """How far each row moved, from 0 to 1; empty with one plane."""
    order: tuple[int, ...] = ()
    """Rows, those that moved most first."""
    colours: str = "Label"
    kind: ClassVar[str] = "map"


Part = Text | Item | Point | Table | HeatMap | Drawing | Explained | Lines | Either | PointMap


@dataclass(frozen=True)
class Section:
    """One part of a report, free of any form."""

    title: str
    parts: tuple[Part, ...] = ()
    explanation: str = ""
    """What the parts mean, and what they do not."""


def texts(paragraphs: Sequence[str]) -> tuple[Text, ...]:
    """Make paragraphs of those that say something."""
    return tuple(Text(one) for one in paragraphs if one)
