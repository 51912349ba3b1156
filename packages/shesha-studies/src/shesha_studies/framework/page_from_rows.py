"""The page and facts of a study, computed from its rows, with verdicts from the rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isnan
from typing import TYPE_CHECKING

from shesha_studies.framework.checks import NOT_RUN, OWN_NUMBERS, STAND_IN, UNREACHABLE, Check
from shesha_studies.framework.claim_files import claims_of_study
from shesha_studies.framework.claims import Claim, Judged, Line, judge
from shesha_studies.framework.counted_cells import NUMBERS
from shesha_studies.framework.facts import Fact, Facts, as_facts
from shesha_studies.framework.page import Page
from shesha_studies.framework.published_checks import (
    against,
    as_number,
    read_published,
    split_numbers_and_claims,
)
from shesha_studies.framework.rules_file import (
    explain,
    lesser_claims,
    missing_reasons,
    read_rules,
    set_headings,
    study_answer,
    study_notes,
)
from shesha_studies.framework.study_decorator import Study

if TYPE_CHECKING:
    import pandas as pd


def build_page(study: Study, rows: pd.DataFrame) -> tuple[Page, Facts]:
    """Return a study's page, with verdicts, answer and headings from the rules, and the facts used."""
    published = read_published(study)
    page, facts = study.pages[0](rows, published), study_facts(study, rows)
    checks = condensed(checks_of_page(study, _all_checks(study, page, published, facts), facts))
    tables, answer = set_headings(study, page.tables), study_answer(study, facts) or page.answer
    notes = (*page.notes, *study_notes(study, facts))
    return replace(page, tables=tables, checks=checks, answer=answer, notes=notes), facts


def _all_checks(study: Study, page: Page, published: pd.DataFrame | None, facts: Facts) -> tuple[Check, ...]:
    """Return the checks of a page, and those of the published lines that the page leaves to the rules."""
    if published is None:
        return page.checks
    if "key" not in published:
        if page.answers or read_rules(study).get("claim"):
            columns = ", ".join(map(str, published))
            raise ValueError(f"{study.published} must have the columns where, what, key and published, got {columns}")
        return page.checks
    lines = split_numbers_and_claims(published)[1] if page.checks else published
    return (*page.checks, *against(lines, explain(study, page.answers, facts), missing_reasons(study, facts)))


def study_facts(study: Study, rows: pd.DataFrame) -> Facts:
    """Return the facts from a study's rows, by name; those that the rows cannot give (NaN) are omitted."""
    facts: dict[str, Fact] = {}
    for make in study.fact_makers:
        facts |= as_facts(make(rows, read_published(study)))
    return {name: fact for name, fact in facts.items() if not isnan(fact.value)}


def checks_of_page(study: Study, checks: Sequence[Check], facts: Facts) -> tuple[Check, ...]:
    """Set the basis and kind of each check, and the verdict of those checks that claims decide."""
    return set_basis_and_kind(study, _decide(study.name, tuple(checks), facts, lesser_claims(study)))


def condensed(checks: Sequence[Check]) -> tuple[Check, ...]:
    """Replace numbers without a value of ours by one line for each table and reason."""
    absent: dict[tuple[str, str], list[Check]] = {}
    for check in checks:
        number = check.transcribed or isinstance(as_number(check.published), float)
        if check.verdict == UNREACHABLE and check.ours is None and number:
            absent.setdefault((check.where, check.why), []).append(check)
    lines = {
        id(group[0]): replace(group[0], what=f"{len(group)} numbers", published=NUMBERS, transcribed=False)
        for group in absent.values()
        if len(group) > 1
    }
    left_out = {id(check) for group in absent.values() if len(group) > 1 for check in group[1:]}
    return tuple(lines.get(id(check), check) for check in checks if id(check) not in left_out)


def _decide(study: str, checks: tuple[Check, ...], facts: Facts, lesser: Mapping[Line, Claim]) -> tuple[Check, ...]:
    """Set the verdicts of checks that claims decide.

    Main claims are matched by their words, and lesser claims by place and label.
    """
    deciding = {claim.check: judge(claim, facts) for claim in claims_of_study(study) if claim.check}
    by_line = {line: judge(claim, facts) for line, claim in lesser.items()}

    def decision_of(check: Check) -> Judged | None:
        main = (decision for words, decision in deciding.items() if words in check.what)
        return next(main, by_line.get((check.where, check.what)))

    return tuple(_apply_decision(check, decision_of(check)) for check in checks)


def _apply_decision(check: Check, decision: Judged | None) -> Check:
    if decision is None:
        return check
    basis = "" if decision.verdict in (UNREACHABLE, NOT_RUN) else decision.claim.on
    return replace(check, ours=decision.found or None, verdict=decision.verdict, why=decision.why, basis=basis)


def set_basis_and_kind(study: Study, checks: Sequence[Check]) -> tuple[Check, ...]:
    """Set the basis of each check and whether it is a transcription, by the words in the rules of the study."""
    rules = read_rules(study)
    own, repeated, transcribed = (tuple(rules.get(name, ())) for name in ("own_numbers", "repeated", "transcribed"))
    return tuple(
        replace(check, basis=_basis(study, check, own, repeated), transcribed=check.is_named_by(transcribed))
        for check in checks
    )


def _basis(study: Study, check: Check, own: tuple[str, ...], repeated: tuple[str, ...]) -> str:
    """Return what our value is based on; a basis that the check already has is kept."""
    if check.ours is None or check.basis:
        return check.basis
    if check.verdict != UNREACHABLE and check.is_named_by(own):
        return OWN_NUMBERS
    replaced = bool(study.stand_ins) or check.is_named_by(("stand-in",))
    return STAND_IN if replaced and not check.is_named_by(repeated) else study.on
