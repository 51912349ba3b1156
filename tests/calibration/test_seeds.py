"""Seeds repeat what is drawn, in whatever form they come."""

from dataclasses import replace

import numpy as np
import pytest

import shesha.measures as measures
from shesha import calibrate, calibrate_layers, compare_all

K = 39


def scalar_with(seed, pair, **options):
    return calibrate(*pair, "CKA", n_permutations=K, seed=seed, **options)


def layers_with(seed, pair, **options):
    return calibrate_layers([pair[0]], [pair[1], pair[0]], "CKA", n_permutations=K, seed=seed, **options)


def many_with(seed, pair, **options):
    return compare_all({"a": pair, "b": pair[::-1]}, "CKA", calibrate=True, n_permutations=K, seed=seed, **options)


seeded = pytest.mark.parametrize("call", [scalar_with, layers_with, many_with])


@seeded
@pytest.mark.parametrize("blocked", [False, True])
def test_seeds_repeat(call, pair, blocked):
    options = {"blocks": np.arange(40) // 10} if blocked else {}
    first, again, other = (call(seed, pair, **options) for seed in (3, 3, 4))
    assert first == again
    assert first != other


@seeded
def test_a_generator_goes_on(call, pair):
    rng = np.random.default_rng(3)
    first, second = call(rng, pair), call(rng, pair)
    assert first != second
    assert first.seed is None
    assert call(np.random.default_rng(3), pair) == first


def test_more_draws_begin_with_the_same(pair):
    few, more = (calibrate(*pair, n_permutations=count, seed=0).null for count in (K, 99))
    assert more[:K] == few


def test_layers_and_their_pairs_meet_the_same_draws(pair):
    X, Y = pair
    found = calibrate_layers([X], [Y], "RSA", n_permutations=K, seed=5)
    assert found.null == pytest.approx(calibrate(X, Y, "RSA", n_permutations=K, seed=5).null, abs=1e-12)


def test_a_seed_repeats_a_measure_that_draws(rng):
    """Its choices are the same for all draws of a call; without an own seed they must follow from the call's."""
    X, Y = rng.standard_normal((2, 60, 4))
    options = {"n_subsets": 1, "subset_size": 12, "n_permutations": 19, "seed": 0}
    first, again = (calibrate(X, Y, "RTD", **options) for _ in range(2))
    assert first == again


@pytest.mark.parametrize("measure", ["CKA", "RSA", "mutual kNN", "RTD"])
def test_one_seed_gives_a_pair_one_result_alone_or_among_others(pair, rng, measure):
    X, Y = pair
    pairs = {"first": (X, Y), "fewer rows": (X[:25], Y[:25]), "others": (X, rng.standard_normal((40, 3)))}
    chosen = f"{measure}(n_subsets=1, subset_size=12)" if measure == "RTD" else measure
    found = compare_all(pairs, chosen, calibrate=True, n_permutations=19, seed=4)
    for name, own in pairs.items():
        one = calibrate(*own, chosen, n_permutations=19, seed=4)
        assert found[name] == replace(one, first=name, corrected_p_value=found[name].corrected_p_value)


def test_a_generator_gives_many_pairs_what_it_gives_one_after_another(pair):
    rng, again = np.random.default_rng(3), np.random.default_rng(3)
    found = compare_all({"a": pair, "b": pair}, "CKA", calibrate=True, n_permutations=K, seed=rng)
    one_by_one = [calibrate(*pair, n_permutations=K, seed=again).null for _ in range(2)]
    assert [found["a"].null, found["b"].null] == one_by_one
    assert found["a"].null != found["b"].null


def test_many_pairs_repeat_a_measure_that_draws(rng):
    pairs = dict.fromkeys("ab", tuple(rng.standard_normal((2, 60, 4))))
    options = {"calibrate": True, "n_permutations": 19, "seed": 0}
    first, again = (compare_all(pairs, "RTD(n_subsets=1, subset_size=12)", **options) for _ in range(2))
    assert first == again


@pytest.mark.parametrize(
    "call", [calibrate, lambda X, Y, *args, **options: calibrate_layers([X], [Y], *args, **options)]
)
def test_generators_repeat_a_measure_that_draws(rng, call):
    X, Y = rng.standard_normal((2, 60, 4))
    options = {"n_subsets": 1, "subset_size": 12, "n_permutations": 19}
    first, again = (call(X, Y, "RTD", seed=np.random.default_rng(0), **options) for _ in range(2))
    assert first.null == again.null


def test_a_measure_that_draws_takes_its_own_seed(rng):
    X, Y = rng.standard_normal((2, 60, 4))
    measure = measures.get("RTD").with_options(seed=1, n_subsets=1, subset_size=12)
    first, again = (calibrate(X, Y, measure, n_permutations=19, seed=0) for _ in range(2))
    assert first == again
