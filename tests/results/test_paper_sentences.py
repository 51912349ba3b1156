"""Sentences for a paper: their numbers are those of the result, and the verdict follows from p."""

import re
from dataclasses import replace

import numpy as np
import pytest

import shesha
from shesha.results.paper_sentences import _number, _p


@pytest.fixture(params=[0.0, 0.3, 2.0], ids=lambda strength: f"signal {strength}")
def pair(request):
    rng = np.random.default_rng(3)
    shared = rng.standard_normal((40, 6))
    return tuple(request.param * shared + rng.standard_normal((40, 6)) for _ in range(2))


@pytest.mark.parametrize("measure", ["cka", "gulp", "mutual_knn(k=5)"])
def test_a_calibrated_score_says_its_numbers_and_verdict(pair, measure):
    found = shesha.calibrate(*pair, measure, n_permutations=39)
    said = found.sentence()
    for number in (found.observed, found.null_mean, found.null_sd, found.score):
        assert _number(number) in said
    assert f"p = {_p(found.p_value)}," in said
    assert ("not above chance" in said) != found.significant
    assert f"calibrated score {_number(found.score)})" in said
    # Without a best value there is nothing to rescale to.
    assert f"excess over the threshold {_number(found.score)})" in replace(found, maximum=None).sentence()
    assert "over 40 rows" in said
    assert "39 permutations of all rows" in said
    assert shesha.measures.get(measure).reference in said
    assert said.endswith(f"({shesha.DISTRIBUTION} {shesha.__version__}).")
    assert said.count("(") == said.count(")")


def test_an_estimate_and_an_audit_say_their_intervals(pair):
    found = shesha.estimate(pair[0], n_bootstrap=19)
    said = found.sentence()
    assert f"{_number(found.value)} (95 % interval {_number(found.low)} to {_number(found.high)})" in said
    audit = shesha.audit({"a": pair[0], "b": pair[1]}, n_bootstrap=19, n_permutations=19)
    said = audit.sentence()
    for one in audit:
        split, chance = one.feature_split, one.chances["feature_split"]
        assert f"{one.name}, {_number(split.value)}" in said
        assert f"p = {_p(chance.p_value)}" in said
    assert len(re.findall("19 permutations", said)) == 2


def test_a_comparison_says_every_measure_and_its_p_where_it_has_one(pair):
    plain = shesha.compare(*pair, ["cka", "rsa"])
    assert "p =" not in plain.sentence()
    found = shesha.compare(*pair, ["cka", "rsa"], calibrate=True, n_permutations=19)
    for one in found:
        assert f"{_number(one.value)}, chance {_number(one.null_mean)}, corrected p = {_p(one.corrected_p_value)}" in (
            found.sentence()
        )


def test_what_could_not_be_estimated_says_why(pair):
    nothing = {"value": float("nan"), "reason": "no pairs are left"}
    said = replace(shesha.estimate(pair[0], n_bootstrap=0), **nothing).sentence()
    assert said.startswith("Feature split (Raju 2026, section 3.2) could not be estimated: no pairs are left (")
    found = shesha.calibrate(*pair, "cka", n_permutations=19)
    said = replace(found, observed=float("nan"), reason="one row").sentence()
    assert said.startswith("CKA (Kornblith et al. 2019) could not be estimated: one row (")
