"""Formulas that several studies share, beside brute force and identities."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import pdist

from shesha_studies.framework.checks import Found
from shesha_studies.framework.published_checks import against
from shesha_studies.sentences import grammar
from shesha_studies.stability.invariance import CHANGES, printed_example
from shesha_studies.stability.validation import all_tests, baseline

LINES = pd.DataFrame(
    {
        "where": "Paper, Table 1",
        "what": ["number", "claim", "far", "nowhere"],
        "key": ["number", "claim", "model/far", "nowhere"],
        "published": ["0.50", "falls", "3", "1"],
    }
)


def test_every_published_line_becomes_a_check():
    found = {"number": Found(0.8, 0.01, "a reason"), "claim": Found("falls", why="unused")}
    checks = against(LINES, found, {"model/": "weights are missing"})
    assert [one.verdict for one in checks] == ["differs", "agrees", "not reachable", "not run"]
    assert [bool(one.why) for one in checks] == [True, False, True, True]
    assert [one.published for one in checks] == [0.5, "falls", 3.0, 1.0]


@pytest.mark.parametrize(("ours", "verdict"), [(1e-5, "agrees"), (0.001, "differs"), (0.5, "differs")])
def test_a_number_agrees_with_a_bound_that_it_is_below(ours, verdict):
    lines = LINES.assign(published=["0.50", "< 0.001", "3", "1"])
    assert against(lines, {"claim": Found(ours)})[1].verdict == verdict


def test_monotone_change_takes_the_square_root_of_every_distance():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((12, 11))
    assert pdist(CHANGES["monotonic distance"](X, rng)) == pytest.approx(np.sqrt(pdist(X)))


@pytest.mark.parametrize("name", ["rotation", "feature permutation", "shift by a number", "shift by a vector"])
def test_changes_that_keep_all_distances(name):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((12, 6))
    assert pdist(CHANGES[name](X, rng)) == pytest.approx(pdist(X))


def test_printed_example_has_one_split_that_disagrees():
    found = printed_example()
    assert (found["lowest"], found["splits_after"]) == (pytest.approx(-0.5), 2)


def test_the_grammar_has_512_sentences_of_16_adjectives():
    s = grammar()
    assert len(set(s["text"])) == 512
    assert len(set(s["adjective"])) == 16
    for adjective in set(s["adjective"]):
        assert len(set(s["label"][s["adjective"] == adjective])) == 1


def test_ten_tests_on_data_of_which_the_answer_is_known():
    """Three round classes far apart: nearly all variance is between them, and random labels leave (C - 1) / (n - 1)."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 140)[rng.permutation(420)]
    X = 5 * rng.standard_normal((3, 70))[y] + rng.standard_normal((420, 70))
    found = all_tests(X, y)
    assert found["variance_true"] > 0.8
    assert found["variance_expected"] == pytest.approx(2 / 419)
    assert found["variance_random"] == pytest.approx(2 / 419, abs=0.02)
    assert (found["identical"], found["valid"]) == (3, 1)
    assert found["components_correlate"] < 1e-10
    assert found["size"] == pytest.approx(X[:400].std(axis=0).mean())


def test_baseline_of_noise_is_its_chance_level():
    found = [baseline(120, 40, 4, seed) for seed in range(5)]
    assert np.mean([one["variance_noise"] for one in found]) == pytest.approx(3 / 119, abs=0.005)
    assert abs(np.mean([one["feature_split_noise"] for one in found])) < 0.02


def test_three_splits_of_four_features():
    """What `printed_example` counts on: of six halves, three hold the first feature."""
    assert sum(0 in pair for pair in combinations(range(4), 2)) == printed_example()["splits_before"]
