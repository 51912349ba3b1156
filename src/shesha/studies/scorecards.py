"""Scorecards: one page per paper with its main claims and their verdicts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from shesha.charts import PALETTE
from shesha.report import markdown_table
from shesha.studies.claims import NO, NOT_NEEDED, OPEN, YES, Judged, claims, judge, limits
from shesha.studies.facts import Facts
from shesha.studies.pictures import figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MARKS = {YES: "✓", NO: "✗", OPEN: "?"}
GROUPS: tuple[tuple[str, Callable[[Judged], bool]], ...] = (
    ("repeated, survives", lambda one: one.repeated == YES and one.survives in (YES, NOT_NEEDED)),
    ("repeated, control inconclusive", lambda one: one.repeated == YES and one.survives == OPEN),
    ("repeated, fails the control", lambda one: one.repeated == YES and one.survives == NO),
    ("inconclusive", lambda one: one.repeated == OPEN),
    ("not repeated", lambda one: one.repeated == NO),
    ("not possible here", lambda one: one.repeated not in _MARKS),
)
"""Groups of the claims of a scorecard, from the best; every claim is in exactly one."""


def judged(facts: Mapping[str, Facts]) -> dict[str, list[Judged]]:
    """Judge the claims of every paper with finished studies, by their facts."""
    found: dict[str, list[Judged]] = {}
    for one in claims():
        if one.study in facts:
            found.setdefault(one.paper, []).append(judge(one, facts[one.study]))
    return found


def page_name(paper: str) -> str:
    """Return the file of a paper's scorecard."""
    return "scorecard_" + re.sub(r"[^a-z]+", "_", paper.casefold()).strip("_") + ".md"


def scorecard(paper: str, found: list[Judged]) -> str:
    """Return the page: limits first, then the main claims, then the others."""
    return "\n\n".join(_parts(paper, found)) + "\n"


def _parts(paper: str, found: list[Judged]) -> Iterator[str]:
    yield f"# {paper}: scorecard"
    yield limits()[paper]
    yield _table([one for one in found if one.claim.card])
    others = [one for one in found if not one.claim.card]
    if others:
        yield "## Other claims judged in the same way"
        yield _table(others)
    yield (
        "Quotations are verbatim. *Repeated?* asks whether we find the claim as the paper makes it. *Survives the "
        "control?* asks whether it still holds when a control removes another explanation. An answer is yes or no only "
        "if the whole interval lies on one side of a [threshold](appendix.md#how-claims-are-judged), and inconclusive "
        "otherwise. Back to [the index](index.md)."
    )


def _table(found: list[Judged]) -> str:
    columns = ["the paper says", "repeated?", "survives the control?", "tested on", "what we found", "study"]
    return markdown_table(columns, [_line(one) for one in found])


def _line(one: Judged) -> list[str]:
    claim = one.claim
    control = f": {claim.survives.control}" if claim.survives is not None and claim.survives.control else ""
    return [
        f"“{claim.quote}” ({claim.where})",
        _answer(one.repeated),
        _answer(one.survives) + control,
        claim.on,
        one.sentence,
        f"[{claim.study}]({claim.study}/page.md)",
    ]


def _answer(answer: str) -> str:
    return f"{_MARKS[answer]} {answer}" if answer in _MARKS else answer


def counts(found: list[Judged]) -> list[int]:
    """Count the main claims by group."""
    own = [one for one in found if one.claim.card]
    return [sum(belongs(one) for one in own) for _, belongs in GROUPS]


def bars(found: Mapping[str, list[Judged]]) -> Figure:
    """Draw one bar per paper, divided by the groups of its main claims."""
    made, (ax,) = figure(width=7.5, height=0.6 + 0.5 * len(found))
    colours = (PALETTE[2], PALETTE[0], PALETTE[1], "0.75", "0.45", "0.9")
    numbers = [counts(own) for own in found.values()]
    for place, ((label, _), colour) in enumerate(zip(GROUPS, colours, strict=True)):
        left = [sum(one[:place]) for one in numbers]
        widths = [one[place] for one in numbers]
        if any(widths):
            ax.barh(list(found), widths, left=left, color=colour, label=label)
    ax.invert_yaxis()
    ax.set(xlabel="main claims")
    ax.legend(frameon=False, fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))
    return made
