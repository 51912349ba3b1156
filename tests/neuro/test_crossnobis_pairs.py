"""Tests of pairs of conditions: level for unrelated pairs beside others that differ, power, and all exchanges."""

from itertools import combinations
from typing import Any

import numpy as np
import pytest

import shesha
from shesha.neuro import crossnobis, crossnobis_significance as module, crossnobis_test
from shesha.support.provenance import collect_statements


def recording(seed, difference=3.0):
    """Three conditions in four runs with offsets; the third differs. Noise is correlated and heavy-tailed."""
    rng = np.random.default_rng([77, seed])
    shown, runs = rng.integers(0, 3, 36), np.repeat(np.arange(4), 9)
    mixed = rng.standard_normal((8, 8))
    X = rng.standard_t(4, (36, 8)) @ mixed + np.array([0, 0, difference])[shown, None] * mixed[0]
    return X + rng.standard_normal((4, 8))[runs], shown, runs


def test_equal_conditions_keep_the_level_beside_one_that_differs():
    n, draws = 120, 19
    found = [crossnobis_test(*recording(seed), n_permutations=draws, seed=seed + 1000).p_values for seed in range(n)]
    rejected = (np.array(found) <= 0.05).sum(axis=0)
    # 5 % is expected of the first pair, give or take three standard errors; the other two pairs differ.
    assert rejected[0] > 0 and abs(rejected[0] - 0.05 * n) <= 3 * np.sqrt(0.05 * 0.95 * n)
    assert rejected[1:].min() > n / 2


@pytest.mark.parametrize("n_permutations", [19, 30])
def test_p_values_count_the_real_labels_once(n_permutations):
    """No exchange reaches a huge difference; without any difference all do."""
    X, shown, runs = recording(3, difference=1000)
    assert crossnobis_test(X, shown, runs, n_permutations=n_permutations).p_values[1] == 1 / (n_permutations + 1)
    same = np.tile(np.arange(8.0), (36, 1))
    found = crossnobis_test(same, shown, runs, noise=None, n_permutations=n_permutations)
    assert found.p_values == (1.0, 1.0, 1.0)


def test_distances_are_those_of_crossnobis():
    X, shown, runs = recording(3)
    found = crossnobis_test(X, shown, runs, n_permutations=19)
    expected = crossnobis(X, shown, runs)[np.triu_indices(3, k=1)]
    assert found.distances == pytest.approx(expected)
    assert list(zip(found.first, found.second, strict=True)) == list(combinations(("0", "1", "2"), 2))


def test_p_values_are_those_of_all_exchanges():
    """Four trials in each of two runs: 36 exchanges in all, counted one by one."""
    rng = np.random.default_rng(1)
    shown, runs = np.tile([0, 0, 1, 1], 2), np.repeat([0, 1], 4)
    X = rng.standard_normal((8, 3)) + np.where(shown, 0.8, 0.0)[:, None]
    observed = crossnobis(X, shown, runs, noise=None)[0, 1]
    every = []
    for first in combinations(range(4), 2):
        for second in combinations(range(4, 8), 2):
            labels = np.zeros(8, dtype=int)
            labels[list(first + second)] = 1
            every.append(crossnobis(X, labels, runs, noise=None)[0, 1])
    exact = np.mean(np.array(every) >= observed * (1 - 1e-12))
    found = crossnobis_test(X, shown, runs, noise=None, n_permutations=4000).p_values[0]
    assert found == pytest.approx(exact, abs=0.03)


def test_exchanges_stay_within_runs():
    codes, runs = np.random.default_rng(0).integers(0, 3, 60), np.repeat(np.arange(5), 12)
    own = np.flatnonzero(codes < 2)
    lines = module._exchanges(codes, runs, (0, 1), np.random.default_rng(1).random((20, 60)))
    assert (lines[0] == (codes[own] == 0)).all()
    for line in lines:
        for run in range(5):
            assert line[runs[own] == run].sum() == (codes[runs == run] == 0).sum()


def test_pairs_without_a_distance_have_no_p_value(tmp_path):
    X, shown, runs = recording(5)
    found = crossnobis_test(X, np.where((shown == 2) & (runs > 0), 1, shown), runs, n_permutations=19)
    assert np.isnan(found.p_values[1]) and found.p_values[0] == found.p_values[0]
    assert np.isnan(found.corrected_p_values[1])
    assert found.headline.endswith(
        "of 1 pair of conditions differs at 0.05, corrected for the number of pairs; 2 pairs could not be tested."
    )
    assert shesha.load(found.save(tmp_path / "pairs.json")) == found


