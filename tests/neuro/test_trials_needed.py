"""The predicted number of trials reaches the target in new trials, and the formula is that of Spearman and Brown."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from scipy.stats import spearmanr

from shesha.neuro import trials_needed


def recording(seed, n_trials=16, n_conditions=12, signal=1.0):
    rng = np.random.default_rng(seed)
    tuning = 2 + signal * (rng.gamma(2, 0.5, size=(n_conditions, 30)) - 1)
    shown = rng.permutation(np.tile(np.arange(n_conditions), n_trials))
    return rng.poisson(tuning[shown]).astype(float), shown, tuning


def reliability(tuning, n_trials, rng, n=12):
    """Correlation between the distances in independent recordings, by the definition."""
    found = []
    for _ in range(n):
        means = [rng.poisson(np.tile(tuning, (n_trials, 1, 1))).mean(axis=0) for _ in range(2)]
        found.append(spearmanr(*(pdist(each, "cosine") for each in means))[0])
    return np.mean(found)


def test_the_prediction_holds_in_new_recordings():
    """The formula is checked by what it predicts: other trials, in the predicted number."""
    rng = np.random.default_rng(0)
    reached = []
    for seed in range(8):
        X, shown, tuning = recording(seed, n_trials=40, n_conditions=16)
        found = trials_needed(X, shown, n_permutations=0, normalize=False)
        assert found.needed.low < found.needed.value < found.needed.high
        assert found.reliability.value == pytest.approx(reliability(tuning, 20, rng), abs=0.15)
        reached.append(reliability(tuning, round(found.needed.value), rng, 4))
    assert np.mean(reached) == pytest.approx(0.8, abs=0.04)


def test_the_numbers_fit_one_another():
    X, shown, _ = recording(1, n_trials=17)
    found = trials_needed(X, shown, target=0.9, n_permutations=39)
    assert [each.n_trials for each in found] == [1, 2, 4, 8]
    assert found.n_recorded == 17
    assert {each.reason for each in found} == {""}
    r, needed = found.reliability.value, found.needed.value
    factor = needed / 8
    assert factor * r / (1 + (factor - 1) * r) == pytest.approx(0.9)
    half = found[f"{4} trials"]
    assert half.spearman_brown == pytest.approx(r / (2 - r))
    for end, other in (("low", "high"), ("high", "low")):
        limit = getattr(found.reliability, other)
        expected = 8 * 9 * (1 - limit) / limit if limit > 0 else np.inf
        assert getattr(found.needed, end) == pytest.approx(expected)
    assert found.to_frame()["spearman_brown"].iloc[-1] == pytest.approx(r)
    assert found == trials_needed(X, shown, target=0.9, n_permutations=39)


def test_halves_are_disjoint_and_equal():
    """Two trials per half of identical responses within a condition: any halves agree perfectly."""
    tuning = np.random.default_rng(0).gamma(1, 1, size=(6, 8))
    shown = np.tile(np.arange(6), 5)
    found = trials_needed(tuning[shown], shown, n_permutations=0)
    assert found.reliability.n_trials == 2
    assert found.reliability.value == pytest.approx(1.0)
    assert found.needed.value == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("null", ["shift", "permute"])
def test_without_a_code_few_recordings_are_reliable(null):
    hits = 0
    for seed in range(40):
        X, shown, _ = recording(seed, n_trials=6, n_conditions=6, signal=0.0)
        found = trials_needed(X, shown, n_permutations=39, n_splits=4, null=null, seed=seed)
        hits += found.reliability.significant
        assert found.reliability.significant == ("cannot be predicted" not in found.headline)
    assert hits <= 6


def test_the_interval_covers_the_number_for_these_conditions():
    """True numbers come from recordings with many trials; 93 to 100 % of 95 % intervals covered them."""
    rng, covered = np.random.default_rng(1), 0
    for seed in range(20):
        X, shown, tuning = recording(100 + seed)
        found = trials_needed(X, shown, n_permutations=0, normalize=False, n_splits=8)
        r = reliability(tuning, 30, rng, 4)
        covered += found.needed.low <= 30 * 4 * (1 - r) / r <= found.needed.high
    assert covered >= 17


def test_a_misfit_is_noted():
    """Two groups of conditions that differ clearly: the distances within groups are noise for any number of trials."""
    rng = np.random.default_rng(3)
    shown = rng.permutation(np.tile(np.arange(12), 16))
    groups = trials_needed(rng.poisson(2 + 40 * np.eye(2, 30)[shown % 2]), shown, n_permutations=0)
    assert "but the formula predicts" in groups.notes[0]
    assert "but the formula predicts" not in str(trials_needed(*recording(3)[:2], n_permutations=0))
    assert "measured" in [line.get_label() for line in groups.plot().lines]
