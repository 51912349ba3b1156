"""Claims, limits and main findings for all papers, read from `published/claims`."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

from shesha.support.files import read_toml
from shesha_studies.framework.claims import NO, OPEN, OPERATORS, QUESTIONS, YES, Claim, Rule
from shesha_studies.framework.study_lookup import data_folders

RULE_FIELDS = ("fact", "reason", "control", YES, NO, OPEN, *OPERATORS)
"""Fields of a rule: what decides, and the words for each answer."""
_FINDINGS = "findings.toml"


@cache
def claims() -> tuple[Claim, ...]:
    """Return all claims, paper by paper."""
    return tuple(parse_claim(paper, dict(entry)) for paper, read in _files().items() for entry in read["claim"])


@dataclass(frozen=True)
class Paper:
    """What the page of a paper says about it.

    Parameters
    ----------
    name : str
        Short name, which starts the place of its published lines.
    title, authors, version, link : str
        The paper, and the version from which we quote.
    limits, replaced : str
        What we had of its data and models, and what replaces the rest.
    errata : list of dict
        Possible slips, each with the study and the line (`what`) of the check that found it, and a text with the
        `{place}`, the `{published}` number, `{ours}` and the reason (`{why}`).
    """

    name: str
    title: str
    authors: str
    version: str
    link: str
    limits: str
    replaced: str
    errata: tuple[dict[str, str], ...] = ()


def paper_details() -> dict[str, Paper]:
    """Return what is known of each paper, by name."""
    details = ("title", "authors", "version", "link", "limits", "replaced")
    return {
        paper: Paper(name=paper, errata=tuple(read.get("erratum", ())), **{name: str(read[name]) for name in details})
        for paper, read in _files().items()
    }


def findings() -> tuple[str, ...]:
    """Return the most important findings for users, as texts with facts of studies in braces."""
    return tuple(entry["text"] for place in _claim_files(_FINDINGS) for entry in read_toml(place)["finding"])


@cache
def _files() -> dict[str, dict[str, Any]]:
    read = [read_toml(place) for place in _claim_files("*.toml") if place.name != _FINDINGS]
    return {content["paper"]: content for content in read}


def _claim_files(pattern: str) -> list[Path]:
    return sorted(place for folder in data_folders() for place in (folder / "claims").glob(pattern))


def parse_claim(paper: str, entry: dict[str, Any]) -> Claim:
    """Convert an entry of a file to a claim.

    Raises
    ------
    ValueError
        If the entry has an unknown field, or a rule lacks its fact or its operator.
    """
    known = [field.name for field in fields(Claim)]
    if unknown := sorted(set(entry) - set(known)):
        raise ValueError(f"a claim must have the fields {', '.join((*known, *RULE_FIELDS))}, got {unknown[0]!r}")
    rules: dict[str, Any] = {name: parse_rule(entry.pop(name)) for name in QUESTIONS if name in entry}
    return Claim(paper, **entry, **rules)


def parse_rule(entry: dict[str, Any]) -> Rule:
    """Convert an entry of a file to a rule."""
    operators = [name for name in OPERATORS if name in entry]
    if len(operators) != 1 or not {"fact", "reason"} <= set(entry) <= set(RULE_FIELDS):
        raise ValueError(
            f"a rule must have a fact, a reason and one of {', '.join(OPERATORS)}, and may have "
            f"{', '.join((YES, NO, OPEN, 'control'))}, got {', '.join(entry)}"
        )
    words = {name: entry[name] for name in (YES, NO, OPEN) if name in entry}
    threshold = float(entry[operators[0]])
    return Rule(entry["fact"], operators[0], threshold, entry["reason"], words, entry.get("control", ""))


def claims_of_study(name: str) -> tuple[Claim, ...]:
    """Return the claims that a study decides."""
    return tuple(claim for claim in claims() if claim.study == name)
