"""`shesha scores`: the list, a card by any name, and help with names that are none."""

from __future__ import annotations

import re

import pytest


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("Feature-Split", "feature_split"),
        ("alignment with the labels", "supervised_alignment"),
        ("Effective rank", "effective_rank"),
    ],
)
def test_a_card_is_found_by_any_name(invoke, name, meant):
    assert invoke("scores", name).out == invoke("scores", meant).out


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("featuresplt", r"score must be .* `shesha scores` lists, got 'featuresplt'; did you mean feature_split\?"),
        ("efective rnk", r"score must be .*, got 'efective rnk'; did you mean effective_rank\?"),
        ("xyzzy", r"score must be one of feature_split, .*, anisotropy, .*got 'xyzzy'.*"),
    ],
)
def test_an_unknown_name_is_one_line_with_suggestions_and_status_2(invoke_main, name, message):
    ended = invoke_main("scores", name)
    assert (ended.status, ended.out) == (2, "")
    assert re.fullmatch(f"shesha: {message}\n", ended.err)
