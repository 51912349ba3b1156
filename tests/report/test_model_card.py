"""Cards for model hubs: a head that machines read, whatever the names are."""

import json

import numpy as np
import pytest

import shesha
from shesha.report import Metric, Page, Point, as_card

HOSTILE = ["<script>alert(1)</script>", "a: b # c", "---", "\n- x", "'\"", "[link](javascript:1)", "*bold*", "ü"]


def head_of(card):
    yaml = pytest.importorskip("yaml")
    first, head, body = card.split("---\n", 2)
    assert first == ""
    return yaml.safe_load(head), body


@pytest.mark.parametrize("name", [name for name in HOSTILE if name != "---"])
def test_names_stay_names(name):
    page = Page(name, "Why?", (name,), doubts=(Point(name, "some", name, "Look."),), ran=(("file", name),))
    head, body = head_of(as_card(page, [Metric(name, "stability", 0.5)], name))
    (model,) = head["model-index"]
    assert model["name"] == name
    assert model["results"][0]["dataset"]["name"] == name
    assert "<script" not in body
    assert "[link](" not in body.replace("\\[", "")


def test_numbers_are_those_of_the_audit():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4)) @ rng.normal(size=(4, 16))
    found = shesha.audit({"a": X, "b": X + rng.normal(size=X.shape)}, n_bootstrap=39, n_permutations=39)
    head, body = head_of(found.card(data="x.npy", about={"command": "shesha audit x.npy"}))
    for one, told in zip(found.representations, head["model-index"], strict=True):
        (metric,) = told["results"][0]["metrics"]
        assert metric["value"] == pytest.approx(one.ranking_score.value, abs=1e-6)
        assert metric["args"]["p_value"] == pytest.approx(one.chance.p_value)
        assert metric["args"]["low"] <= metric["value"] <= metric["args"]["high"]
    assert "shesha audit x.npy" in body
    assert "## Possible problems" in body


def test_a_comparison_puts_its_chance_beside_every_value():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(30, 5)), rng.normal(size=(30, 4))
    found = shesha.compare(X, Y, ["CKA", "MagDiff"], calibrate=True, n_permutations=19, names=("new", "old"), seed=0)
    head, body = head_of(found.card(data="rows"))
    (model,) = head["model-index"]
    (metric,) = model["results"][0]["metrics"]  # MagDiff does not look at which row is which: no null, no place here.
    assert (model["name"], metric["type"]) == ("new", "CKA with old")
    assert metric["args"]["chance"] == pytest.approx(found["CKA"].chance, abs=1e-6)
    assert metric["args"]["threshold"] == pytest.approx(found["CKA"].threshold, abs=1e-6)
    assert metric["args"]["p_value"] == pytest.approx(found["CKA"].p_value, abs=1e-6)
    assert "not above chance" in body


def test_what_says_nothing_of_a_model_gets_no_card(tmp_path):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(30, 5)), rng.normal(size=(30, 4))
    with pytest.raises(ValueError, match="a card must have a number with its chance level, got none: calibrate"):
        shesha.compare(X, Y, ["CKA"]).save_card(tmp_path / "a.md", data="rows")
    with pytest.raises(ValueError, match=r"a card must be of an audit, .* got Estimate"):
        shesha.estimate(X, n_draws=2, n_bootstrap=0).card(data="rows")
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_number_is_left_out():
    card = as_card(Page("t", "q", ()), [Metric("a", "stability", float("nan"))], "d")
    assert "model-index" not in card
    assert json.dumps(float("nan")) not in card
