"""Tables and reports as Markdown: the answer, the main numbers and possible problems."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from shesha.report.sections import Item, Page, Part, Point, Table, Text


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


def as_markdown(page: Page) -> str:
    """Return the answer, the main numbers and possible problems of a page as Markdown."""
    return "\n\n".join(_body(page)) + "\n"


def _body(page: Page) -> Iterator[str]:
    yield f"# {_plain(page.title)}"
    yield _plain(page.question)
    if page.answer:
        first, *rest = map(_plain, page.answer)
        yield " ".join([f"**{first}**", *rest])
    for title, parts in (("The numbers", page.numbers), ("Possible problems", page.doubts)):
        shown = [text for part in parts for text in _part(part)]
        if shown:
            yield f"## {title}"
            yield from shown
    if page.ran:
        yield "## What was run"
        yield markdown_table(["", ""], [[_plain(name), _plain(value)] for name, value in page.ran])


def _part(part: Part) -> Iterator[str]:
    if isinstance(part, Text):
        yield _plain(part.text)
    elif isinstance(part, Item):
        yield f"- {_plain(part.text)}"
    elif isinstance(part, Point):
        yield f"- **{_plain(part.name)}** ({_plain(part.evidence)}): {_plain(part.text)} {_plain(part.advice)}"
    elif isinstance(part, Table):
        columns = part.columns
        cells = zip(part.names, *(column.cells for column in columns), strict=True)
        yield markdown_table(
            [part.head, *(column.head for column in columns)], [list(map(_plain, row)) for row in cells]
        )


def _plain(text: str) -> str:
    """Escape a name, so that it is not read as a tag, a link or emphasis."""
    for sign, safe in (
        ("\\", "\\\\"),
        ("&", "&amp;"),
        ("<", "&lt;"),
        (">", "&gt;"),
        ("[", "\\["),
        ("`", "\\`"),
        ("*", "\\*"),
    ):
        text = text.replace(sign, safe)
    return " ".join(text.split())
