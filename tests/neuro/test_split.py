"""Halves of the trials, and whether they agree on the distances between conditions."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from scipy.stats import spearmanr

import shesha
from shesha.neuro import discriminability, trial_split, wuc
from shesha.neuro.split_half_reliability import _cosine
from shesha.neuro.trials import Halves
from shesha.support.provenance import collect_statements

FAST = {"n_permutations": 0}
ALL = {"trials_per_half": "all", **FAST}


def brute_force(X, shown, halves, metric):
    """Mean of the rank correlations, condition by condition and pair by pair."""
    values = []
    for half in halves:
        means = [np.array([X[part][shown[part] == k].mean(axis=0) for k in np.unique(shown)]) for part in half]
        values.append(spearmanr(*(pdist(one, metric) for one in means)).statistic)
    return np.mean(values)


def trial_halves(n_trials, how, n_splits, seed=0):
    masks = Halves.build(n_trials, how, n_splits, 8, seed).masks
    return [(np.flatnonzero(mask), np.flatnonzero(~mask)) for mask in masks]


@pytest.mark.parametrize("how", ["odd-even", "random", "blocks"])
@pytest.mark.parametrize("metric", ["cosine", "correlation", "euclidean"])
def test_the_value_is_that_of_a_loop(recording, how, metric) -> None:
    X, shown = recording()
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    found = trial_split(X, shown, how=how, metric=metric, seed=7, n_splits=6, normalize=metric == "cosine", **ALL)
    from shesha.support.seeds import spawn

    halves = trial_halves(len(X), how, 6, spawn(7, 1))
    rows = unit if metric == "cosine" else X
    if metric == "correlation":
        rows = rows - rows.mean(axis=1, keepdims=True)
    assert found.value == pytest.approx(brute_force(rows, shown, halves, metric), abs=1e-12)


def test_more_neurons_than_trials_make_no_difference_to_the_arithmetic(recording) -> None:
    X, shown = recording(n_trials=40, n_neurons=100, n_conditions=4)
    halves = trial_halves(40, "odd-even", 1)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    assert trial_split(X, shown, **ALL).value == pytest.approx(brute_force(unit, shown, halves, "cosine"))


def test_halves_are_halves() -> None:
    for how in ("odd-even", "random", "blocks"):
        for first, second in trial_halves(31, how, 5, 1):
            assert sorted([*first, *second]) == list(range(31))
            assert abs(len(first) - len(second)) <= (1 if how != "blocks" else 4)
    blocks = trial_halves(32, "blocks", 100)
    assert len(blocks) == 35
    assert len({tuple(first) for first, _ in blocks}) == 35
    assert all(0 in first for first, _ in blocks)


def test_chance_of_untuned_neurons_keeps_its_level() -> None:
    """Slow drift and conditions that repeat in a row: shifts keep both, shuffling does not."""
    rng = np.random.default_rng(0)
    hits = {"shift": 0, "permute": 0}
    for seed in range(14):
        drift = rng.standard_normal((2, 8)) * 0.6
        phase = np.linspace(0, 1, 96)[:, None]
        X = rng.poisson(np.exp(1 + drift[0] * np.sin(6 * phase) + drift[1] * np.cos(6 * phase)))
        shown = np.repeat(rng.permutation(np.tile(np.arange(4), 4)), 6)
        for null in hits:
            hits[null] += trial_split(X, shown, null=null, n_permutations=19, seed=seed).significant
    assert hits["shift"] <= 3
    assert hits["permute"] >= 4


def test_a_condition_with_one_trial_is_left_out_and_told(recording) -> None:
    X, shown = recording()
    more = np.append(shown, 9)
    found = trial_split(np.vstack([X, X[:1]]), more, **FAST)
    assert found.n_conditions == 5
    assert "conditions with fewer than 2 trials are left out: 9" in found.notes[0]


def test_a_condition_missing_in_a_half_does_not_stop_the_rest(recording) -> None:
    X, shown = recording()
    odd_only = np.where(np.arange(120) % 2 == 1, 7, shown)[:6]
    shown[:6] = odd_only
    found = trial_split(X, shown, **ALL)
    assert found.n_conditions == 6
    keep = shown != 7
    means = [
        np.array(
            [(X / np.linalg.norm(X, axis=1, keepdims=True))[s::2][shown[s::2] == k].mean(axis=0) for k in range(5)]
        )
        for s in (0, 1)
    ]
    assert keep.sum() == 117
    assert found.value == pytest.approx(spearmanr(*(pdist(one, "cosine") for one in means)).statistic)


def test_silent_neurons_and_empty_trials_are_told(recording) -> None:
    X, shown = recording()
    X[:, 3] = 0
    X[5] = 0
    notes = trial_split(X, shown, **ALL).notes
    assert notes == ("1 of 12 neurons without any response", "1 trial without any response")


def test_two_conditions_have_no_geometry(recording) -> None:
    X, shown = recording(n_conditions=2)
    with pytest.warns(
        shesha.NotEstimableWarning, match="only 2 conditions have enough trials, but at least 3 .*discriminability"
    ):
        found = trial_split(X, shown)
    assert np.isnan(found.value)
    assert "not estimable" in str(found)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"how": "thirds"}, "how must be one of 'odd-even', 'random', 'blocks', got 'thirds'"),
        ({"null": "none"}, "null must be one of 'shift', 'permute', 'stretches', got 'none'"),
        ({"null": "stretches"}, "block_length must be given if and only if null='stretches', got none"),
        ({"block_length": 5}, "block_length must be given if and only if null='stretches', got null='shift'"),
        ({"metric": "manhattan"}, "metric must be one of"),
        ({"how": "blocks", "n_blocks": 500}, r"n_blocks must be at most the number of trials \(120\), got 500"),
        ({"normalize": "yes"}, "normalize must be True or False, got 'yes'"),
    ],
)
def test_bad_options(recording, change, message) -> None:
    X, shown = recording()
    with pytest.raises(ValueError if "normalize" not in change else TypeError, match=message):
        trial_split(X, shown, **change)


def test_columns_together_are_one_condition(recording) -> None:
    X, shown = recording(n_conditions=6)
    two = np.column_stack([shown // 3, shown % 3])
    assert trial_split(X, two, **FAST).value == trial_split(X, shown, **FAST).value


def wuc_brute_force(X, shown, shrinkage):
    """Whitening by the explicit inverse of the other half's noise, products trial by trial, centring by a matrix."""
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    K, n = shown.max() + 1, X.shape[1]
    centre = np.eye(K) - 1 / K
    found = []
    halves = (slice(0, None, 2), slice(1, None, 2))
    for half, other in (halves, halves[::-1]):
        x, s, y, t = X[half], shown[half], X[other], shown[other]
        left = y - np.array([y[t == k].mean(axis=0) for k in range(K)])[t]
        S = left.T @ left
        noise = ((1 - shrinkage) * S + shrinkage * np.trace(S) / n * np.eye(n)) / (len(y) - K)
        precision = np.linalg.inv(noise)
        products = x @ precision @ x.T
        np.fill_diagonal(products, np.nan)
        G = np.array([[np.nanmean(products[np.ix_(s == a, s == b)]) for b in range(K)] for a in range(K)])
        found.append((centre @ G @ centre).ravel())
    return found[0] @ found[1] / np.linalg.norm(found[0]) / np.linalg.norm(found[1])


