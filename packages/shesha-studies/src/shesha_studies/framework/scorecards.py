"""Scorecards: one screen per paper with its main claims and verdicts, and a page with all claims."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from shesha.charts import PALETTE
from shesha.report import markdown_table
from shesha_studies.framework.appendix import first_sentence, sentences
from shesha_studies.framework.checks import NOT_FOUND, STAND_IN
from shesha_studies.framework.claim_files import claims, limits
from shesha_studies.framework.claims import NO, NOT_NEEDED, OPEN, YES, Judged, fact_names, judge
from shesha_studies.framework.facts import Facts
from shesha_studies.framework.pictures import figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CLAIMS = "claims.md"
_RULES = "appendix.md#how-claims-are-judged"
_MARKS = {YES: "✓", NO: "✗", OPEN: "?"}
GROUPS: tuple[tuple[str, Callable[[Judged], bool]], ...] = (
    ("repeated, survives", lambda one: one.repeated == YES and one.survives in (YES, NOT_NEEDED)),
    ("repeated, control inconclusive", lambda one: one.repeated == YES and one.survives == OPEN),
    ("fails the control", lambda one: one.repeated in (YES, OPEN) and one.survives == NO),
    ("inconclusive", lambda one: one.repeated == OPEN and one.survives != NO),
    ("not repeated", lambda one: one.repeated == NO),
    ("not possible here", lambda one: one.repeated not in _MARKS),
)
"""Groups of the claims on a scorecard, best first; every claim is in exactly one group."""


def judge_papers(facts: Mapping[str, Facts]) -> dict[str, list[Judged]]:
    """Judge the claims of every paper for which studies are finished, by the facts that they found."""
    papers: dict[str, list[Judged]] = {}
    for claim in claims():
        if claim.study in facts:
            papers.setdefault(claim.paper, []).append(judge(claim, facts[claim.study]))
    return papers


def page_name(paper: str) -> str:
    """Return the file name of a paper's scorecard."""
    return "scorecard_" + re.sub(r"[^a-z]+", "_", paper.casefold()).strip("_") + ".md"


def scorecard(paper: str, found: list[Judged]) -> str:
    """Return the scorecard of a paper: limits first, then the main claims with one sentence each."""
    parts = (
        f"# {paper}: scorecard",
        limits()[paper],
        _brief_table([judgement for judgement in found if judgement.claim.card]),
        f"See also [all claims in full]({CLAIMS}) with the result of each control, [how claims are "
        f"judged]({_RULES}), and [the index](index.md).",
    )
    return "\n\n".join(parts) + "\n"


def claims_page(papers: Mapping[str, list[Judged]]) -> str:
    """Return the page with all claims, paper by paper, and everything that we found."""
    parts = [
        "# All claims in full",
        "Quotations are verbatim. *Repeated?* asks whether our results show what the paper claims. *Survives the "
        "control?* asks whether they still do after a control excludes another explanation. An answer is yes or no "
        f"only if the whole interval lies on one side of a [threshold]({_RULES}); otherwise it is inconclusive. Back "
        "to [the index](index.md).",
    ]
    for paper, judgements in papers.items():
        parts += [f"## {paper}", f"For the main claims on one screen, see the [scorecard]({page_name(paper)})."]
        parts += [_full_table([judgement for judgement in judgements if judgement.claim.card])]
        if others := [judgement for judgement in judgements if not judgement.claim.card]:
            parts += [f"### {paper}, other claims", _full_table(others)]
    return "\n\n".join(parts) + "\n"


def _brief_table(judgements: list[Judged]) -> str:
    columns = ["the paper says", "repeated?", "survives the control?", "tested on", "what we found"]
    return markdown_table(columns, [_brief_line(judgement) for judgement in judgements])


def _brief_line(judgement: Judged) -> list[str]:
    return [*_answers(judgement), _study(judgement, judgement.claim.on), _brief(judgement)]


def _full_table(judgements: list[Judged]) -> str:
    columns = ["the paper says", "repeated?", "survives the control?", "tested on", "what we found", "study"]
    return markdown_table(columns, [_line(judgement) for judgement in judgements])


def _line(judgement: Judged) -> list[str]:
    return [*_answers(judgement), judgement.claim.on, judgement.sentence, _study(judgement, judgement.claim.study)]


def _answers(judgement: Judged) -> list[str]:
    """Return the quotation and the two answers."""
    claim = judgement.claim
    control = f": {claim.survives.control}" if claim.survives is not None and claim.survives.control else ""
    repeated = _answer(judgement.repeated)
    if judgement.repeated == NO and claim.on == STAND_IN:
        # Other models cannot refute a claim.
        repeated = f"{_MARKS[NO]} {NOT_FOUND}"
    return [f"“{claim.quote}” ({claim.where})", repeated, _answer(judgement.survives) + control]


def _study(judgement: Judged, words: str) -> str:
    return f"[{words}]({judgement.claim.study}/page.md)"


def _brief(judgement: Judged) -> str:
    """Return the finding up to the number that decides whether the claim is repeated."""
    rule, parts, template = judgement.claim.repeated, sentences(judgement.found), sentences(judgement.claim.found)
    if rule is None or len(parts) != len(template):
        return first_sentence(judgement.sentence)
    deciding = [place for place, source in enumerate(template) if rule.fact in fact_names(source)]
    return " ".join(parts[: deciding[0] + 1]) if deciding else first_sentence(judgement.sentence)


def _answer(answer: str) -> str:
    return f"{_MARKS[answer]} {answer}" if answer in _MARKS else answer


def counts(found: list[Judged]) -> list[int]:
    """Count the main claims in each group."""
    cards = [judgement for judgement in found if judgement.claim.card]
    return [sum(belongs(card) for card in cards) for _, belongs in GROUPS]


def bars(papers: Mapping[str, list[Judged]]) -> Figure:
    """Draw one bar per paper, divided by the groups of its main claims."""
    fig, (ax,) = figure(width=7.5, height=0.6 + 0.5 * len(papers))
    colours = (PALETTE[2], PALETTE[0], PALETTE[1], "0.75", "0.45", "0.9")
    numbers = [counts(judgements) for judgements in papers.values()]
    for place, ((label, _), colour) in enumerate(zip(GROUPS, colours, strict=True)):
        starts = [sum(row[:place]) for row in numbers]
        widths = [row[place] for row in numbers]
        if any(widths):
            ax.barh(list(papers), widths, left=starts, color=colour, label=label)
    ax.invert_yaxis()
    ax.set(xlabel="main claims")
    ax.legend(frameon=False, fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))
    return fig
