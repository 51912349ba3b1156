"""Text tables that fit the page; columns for which there is no room continue in another table below."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import nan
from typing import Literal

from shesha.report._wrapping import wrap

_GAP = "  "


@dataclass(frozen=True)
class Strip:
    """A number on a scale, with its interval and chance threshold, which are NaN if unknown."""

    value: float
    low: float
    high: float
    chance: float = nan


@dataclass(frozen=True)
class Column:
    """A column, with a header that may be broken between words and one cell per row."""

    head: str
    cells: tuple[str, ...]
    align: Literal["<", ">"] = ">"
    strips: tuple[Strip | None, ...] = ()
    """Numbers that an HTML page draws on a common scale; the text output omits them."""

    @property
    def width(self) -> int:
        """Width of the longest cell or header word."""
        return max(map(len, (*self.cells, *self.head.split())), default=0)

    @property
    def empty(self) -> bool:
        """Whether all cells are empty."""
        return not any(self.cells)


def table(names: Sequence[str], groups: Sequence[Sequence[Column]], width: int) -> list[str]:
    """Return one line per name below the column headers, in as many tables as the page width requires.

    Parameters
    ----------
    names : sequence of str
        Names of the rows. If a name is wider than half the page, names are printed on separate lines.
    groups : sequence of sequences of Column
        Groups of columns that stay together in one table. Empty columns are omitted.
    width : int
        Width of the page in characters.

    Examples
    --------
    >>> groups = [[Column("halves agree", ("0.71", "0.64")), Column("p", ("0.005", "0.2"))]]
    >>> print(*table(["early", "late"], groups, 60), sep="\\n")
           halves
            agree      p
    early    0.71  0.005
    late     0.64    0.2
    """
    has_name_lines = max(map(len, names), default=0) > width // 2
    side = 2 if has_name_lines else max(map(len, names), default=0)
    lines: list[str] = []
    for block in blocks(groups, width - side, _columns_that_fit):
        lines += [""] * bool(lines) + _heads(block, side)
        for row, name in enumerate(names):
            cells = [f"{column.cells[row]:{column.align}{column.width}}" for column in block]
            lines += [name] * has_name_lines + [_line("" if has_name_lines else name, cells, side)]
    return lines


def blocks(
    groups: Sequence[Sequence[Column]], room: int, taken: Callable[[Sequence[Column]], int]
) -> Iterator[list[Column]]:
    """Yield lists of columns that fit next to each other; `taken` returns the width of a list."""
    block: list[Column] = []
    for group in groups:
        shown = [column for column in group if not column.empty]
        if block and taken(block) + taken(shown) > room:
            yield block
            block = []
        block += shown
    if block:
        yield block


def _columns_that_fit(columns: Sequence[Column]) -> int:
    return sum(len(_GAP) + column.width for column in columns)


def _heads(block: Sequence[Column], side: int) -> list[str]:
    heads = [wrap(column.head, max(column.width, 1), hanging="") for column in block]
    height = max(map(len, heads))
    rows = [
        [
            f"{line:{column.align}{column.width}}"
            for column, line in zip(block, (([""] * (height - len(head)) + head)[i] for head in heads), strict=True)
        ]
        for i in range(height)
    ]
    return [_line("", row, side) for row in rows]


def _line(name: str, cells: Sequence[str], side: int) -> str:
    return _GAP.join([f"{name:<{side}}", *cells]).rstrip()