def test_wuc_is_that_of_a_loop(recording) -> None:
    X, shown = recording()
    found = wuc(X, shown, shrinkage=0.1, **FAST)
    assert found.value == pytest.approx(wuc_brute_force(X, shown, 0.1), abs=1e-10)


def test_wuc_of_more_neurons_than_trials_is_that_of_a_loop(recording) -> None:
    X, shown = recording(n_trials=60, n_neurons=90, n_conditions=4)
    with pytest.warns(shesha.MeasureWarning, match="90 features are many .* from 26 degrees of freedom"):
        found = wuc(X, shown, shrinkage=0.3, **FAST)
    assert "noise is whitened only in part" in found.notes[-1]
    assert found.value == pytest.approx(wuc_brute_force(X, shown, 0.3), abs=1e-10)


def test_wuc_stands_beside_chance(recording) -> None:
    X, shown = recording()
    found = wuc(X, shown, n_permutations=39)
    assert found.significant
    assert abs(found.chance) < 0.3
    with pytest.warns(shesha.NotEstimableWarning, match="fewer than three conditions"):
        assert np.isnan(wuc(X, shown % 2, n_permutations=39).value)


@pytest.mark.parametrize("score", [trial_split, discriminability])
def test_shifts_of_conditions_in_a_fixed_cycle_are_noted(score):
    rng = np.random.default_rng(5)
    tuning, cycle = rng.gamma(1, 2, size=(5, 24)), np.tile(np.arange(5), 12)
    rates = rng.poisson(tuning[cycle]).astype(float)
    found = score(rates, cycle)
    assert not found.significant and "null='permute'" in found.notes[-1]
    permuted = score(rates, cycle, null="permute")
    assert permuted.significant and not any("null='permute'" in note for note in permuted.notes)


def test_conditions_with_one_trial_in_either_half_do_not_count():
    sums = np.random.default_rng(0).gamma(2, 3, (2, 6, 7))
    sums[:, :, -1] = 3
    sums[1, 5, -1] = 1
    assert _cosine(*sums) == _cosine(*sums[:, :5]) == _cosine(*sums[::-1])


@pytest.mark.parametrize(
    ("conditions", "named"), [((-1, 0, 1, 2), True), ((-2, -1, 0, 1), False), ((0, 1, 2, 3), False)]
)
def test_minus_one_among_numbers_of_images_is_stated(conditions, named):
    """Minus one is no image, but contrasts and positions are signed."""
    shown = np.random.default_rng(1).permutation(np.tile(conditions, 6))
    with collect_statements() as statements:
        trial_split(np.random.default_rng(0).random((24, 5)), shown, how="random", n_permutations=19)
    assert any("-1 is used as a class of 6 rows" in text for text in statements) == named


@pytest.mark.parametrize("offset", [0, 65280])
def test_conditions_that_change_in_the_session_are_told(offset):
    rng = np.random.default_rng(0)
    codes = rng.integers(1, 7, size=240)
    codes[120:] += offset
    said = str(trial_split(rng.standard_normal((240, 12)), codes).inputs)
    text = (
        "conditions 1, 2, 3 and 3 more occur only before trial 120, and 65281, 65282, 65283 and 3 more only from it on"
    )
    assert (text in said) == (offset > 0)
    assert ("The latter codes are the former plus 65280" in said) == (offset > 0)
    assert ("12 conditions: 1, 2, ..., 65285, 65286" in said) == (offset > 0)


@pytest.mark.parametrize("later", [lambda code: code + 6, lambda code: code**2 + 40, lambda code: f"image {code}"])
def test_new_conditions_are_not_called_an_offset(later):
    rng = np.random.default_rng(0)
    codes = np.array([later(code) if place >= 120 else code for place, code in enumerate(rng.integers(1, 7, size=240))])
    said = str(trial_split(rng.standard_normal((240, 12)), codes).inputs)
    assert "only from it on" in said and "The latter codes" not in said
