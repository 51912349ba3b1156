"""Layout of plain text: line breaking, aligned columns, tables as wide as the page, and cards."""

from __future__ import annotations

import re
import shutil
import textwrap
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from inspect import Parameter
from math import isnan, nan
from typing import Any, Literal

from shesha.support.wording import differing_parts, visible_name


def columns(rows: Sequence[Sequence[str]], align: str, *, indent: str = "") -> list[str]:
    """Return one line per row; each column is as wide as its widest cell, with two spaces in between.

    Parameters
    ----------
    rows : sequence of sequences of str
        The cells, including those of the header if there is one.
    align : str
        The alignment of each column: '<' (left) or '>' (right).
    indent : str
        Text to put at the beginning of every line.

    Raises
    ------
    ValueError
        If the number of cells in a row differs from the number of alignments.

    Examples
    --------
    >>> print(*columns([["", "value"], ["CKA", "0.5"], ["mutual kNN", "12.25"]], "<>"), sep="\\n")
                value
    CKA           0.5
    mutual kNN  12.25
    """
    for row in rows:
        if len(row) != len(align):
            raise ValueError(f"rows must have {len(align)} cells, one per alignment, got {len(row)}")
    rows = [[visible_name(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        indent + "  ".join(f"{cell:{to}{width}}" for cell, to, width in zip(row, align, widths, strict=True)).rstrip()
        for row in rows
    ]


NARROWEST, WIDEST = 40, 100
"""Smallest and largest number of characters per line of a report."""


def page_width() -> int:
    """Return the width of a report: that of the terminal, within limits; 80 without a terminal.

    Examples
    --------
    >>> NARROWEST <= page_width() <= WIDEST
    True
    """
    return min(WIDEST, max(NARROWEST, shutil.get_terminal_size((80, 24)).columns))


def wrap(text: str, width: int, indent: str = "", hanging: str = "  ") -> list[str]:
    """Break a text between words; a word longer than a line, such as a path, is kept whole.

    Examples
    --------
    >>> wrap("halves of the features agree", 16)
    ['halves of the', '  features agree']
    """
    return textwrap.wrap(
        text,
        width,
        initial_indent=indent,
        subsequent_indent=indent + hanging,
        break_long_words=False,
        break_on_hyphens=False,
    )


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

    @classmethod
    def of(cls, head: str, cells: Iterable[str | float | None], strips: Iterable[Strip | None] = ()) -> Column:
        """Return a column of texts (to the left), counts, p-values of two digits, or numbers formatted by `numeral`."""
        least = 2.0 if re.match(r"(corrected )?p\b", head) else 0.0005
        texts = tuple(
            cell if isinstance(cell, str) else f"{cell:,}" if isinstance(cell, int) else numeral(cell, least)
            for cell in cells
        )
        is_text = any(text[:1].isalpha() for text in texts if text not in ("none", "tied"))
        return cls(head, texts, "<" if is_text else ">", tuple(strips))

    @cached_property
    def width(self) -> int:
        """Width of the longest cell or header word; a header of several words gets at least eleven characters."""
        return max([min(len(self.head), 11), *map(len, (*self.cells, *self.head.split()))])

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
    early         0.71  0.005
    late          0.64    0.2
    """
    has_name_lines = max(map(len, names), default=0) > width // 2
    side = 2 if has_name_lines else max(map(len, names), default=0)
    lines: list[str] = []
    for block in blocks(groups, width - side, _columns_that_fit):
        lines += [""] * bool(lines) + _heads(block, side)
        for row, name in enumerate(names):
            cells = [f"{visible_name(column.cells[row]):{column.align}{column.width}}" for column in block]
            lines += [name] * has_name_lines + [_line("" if has_name_lines else name, cells, side)]
    return lines


def numeral(value: float | None, least: float = 0.0005) -> str:
    """Format a number for a cell: three decimals, or as many digits as a small or large one needs; empty if unknown.

    Examples
    --------
    >>> numeral(0.66426), numeral(0.0000126), numeral(29.2401), numeral(nan)
    ('0.664', '1.3e-05', '29.24', '')
    """
    if value is None or isnan(value):
        return ""
    if value and abs(value) < least:
        return f"{value:.2g}"
    # Adding zero removes the sign of a value that rounds to zero.
    return f"{round(value, 3) + 0.0:.3f}" if abs(value) < 10 else f"{value:.4g}"


_SHORTEST_NAME = 16
"""Fewest characters to which names of rows are cut, so that all columns fit beside them."""


def fit_names(names: Sequence[str], groups: Sequence[Sequence[Column]], width: int) -> list[str]:
    """Shorten long names if all columns then fit beside them and the names still differ.

    Names lose the parts between dots that all of them share or, if this is not enough, their middle.

    Examples
    --------
    >>> change = [[Column("change", ("0.01", "0.02"))]]
    >>> fit_names(["model.layers.0.mlp.down_proj.output", "model.layers.1.mlp.down_proj.output"], change, 36)
    ['layers.0', 'layers.1']
    >>> fit_names(["a representation with a long name, 1", "a representation with a long name, 2"], change, 36)
    ['a representation with a ...1', 'a representation with a ...2']
    """
    room = width - _columns_that_fit([column for group in groups for column in group if not column.empty])
    longest = max(map(len, names), default=0)
    if not _SHORTEST_NAME <= room < longest:
        return list(names)
    label, _ = differing_parts(names)
    short = [label[name] for name in names]
    if max(map(len, short)) <= room:
        return short
    for head in range(room - 3, 0, -1):
        tail = room - 3 - head
        cut = [name if len(name) <= room else f"{name[:head]}...{name[len(name) - tail :]}" for name in names]
        if len(set(cut)) == len(set(names)):
            return cut
    return list(names)


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


CHANGES = {
    "affine": "any invertible affine map",
    "linear": "any invertible linear map",
    "orthogonal": "rotations and reflections",
    "permutation": "reordering features",
    "scaling": "scaling all features equally",
    "translation": "shifting all rows equally",
}
"""Changes to a representation to which a number may be invariant, in words."""


def card(head: str, entries: Iterable[tuple[str, str]]) -> str:
    """Return a heading, then the title and text of each entry; entries without text are omitted.

    Examples
    --------
    >>> print(card("CKA: alignment of kernels.", [("range", "higher is closer"), ("options", "")]))
    CKA: alignment of kernels.
    <BLANKLINE>
      range         higher is closer
    """
    width = page_width()
    lines = [line for title, text in entries for line in _entry(title, text, width)]
    return "\n".join([*wrap(head, width, hanging=""), "", *lines])


def _entry(title: str, text: str, width: int) -> list[str]:
    lines = wrap(text, width, " " * 16, "")
    return [f"  {title:<13} {lines[0].strip()}", *lines[1:]] if lines else []


def range_in_words(bounds: tuple[float, float]) -> str:
    """Return the range of possible values in words.

    Examples
    --------
    >>> range_in_words((0, 1)), range_in_words((1, float("inf")))
    ('0 to 1', '1 and up')
    """
    low, high = bounds
    return f"{low:.4g} and up" if high == float("inf") else f"{low:.4g} to {high:.4g}"


def describe_invariances(names: Collection[str]) -> str:
    """Return the changes to which a number is invariant in words, in a fixed order.

    Examples
    --------
    >>> describe_invariances({"scaling", "orthogonal"}), describe_invariances(())
    ('rotations and reflections, scaling all features equally', 'nothing')
    """
    return ", ".join(words for name, words in CHANGES.items() if name in names) or "nothing"


def options_in_words(options: Mapping[str, Any]) -> str:
    """Return the options and their defaults as text; an option without a default is required.

    Examples
    --------
    >>> options_in_words({"metric": "cosine", "ids": Parameter.empty})
    "metric='cosine', ids"
    """
    return ", ".join(name if value is Parameter.empty else f"{name}={value!r}" for name, value in options.items())