def test_too_few_permutations_are_refused():
    with pytest.raises(
        ValueError, match=r"n_permutations must be at least 19, because fewer cannot reach p = 0\.05, got 9"
    ):
        crossnobis_test(*recording(0), n_permutations=9)


@pytest.mark.parametrize("noise", ["ledoit-wolf", "diagonal", 0.5])
def test_huge_responses_have_the_p_values_of_small_ones(noise):
    rng = np.random.default_rng(0)
    X, shown = rng.standard_normal((24, 6)), np.repeat([0, 1], 12)
    one, other = (crossnobis_test(X * unit, shown, noise=noise, n_permutations=19) for unit in (1.0, 2.0**900))
    assert one.p_values == other.p_values
    with pytest.raises(ValueError, match="X must contain numbers with finite squares"):
        crossnobis_test(X * 2.0**900, shown, noise=None, n_permutations=19)


def _designs() -> dict[str, tuple[Any, Any, Any]]:
    """Trials with conditions and runs: alternating, unequal, one trial per run, few folds, many neurons."""
    rng = np.random.default_rng(5)
    plain = np.tile(np.arange(4), 9)
    unequal = rng.permutation(np.repeat(np.arange(4), [9, 5, 12, 2]))
    runs = np.repeat(np.arange(4), 9)
    once, once_runs = np.tile(np.arange(5), 9), np.repeat(np.arange(9), 5)
    few = np.tile(np.arange(3), 2)

    def data(n: int, p: int) -> Any:
        return rng.standard_normal((n, p)) * rng.gamma(2, 1, p) + 3

    return {
        "without runs": (data(36, 6), plain, None),
        "unequal, without runs": (data(28, 6), unequal, None),
        "repeats in runs": (data(36, 6), plain, runs),
        "unequal in runs": (data(28, 6), unequal, np.arange(28) % 3),
        "once per run": (data(45, 6), once, once_runs),
        "more neurons than trials": (data(36, 50), plain, None),
        "two trials": (data(6, 2), few, None),
        "a constant neuron": (np.column_stack([data(36, 4), plain * 2.5, np.ones(36)]), plain, None),
        "a constant neuron in runs": (np.column_stack([data(45, 4), once * 0.1, np.ones(45)]), once, once_runs),
    }


@pytest.mark.parametrize("noise", ["ledoit-wolf", "diagonal", 0.3, None, "matrix", "per run"])
@pytest.mark.parametrize("design", list(_designs()))
def test_pairs_have_the_distances_of_all_conditions_for_every_exchange(design: str, noise: Any) -> None:
    from shesha.neuro.crossnobis import Crossed, run_codes
    from shesha.neuro.crossnobis_significance import _exchanges, draw_distances
    from shesha.neuro.trials import Trials

    X, shown, runs = _designs()[design]
    if noise == "per run" and runs is None:
        pytest.skip("there are no runs")
    p = X.shape[1]
    precision = np.linalg.inv(np.eye(p) + 0.3)
    given = {"matrix": precision, "per run": [precision * (1 + k) for k in range(len(np.unique(runs)))]}
    noise = np.array(given[noise]) if noise in given else noise
    trials = Trials.build(X, shown, min_trials=1)
    parts, names = run_codes(X, trials, runs)
    crossed = Crossed.build(trials, parts, noise, names)
    keys = np.random.default_rng(0).random((7, len(X)))
    for pair in ((0, 1), (0, 2), (1, 2)):
        first = _exchanges(trials.codes, parts, pair, keys)
        own = np.flatnonzero(np.isin(trials.codes, pair))
        expected = []
        for line in first:
            labels = trials.codes.copy()
            labels[own] = np.where(line, *pair)
            expected.append(crossed.distances(labels)[pair])
        found = draw_distances(crossed, trials.codes, pair, first)
        assert np.allclose(found, expected, rtol=1e-9, atol=1e-12), (pair, found, expected)


@pytest.mark.parametrize(("n_frames", "named"), [(4, True), (1, False)])
def test_frames_of_blocks_are_told_from_trials(n_frames, named):
    """The frames of a block are alike, but not the last frame of a block and the first of the next."""
    rng = np.random.default_rng(1)
    shown = np.repeat([rng.permutation(4) for _ in range(24 // n_frames)], n_frames, axis=1).ravel()
    blocks = np.arange(len(shown)) // n_frames
    X = rng.standard_normal((len(shown), 20)) + 2 * rng.standard_normal((blocks.max() + 1, 20))[blocks]
    with collect_statements() as statements:
        crossnobis_test(X, shown, np.arange(len(shown)) // (len(shown) // 3), noise=None, n_permutations=39)
    assert any("like the frames of a block" in text for text in statements) == named
