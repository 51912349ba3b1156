"""What an agreement is worth: its basis, its uncertainty, and which claims are main claims."""

from pathlib import Path

import pandas as pd
import pytest

from shesha_studies import Check, studies, study
from shesha_studies.framework import page_from_rows
from shesha_studies.framework.checks import (
    HOLDS_NOT,
    NOT_FOUND,
    OWN_NUMBERS,
    RECIPE,
    STAND_IN,
    judge_number,
)
from shesha_studies.framework.page_from_rows import set_basis_and_kind
from shesha_studies.framework.published_checks import line_label, read_published
from shesha_studies.framework.rules_file import read_rules

PAGES = Path(__file__).parents[2] / "docs" / "studies"


def check(what, verdict="agrees", ours=1.0):
    return Check("Paper, Table 1", what, 1.0, ours, verdict, "" if verdict == "agrees" else "a reason")


def test_agreement_is_loose_if_a_quarter_of_the_range_would_agree():
    assert judge_number("Paper", "rho", 0.2, 0.3, error=0.08).loose
    assert not judge_number("Paper", "rho", 0.2, 0.25, error=0.03).loose
    assert not judge_number("Paper", "share", 0.0, 0.4, decimals=0).loose, "rounding is no error"
    assert not judge_number("Paper", "rho", 0.2, 0.9, error=0.05, why="other data").loose


@pytest.mark.parametrize(
    ("basis", "verdict", "kept"),
    [
        (STAND_IN, HOLDS_NOT, NOT_FOUND),
        (RECIPE, HOLDS_NOT, HOLDS_NOT),
        (STAND_IN, "agrees", "agrees"),
        (STAND_IN, "differs", "differs"),
    ],
)
def test_other_models_take_no_claim_away(basis, verdict, kept):
    assert Check("Paper", "a claim", "it is so", "it is not", verdict, "a control", basis).verdict == kept


def test_each_check_says_what_it_is_based_on(monkeypatch):
    rules = {"own_numbers": ["sum of"], "repeated": ["noise |"], "transcribed": [": n |"]}
    monkeypatch.setattr(page_from_rows, "read_rules", lambda _: rules)

    @study("standing", paper="new", version=1, full={"x": [1]}, quick={"x": [1]}, stand_ins="ours for theirs")
    def standing(x):
        """Is it so?"""
        return {"y": x}

    given = [
        check("sum of columns"),
        check("score of noise"),
        check("score of models", "differs"),
        check("score of others", "not reachable", None),
        check("sum of theirs", "not reachable", 2.0),
        check("models: n"),
        check("models: noise level"),
    ]
    found = set_basis_and_kind(standing, given)
    assert [one.basis for one in found] == [OWN_NUMBERS, RECIPE, STAND_IN, "", STAND_IN, STAND_IN, STAND_IN]
    assert [one.verdict for one in found] == [one.verdict for one in given]
    assert [one.what for one in found if one.transcribed] == ["models: n"]
    rules["own_numbers"] = [""]
    assert set_basis_and_kind(standing, found)[1].basis == RECIPE, "a basis is kept"


@pytest.mark.parametrize("one", studies(), ids=lambda one: one.name)
def test_all_words_of_the_rules_name_published_lines(one):
    lines = pd.read_csv(PAGES / one.name / "checks.csv", keep_default_na=False)
    published = read_published(one)
    if published is not None and "where" in published:
        # Lines without a value of ours are condensed in the file of checks.
        labels = [line_label(line) for _, line in published.iterrows()]
        lines = pd.concat([lines, pd.DataFrame(labels, columns=["where", "what"])])
    names = lines["where"].str.cat(lines.what, " | ") + " |"
    for field in ("own_numbers", "repeated", "transcribed"):
        for words in read_rules(one).get(field, []):
            assert names.str.contains(words, regex=False).any(), (field, words)
