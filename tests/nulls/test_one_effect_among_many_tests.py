"""Whatever corrects for several tests finds one overwhelming effect among them, or says that it could not."""

import warnings

import numpy as np
import pytest

import shesha
from shesha.nulls.corrections import benjamini_hochberg, default_draws, draws_needed, holm, undecided

N = 40


def unrelated(rng, n_features=3):
    return rng.standard_normal((N, n_features))


def pairs(m, rng):
    X = unrelated(rng)
    return {"same": (X, X), **{f"pair {k}": (X, unrelated(rng)) for k in range(m - 1)}}


def many(m, rng, n_permutations=None):
    found = shesha.calibrate_many(pairs(m, rng), n_permutations=n_permutations, correction="holm", seed=0)
    return found.headline, found.corrected_p_values[0]


def layers(m, rng):
    X = unrelated(rng)
    found = shesha.calibrate_layers([X], [X, *(unrelated(rng) for _ in range(m - 1))], seed=0)
    return found.n_above_chance_sentence, found.corrected_p_values[0][0]


def representations(m, rng):
    X = unrelated(rng)
    found = shesha.compare_all({"a": X, "b": X, **{str(k): unrelated(rng) for k in range(m)}}, "CKA", calibrate=True)
    return str(found), found.matrix("CKA", "corrected_p_value").loc["a", "b"]


def units(m, rng, n_permutations=None):
    X, Y = unrelated(rng, m), unrelated(rng, m)
    Y[:, 0] = X[:, 0]
    found = shesha.match_units(X, Y, n_permutations=n_permutations)
    return found.headline, min(found.adjusted_p_values)


CORRECTING = {
    "calibrate_many": many,
    "calibrate_layers": layers,
    "compare_all": representations,
    "match_units": units,
}


@pytest.mark.parametrize("m", [2, 7, 30])
@pytest.mark.parametrize("name", CORRECTING)
def test_one_overwhelming_effect_among_many_tests_is_found(name, m):
    text, p = CORRECTING[name](m, np.random.default_rng(m))
    assert p <= 0.05 * (1 + 1e-9), text
    assert "cannot be decided" not in text


@pytest.mark.parametrize("name", ["calibrate_layers", "match_units"])
def test_one_overwhelming_effect_among_200_tests_is_found(name):
    text, p = CORRECTING[name](200, np.random.default_rng(1))
    assert p <= 0.05 * (1 + 1e-9), text


@pytest.mark.parametrize("name", ["calibrate_many", "match_units"])
def test_too_few_permutations_are_said_instead_of_no_effect(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        text, p = CORRECTING[name](50, np.random.default_rng(0), n_permutations=19)
    assert p > 0.05
    assert "cannot be decided with 19 permutations: at least" in text


@pytest.mark.parametrize("correct", [holm, benjamini_hochberg])
@pytest.mark.parametrize("m", [2, 15, 200])
@pytest.mark.parametrize("alpha", [0.05, 0.01])
def test_draws_needed_are_the_fewest_with_which_one_effect_is_significant(m, alpha, correct):
    k = draws_needed(m, alpha)
    for n_draws, is_enough in ((k, True), (k - 1, False)):
        p_values = [1 / (n_draws + 1), *[1.0] * (m - 1)]
        assert (correct(p_values)[0] <= alpha * (1 + 1e-9)) == is_enough
        assert bool(undecided(p_values, correct(p_values), n_draws, alpha)) != is_enough
    assert default_draws(m, alpha, fewest=200) == max(200, min(k, 9_999))


def test_no_effect_is_said_only_if_no_test_reaches_the_level_by_itself():
    assert undecided([0.2, 0.6], [0.4, 0.6], 19, 0.05) == ""
    assert undecided([0.05, 0.6], [0.1, 0.6], 19, 0.05) == "cannot be decided with 19 permutations: at least 39"
    assert undecided([float("nan")], [float("nan")], 19, 0.05) == ""
    assert undecided([0.04], [1.0], 9, 0.05, n_tests=30, what="shuffles").endswith("9 shuffles: at least 599")


def test_summed_rows_find_one_measure_among_many():
    """Measures whose chance levels are drawn share the draws, so their number does not multiply the p-value."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 6))
    found = shesha.compare(shesha.Moments.of(X, X), "all", calibrate=True)
    tested = [score for score in found if score.has_null]
    assert len(tested) > 12
    assert max(score.corrected_p_value for score in tested if score.p_value < 0.006) <= 0.05
    with pytest.raises(ValueError, match=r"n_permutations must be at least 1 / alpha - 1 = 19, got 10"):
        shesha.compare(shesha.Moments.of(X, X), "all", calibrate=True, n_permutations=10)
