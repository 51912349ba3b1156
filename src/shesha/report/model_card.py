"""Reports as model cards in Markdown: a header with numbers, the answer, and possible problems."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import isfinite

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


@dataclass(frozen=True)
class Metric:
    """One number about one model, for the header of a card."""

    model: str
    name: str
    value: float
    low: float = float("nan")
    high: float = float("nan")
    chance: float = float("nan")
    """Chance level: the mean of the null distribution."""
    threshold: float = float("nan")
    """Chance threshold: the critical value of the null distribution."""
    p_value: float = float("nan")


def as_card(page: Page, metrics: Sequence[Metric], data: str) -> str:
    """Return Markdown with the YAML header (`model-index`) that model hubs read.

    The texts in the header are written as JSON strings, which are valid YAML, so that a name cannot change the
    structure.

    Parameters
    ----------
    page : Page
        The contents of the card.
    metrics : sequence of Metric
        Numbers for the header. Numbers that are not finite are omitted.
    data : str
        Name of the data from which the representations were computed.

    Examples
    --------
    >>> page = Page("Audit", "Is it stable?", ("Yes.",))
    >>> print(as_card(page, [Metric("layer: 3", "feature-split stability", 0.7, p_value=0.005)], "reviews.csv"))
    ---
    library_name: "shesha"
    tags: ["representation-geometry"]
    model-index:
    - name: "layer: 3"
      results:
      - task: {"type": "feature-extraction"}
        dataset: {"name": "reviews.csv", "type": "custom"}
        metrics:
        - {"type": "feature-split stability", "value": 0.7, "args": {"p_value": 0.005}}
    ---
    <BLANKLINE>
    # Audit
    <BLANKLINE>
    Is it stable?
    <BLANKLINE>
    **Yes.**
    <BLANKLINE>
    """
    return "\n".join([*_head(metrics, data), "", as_markdown(page)])


def as_markdown(page: Page) -> str:
    """Return the answer, the main numbers and possible problems of a page as Markdown."""
    return "\n\n".join(_body(page)) + "\n"


def _head(metrics: Sequence[Metric], data: str) -> Iterator[str]:
    yield "---"
    yield 'library_name: "shesha"'
    yield 'tags: ["representation-geometry"]'
    known = [metric for metric in metrics if isfinite(metric.value)]
    if known:
        yield "model-index:"
    for model in dict.fromkeys(metric.model for metric in known):
        yield f"- name: {json.dumps(model)}"
        yield "  results:"
        yield '  - task: {"type": "feature-extraction"}'
        yield f"    dataset: {json.dumps({'name': data, 'type': 'custom'})}"
        yield "    metrics:"
        yield from (f"    - {_metric(metric)}" for metric in known if metric.model == model)
    yield "---"


def _metric(metric: Metric) -> str:
    numbers = {name: getattr(metric, name) for name in ("low", "high", "chance", "threshold", "p_value")}
    args = {name: _six(value) for name, value in numbers.items() if isfinite(value)}
    return json.dumps({"type": metric.name, "value": _six(metric.value), **({"args": args} if args else {})})


def _six(value: float) -> float:
    """Round to six significant digits, because a drift and its threshold may be as small as a millionth."""
    return float(f"{value:.6g}")


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
