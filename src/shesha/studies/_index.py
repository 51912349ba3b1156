"""The index of all studies: every published number and claim with its verdict, at a glance."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shesha.report import markdown_table
from shesha.studies._checks import (
    AGREES,
    DIFFERS,
    HOLDS_NOT,
    INCONCLUSIVE,
    LOOSE,
    NOT_FOUND,
    NOT_RUN,
    OWN_NUMBERS,
    SAID,
    STAND_IN,
    UNREACHABLE,
    VERDICTS,
)
from shesha.studies._main_claims import decided
from shesha.studies._registry import studies
from shesha.studies.writing import CHECKS, SUMMARY
from shesha.support.atomic_files import write_text

if TYPE_CHECKING:
    import pandas as pd

_MARKS = {AGREES: "✓", DIFFERS: "≠", HOLDS_NOT: "✗", NOT_FOUND: "✗", INCONCLUSIVE: "?", UNREACHABLE: "○", NOT_RUN: "…"}
_MEANINGS = {
    AGREES: "within three standard errors of both, or up to rounding; a claim that holds. Found again by the paper's "
    "recipe or on its data unless it says: *stand-ins*, other models or data in place of the published ones; *the "
    "paper's own numbers*, arithmetic on what the paper prints, no experiment; *loose*, within errors of more than "
    "half of the number",
    DIFFERS: "more than that, with the reason found",
    HOLDS_NOT: "a claim that a control takes away, on the paper's data, by its recipe or by its own numbers",
    NOT_FOUND: "a claim that other models or data do not show, or that a control takes away there",
    INCONCLUSIVE: "our interval neither supports the claim nor rules it out: a p-value above 0.05 decides nothing",
    UNREACHABLE: "data or weights are not to be had here; said which",
    NOT_RUN: "the cell is not in the rows at hand",
}


_LISTED = (
    (HOLDS_NOT, "Claims that do not hold"),
    (NOT_FOUND, "Claims not found on stand-ins"),
    (INCONCLUSIVE, "Inconclusive claims"),
    (DIFFERS, "Where numbers differ"),
)


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
    found = pd.concat(tables, ignore_index=True)
    return found.assign(basis=found.basis.fillna("") if "basis" in found else "")


def _parts(summaries: list[dict[str, Any]], checks: pd.DataFrame) -> Iterator[str]:
    yield "# Every published number, and ours"
    yield _counted(checks)
    yield (
        "[The main claims](#the-papers-main-claims-what-survives) · [the studies](#the-studies) · "
        "[claims that do not hold](#claims-that-do-not-hold) · "
        "[not found on stand-ins](#claims-not-found-on-stand-ins) · [inconclusive](#inconclusive-claims) · "
        "[where numbers differ](#where-numbers-differ) · [table by table](#table-by-table)"
    )
    yield markdown_table(
        ["verdict", "what it means"], [[f"{_MARKS[name]} {name}", _MEANINGS[name]] for name in VERDICTS]
    )
    yield "## The papers' main claims: what survives"
    yield from _main(checks)
    yield "## The studies"
    yield (
        "What each found, in a sentence (its page has the rest), and how many of its published numbers and claims "
        + ", ".join(f"{mark} {SAID[name][1]}" for name, mark in _MARKS.items())
        + "."
    )
    for paper, some in _by_kind(summaries):
        yield f"### {paper}"
        yield markdown_table(["study", "question", "in a sentence", "counts"], [_line(one, checks) for one in some])
    absent = [one.name for one in studies() if one.name not in {line["name"] for line in summaries}]
    if absent:
        yield f"Not run: {', '.join(absent)}."
    for verdict, title in _LISTED:
        yield f"## {title}"
        yield _table(checks[checks.verdict == verdict], ("where", "what", "published", "ours", "why", "study"))
    yield "## Table by table"
    for paper, own in _by_paper(checks):
        yield f"### {paper}, table by table"
        yield f"[Every number]({_page_of(paper)})"
        lines = [
            [_place(where), *(str((found.verdict == name).sum() or "") for name in VERDICTS)]
            for where, found in own.groupby("where", sort=False)
        ]
        lines.sort(key=lambda line: _in_order(line[0]))
        yield markdown_table(["where", *VERDICTS], [[_headed(place), *counts] for place, *counts in lines])


def _counted(checks: pd.DataFrame) -> str:
    """Say how many there are of each verdict, and what those that agree rest on."""
    counts = checks.verdict.value_counts()
    told = [f"{counts.get(name, 0):,} {SAID[name][1]}" for name in VERDICTS if counts.get(name, 0)]
    agreeing = checks[checks.verdict == AGREES]
    rests = agreeing.basis.value_counts()
    own, others = (int(rests.get(name, 0)) for name in (OWN_NUMBERS, STAND_IN))
    loose = int(agreeing.why.str.startswith(LOOSE).sum())
    return (
        f"**{len(checks):,} published numbers and claims: {', '.join(told)}.** Of those that agree, "
        f"{len(agreeing) - own - others:,} are found again by the paper's recipe or on its data, {others:,} on other "
        f"models or data that stand in for the published ones, and {own:,} follow from other numbers that the paper "
        f"prints, without an experiment; {loose:,} agree loosely, within errors of more than half of the number. "
        "Any of them is computed again by `shesha study run NAME`."
    )


def _main(checks: pd.DataFrame) -> Iterator[str]:
    """One line per main claim, paper by paper, with the number that decides."""
    found = list(decided(checks))
    for paper in dict.fromkeys(claim.paper for claim, _ in found):
        lines = [
            [claim.claim, _verdict(line), *_because(line), f"[{claim.study}]({claim.study}/page.md)"]
            for claim, line in found
            if claim.paper == paper
        ]
        yield f"**{paper}**"
        yield markdown_table(["the paper says", "here", "found", "why", "study"], lines)


def _because(line: Any) -> tuple[str, str]:
    """What was found, and why that decides; a bare number says of what."""
    ours = _number(str(line.ours))
    bare = ours != str(line.ours) or ours.replace(".", "").lstrip("+-").isdigit()
    return f"{line.what}: {ours} (published: {_number(str(line.published))})" if bare else ours, str(line.why)


def _verdict(line: Any) -> str:
    """Mark, word, and what it rests on."""
    rests = f" ({line.basis})" if line.basis and line.verdict != NOT_FOUND else ""
    return f"{_MARKS[line.verdict]} {line.verdict}{rests}"


def _by_kind(summaries: list[dict[str, Any]]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Group the studies by the paper that they are of; what is new comes last."""
    names = ("Geometric Stability", "Null calibration", "ReSi")
    groups: dict[str, list[dict[str, Any]]] = {name: [] for name in (*names, "New")}
    for one in summaries:
        groups[next((name for name in names if one["paper"].startswith(name)), "New")].append(one)
    yield from ((name, own) for name, own in groups.items() if own)


