"""The appendix, which lists every published number and claim with its verdict."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shesha.report import markdown_table
from shesha.support.atomic_files import write_text
from shesha_studies.framework import check_kinds
from shesha_studies.framework.checks import (
    AGREES,
    BASES,
    DIFFERS,
    HOLDS_NOT,
    INCONCLUSIVE,
    NOT_FOUND,
    NOT_RUN,
    SAID,
    UNREACHABLE,
    VERDICTS,
)
from shesha_studies.framework.claim_files import claims
from shesha_studies.framework.study_lookup import studies
from shesha_studies.framework.tolerance import LOOSE

if TYPE_CHECKING:
    import pandas as pd

_MARKS = {AGREES: "✓", DIFFERS: "≠", HOLDS_NOT: "✗", NOT_FOUND: "✗", INCONCLUSIVE: "?", UNREACHABLE: "○", NOT_RUN: "…"}
_MEANINGS = {
    AGREES: "our number is within the joint 95 % uncertainty of the published one, or equal up to rounding; a claim "
    "is repeated and survives its control. The words in parentheses name the basis of our result. A check "
    "of *its own printed numbers* is not an experiment. *loose* marks an uncertainty that covers more than "
    "a quarter of the plausible range of the statistic",
    DIFFERS: "our number is outside the joint uncertainty; the reason is given if we found one",
    HOLDS_NOT: "a claim is not repeated, or fails its control, on the paper's own data, recipe or printed numbers",
    NOT_FOUND: "a claim is not repeated, or fails its control, on other models or data",
    INCONCLUSIVE: (
        "our interval neither supports the claim nor rules it out; likewise, a p-value above 0.05 decides nothing"
    ),
    UNREACHABLE: "the required data or weights are not available here; the reason names them",
    NOT_RUN: "this run does not contain the required cells",
}


APPENDIX, EVERY = "appendix.md", "every_number.csv"
_LISTED = (
    (HOLDS_NOT, "Claims that do not hold"),
    (NOT_FOUND, "Claims not found on stand-ins"),
    (INCONCLUSIVE, "Inconclusive claims"),
    (DIFFERS, "Where numbers differ"),
)


def write_appendix(folder: Path, summaries: list[dict[str, Any]], checks: pd.DataFrame) -> None:
    """Write the appendix, a page that links to the studies, and one file with all numbers.

    Parameters
    ----------
    folder : path
        Folder that contains the results, to which the files are written.
    summaries : list of dict
        Summaries of the studies in that folder.
    checks : DataFrame
        Checks from these studies, with the columns `study` and `counts`.
    """
    write_text(folder / EVERY, checks.to_csv(index=False, float_format="%.6g"))
    write_text(folder / APPENDIX, "\n\n".join(_parts(summaries, checks)) + "\n")


def _parts(summaries: list[dict[str, Any]], checks: pd.DataFrame) -> Iterator[str]:
    yield "# Every published number, and ours"
    yield f"Back to [the index](index.md). The file [{EVERY}]({EVERY}) contains all lines, for sorting and filtering."
    yield _verdict_counts(checks)
    yield (
        "[The studies](#the-studies) · [claims that do not hold](#claims-that-do-not-hold) · "
        "[not found on stand-ins](#claims-not-found-on-stand-ins) · [inconclusive](#inconclusive-claims) · "
        "[where numbers differ](#where-numbers-differ) · [table by table](#table-by-table) · "
        "[how claims are judged](#how-claims-are-judged)"
    )
    yield markdown_table(
        ["verdict", "what it means"], [[f"{_MARKS[name]} {name}", _MEANINGS[name]] for name in VERDICTS]
    )
    yield markdown_table(
        ["counts as", "what it means", "lines"],
        [[name, check_kinds.MEANINGS[name], f"{(checks.counts == name).sum():,}"] for name in check_kinds.KINDS],
    )
    yield from _study_tables(summaries, checks)
    results = checks[checks.counts != check_kinds.OWN]
    for verdict, title in _LISTED:
        yield f"## {title}"
        yield _table(results[results.verdict == verdict], ("where", "what", "published", "ours", "why", "study"))
    yield from _paper_tables(checks)
    yield "## How claims are judged"
    yield from _rules()


def _study_tables(summaries: list[dict[str, Any]], checks: pd.DataFrame) -> Iterator[str]:
    """List the studies on each paper, with their answers and counts of verdicts."""
    yield "## The studies"
    yield (
        (
            "For each study, the table gives the first sentence of its answer. The last column counts its published "
            "numbers and claims: "
        )
        + ", ".join(f"{mark} {SAID[name][1]}" for name, mark in _MARKS.items())
        + "."
    )
    for paper, some in _group_by_paper_kind(summaries):
        yield f"### {paper}"
        yield markdown_table(
            ["study", "question", "in a sentence", "counts"], [_line(summary, checks) for summary in some]
        )
    absent = [study.name for study in studies() if study.name not in {line["name"] for line in summaries}]
    if absent:
        yield f"Not run: {', '.join(absent)}."


def _paper_tables(checks: pd.DataFrame) -> Iterator[str]:
    """Count the verdicts for each table and section of the papers, and link to the studies."""
    yield "## Table by table"
    yield "The pages of the studies show every published number next to ours."
    for paper, paper_checks in _group_by_paper(checks):
        yield f"### {paper}, table by table"
        lines = [
            [_place(where), _links(group.study), *(str((group.verdict == name).sum() or "") for name in VERDICTS)]
            for where, group in paper_checks.groupby("where", sort=False)
        ]
        lines.sort(key=lambda line: _in_order(line[0]))
        yield markdown_table(
            ["where", "every number", *VERDICTS], [[_section_title(place), *counts] for place, *counts in lines]
        )


def _rules() -> Iterator[str]:
    """List the rules for every claim: fact, threshold and reason."""
    yield (
        "The same rules judge all claims. For *above* and *below*, the whole 95 % interval must lie on one side of "
        "the threshold. *within* is answered with yes if the interval lies between minus and plus the threshold, "
        "even if it excludes zero; otherwise with no if it excludes zero. *significant* is answered with yes if the "
        "p-value is at most the threshold; a larger p-value decides nothing. *often* requires that share of resampled "
        "tables to show the claim. A *premise* must be true before the claim can be tested. Everything else is "
        "inconclusive."
    )
    yield (
        "Several claims share a threshold. A test of level 5 % counts as valid if its rate of false positives is "
        "below 0.075 (Bradley 1978: within half of the level), because 200 to 400 runs cannot exclude smaller "
        "excesses. Where the paper shows a score of zero only in a figure, a score below 0.02 counts as zero: 2 % of "
        "an axis from 0 to 1. A score counts as high if it is closer to 1 than to its value by chance. A correlation "
        "counts as absent if it is within 0.3 of zero, below a medium correlation (Cohen 1988), unless the paper "
        "gives a threshold of its own."
    )
    lines = [
        [
            claim.paper,
            f"“{claim.quote}”",
            question,
            rule.control,
            f"`{claim.study}: {rule.fact}`",
            f"{rule.operator} {rule.threshold:g}",
            rule.reason,
        ]
        for claim in claims()
        for question, rule in (("premise", claim.premise), ("repeated?", claim.repeated), ("survives?", claim.survives))
        if rule is not None
    ]
    yield markdown_table(["paper", "claim", "question", "control", "fact", "threshold", "reason"], lines)


def _verdict_counts(checks: pd.DataFrame) -> str:
    """Return the number of results for each verdict, and on what the agreeing ones are based."""
    results = checks[checks.counts == check_kinds.RESULT]
    counts = results.verdict.value_counts()
    phrases = [f"{counts.get(name, 0):,} {SAID[name][1]}" for name in VERDICTS if counts.get(name, 0)]
    agreeing = results[results.verdict == AGREES]
    rests = agreeing.basis.value_counts()
    on = [f"{rests[name]:,} on {name}" for name in BASES if rests.get(name, 0)]
    loose = int(agreeing.why.str.startswith(LOOSE).sum())
    return (
        f"**{len(results):,} published results: {', '.join(phrases) or 'none'}.** The basis of those that agree: "
        f"{', '.join(on) or 'nothing yet'}; {loose:,} of them agree only loosely. The other "
        f"{len(checks) - len(results):,} lines are transcriptions, arithmetic, repeats and claims of our own. They "
        "are not counted here."
    )


def _group_by_paper_kind(summaries: list[dict[str, Any]]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Group the studies by paper; new studies come last."""
    names = ("Geometric Stability", "Null calibration", "ReSi")
    groups: dict[str, list[dict[str, Any]]] = {name: [] for name in (*names, "New")}
    for summary in summaries:
        groups[next((name for name in names if summary["paper"].startswith(name)), "New")].append(summary)
    yield from ((name, group) for name, group in groups.items() if group)


