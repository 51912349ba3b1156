"""Noise ceilings of distances, given or found in trials."""

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import pdist, squareform
from scipy.stats import rankdata, spearmanr

import shesha
from shesha.neuro import noise_ceiling

RNG = np.random.default_rng(2)
TRUTH = RNG.random(28)
REPEATS = TRUTH + 0.3 * RNG.random((4, 28))


def test_it_is_the_ceiling_of_the_root_where_both_can_be_had() -> None:
    own = noise_ceiling(REPEATS)
    other = shesha.noise_ceiling([shesha.Rdm(one) for one in REPEATS], "RSA")
    assert (own.lower, own.upper, own.reliability) == pytest.approx((other.lower, other.upper, other.reliability))
    assert own.left_out == pytest.approx(other.left_out)
    assert (own.n_repeats, own.n_rows) == (4, 8)
    squares = np.array([squareform(one) for one in REPEATS])
    assert noise_ceiling(squares) == own


def test_a_shift_below_zero_changes_nothing() -> None:
    assert noise_ceiling(REPEATS - 5).lower == pytest.approx(noise_ceiling(REPEATS).lower)


def test_pairs_that_a_repeat_lacks_are_left_out() -> None:
    """Each repeat is ranked on its own pairs, and correlated with the mean of the others over the pairs of both."""
    holed = REPEATS.copy()
    holed[1, [3, 9]] = np.nan
    holed[2, 9:14] = np.nan
    unit = np.full(holed.shape, np.nan)
    for line, values in zip(unit, holed, strict=True):
        known = ~np.isnan(values)
        ranks = rankdata(values[known]) - (known.sum() + 1) / 2
        line[known] = ranks / np.linalg.norm(ranks)
    lower = []
    for k, own in enumerate(unit):
        others = np.nanmean(np.delete(unit, k, axis=0), axis=0)
        known = ~np.isnan(own)
        lower.append(spearmanr(own[known], others[known]).statistic)
    found = noise_ceiling(holed)
    assert found.left_out == pytest.approx(lower) and found.lower == pytest.approx(np.mean(lower))
    assert found.n_known_pairs == tuple((~np.isnan(holed)).sum(axis=1)) and found.n_pairs == 28
    assert "23 to 28 of 28 pairs of rows known in each" in str(found)
    assert noise_ceiling(REPEATS).n_known_pairs == (28,) * len(REPEATS)


def test_a_repeat_whose_conditions_have_other_names_is_named() -> None:
    names = list("abcdefgh")
    tables = [pd.DataFrame(squareform(one), names, names) for one in REPEATS]
    assert not noise_ceiling(tables).inputs
    tables[2] = tables[2].rename(str.upper).rename(columns=str.upper)
    found = noise_ceiling(tables)
    assert found.lower == noise_ceiling(np.delete(REPEATS, 2, axis=0)).lower
    assert any("not used" in text and "repeat 2, counted from 0" in text for text in found.inputs)


def test_there_is_no_ceiling_over_noise() -> None:
    against = np.vstack([TRUTH, -TRUTH])
    with pytest.warns(shesha.NotEstimableWarning, match="repeats do not agree .reliability -1., so there is no"):
        found = noise_ceiling(against)
    assert np.isnan([found.lower, found.upper]).all()
    assert found.reliability == pytest.approx(-1)
    assert "no noise ceiling" in str(found)
    with pytest.warns(shesha.NotEstimableWarning, match="no two repeats have distances of the same 3 pairs"):
        noise_ceiling(np.where(np.arange(28) < 2, REPEATS, np.nan))


def test_of_trials_it_is_that_of_the_distances_of_runs(recording) -> None:
    X, shown = recording(n_conditions=6)
    runs = np.arange(120) * 3 // 120
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    rdms = [pdist([unit[(runs == r) & (shown == k)].mean(axis=0) for k in range(6)], "cosine") for r in range(3)]
    found = noise_ceiling(X, shown, runs)
    assert found.lower == pytest.approx(noise_ceiling(np.array(rdms)).lower)
    halves = [pdist([unit[s::2][shown[s::2] == k].mean(axis=0) for k in range(6)], "cosine") for s in (0, 1)]
    assert noise_ceiling(X, shown).reliability == pytest.approx(spearmanr(*halves).statistic)


@pytest.mark.parametrize(
    ("rdms", "message"),
    [
        (REPEATS[:1], "rdms must contain at least 2 repeats, got 1"),
        (REPEATS[:, :5], r"rdms\[0\] must be a square matrix or its condensed triangle, got shape \(5,\); for trials"),
        (REPEATS[0], r"rdms must be a stack .* got shape \(28,\); for trials, pass conditions"),
        (np.where(REPEATS > 1, np.inf, REPEATS), r"rdms\[0\] must be finite, or NaN for missing distances"),
    ],
)
def test_bad_distances(rdms, message) -> None:
    with pytest.raises(ValueError, match=message):
        noise_ceiling(rdms)


@pytest.mark.parametrize("metric", ["euclidean", "correlation"])
def test_distances_of_runs_are_those_of_mean_responses(rng, metric):
    shown, runs = np.tile([0, 0, 1, 2, 3], 12), np.repeat(np.arange(3), 20)
    X = 2 * rng.standard_normal((4, 5))[shown] + rng.standard_normal((60, 5))
    means = [[X[(shown == one) & (runs == run)].mean(axis=0) for one in range(4)] for run in range(3)]
    of_runs = noise_ceiling(X, shown, runs, metric=metric, normalize=False)
    assert of_runs.left_out == noise_ceiling(np.array([pdist(run, metric) for run in means])).left_out
