"""The index of all studies: every published number and claim with its verdict, at a glance."""

from __future__ import annotations

import json
import os
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
_MEANINGS = {
    AGREES: "within three standard errors of both, or up to rounding; a claim that holds",
    DIFFERS: "more than that, with the reason found",
    HOLDS_NOT: "a claim that a control takes away, even where its numbers are found again",
    UNREACHABLE: "data or weights are not to be had here; said which",
    NOT_RUN: "the cell is not in the rows at hand",
}


def write_index(out: str | os.PathLike[str] = "studies") -> Path:
    """Write one page of all published numbers beside ours, from the studies whose pages are in a folder.

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
    yield (
        f"**{len(checks):,} published numbers and claims: "
        + ", ".join(
            f"{counts.get(name, 0):,} {'agree' if name == AGREES else 'differ' if name == DIFFERS else name}"
            for name in VERDICTS
        )
        + ".** Any of them is computed again by `shesha study run NAME`."
    )
    yield markdown_table(
        ["verdict", "what it means"], [[f"{_MARKS[name]} {name}", _MEANINGS[name]] for name in VERDICTS]
    )
    yield "## Claims that do not hold"
    yield _table(checks[checks.verdict == HOLDS_NOT], ("where", "what", "published", "ours", "why", "study"))
    yield "## The studies"
    yield markdown_table(["study", "question", "answer", *VERDICTS], [_line(one, checks) for one in summaries])
    absent = [one.name for one in studies() if one.name not in {line["name"] for line in summaries}]
    if absent:
        yield f"Not run: {', '.join(absent)}."
    yield "## Where numbers differ"
    yield _table(checks[checks.verdict == DIFFERS], ("where", "what", "published", "ours", "why", "study"))
    yield "## All"
    for paper, own in checks.groupby(checks["where"].str.partition(",")[0], sort=False):
        yield f"### {paper}"
        yield _table(own, ("where", "what", "published", "ours", "verdict", "study"))


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
