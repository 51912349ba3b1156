"""The index of the studies in a folder: three papers, main findings and how to reply, or a list of own studies."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shesha.report import markdown_table
from shesha.support.files import read_json, read_text, write_text
from shesha_studies.framework.checks import OWN_NUMBERS, STAND_IN, Check
from shesha_studies.framework.claim_files import findings, paper_details
from shesha_studies.framework.claims import NO, NOT_NEEDED, OPEN, YES, Judged
from shesha_studies.framework.fact_tables import read_facts
from shesha_studies.framework.facts import Facts
from shesha_studies.framework.paper_pages import judge_papers, main_claims, page_name, paper_page, short_number
from shesha_studies.framework.run_files import CHECKS, FACTS, FAILED_PAGE, PAGE, ROWS, SUMMARY

if TYPE_CHECKING:
    import pandas as pd

_INTRODUCTION = (
    "Three papers introduce, calibrate and compare these scores. Each has one page: what we had of it, its main "
    "claims, verbatim, with two answers each, and slips that its authors may want to correct. Models and data that are "
    "not available are replaced, and such stand-ins cannot refute a claim. We set some of the thresholds after a first "
    "look at the results. Each is in the package with its reason, next to the quotation."
)
_COUNTS = (
    "*Control passed* counts the repeated or supported claims that needed a control and passed it. *Decided against* "
    "are claims that our results contradict on the paper's own data, recipe or tables."
)
_REPLY = (
    "Authors and readers: open an issue in the repository of this library that names the paper and the claim. If an "
    "answer rests on a wrong reading or a missing model, we change the rule or run the model. A reply that we cannot "
    "follow is printed on the page of the paper, beside the claim. `shesha study run NAME` computes a study again."
)


def write_index(out: str | os.PathLike[str] = "studies") -> Path:
    """Write the index and a page for each paper, from the studies in a folder.

    Parameters
    ----------
    out : path
        Folder that contains the results.

    Returns
    -------
    Path
        Path of `index.md`.

    Raises
    ------
    ValueError
        If the folder contains no results of studies.
    """
    folder = Path(out)
    paths = sorted(folder.glob(f"*/{SUMMARY}"))
    if not paths:
        raise ValueError(
            f"out must contain pages of studies, got none in {folder}: `shesha study run NAME --out {folder}`"
        )
    summaries = [read_json(place) for place in paths]
    checks = _collect_checks(folder, [summary["name"] for summary in summaries])
    facts = _facts_in(folder)
    papers = judge_papers(facts)
    details = paper_details()
    for paper, judgements in papers.items():
        write_text(folder / page_name(paper), paper_page(details[paper], judgements, checks, folder))
    parts = _paper_summary(papers, facts) if papers else _study_list(summaries, checks)
    place = folder / "index.md"
    write_text(place, "\n\n".join([*parts, *_without_page(folder)]) + "\n")
    return place


def _collect_checks(folder: Path, names: list[str]) -> pd.DataFrame:
    import pandas as pd

    tables = [
        pd.read_csv(io.StringIO(read_text(folder / name / CHECKS)), keep_default_na=False).assign(study=name)
        for name in names
    ]
    # Files of other versions may lack a column.
    checks = pd.concat(tables, ignore_index=True).reindex(columns=[*(field.name for field in fields(Check)), "study"])
    return checks.assign(basis=checks.basis.fillna(""), transcribed=checks.transcribed.eq(True))


def _facts_in(folder: Path) -> dict[str, Facts]:
    import pandas as pd

    return {
        place.parent.name: read_facts(pd.read_csv(io.StringIO(read_text(place))))
        for place in sorted(folder.glob(f"*/{FACTS}"))
    }


def _paper_summary(papers: Mapping[str, list[Judged]], facts: Mapping[str, Facts]) -> Iterator[str]:
    yield "# Published results and ours"
    yield _INTRODUCTION
    yield markdown_table(["paper", *_GROUPS], [_line(*item) for item in papers.items()])
    yield _COUNTS
    sentences = [text.format_map(facts) for text in findings() if _known(text, facts)]
    if sentences:
        yield "## Five findings for users of these scores"
        yield "\n".join(f"{place}. {text}" for place, text in enumerate(sentences, 1))
    yield "## How to reply"
    yield _REPLY


_GROUPS = (
    *("claims", "repeated", "supported by its tables", "control passed"),
    *("inconclusive", "not on our stand-ins", "decided against"),
)


def _line(paper: str, judgements: list[Judged]) -> list[str]:
    cards = main_claims(judgements)
    shown = [one for one in cards if one.repeated == YES]
    needed = [one for one in shown if one.survives != NOT_NEEDED]
    own = sum(one.claim.on == OWN_NUMBERS for one in shown)
    against = [one for one in cards if one.repeated == NO]
    on_stand_ins = sum(one.claim.on == STAND_IN for one in against)
    counts = [
        *(len(cards), len(shown) - own, own, f"{sum(one.survives == YES for one in needed)} of {len(needed)}"),
        *(sum(one.repeated == OPEN for one in cards), on_stand_ins, len(against) - on_stand_ins),
    ]
    return [f"[{paper}]({page_name(paper)})", *(str(n or "") for n in counts)]


def _study_list(summaries: list[dict[str, Any]], checks: pd.DataFrame) -> Iterator[str]:
    """List the studies of a folder without the studies on the papers, and their published lines."""
    yield "# Studies"
    lines = [[f"[{one['name']}]({one['name']}/{PAGE})", one["question"], one["answer"]] for one in summaries]
    yield markdown_table(["study", "question", "answer"], lines)
    if len(checks):
        columns = ["where", "what", "published", "ours", "verdict", "why", "study"]
        yield "## Published numbers and claims"
        yield markdown_table(columns, checks[columns].map(short_number).to_numpy().tolist())


def _without_page(folder: Path) -> Iterator[str]:
    """Link to the studies of which there are rows, but no page of the latest rows."""
    files = {place.parent.name: place.name for place in folder.glob(f"*/{FAILED_PAGE}")}
    files |= {place.parent.name: PAGE for place in folder.glob(f"*/{ROWS}") if not (place.parent / SUMMARY).exists()}
    if files:
        links = ", ".join(f"[{name}]({name}/{file})" for name, file in sorted(files.items()))
        yield f"Without a page of the latest rows: {links}."


def _known(text: str, facts: Mapping[str, Facts]) -> bool:
    """Return whether all facts that a finding mentions are available."""
    try:
        text.format_map(facts)
    except KeyError:
        return False
    return True
