"""One page per paper: what was available, the main claims with their verdicts, tables, and errata for the authors."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from shesha.report import markdown_table
from shesha_studies.framework.checks import AGREES, DIFFERS, INCONCLUSIVE, OWN_NUMBERS, STAND_IN
from shesha_studies.framework.claim_files import Paper, claims
from shesha_studies.framework.claims import NO, NOT_NEEDED, OPEN, YES, Judged, judge
from shesha_studies.framework.counted_cells import cells_of_tables
from shesha_studies.framework.facts import Facts
from shesha_studies.framework.run_files import PAGE

if TYPE_CHECKING:
    import pandas as pd

MARKS = {YES: "✓", NO: "✗", OPEN: "?"}
SUPPORTED, NOT_ON_STAND_INS = "its tables support it", "not on our stand-ins"
_READING = (
    "*Repeated?* asks whether our results show what the quotation says. If only the paper's own tables were read, "
    "nothing was repeated, and the answer says so. *Control?* asks whether the finding remains after another "
    "explanation is excluded. An answer is yes or no only if the whole 95 % interval lies on one side of the "
    "threshold; otherwise it is inconclusive. Results on other models or data cannot refute a claim."
)


def judge_papers(facts: Mapping[str, Facts]) -> dict[str, list[Judged]]:
    """Judge the claims of every paper for which studies are finished, by the facts that they found."""
    papers: dict[str, list[Judged]] = {}
    for claim in claims():
        if claim.study in facts:
            papers.setdefault(claim.paper, []).append(judge(claim, facts[claim.study]))
    return papers


def page_name(paper: str) -> str:
    """Return the file name of a paper's page."""
    return re.sub(r"[^a-z]+", "_", paper.casefold()).strip("_") + ".md"


def main_claims(judged: Sequence[Judged]) -> list[Judged]:
    """Return the claims that are listed on the page of their paper."""
    return [one for one in judged if one.claim.card]


def paper_page(paper: Paper, judged: Sequence[Judged], checks: pd.DataFrame, folder: Path) -> str:
    """Return the page of a paper.

    Parameters
    ----------
    paper : Paper
        The paper and what we had of it.
    judged : sequence of Judged
        All claims of the paper with their answers.
    checks : DataFrame
        Checks of all studies.
    folder : path
        Folder with the results, in which pages of studies are looked up.
    """
    lines = [_claim_line(one, folder) for one in main_claims(judged)]
    errata = [text for text in (_erratum(entry, checks) for entry in paper.errata) if text]
    parts = [
        f"# {paper.name}",
        f"{paper.authors}: *{paper.title}*. {paper.version}. [{paper.link}]({paper.link})",
        f"**Limits.** {paper.limits}",
        f"**Replaced.** {paper.replaced}",
        _READING,
        markdown_table(["the paper says", "repeated?", "control?", "on", "what we found"], lines),
        _tables(paper.name, checks),
    ]
    if errata:
        parts += ["## For the authors: what may be slips", "\n".join(f"- {text}" for text in errata)]
    parts.append("[How to reply](index.md#how-to-reply), and [the index](index.md).")
    return "\n\n".join(filter(None, parts)) + "\n"


def _claim_line(one: Judged, folder: Path) -> list[str]:
    claim = one.claim
    control = f" ({claim.survives.control})" if claim.survives is not None and claim.survives.control else ""
    conceded = f"; the authors say so ({claim.conceded})" if claim.conceded else ""
    page = folder / claim.study / PAGE
    return [
        f"“{claim.quote}” ({claim.where})",
        repeated_words(one),
        _words(one.survives, claim.on) + (control if one.survives in MARKS else "") + conceded,
        f"[{claim.on}]({claim.study}/{PAGE})" if page.exists() else f"{claim.on} (`{claim.study}`)",
        one.sentence,
    ]


def repeated_words(one: Judged) -> str:
    """Return the answer to "repeated?" with its mark."""
    if one.claim.on == OWN_NUMBERS and one.repeated == YES:
        return f"{MARKS[YES]} {SUPPORTED}"
    return _words(one.repeated, one.claim.on)


def _words(answer: str, basis: str) -> str:
    """Return an answer with its mark; other models cannot refute a claim, whichever question is asked."""
    if answer == NOT_NEEDED:
        return "none needed"
    if answer == NO and basis == STAND_IN:
        return f"{MARKS[NO]} {NOT_ON_STAND_INS}"
    return f"{MARKS[answer]} {answer}" if answer in MARKS else answer


def _tables(paper: str, checks: pd.DataFrame) -> str:
    """Return how many cells of which tables have values of ours, and which tables have none."""
    cells = cells_of_tables(checks[checks["where"].astype(str).str.startswith(paper)])
    if cells.empty:
        return ""
    compared = cells[cells.compared]
    if compared.empty:
        return f"**Tables.** None of its {cells.table.nunique()} tables of numbers has a cell with a value of ours."
    verdicts = compared.verdict.value_counts()
    without = set(cells.table) - set(compared.table)
    text = (
        f"**Tables.** {cells.table.nunique()} of its tables hold numbers. {compared.table.nunique()} have cells that "
        f"we could compare with a value of ours. Of {len(compared):,} cells, {verdicts.get(AGREES, 0):,} agree within "
        f"the joint 95 % uncertainty, {verdicts.get(DIFFERS, 0):,} differ and {verdicts.get(INCONCLUSIVE, 0):,} are "
        "undecided. Labels, parameters, sums, ranks and repeats are not counted. `checks.csv` in the folder of each "
        "study has the cells and the reasons."
    )
    return text + (f" No cell was compared in {_ranges(without)}." if without else "")


def _ranges(tables: Iterable[str]) -> str:
    """Return the names of tables with ranges of numbers, such as "Tables 3 to 5, 8; journal Table 2"."""
    kinds: dict[str, list[int]] = {}
    for table in tables:
        kind, _, number = table.rpartition(" ")
        kinds.setdefault(kind, []).append(int(number))
    return "; ".join(f"{kind}s {_joined(sorted(numbers))}" for kind, numbers in sorted(kinds.items()))


def _joined(numbers: list[int]) -> str:
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs)


def _erratum(entry: Mapping[str, str], checks: pd.DataFrame) -> str:
    """Return a line of the errata from the check that found it, with its numbers."""
    found = checks[(checks.study == entry["study"]) & (checks.what == entry["what"])]
    found = found[found["where"].astype(str).str.contains(entry.get("where", ""), regex=False)]
    if found.empty:
        return ""
    line = found.iloc[0]
    place = str(line["where"]).partition(", ")[2]
    return entry["text"].format(
        place=place, published=short_number(line.published), ours=short_number(line.ours), why=line.why
    )


def short_number(value: object) -> str:
    """Return a number with four digits, and other text as it is."""
    try:
        return f"{float(str(value)):.4g}"
    except ValueError:
        return str(value)
