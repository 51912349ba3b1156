"""Sentences and tables of a diff: what they name, how numbers read, and which layers fit on a screen."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import pytest

import shesha
from shesha.results.diff import _key_layers, headline


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
    unmatched: tuple = ()
    structure: None = None
    index: None = None

    def __iter__(self):
        return iter(self.layers)


def layers(*verdicts, change=0.1):
    return Diff([Layer(f"layer {k}", change * (k + 1), verdict) for k, verdict in enumerate(verdicts)])


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


def test_layers_without_a_value_do_not_decide():
    found = layers("not estimable", "not estimable")
    found.layers[0].reason = "all rows are equal"
    assert headline(found) == "No layer could be evaluated: all rows are equal."
    one = layers("not estimable", "unchanged")
    one.layers[0].value = math.nan
    assert headline(one).startswith("Nothing changed")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (0.01, "changed beyond simulated noise: RDM drift 0.010 (about 1 for unrelated geometries). Noise alone"),
        (0.10, "changed beyond simulated noise: RDM drift 0.100. Noise alone"),
    ],
)
def test_simulated_noise_and_small_changes_are_named(change, said):
    found = layers("changed", change=change)
    found.noise_source = "simulated noise of 1% in every feature"
    assert said in headline(found)


def test_layers_without_a_counterpart_are_counted_first():
    found = layers("unchanged", "unchanged", "changed")
    found.n_layers = 4
    assert headline(found).startswith("3 of 4 layers compared. 1 of 3 layers changed beyond noise.")


def test_layers_that_were_not_compared_are_named_before_the_decision_on_an_index():
    X = np.random.default_rng(0).standard_normal((200, 6))
    found = shesha.diff({"v1": X}, {"v1": X, "v2": X**2}, index=True)
    first, second = found._page().answer
    assert first.startswith("1 of 2 layers compared; v2 has no counterpart. Index: cannot be decided: v1 holds the old")
    assert second.startswith("Nothing changed")


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
        found = _key_layers(every)
        assert {0, n - 1} <= set(found)
        if not np.isnan(changes).all():
            assert int(np.nanargmax(changes)) in found
        beyond = [k for k, one in enumerate(every) if one.is_beyond_noise]
        if beyond:
            assert found[0] == beyond[0] and max(0, beyond[0] - 1) in found


def test_changed_lengths_are_told_from_a_rotation():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4)) @ rng.standard_normal((4, 10))
    assert headline(shesha.diff(X, X * np.exp(rng.normal(0, 1, 60))[:, None])).startswith(
        "Lengths of vectors changed in representation, but not the angles between vectors: the representation has the "
        "same cosine distances"
    )
