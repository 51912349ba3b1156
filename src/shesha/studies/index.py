"""The index of all studies on one screen, with papers, findings and links."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shesha.charts import pyplot
from shesha.report import markdown_table
from shesha.studies import check_kinds
from shesha.studies.appendix import APPENDIX, write_appendix
from shesha.studies.checks import AGREES, NOT_RUN, UNREACHABLE, Check
from shesha.studies.claim_files import findings
from shesha.studies.claims import Judged
from shesha.studies.fact_tables import read_facts
from shesha.studies.facts import Facts
from shesha.studies.run_files import CHECKS, FACTS, FAILED_PAGE, PAGE, ROWS, SUMMARY
from shesha.studies.scorecards import CLAIMS, GROUPS, bars, claims_page, counts, judge_papers, page_name, scorecard
from shesha.studies.tolerance import LOOSE
from shesha.support.atomic_files import replacing, write_text
from shesha.support.regular_files import read_json

if TYPE_CHECKING:
    import pandas as pd

_PICTURE = "scorecards.png"


def write_index(out: str | os.PathLike[str] = "studies") -> Path:
    """Write the index, the scorecards of the papers, and the appendix, from the studies in a folder.

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
        If the folder contains no pages of studies.
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
    for paper, judgements in papers.items():
        write_text(folder / page_name(paper), scorecard(paper, judgements))
    if papers:
        write_text(folder / CLAIMS, claims_page(papers))
        with replacing(folder / _PICTURE) as place:
            drawn = bars(papers)
            drawn.savefig(place, dpi=110, format="png")
            pyplot().close(drawn)
    write_appendix(folder, summaries, checks)
    parts = [*_parts(summaries, checks, papers, facts), *_without_page(folder)]
    place = folder / "index.md"
    write_text(place, "\n\n".join(parts) + "\n")
    return place


def _collect_checks(folder: Path, names: list[str]) -> pd.DataFrame:
    """Return the checks of all studies, with the kind of each check."""
    import pandas as pd

    tables = [pd.read_csv(folder / name / CHECKS, keep_default_na=False).assign(study=name) for name in names]
    checks = pd.concat(tables, ignore_index=True)
    # Pages of other versions may lack a column.
    checks = checks.reindex(columns=[*(field.name for field in fields(Check)), "study"])
    checks = checks.assign(basis=checks.basis.fillna(""), transcribed=checks.transcribed.eq(True))
    return checks.assign(counts=check_kinds.kinds(checks)).drop(columns="transcribed")


def _facts_in(folder: Path) -> dict[str, Facts]:
    import pandas as pd

    return {place.parent.name: read_facts(pd.read_csv(place)) for place in sorted(folder.glob(f"*/{FACTS}"))}


def _parts(
    summaries: list[dict[str, Any]],
    checks: pd.DataFrame,
    papers: Mapping[str, list[Judged]],
    facts: Mapping[str, Facts],
) -> Iterator[str]:
    yield from _paper_summary(papers) if papers else _study_list(summaries)
    sentences = [text.format_map(facts) for text, claim in findings() if _there(claim.study, text, facts)]
    if sentences:
        yield "## Five findings for users of these scores"
        yield "\n".join(f"{place}. {text}" for place, text in enumerate(sentences, 1))
    if checks.empty:
        return
    results = checks[checks.counts == check_kinds.RESULT]
    reached = results[~results.verdict.isin([UNREACHABLE, NOT_RUN])]
    agreeing = reached[reached.verdict == AGREES]
    yield "## Every number"
    yield (
        f"{len(summaries)} {'study holds' if len(summaries) == 1 else 'studies hold'} {len(results):,} published "
        f"results. We could check {len(reached):,} of them, "
        f"and {len(agreeing):,} of those agree ({agreeing.why.str.startswith(LOOSE).sum()} only loosely). "
        f"[The appendix]({APPENDIX}) leads to each result and "
        "the reason for its verdict. `shesha study run NAME` computes a study again."
    )


def _paper_summary(papers: Mapping[str, list[Judged]]) -> Iterator[str]:
    yield "# Published results and ours"
    yield (
        "Three papers introduce, calibrate and compare these scores. This page counts which of their claims we could "
        "repeat, and which of those survive a control for another explanation. Where the published models or data "
        "are not available, other models replace them. Such stand-ins cannot refute a claim. Each scorecard says what "
        "was replaced."
    )
    yield f"![Main claims of each paper, by whether they are repeated and survive their control]({_PICTURE})"
    yield markdown_table(["paper", *(name for name, _ in GROUPS)], [_line(*item) for item in papers.items()])
    yield f"[All claims in full]({CLAIMS}) reports the result of each control."


def _study_list(summaries: list[dict[str, Any]]) -> Iterator[str]:
    """List the studies of a folder without the studies on the papers."""
    yield "# Studies"
    lines = [[f"[{one['name']}]({one['name']}/page.md)", one["question"], one["answer"]] for one in summaries]
    yield markdown_table(["study", "question", "answer"], lines)


def _without_page(folder: Path) -> Iterator[str]:
    """Link to the studies of which there are rows, but no page of the latest rows."""
    files = {place.parent.name: place.name for place in folder.glob(f"*/{FAILED_PAGE}")}
    files |= {place.parent.name: PAGE for place in folder.glob(f"*/{ROWS}") if not (place.parent / SUMMARY).exists()}
    if files:
        links = ", ".join(f"[{name}]({name}/{file})" for name, file in sorted(files.items()))
        yield f"Without a page of the latest rows: {links}."


def _line(paper: str, judgements: list[Judged]) -> list[str]:
    return [f"[{paper}]({page_name(paper)})", *(str(n or "") for n in counts(judgements))]


def _there(study: str, text: str, facts: Mapping[str, Facts]) -> bool:
    """Return whether all facts that a finding mentions are available."""
    try:
        text.format_map(facts)
    except KeyError:
        return False
    return study in facts