def _by_paper(checks: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    for paper, own in checks.groupby(checks["where"].str.partition(",")[0]):
        yield str(paper), own


def _page_of(paper: str) -> str:
    return "numbers_" + re.sub(r"[^a-z]+", "_", paper.casefold()).strip("_") + ".md"


def _place(where: object) -> str:
    """Return table or section, without the paper."""
    return str(where).partition(",")[2].strip() or "text"


def _headed(place: str) -> str:
    """Say that a bare number is a section's."""
    if not place[:1].isdigit():
        return place
    return f"Sections {place}" if " and " in place else f"Section {place}"


def _in_order(place: str) -> list[tuple[int, str]]:
    """Sort Table 9 before Table 10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", place)]


def _numbers(paper: str, checks: pd.DataFrame) -> str:
    """Return the page of every number of a paper, table by table."""
    parts = [f"# {paper}: every number", "Back to [the index](index.md)."]
    found = {_place(where): own for where, own in checks.groupby("where", sort=False)}
    columns = ("what", "published", "ours", "verdict", "why", "study")
    for place in sorted(found, key=_in_order):
        parts += [f"## {_headed(place)}", _table(found[place], columns)]
    return "\n\n".join(parts) + "\n"


def _line(summary: dict[str, Any], checks: pd.DataFrame) -> list[str]:
    name = summary["name"]
    counts = checks[checks.study == name].verdict.value_counts()
    return [
        f"[{name}]({name}/page.md){_part(summary)}",
        summary["question"],
        first_sentence(summary["answer"]),
        " ".join(f"{_MARKS[one]} {counts[one]}" for one in VERDICTS if counts.get(one, 0)) or "new",
    ]


def _part(summary: dict[str, Any]) -> str:
    """Say how much of the grid is there, if not all of the full one."""
    rows, cells, absent = (summary.get(name, 0) for name in ("rows", "cells", "unreachable"))
    if summary["grid"] == "full" and rows + absent == cells:
        return f" (all {rows:,} cells whose data or weights are at hand, of {cells:,})" if absent else ""
    return f" ({rows:,} of {cells:,} cells of the {summary['grid']} grid)"


def first_sentence(text: str) -> str:
    """Return what stands before the first full stop that a capital follows.

    Examples
    --------
    >>> first_sentence("No: 0.5 at most, in 3.5 % of runs. What is left is small.")
    'No: 0.5 at most, in 3.5 % of runs.'
    """
    return re.split(r"(?<=[^ .][^ .]\.) (?=[A-Z])", text, maxsplit=1)[0]


def _table(checks: pd.DataFrame, columns: tuple[str, ...]) -> str:
    if checks.empty:
        return "None."
    rows = [[_cell(name, line) for name in columns] for _, line in checks.iterrows()]
    return markdown_table(list(columns), rows)


def _cell(column: str, line: Any) -> str:
    value = line[column]
    if column == "verdict":
        return _verdict(line)
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
