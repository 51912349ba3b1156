"""Sentences and tables of a diff: what they name, how numbers read, and which layers fit on a screen."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import pytest

import shesha
from shesha.results.audit_verdict import list_names
from shesha.results.diff import MeasureChange, _important, cell, format_number, headline
from shesha.support.wording import shorten


def claim(found):
    """Return the sentence about a change for a paper."""
    found.headline = headline(found)
    return shesha.results.Diff._claim(found)


@dataclass
class Score:
    title: str = "RDM drift"


@dataclass
class Layer:
    name: str
    value: float
    verdict: str = "within noise"
    low: float = math.nan
    high: float = math.nan
    noise: float = 0.02
    limit: float = 0.04
    reason: str = ""
    vectors_differ: bool = False
    floors: dict = field(default_factory=dict)
    scores: tuple = field(default_factory=lambda: (Score(),))

    @property
    def is_beyond_noise(self):
        return self.verdict in ("changed", "replaced")


@dataclass
class Diff:
    layers: list
    noise_source: str = "3 re-encodings"
    before: str = "old"
    after: str = "new"
    n_rows: int = 1200
    n_scored: int = 1200
    confidence: float = 0.95
    n_layers: int = 0

    def __iter__(self):
        return iter(self.layers)


def layers(*verdicts, change=0.1):
    return Diff([Layer(f"layer {k}", change * (k + 1), verdict) for k, verdict in enumerate(verdicts)])


def test_a_change_names_the_first_layer_and_the_largest():
    found = headline(layers("within noise", "changed", "changed"))
    assert found == (
        "2 of 3 layers changed beyond noise, from layer 1 on. The largest change is in layer 2: RDM drift 0.300. "
        "Noise alone reaches 0.020 (3 re-encodings); a change must exceed 0.040."
    )


@pytest.mark.parametrize(
    ("verdicts", "begins"),
    [
        (
            ("changed", "changed"),
            "Both layers changed beyond noise. The largest change is in layer 1: RDM drift 0.200. ",
        ),
        (("replaced", "replaced"), "Both layers were replaced. The largest change is in layer 1: "),
        (
            ("changed", "replaced"),
            "Both layers changed beyond noise (1 was replaced). The largest change is in layer 1: ",
        ),
        (("within noise", "replaced"), "1 of 2 layers was replaced. The largest change is in layer 1: "),
        (("changed",), "The geometry changed beyond noise: RDM drift 0.100. Noise alone reaches 0.020 "),
        (("replaced",), "The geometry was replaced: RDM drift 0.100. "),
        (
            ("within noise", "within noise"),
            "No change exceeds noise. The largest change is in layer 1: RDM drift 0.200. ",
        ),
        (("unchanged", "unchanged"), "Nothing changed: both layers have the same geometry to nine digits."),
        (("unchanged",), "Nothing changed: the representation has the same geometry to nine digits."),
    ],
)
def test_headlines_count_layers(verdicts, begins):
    assert headline(layers(*verdicts)).startswith(begins)


def test_a_headline_holds_for_scattered_changes():
    found = layers("changed", "within noise", "changed", "within noise")
    assert headline(found).startswith(
        "2 of 4 layers changed beyond noise, starting with layer 0. The largest change beyond noise is in layer 2: "
    )
    assert headline(layers("within noise")) == (
        "No change exceeds noise: RDM drift 0.100. Noise alone reaches 0.020 (3 re-encodings); a change must "
        "exceed 0.040."
    )


def test_layers_without_a_value_do_not_decide():
    found = layers("not estimable", "not estimable")
    found.layers[0].reason = "all rows are equal"
    assert headline(found) == "No layer could be evaluated: all rows are equal."
    one = layers("not estimable", "unchanged")
    one.layers[0].value = math.nan
    assert headline(one).startswith("Nothing changed")


def test_layers_without_a_counterpart_are_counted_first():
    found = layers("unchanged", "unchanged", "changed")
    found.n_layers = 4
    assert headline(found).startswith("3 of 4 layers compared. 1 of 3 layers changed beyond noise.")
    assert claim(found).startswith("3 of 4 layers compared.")


@pytest.mark.parametrize(
    ("verdicts", "begins"),
    [
        (("cannot decide",), "It cannot be decided whether the geometry changed beyond noise: RDM drift 0.100. "),
        (
            ("within noise", "cannot decide"),
            "No change certainly exceeds noise; for 1 layer, this cannot be decided. The largest change is in layer 1",
        ),
        (("changed", "cannot decide"), "1 of 2 layers changed beyond noise; for 1 layer, this cannot be decided. "),
    ],
)
def test_what_cannot_be_decided_is_not_called_noise(verdicts, begins):
    assert headline(layers(*verdicts)).startswith(begins)


def test_other_vectors_of_the_same_geometry_are_said():
    found = layers("unchanged", "unchanged", change=0.0)
    found.layers[1].vectors_differ = True
    assert headline(found) == (
        "Nothing changed in the geometry: both layers have the same distances to nine digits, but not the same vectors."
    )


def test_two_kinds_of_noise_have_two_names():
    found = layers("changed")
    found.layers[0].floors = {"re-encodings": 0.001, "further runs": 0.02}
    assert "Re-encoding noise reaches 0.001, seed noise reaches 0.020 (3 re-encodings)" in headline(found)


def test_sentences_follow_the_options():
    found = layers("changed")
    found.n_scored, found.confidence = 500, 0.5
    found.layers[0].low, found.layers[0].high = 0.05, 0.2
    found.layers[0].scores = (Score("1 - CKA"),)
    said = claim(found)
    assert "on 500 random rows of 1,200 inputs" in said
    assert "50 % intervals" in said and "95" not in said
    assert "1 - CKA 0.100" in said and "RDM" not in said


def test_an_interval_is_given_where_it_is_known():
    found = layers("changed", "changed")
    found.layers[1].low, found.layers[1].high = 0.15, 0.25
    assert "RDM drift 0.200 [0.150, 0.250]. Noise" in headline(found)
    assert "RDM drift 0.200 [0.150, 0.250]. Noise alone reaches 0.020" in claim(found)


def test_a_claim_counts_verdicts():
    said = claim(layers("changed", "not estimable", "changed", "within noise"))
    assert "old and new on 1,200 inputs, 2 changed, 1 not estimable, 1 within noise; 95 % intervals" in said


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (math.nan, "none"), (0.00123, "0.0012"), (0.01, "0.010"), (0.0099, "0.0099"), (1.5, "1.500")],
)
def test_numbers_have_three_digits(value, text):
    assert format_number(value) == text


def test_neighbours_are_in_percent():
    def shown(label, change):
        return cell(
            MeasureChange(name="a measure", value=change, low=math.nan, high=math.nan, noise=math.nan, label=label)
        )

    assert shown("neighbours lost", 0.125) == "12.5%"
    assert shown("neighbours lost", math.nan) == "none"
    assert shown("1 - CKA", 0.125) == "0.125"
    assert MeasureChange(name="RSA(metric=cosine)", value=0.1, low=0.0, high=0.2, noise=0.0).title == "RSA"


def test_names_are_shortened_to_their_column():
    assert shorten("a" * 44, 44) == "a" * 44
    assert shorten("a" * 45, 44) == "a" * 41 + "..."
    assert shorten("abcdef", 5) == "ab..."
    assert shorten(" a\n  b ", 5) == "a b"


@pytest.mark.parametrize("n", [1, 6, 7, 40])
def test_the_layers_that_are_shown_are_the_ones_that_matter(n):
    rng = np.random.default_rng(n)
    for _ in range(20):
        changes = rng.random(n)
        verdicts = ["changed" if one > 0.8 else "within noise" for one in changes]
        changes[rng.random(n) < 0.1] = math.nan
        every = [
            Layer(str(k), change, verdict) for k, (change, verdict) in enumerate(zip(changes, verdicts, strict=True))
        ]
        found = _important(every)
        assert {0, n - 1} <= set(found)
        if not np.isnan(changes).all():
            assert int(np.nanargmax(changes)) in found
        beyond = [k for k, one in enumerate(every) if one.is_beyond_noise]
        if beyond:
            assert found[0] == beyond[0] and max(0, beyond[0] - 1) in found


@pytest.mark.parametrize(
    ("names", "several", "text"),
    [
        ("a", 1, "a"),
        ("a", 5, "a"),
        ("ab", 2, "both"),
        ("abc", 3, "all 3"),
        ("abc", 5, "a, b and c"),
        ("abcd", 9, "a, b, c and d"),
        ("abcde", 9, "a, b, c and 2 more"),
    ],
)
def test_up_to_four_names_are_listed(names, several, text):
    assert list_names(list(names), several) == text


def test_changed_lengths_are_told_from_a_rotation():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4)) @ rng.standard_normal((4, 10))
    assert headline(shesha.diff(X, X * np.exp(rng.normal(0, 1, 60))[:, None])).startswith(
        "Lengths of vectors changed in representation, but not the angles between vectors: the representation has the "
        "same cosine distances"
    )