def _group_by_paper(checks: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    for paper, group in checks.groupby([str(where).partition(",")[0] for where in checks["where"]]):
        yield str(paper), group


def _links(names: Iterable[str]) -> str:
    return ", ".join(f"[{name}]({name}/page.md)" for name in dict.fromkeys(names))


def _place(where: object) -> str:
    """Return the table or section of a place, without the paper."""
    return str(where).partition(",")[2].strip() or "text"


def _section_title(place: str) -> str:
    """Add "Section" to a place that is only a number."""
    if not place[:1].isdigit():
        return place
    return f"Sections {place}" if " and " in place else f"Section {place}"


def _in_order(place: str) -> list[tuple[int, str]]:
    """Return a key that sorts Table 9 before Table 10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", place)]


def _line(summary: dict[str, Any], checks: pd.DataFrame) -> list[str]:
    name = summary["name"]
    counts = checks[(checks.study == name) & (checks.counts != check_kinds.OWN)].verdict.value_counts()
    return [
        f"[{name}]({name}/page.md){_part(summary)}",
        summary["question"],
        first_sentence(summary["answer"]),
        " ".join(f"{_MARKS[verdict]} {counts[verdict]}" for verdict in VERDICTS if counts.get(verdict, 0)) or "new",
    ]


def _part(summary: dict[str, Any]) -> str:
    """Return which part of the grid is finished, if the grid is not complete."""
    rows, cells, absent = (summary.get(name, 0) for name in ("rows", "cells", "unreachable"))
    if summary["grid"] == "full" and rows + absent == cells:
        return f" ({rows:,} of {cells:,} cells; data or weights of the others are not available)" if absent else ""
    return f" ({rows:,} of {cells:,} cells of the {summary['grid']} grid)"


def first_sentence(text: str) -> str:
    """Return the first sentence of a text.

    Examples
    --------
    >>> first_sentence("No: 0.5 at most, in 3.5 % of runs. What is left is small.")
    'No: 0.5 at most, in 3.5 % of runs.'
    """
    return sentences(text)[0]


def sentences(text: str) -> list[str]:
    """Split a text into sentences."""
    return re.split(r"(?<=[^ .][^ .]\.|\.\d\.) (?=[A-Z])", text)


def _table(checks: pd.DataFrame, columns: tuple[str, ...]) -> str:
    if checks.empty:
        return "None."
    rows = [[_cell(name, line) for name in columns] for _, line in checks.iterrows()]
    return markdown_table(list(columns), rows)


def _cell(column: str, line: Any) -> str:
    value = line[column]
    if column == "study":
        return _links([str(value)])
    if column in ("published", "ours"):
        return _number(str(value))
    return str(value)


def _number(text: str) -> str:
    try:
        return f"{float(text):.4g}"
    except ValueError:
        return text or "-"
