"""Markdown tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def markdown_table(head: Sequence[object], rows: Iterable[Sequence[object]], *, numbers: int = 0) -> str:
    r"""Return a Markdown table, without a final line break.

    Parameters
    ----------
    head : sequence
        The names of the columns.
    rows : iterable of sequences
        The rows, with one cell per column; cells are converted by `str`.
    numbers : int
        Number of columns, counted from the last one, that contain numbers; these are aligned right.

    Raises
    ------
    ValueError
        If a row has more or fewer cells than the header.

    Examples
    --------
    >>> print(markdown_table(["measure", "value"], [["CKA", 0.5], ["a|b", 1]], numbers=1))
    | measure | value |
    | --- | ---: |
    | CKA | 0.5 |
    | a\|b | 1 |
    """
    head = list(head)
    lines = [markdown_line(head), markdown_line(["---"] * (len(head) - numbers) + ["---:"] * numbers)]
    for row in rows:
        if len(row) != len(head):
            raise ValueError(f"rows must have {len(head)} cells, like the header, got {len(row)}")
        lines.append(markdown_line(row))
    return "\n".join(lines)


def markdown_line(cells: Iterable[object]) -> str:
    r"""Return one line of a table, for tables that are printed line by line.

    Examples
    --------
    >>> markdown_line(["CKA", "", 0.5])
    '| CKA | | 0.5 |'
    """
    return "|" + "".join(f" {text} |" if (text := _cell(cell)) else " |" for cell in cells)


def _cell(value: object) -> str:
    """Escape a cell, because a bar would end the cell and a line break would end the table."""
    return re.sub(r"(?<!\\)\|", r"\\|", " ".join(str(value).splitlines()))
