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


def test_every_score_is_listed_with_what_it_needs_and_its_values(invoke):
    ended = invoke("scores")
    assert (ended.status, ended.err) == (0, "")
    head, *lines = ended.out.split("\n\n")[0].split("\n")
    assert head.split() == ["name", "values", "needs", "what", "it", "is"]
    listed, group = {"stability": [], "descriptors": []}, ""
    for line in lines:
        if line in listed:
            group = line
        else:
            listed[group].append(re.split(r" {2,}", line.strip()))
    assert listed["stability"] == [
        [name, range_in_words(one.bounds), one.needs, one.title] for name, one in VARIANTS.items()
    ]
    assert listed["descriptors"] == [
        [name, range_in_words(one.bounds), "rows", one.title] for name, one in DESCRIPTORS.items()
    ]
    assert ended.out.endswith("\nshesha scores NAME describes one.\n")


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
        ("variance", "variance_ratio"),
        ("supervised", "supervised_alignment"),
        ("alignment with the labels", "supervised_alignment"),
        ("ANCHOR", "anchor_stability"),
        ("replicatestability", "replicate_stability"),
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


def test_cards_in_python_refuse_what_has_none():
    with pytest.raises(ValueError, match=r"score must be one of .*, got 'anisotropy' \(`shesha scores` lists all\)"):
        stability.card("anisotropy")
    with pytest.raises(ValueError, match=r"descriptor must be one of .*, got 'feature_split'"):
        descriptors.card("feature_split")
    with pytest.raises(TypeError, match="score must be a name, got 3"):
        stability.card(3)
