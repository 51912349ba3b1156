"""Claims, limits and main findings for all papers, read from `published/claims`."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from shesha.studies.claims import NO, OPEN, OPERATORS, QUESTIONS, YES, Claim, Rule
from shesha.studies.registry import data_folders

_FINDINGS = "findings.toml"


@cache
def claims() -> tuple[Claim, ...]:
    """Return all claims, paper by paper."""
    return tuple(parse_claim(paper, dict(entry)) for paper, read in _files().items() for entry in read["claim"])


def limits() -> dict[str, str]:
    """Return, for each paper, a text on what was available and what was not."""
    return {paper: str(read["limits"]) for paper, read in _files().items()}


def findings() -> tuple[tuple[str, Claim], ...]:
    """Return the most important findings for users, each with the claim to which it belongs."""
    known = {(claim.paper, claim.name): claim for claim in claims()}
    return tuple(
        (entry["text"], known[tuple(entry["claim"])])
        for place in _claim_files(_FINDINGS)
        for entry in _read(place)["finding"]
    )


@cache
def _files() -> dict[str, dict[str, Any]]:
    read = [_read(place) for place in _claim_files("*.toml") if place.name != _FINDINGS]
    return {content["paper"]: content for content in read}


def _claim_files(pattern: str) -> list[Path]:
    return sorted(place for folder in data_folders() for place in (folder / "claims").glob(pattern))


def _read(place: Path) -> dict[str, Any]:
    with place.open("rb") as file:
        return tomllib.load(file)


def parse_claim(paper: str, entry: dict[str, Any]) -> Claim:
    """Convert an entry of a file to a claim."""
    rules: dict[str, Any] = {name: parse_rule(entry.pop(name)) for name in QUESTIONS if name in entry}
    return Claim(paper, **entry, **rules)


def parse_rule(entry: dict[str, Any]) -> Rule:
    """Convert an entry of a file to a rule."""
    (operator,) = (name for name in OPERATORS if name in entry)
    words = {name: entry[name] for name in (YES, NO, OPEN) if name in entry}
    return Rule(entry["fact"], operator, float(entry[operator]), entry["reason"], words, entry.get("control", ""))


def claims_of_study(name: str) -> tuple[Claim, ...]:
    """Return the claims that a study decides."""
    return tuple(claim for claim in claims() if claim.study == name)
