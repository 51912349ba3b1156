"""A report fits one screen: the verdict, one table, the first doubt, and what to do next."""

from dataclasses import replace

import numpy as np
import pytest

import shesha
from shesha.report import SCREEN, as_screen
from shesha.results.audit_report import audit_page
from shesha.results.audit_verdict import verdict


def lines(found):
    return as_screen(audit_page(found), width=80).split("\n")


def shared(rng, n_features=24):
    return rng.standard_normal((60, 3)) @ rng.standard_normal((3, n_features))


def test_any_number_of_representations_fits_one_screen(quick_audit):
    rng = np.random.default_rng(0)
    layers = {f"encoder.layer.{k}": shared(rng) + (1 + k % 5) * rng.standard_normal((60, 24)) for k in range(5)}
    layers["encoder.layer.0"][:, 5] = 40 * layers["encoder.layer.0"][:, 5]
    found = quick_audit(layers, np.arange(60) % 4)
    for several in (1, 3, 12, 40):
        many = tuple(replace(found.representations[k % 5], name=f"encoder.layer.{k}") for k in range(several))
        assert len(lines(replace(found, representations=many))) <= SCREEN


def test_of_many_the_most_and_the_least_stable_are_shown(quick_audit):
    rng = np.random.default_rng(1)
    layers = {f"layer{k}": shared(rng) + 2 * rng.standard_normal((60, 24)) for k in range(20)}
    found = quick_audit(layers)
    table = lines(found)[: next(i for i, line in enumerate(lines(found)) if "more: see to_frame()" in line)]
    shown = [line.split()[0] for line in table if line.startswith("  layer")]
    assert {found.ranking[0], found.ranking[-1], "layer0", "layer19"} <= set(shown)
    assert f"{20 - len(shown)} more: see to_frame()" in "\n".join(lines(found))


def test_verdicts_in_words():
    rng = np.random.default_rng(0)
    left, values, _ = np.linalg.svd(rng.standard_normal((300, 60)) * np.r_[np.full(10, 4.0), np.ones(50)])
    sides = {
        "signal": np.repeat(rng.standard_normal((300, 6)), 10, axis=1) + 0.3 * rng.standard_normal((300, 60)),
        "faint": rng.standard_normal((300, 5)) @ rng.standard_normal((5, 60)) * 0.15 + rng.standard_normal((300, 60)),
        "noise": rng.standard_normal((300, 60)),
        "components": (left[:, :60] * values)[:, 3:40],
    }
    found = shesha.audit(sides, n_bootstrap=0, n_permutations=39, seed=0)
    told = {one.name: verdict(one) for one in found.representations}
    assert told["signal"] == "above chance, strong"
    assert told["faint"] == "above chance, mostly noise"
    assert told["noise"] == "not above chance"
    assert told["components"].startswith("basis-averaged 0.")
    text = " ".join(str(found).split())
    assert "Above chance, but near zero, so single distances are mostly noise: faint" in text
    assert "Stable above chance: signal" in text


def test_the_answer_names_dominant_features_and_different_numbers_of_rows(quick_audit):
    rng = np.random.default_rng(0)
    clear, mixed = (shared(rng) + 0.5 * rng.standard_normal((60, 24)) for _ in range(2))
    mixed[:, 5] = 1000 + 300 * rng.standard_normal(60)
    text = " ".join(" ".join(audit_page(quick_audit({"train": clear, "test": mixed[:40]})).answer).split())
    assert "A few features dominate (test): 1 of 24 features (5) determines" in text
    assert "Numbers of rows: train 60, test 40." in text
    layers = quick_audit({"layer0": clear, "layer1": mixed, "layer2": mixed + 0.0, "layer3": -2 * clear})
    copies = ("layer2 has the same distances as layer1", "layer3 has the same distances as layer0")
    assert all(f"{copy}, like a copy" in layers.inputs for copy in copies)


def test_advice_waits_for_problems_that_explain_the_score(quick_audit):
    rng = np.random.default_rng(0)
    signal = np.repeat(rng.standard_normal((80, 6)), 8, axis=1)
    noisy = signal + 0.5 * rng.standard_normal(signal.shape)
    copied = np.tile(rng.standard_normal((80, 24)), 4)
    sound, doubtful = (" ".join(str(quick_audit({"x": rows})).split()) for rows in (noisy, copied))
    assert "What to do. Strong: distances between single rows can be used" in sound
    assert "What to do, once the possible problems are resolved. Strong: distances" in doubtful


@pytest.mark.parametrize(("sizes", "answer"), [((10, 11, 12, 13), "cannot be decided"), ((10,) * 6, "Stable above")])
def test_a_design_without_exchangeable_groups_decides_nothing(sizes, answer):
    groups = np.repeat(np.arange(len(sizes)), sizes)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((len(groups), 3)) @ rng.standard_normal((3, 24)) + rng.standard_normal((len(groups), 24))
    found = shesha.audit(X, groups=groups, n_bootstrap=0, n_permutations=39)
    assert answer in str(found)
    assert (found["X"].chance is None) == ("cannot" in answer)
    assert ("do not interpret" in str(found)) is False
