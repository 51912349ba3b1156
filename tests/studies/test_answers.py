"""Every answer of a page is made from facts: when a fact changes, so does the sentence."""

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from shesha_studies.framework.claims import NO, OPEN, YES, fact_names
from shesha_studies.framework.fact_tables import read_facts
from shesha_studies.framework.facts import Fact
from shesha_studies.framework.rules_file import read_rules, study_answer
from shesha_studies.framework.run_files import FACTS
from shesha_studies.framework.study_lookup import studies

PAGES = Path(__file__).parents[2] / "docs" / "studies"
FOUND = {place.parent.name: read_facts(pd.read_csv(place)) for place in PAGES.glob(f"*/{FACTS}")}
ANSWERS = [(one, entry) for one in studies() for entry in read_rules(one).get("answer", ())]
RULED = [pytest.param(one, entry, id=f"{one.name}, {entry['fact']}") for one, entry in ANSWERS if "fact" in entry]
NAMED = [
    pytest.param(one, name, id=f"{one.name}, {name}")
    for one in studies()
    for name in sorted({name for study, entry in ANSWERS if study == one for name in fact_names(entry.get("text", ""))})
]


@pytest.mark.parametrize("study", studies(), ids=lambda one: one.name)
def test_every_answer_is_data(study):
    answer = study_answer(study, FOUND.get(study.name, {}))
    page = PAGES / study.name / "page.md"
    assert answer
    assert not page.exists() or answer in page.read_text()


@pytest.mark.parametrize(("study", "entry"), RULED)
def test_a_fact_past_its_threshold_changes_the_sentence(study, entry):
    facts = FOUND[study.name]
    (operator,) = {"above", "below", "within", "significant", "often"} & set(entry)
    at = float(entry[operator])
    low, high = Fact(at - abs(at) - 1), Fact(at + abs(at) + 1)
    answers = {YES: high, NO: low} if operator in ("above", "often") else {YES: low, NO: high}
    if operator == "within":
        answers = {YES: Fact(0.0), NO: high}
    told = {study_answer(study, {**facts, entry["fact"]: fact}) for fact in answers.values()}
    if OPEN in entry:
        told.add(study_answer(study, {**facts, entry["fact"]: Fact(at, low.value, high.value)}))
    assert len(told) == len(answers) + (OPEN in entry and operator != "significant")


@pytest.mark.parametrize(("study", "name"), NAMED)
def test_every_number_of_an_answer_is_a_fact(study, name):
    facts = FOUND[study.name]
    if name not in facts:
        pytest.skip("the committed rows do not hold it")
    other = replace(
        facts[name],
        value=facts[name].value + 3.3,
        low=facts[name].low + 3.3,
        words="" if not facts[name].words else "other words",
    )
    assert study_answer(study, {**facts, name: other}) != study_answer(study, facts)
