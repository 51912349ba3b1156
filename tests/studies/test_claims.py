"""Claims are data: one engine judges them, intervals decide, and no verdict is there whatever the facts say."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from scipy.stats import binomtest

from shesha_studies.framework.checks import (
    AGREES,
    DIFFERS,
    HOLDS_NOT,
    INCONCLUSIVE,
    NOT_FOUND,
    NOT_RUN,
    STAND_IN,
    UNREACHABLE,
)
from shesha_studies.framework.claim_files import claims, paper_details
from shesha_studies.framework.claims import (
    ABSENT,
    BASES,
    IMPOSSIBLE,
    NO,
    NOT_NEEDED,
    OPEN,
    OPERATORS,
    YES,
    Claim,
    Rule,
    judge,
)
from shesha_studies.framework.fact_tables import read_facts
from shesha_studies.framework.facts import (
    Fact,
    mean_correlation,
    over_draws,
    rank_correlation,
    rate,
)
from shesha_studies.framework.paper_pages import page_name
from shesha_studies.framework.rates import sign_difference
from shesha_studies.framework.rules_file import lesser_claims
from shesha_studies.framework.run_files import CHECKS, FACTS
from shesha_studies.framework.study_lookup import studies

PAGES = Path(__file__).parents[2] / "docs" / "studies"
FOUND = {place.parent.name: read_facts(pd.read_csv(place)) for place in PAGES.glob(f"*/{FACTS}")}
LESSER = [one for study in studies() for one in lesser_claims(study).values()]
EVERY = [*claims(), *LESSER]
STUDIES = sorted({one.study for one in EVERY})


def moved(rule: Rule) -> dict[str, Fact]:
    """A fact that must be answered by yes, no, and neither."""
    at, far = rule.threshold, abs(rule.threshold) + 1
    return {
        "above": {YES: Fact(at + far), NO: Fact(at - far), OPEN: Fact(at, at - far, at + far)},
        "below": {YES: Fact(at - far), NO: Fact(at + far), OPEN: Fact(at, at - far, at + far)},
        "within": {YES: Fact(0, -at / 2, at / 2), NO: Fact(far, far / 2, 2 * far), OPEN: Fact(0, -far, far)},
        "significant": {YES: Fact(at / 2), OPEN: Fact(0.9)},
        "often": {YES: Fact(1.0), NO: Fact(0.0), OPEN: Fact(0.5)},
    }[rule.operator]


@pytest.mark.parametrize("study", STUDIES)
def test_no_verdict_is_there_whatever_the_facts_say(study):
    """Each fact is moved past its threshold: the answer, the verdict and the sentence change."""
    for claim in EVERY:
        for question in ("repeated", "survives"):
            if claim.study == study and getattr(claim, question) is not None:
                require_movable(claim, question)


def require_movable(claim, question):
    rule, facts = getattr(claim, question), FOUND[claim.study]
    seen = {}
    for answer, fact in moved(rule).items():
        # The other question is answered by yes, so that this one decides.
        rules = (claim.premise, claim.repeated, claim.survives)
        rest = {one.fact: moved(one)[YES] for one in rules if one is not None}
        found = judge(claim, {**facts, **rest, rule.fact: fact})
        assert getattr(found, question) == answer
        seen[answer] = (found.verdict, found.sentence)
    assert len({verdict for verdict, _ in seen.values()}) == len(seen)
    assert len({sentence for _, sentence in seen.values()}) == len(seen)


@pytest.mark.parametrize("study", STUDIES)
def test_a_claim_says_what_it_is_and_what_decides_it(study):
    for claim in EVERY:
        if claim.study == study:
            require_reasons(claim)


def require_reasons(claim):
    assert claim.quote.strip()
    assert claim.where
    assert claim.on in BASES or (claim in LESSER and not claim.on)
    for rule in filter(None, (claim.premise, claim.repeated, claim.survives)):
        assert rule.fact in FOUND[claim.study]
        assert rule.reason
        # A premise that holds says nothing, and a lesser claim that holds needs no words.
        expected = {NO, OPEN} if rule is claim.premise else {NO} if claim in LESSER else {YES, NO}
        assert expected - ({NO} if rule.operator == "significant" else set()) <= set(rule.words)
    assert claim.survives is None or claim.survives.control
    if claim.repeated is None:
        assert claim.missing
    else:
        assert "{" in claim.found, "a sentence that no number could change"


@pytest.mark.parametrize("claim", [one for one in claims() if one.check], ids=lambda one: one.name)
def test_the_check_of_a_claim_has_its_verdict(claim):
    checks = pd.read_csv(PAGES / claim.study / CHECKS, keep_default_na=False)
    own = checks[checks.what.str.contains(claim.check, regex=False)]
    assert len(own) == 1
    assert own.verdict.iloc[0] == judge(claim, FOUND[claim.study]).verdict


@pytest.mark.parametrize("study", studies(), ids=lambda one: one.name)
def test_other_models_never_contradict_a_claim_in_words(study):
    """The strongest words about other models are "not found on stand-ins"."""
    lines = lesser_claims(study)
    if not lines:
        return
    checks = pd.read_csv(PAGES / study.name / CHECKS, keep_default_na=False)
    worded = checks[[line in lines for line in zip(checks["where"], checks.what, strict=True)]]
    assert not set(worded[worded.basis == STAND_IN].verdict) & {DIFFERS, HOLDS_NOT}


def test_every_erratum_is_found_by_a_check():
    for paper, details in paper_details().items():
        text = (PAGES / page_name(paper)).read_text(encoding="utf-8")
        assert text.count("\n- ") == len(details.errata)


RULE = Rule("rho", "above", 0.0, "a positive correlation", {YES: "Found.", NO: "Not found."})


@pytest.mark.parametrize(
    ("on", "repeated", "survives", "verdict"),
    [
        ("its recipe", Fact(1), None, AGREES),
        ("its recipe", Fact(1), Fact(-1), HOLDS_NOT),
        ("other models", Fact(1), Fact(-1), NOT_FOUND),
        ("other models", Fact(-1), Fact(1), NOT_FOUND),
        ("its recipe", Fact(0, -1, 1), Fact(1), INCONCLUSIVE),
        ("its recipe", Fact(1), Fact(0, -1, 1), INCONCLUSIVE),
        ("the paper's data", Fact(0, -1, 1), Fact(-1), HOLDS_NOT),
        ("its recipe", Fact(float("nan")), None, NOT_RUN),
        ("its recipe", None, None, UNREACHABLE),
    ],
)
def test_only_the_papers_own_can_take_a_claim_away(on, repeated, survives, verdict):
    control = Rule("other", "above", 0.0, "left", {YES: "Left.", NO: "Gone."}, "a control")
    claim = Claim(
        "P", "a", "s", "1", "q", on, "It is.", RULE if repeated else None, control if survives is not None else None
    )
    found = judge(claim, {"rho": repeated or Fact(0), "other": survives or Fact(0)})
    assert found.verdict == verdict
    assert (found.repeated == IMPOSSIBLE) == (repeated is None)
    assert (found.survives in (NOT_NEEDED, ABSENT)) == (survives is None)


@pytest.mark.parametrize(
    ("operator", "threshold", "fact", "answer"),
    [
        # At the threshold itself: nothing is above or below it, and a test of absence includes it.
        ("above", 0.5, Fact(0.5), NO),
        ("above", 0.5, Fact(0.7, 0.5, 0.9), OPEN),
        ("below", 0.5, Fact(0.5), NO),
        ("below", 0.5, Fact(0.3, 0.1, 0.5), OPEN),
        ("within", 0.5, Fact(0.0, -0.5, 0.5), YES),
        ("within", 0.5, Fact(0.4, 0.0, 0.8), OPEN),
        ("within", 0.5, Fact(-0.4, -0.8, 0.0), OPEN),
        ("within", 0.5, Fact(-0.4, -0.8, -0.1), NO),
        ("significant", 0.05, Fact(0.05), YES),
        ("often", 0.75, Fact(0.75), YES),
        ("often", 0.75, Fact(0.25), NO),
        ("often", 0.75, Fact(0.3), OPEN),
    ],
)
def test_answers_at_the_threshold(operator, threshold, fact, answer):
    assert OPERATORS[operator](fact, threshold) == answer


def test_a_large_p_value_decides_nothing():
    assert OPERATORS["significant"](Fact(0.9), 0.05) == OPEN
    with pytest.raises(ValueError, match="p-values must be judged by 'significant'"):
        Rule("a_p", "above", 0.05, "", {})
    with pytest.raises(ValueError, match=r"operator must be one of above, below, .*, got 'near'"):
        Rule("a", "near", 0.05, "", {})
    with pytest.raises(ValueError, match=r"on must be one of the paper's data, .*, got 'nothing'"):
        Claim("P", "a", "s", "1", "q", "nothing", "")


def test_intervals_are_those_of_the_books():
    # Student, 2 degrees of freedom: 4.303 / root 3; Clopper and Pearson of 0 in 10; Fisher with 1.06 / (n - 3).
    assert over_draws([1, 2, 3]).high == pytest.approx(2 + 4.3027 / 3**0.5, abs=1e-3)
    assert rate(0, 10).high == pytest.approx(1 - 0.025**0.1)
    assert rank_correlation(0.0, 109).high == pytest.approx(0.1931, abs=1e-3)
    assert mean_correlation([0.5, 0.5], 40).value == pytest.approx(0.5)


def test_a_claim_whose_facts_are_not_all_there_is_not_run():
    """A part of a grid makes some of the facts; a sentence that names another has nothing to say."""
    claim = Claim("P", "a", "s", "1", "q", "its recipe", "It is {rho:.1f}, beside {other:.1f}.", RULE)
    assert judge(claim, {"rho": Fact(1), "other": Fact(2)}).sentence == "It is 1.0, beside 2.0. Found."
    assert judge(claim, {"rho": Fact(1)}).verdict == NOT_RUN


def test_a_claim_without_its_premise_is_inconclusive():
    premise = Rule("before", "above", 0.0, "a correlation", {YES: "", NO: "No correlation.", OPEN: "Unclear."})
    claim = Claim("Paper", "a", "study", "3", "it vanishes", "its recipe", "{rho:.1f}", premise=premise, repeated=RULE)
    repeated = {
        before: judge(claim, {"rho": Fact(1), "before": fact}).repeated
        for before, fact in {"there": Fact(1), "absent": Fact(-1), "unclear": Fact(0, -1, 1)}.items()
    }
    assert repeated == {"there": YES, "absent": OPEN, "unclear": OPEN}
    assert judge(claim, {"rho": Fact(1), "before": Fact(-1)}).sentence == "1.0 No correlation."
    assert judge(claim, {"rho": Fact(1), "before": Fact(float("nan"))}).repeated == ABSENT


def test_what_is_not_found_needs_no_control():
    premise = Rule("before", "above", 0.0, "a correlation", {NO: "No correlation."})
    control = Rule("other", "above", 0.0, "left", {NO: "Gone."}, "a control")
    claim = Claim("Paper", "a", "study", "3", "q", "its recipe", "", RULE, control, premise=premise)
    facts = {"rho": Fact(1), "other": Fact(-1)}
    assert judge(claim, {**facts, "before": Fact(1)}).verdict == HOLDS_NOT
    assert judge(claim, {**facts, "before": Fact(-1)}).verdict == INCONCLUSIVE
    assert judge(claim, {**facts, "before": Fact(-1)}).why == "No correlation."


@pytest.mark.parametrize(("more", "less", "n"), [(10, 3, 24), (0, 0, 24), (3, 3, 6), (0, 5, 9)])
def test_a_difference_of_signs_changes_sign_with_its_sides(more, less, n):
    ours, turned = sign_difference(more, less, n), sign_difference(less, more, n)
    assert ours.value == pytest.approx((more - less) / n)
    assert (ours.low, ours.high) == pytest.approx((-turned.high, -turned.low))
    # The interval leaves zero out exactly where the two-sided sign test rejects.
    decided = more + less
    rejects = decided > 0 and binomtest(more, decided).pvalue <= 0.05
    assert (ours.low > 0 or ours.high < 0) == rejects
