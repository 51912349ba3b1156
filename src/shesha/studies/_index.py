"""The index of all studies: every published number and claim with its verdict, at a glance."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shesha._atomic import write_text
from shesha.report import markdown_table
from shesha.studies._checks import AGREES, DIFFERS, HOLDS_NOT, NOT_RUN, UNREACHABLE, VERDICTS
from shesha.studies._registry import studies
from shesha.studies._writing import CHECKS, SUMMARY

if TYPE_CHECKING:
    import pandas as pd

_MARKS = {AGREES: "✓", DIFFERS: "≠", HOLDS_NOT: "✗", UNREACHABLE: "○", NOT_RUN: "…"}
_SAID = {
    AGREES: "agree",
    DIFFERS: "differ",
    HOLDS_NOT: "do not hold",
    UNREACHABLE: "are not reachable here",
    NOT_RUN: "were not run",
}
_MEANINGS = {
    AGREES: "within three standard errors of both, or up to rounding; a claim that holds",
    DIFFERS: "more than that, with the reason found",
    HOLDS_NOT: "a claim that a control takes away, even where its numbers are found again",
    UNREACHABLE: "data or weights are not to be had here; said which",
    NOT_RUN: "the cell is not in the rows at hand",
}


def write_index(out: str | os.PathLike[str] = "studies") -> Path:
    """Write what holds at a glance, and a page of every number for each paper, from the studies in a folder.

    Parameters
    ----------
    out : path
        Folder of the results.

    Returns
    -------
    Path
        Of `index.md`.

    Raises
    ------
    ValueError
        If the folder holds no page.
    """
    folder = Path(out)
    found = sorted(folder.glob(f"*/{SUMMARY}"))
    if not found:
        raise ValueError(
            f"out must hold pages of studies, got none in {folder}: `shesha study run NAME --out {folder}`"
        )
    summaries = [json.loads(place.read_text(encoding="utf-8")) for place in found]
    checks = _gathered(folder, [one["name"] for one in summaries])
    for paper, own in _by_paper(checks):
        write_text(folder / _page_of(paper), _numbers(paper, own))
    place = folder / "index.md"
    write_text(place, "\n\n".join(_parts(summaries, checks)) + "\n")
    return place


def _gathered(folder: Path, names: list[str]) -> pd.DataFrame:
    import pandas as pd

    tables = [pd.read_csv(folder / name / CHECKS, keep_default_na=False).assign(study=name) for name in names]
    return pd.concat(tables, ignore_index=True)


def _parts(summaries: list[dict[str, Any]], checks: pd.DataFrame) -> Iterator[str]:
    yield "# Every published number, and ours"
    counts = checks.verdict.value_counts()
    told = [f"{counts.get(name, 0):,} {_SAID[name]}" for name in VERDICTS if counts.get(name, 0)]
    yield (
        f"**{len(checks):,} published numbers and claims: {', '.join(told)}.** Any of them is computed again by "
        "`shesha study run NAME`."
    )
    meanings = [[f"{_MARKS[name]} {name}", _MEANINGS[name]] for name in VERDICTS]
    yield markdown_table(["verdict", "what it means"], meanings)
    yield "## The studies"
    yield markdown_table(["study", "question", "answer", *VERDICTS], [_line(one, checks) for one in summaries])
    absent = [one.name for one in studies() if one.name not in {line["name"] for line in summaries}]
    if absent:
        yield f"Not run: {', '.join(absent)}."
    yield "## Claims that do not hold"
    yield _table(checks[checks.verdict == HOLDS_NOT], ("where", "what", "published", "ours", "why", "study"))
    yield "## Where numbers differ"
    yield _table(checks[checks.verdict == DIFFERS], ("where", "what", "published", "ours", "why", "study"))
    yield "## Table by table"
    for paper, own in _by_paper(checks):
        yield f"### {paper}"
        yield f"[Every number]({_page_of(paper)})"
        lines = [
            [_place(where), *(str((found.verdict == name).sum() or "") for name in VERDICTS)]
            for where, found in own.groupby("where", sort=False)
        ]
        lines.sort(key=lambda line: _in_order(line[0]))
        yield markdown_table(["where", *VERDICTS], lines)


def _by_paper(checks: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    for paper, own in checks.groupby(checks["where"].str.partition(",")[0]):
        yield str(paper), own


def _page_of(paper: str) -> str:
    return "numbers_" + re.sub(r"[^a-z]+", "_", paper.casefold()).strip("_") + ".md"


def _place(where: object) -> str:
    """Return table or section, without the paper."""
    return str(where).partition(",")[2].strip() or "text"


def _in_order(place: str) -> list[tuple[int, str]]:
    """Sort Table 9 before Table 10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", place)]


def _numbers(paper: str, checks: pd.DataFrame) -> str:
    """Return the page of every number of a paper, table by table."""
    parts = [f"# {paper}: every number", "Back to [the index](index.md)."]
    found = {_place(where): own for where, own in checks.groupby("where", sort=False)}
    for place in sorted(found, key=_in_order):
        parts += [f"## {place}", _table(found[place], ("what", "published", "ours", "verdict", "why", "study"))]
    return "\n\n".join(parts) + "\n"


def _line(summary: dict[str, Any], checks: pd.DataFrame) -> list[str]:
    name = summary["name"]
    counts = checks[checks.study == name].verdict.value_counts()
    of = (
        ""
        if summary["rows"] == summary["cells"] and summary["grid"] == "full"
        else (f" ({summary['rows']} of {summary['cells']} cells of the {summary['grid']} grid)")
    )
    return [
        f"[{name}]({name}/page.md){of}",
        summary["question"],
        summary["answer"],
        *(str(counts.get(verdict, 0)) for verdict in VERDICTS),
    ]


def _table(checks: pd.DataFrame, columns: tuple[str, ...]) -> str:
    if checks.empty:
        return "None."
    rows = [[_cell(name, line[name]) for name in columns] for _, line in checks.iterrows()]
    return markdown_table(list(columns), rows)


def _cell(column: str, value: Any) -> str:
    if column == "verdict":
        return f"{_MARKS[value]} {value}"
    if column == "study":
        return f"[{value}]({value}/page.md)"
    if column in ("published", "ours"):
        return _number(str(value))
    return str(value)


def _number(text: str) -> str:
    try:
        return f"{float(text):.4g}"
    except ValueError:
        return text or "-"
