"""`shesha scores`: the list, a card by any name, and help with names that are none."""

from __future__ import annotations

import re

import pytest

from shesha import descriptors, stability
from shesha.report import CHANGES, range_in_words

VARIANTS, DESCRIPTORS = stability.registered_variants(), descriptors.descriptors()


def plain(text):
    """Without the line breaks of wrapping."""
    return " ".join(text.split())


def entries(text):
    """Entries of a card: titles with their texts."""
    found: list[tuple[str, str]] = []
    for line in text.partition("\n\n")[2].rstrip("\n").split("\n"):
        title, rest = line[:16].strip(), line[16:]
        found = [*found, (title, rest)] if title else [*found[:-1], (found[-1][0], f"{found[-1][1]} {rest}")]
    return {title: plain(rest) for title, rest in found}


@pytest.mark.parametrize("name", [*VARIANTS, *DESCRIPTORS])
def test_a_card_says_all_that_is_declared(invoke, name):
    declared = VARIANTS.get(name) or DESCRIPTORS[name]
    ended = invoke("scores", name)
    assert (ended.status, ended.err) == (0, "")
    assert plain(ended.out).startswith(f"{name}: {declared.title}. {plain(declared.means)} caveat ")
    card = entries(ended.out)
    assert card["caveat"] == declared.means_not
    assert card["range"] == range_in_words(declared.bounds)
    assert card["reference"] == declared.reference
    assert ("audit" in card) == declared.audited
    for change in ("scaling", "translation", "orthogonal"):
        assert (CHANGES[change] in card["unchanged by"]) == (change in declared.invariant)
    assert all(option in card["options"] for option in declared.options)
    if name in VARIANTS:
        assert ("classes" in card["needs"]) == declared.needs_labels
        assert ("replicates" in card["needs"]) == (declared.needs == "replicates")
        assert ("distances" in card) == declared.takes_distances
        assert ("no null" in card["chance"]) != declared.has_chance
        assert ("no interval" in card["estimate"]) == (declared.needs == "replicates" or not declared.estimand)
        assert stability.card(name) == stability.card(declared) == stability.card(getattr(stability, name))
        assert f"{stability.card(name)}\n" == ended.out
    else:
        assert descriptors.card(name) == descriptors.card(declared) == descriptors.card(getattr(descriptors, name))
        assert f"{descriptors.card(name)}\n" == ended.out
    assert max(map(len, ended.out.split("\n"))) <= 100


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
