"""Clusters of times are found where there is an effect, have a model's correlations, and few false claims."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import pdist, squareform
from scipy.stats import spearmanr

from shesha.neuro import over_time, time_clusters

GAIN = np.repeat([0, 1, 0], [4, 5, 3])
TIMES = tuple(range(-100, 500, 50))


def recording(seed, effect=1.0, n_trials=96, n_conditions=8):
    rng = np.random.default_rng(seed)
    tuning = rng.standard_normal((n_conditions, 15))
    shown = rng.permutation(np.arange(n_trials) % n_conditions)
    X = rng.standard_normal((n_trials, 15, len(GAIN))) + effect * GAIN * tuning[shown][:, :, None]
    return X, shown, tuning


@pytest.mark.parametrize("pairs", ["same time", "all"])
def test_a_lasting_effect_is_one_cluster(pairs):
    X, shown, _ = recording(0, n_trials=128)
    found = time_clusters(X, shown, times=TIMES, pairs=pairs, n_permutations=39, n_splits=4, null="permute")
    (effect,) = found.significant
    assert (effect.name, effect.n_entries) == ("100 to 300", 5 if pairs == "same time" else 15)
    assert effect.p_value == effect.corrected_p_value == min(each.p_value for each in found)
    assert "100 to 300" in found.headline
    ax = found.plot()
    if pairs == "same time":
        assert [patch.get_x() for patch in ax.patches] == [100.0]
        return
    # Both halves of the table of pairs are drawn, with a frame around each of the 5 x 5 entries of the cluster.
    assert len(ax.patches) == 25
    assert (ax.get_xlabel(), ax.get_xticklabels()[0].get_text()) == ("time of one half", "-100")
    np.testing.assert_allclose(np.diagonal(found.table), found.values)
    np.testing.assert_allclose(found.table, np.transpose(found.table))


def test_values_are_those_of_over_time():
    X, shown, _ = recording(1)
    found = time_clusters(X, shown, n_permutations=9, alpha=0.1, how="random", null="permute", n_splits=4)
    same = over_time(X, shown, n_permutations=9, alpha=0.1, how="random", null="permute", n_splits=4)
    np.testing.assert_allclose(found.values, np.diagonal(same.values))
    np.testing.assert_allclose(found.chances, np.diagonal(same.chances))


def test_values_with_a_model_are_those_of_scipy():
    X, shown, tuning = recording(2)
    model = pdist(tuning)
    names = pd.Series(shown).map("abcdefgh".__getitem__)
    found = time_clusters(X, names, model=squareform(model), normalize=False, metric="euclidean", n_permutations=199)
    means = np.array([X[shown == condition].mean(axis=0) for condition in range(8)])
    expected = [spearmanr(pdist(means[:, :, time]), model)[0] for time in range(len(GAIN))]
    np.testing.assert_allclose(found.values, expected)
    assert [each.name for each in found.significant] == ["4 to 8"]
    assert found.exchanged == "the conditions of the model"
    assert "conditions of the model: a, b, c, d, e, f, g, h" in found.inputs


@pytest.mark.parametrize("with_model", [False, True], ids=["reliability", "model"])
def test_noise_has_few_clusters_above_chance(with_model):
    """Smooth noise over time has large clusters by chance, which the draws have as well."""
    hits = 0
    for seed in range(20):
        X, shown, tuning = recording(seed, effect=0.0, n_trials=40, n_conditions=5)
        options = {"model": pdist(tuning)} if with_model else {"null": "permute", "how": "random", "n_splits": 3}
        smooth = X[:, :, :6].cumsum(axis=2)
        found = time_clusters(smooth, shown, n_permutations=19, seed=seed, **options)
        hits += bool(found.significant)
        assert found.headline.startswith(f"{len(found.significant)} cluster")
    assert hits <= 4


def test_the_conditions_of_a_model_are_matched_by_name():
    X, shown, tuning = recording(2)
    names = np.array(list("abcdefgh"))
    model = pd.DataFrame(squareform(pdist(tuning)), index=names, columns=names)
    options = {"normalize": False, "metric": "euclidean", "n_permutations": 19}
    expected = time_clusters(X, shown, model=model.to_numpy(), **options)
    order = np.random.default_rng(0).permutation(8)
    with pytest.warns(UserWarning, match="different order"):
        found = time_clusters(X, names[shown], model=model.iloc[order, order], **options)
    assert found.values == expected.values


def test_conditions_of_a_model_that_were_not_recorded_are_left_out_by_name():
    X, shown, tuning = recording(2)
    names, kept = np.array(list("abcdefgh")), shown != 3
    model = pd.DataFrame(squareform(pdist(tuning)), index=names, columns=names)
    options = {"normalize": False, "metric": "euclidean", "n_permutations": 19}
    found = time_clusters(X[kept], names[shown[kept]], model=model, **options)
    assert (
        found.values
        == time_clusters(X[kept], names[shown[kept]], model=model.drop("d").drop(columns="d"), **options).values
    )
    assert any("7 of 7 and 8 rows shared by name" in line for line in found.inputs)
    with pytest.raises(ValueError, match=r"all distances between the 7 conditions a, b, c, e, f and 2 more, got 8"):
        time_clusters(X[kept], names[shown[kept]], model=model.to_numpy(), **options)


@pytest.mark.parametrize(("n_draws", "advice"), [(99, ""), (98, "pass n_permutations=99."), (39, "n_permutations=99.")])
def test_draws_that_are_too_few_to_form_a_cluster_are_said(n_draws, advice):
    X, shown, _ = recording(1, n_trials=32, n_conditions=4)
    found = replace(time_clusters(X, shown, n_permutations=19, n_splits=2), numbers=(), n_draws=n_draws, forming=0.05)
    assert ("too few to exclude one" in found.headline) == bool(advice) and advice in found.headline


def test_short_trials_that_were_filled_with_zeros_are_told():
    rng = np.random.default_rng(0)
    conditions = rng.integers(4, size=80)
    responses = rng.poisson(3.0, (80, 12, 16)).astype(float)
    assert "filled with zeros" not in str(time_clusters(responses, conditions).inputs)
    for trial, end in enumerate(8 + conditions + rng.integers(0, 3, 80)):
        responses[trial, :, end:] = 0
    said = str(time_clusters(responses, conditions).inputs)
    assert "as in short trials filled with zeros" in said and "X[:, :, :8]" in said
    # Neurons that fire rarely are silent at times, and not only at the end.
    rare = rng.poisson(0.05, (80, 12, 16)).astype(float)
    assert "filled with zeros" not in str(time_clusters(rare, conditions).inputs)


def test_rounding_errors_of_times_are_not_printed():
    X, shown, _ = recording(1)
    times = 0.1 * np.arange(X.shape[2]) - 0.3
    assert 0 < np.abs(times).min() < 1e-12
    options = {"times": times, "n_permutations": 9, "alpha": 0.1, "how": "random", "null": "permute", "n_splits": 4}
    found = over_time(X, shown, **options)
    assert found.times[3] == 0.0 and found.times[0] == times[0]
