"""The null of the basis-averaged score: features that nothing links, with their scales, tails and zeros."""

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import binom

import shesha
from shesha.nulls import exchange
from shesha.stability import row_matching as module
from shesha.stability.evaluation import build_request
from shesha.stability.row_matching import null_of_sample, shuffle_features

RUNS = 12
"""Beside any other null nearly all of them are above chance; the study false-positives has the rates."""
UNRELATED = {
    "unequal scales": lambda rng: rng.standard_normal((30, 12)) * rng.lognormal(0, 1, 12),
    "unequal scales and means": lambda rng: rng.standard_normal((30, 12)) * rng.lognormal(0, 1, 12) + 3,
    "heavy tails": lambda rng: rng.standard_t(2, (30, 12)) * rng.lognormal(0, 0.5, 12),
    "sparse": lambda rng: (rng.random((30, 24)) < 0.15) * rng.lognormal(0, 1, 24),
}


def positive(data, **options):
    found = [
        shesha.estimate(
            X, variant="basis_averaged_split", n_permutations=19, n_rotations=2, seed=0, **options, n_bootstrap=0
        )
        for X in data
    ]
    return sum(one.p_value <= 0.05 for one in found)


@pytest.mark.filterwarnings("ignore:p-values may be too small:shesha.support.warnings.CalibrationWarning")
@pytest.mark.filterwarnings("ignore:few coordinates:shesha.support.warnings.CalibrationWarning")
@pytest.mark.parametrize("name", UNRELATED)
def test_independent_features_are_above_chance_no_more_often_than_alpha(name):
    drawn = (UNRELATED[name](np.random.default_rng([11, run])) for run in range(RUNS))
    data = [X[X.any(axis=1)] for X in drawn]
    assert positive(data) <= binom.ppf(0.999, RUNS, 0.05)
    if name != "sparse":
        # Their halves agree all the same.
        assert np.mean([shesha.basis_averaged_split(X, 2, seed=0) for X in data]) > 0.1


def test_related_features_of_unequal_scale_are_found():
    def made(run):
        rng = np.random.default_rng([12, run])
        shared = rng.standard_normal((30, 2)) @ rng.standard_normal((2, 12))
        return (rng.standard_normal((30, 12)) + 1.5 * shared) * rng.lognormal(0, 0.7, 12)

    assert positive([made(run) for run in range(10)]) >= 9


def test_principal_components_are_not_above_chance():
    X = np.random.default_rng(13).standard_normal((40, 3)) @ np.random.default_rng(14).standard_normal((3, 12))
    X = X + 0.3 * np.random.default_rng(15).standard_normal(X.shape)
    left, values, _ = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    assert positive([X]) == 1
    assert positive([left * values]) == 0


def test_each_feature_keeps_its_values_and_no_other_relation():
    X = np.repeat(np.random.default_rng(0).standard_normal((500, 1)), 4, axis=1)
    found = shuffle_features(X, exchange(500), np.random.default_rng(1))
    assert (np.sort(found, axis=0) == np.sort(X, axis=0)).all()
    assert np.abs(np.corrcoef(found.T)[np.triu_indices(4, 1)]).max() < 0.2


def test_designs_hold_feature_by_feature():
    X, block = np.arange(24.0).reshape(12, 2), np.repeat([0, 1], 6)
    found = shuffle_features(X, exchange(12, blocks=block), np.random.default_rng(0))
    assert (np.sort(found[:6], axis=0) == X[:6]).all()
    shifted = shuffle_features(X, exchange(12, shift=True), np.random.default_rng(0))
    assert {tuple(np.diff(column) % 24) for column in shifted.T} == {(2.0,) * 11}
    assert shifted[0, 0] + 1 != shifted[0, 1]


@pytest.mark.parametrize("metric", ["cosine", "euclidean", "correlation"])
def test_random_pairs_give_the_null_of_all_pairs(metric, monkeypatch):
    X = np.random.default_rng(3).standard_normal((40, 16)) * np.linspace(0.2, 3, 16) + 0.5
    options = {"variant": "basis_averaged_split", "n_permutations": 60, "metric": metric, "n_draws": 3, "seed": 0}
    every, sampled = (
        shesha.estimate(X, **options, n_bootstrap=0),
        shesha.estimate(X, pairs=20_000, **options, n_bootstrap=0),
    )
    monkeypatch.setattr(module, "PAIRS", 100)
    few = shesha.estimate(X, **options, n_bootstrap=0)
    for one in (sampled, few):
        assert one.chance == pytest.approx(every.chance, abs=4 * np.hypot(one.chance_sd, every.chance_sd) / np.sqrt(60))
    assert sampled.chance_sd == pytest.approx(every.chance_sd, rel=0.4)
    assert few.chance_sd > every.chance_sd


def test_sampled_draws_are_scores_of_unlinked_rows():
    """Strongly unequal scales: the same in a draw of the rows and in independent rows of the same kind."""
    rng = np.random.default_rng(5)
    scales = np.r_[8.0, 8.0, np.ones(10)]
    rows = rng.standard_normal((80, 1)) * scales
    request = build_request(
        rows, None, "basis_averaged_split", {"metric": "euclidean", "n_draws": 3}, n_permutations=9, seed=1
    )
    rotations = np.random.default_rng(1).spawn(3)
    found = null_of_sample(rows, exchange(80), request, 5000, rotations)
    independent = shesha.basis_averaged_split(rng.standard_normal((80, 12)) * scales, 30, metric="euclidean", seed=0)
    assert found.mean() == pytest.approx(independent, abs=0.1)


@pytest.mark.parametrize("pairs", [None, 150])
def test_rotations_that_favour_agreement_favour_it_in_the_null_as_well(pairs, monkeypatch):
    """Over data sets the chance level is the mean of the score, for each seed on its own."""
    if pairs:
        monkeypatch.setattr(module, "PAIRS", pairs)
    drawn = [np.random.default_rng([16, run]).standard_normal((20, 64)) > 1.28 for run in range(12)]
    data = [X[X.any(axis=1)].astype(float) for X in drawn]
    means = []
    for seed in range(3):
        options = {"variant": "basis_averaged_split", "n_permutations": 19, "n_rotations": 3, "seed": seed}
        found = [shesha.estimate(X, **options, n_bootstrap=0) for X in data]
        observed, level = (np.array([getattr(one, name) for one in found]) for name in ("value", "chance"))
        assert abs((observed - level).mean()) < 4 * (observed - level).std(ddof=1) / np.sqrt(len(data))
        means.append(observed.mean())
    # Such rotations there are: seeds differ by much more than these means vary.
    assert np.ptp(means) > 0.03


def test_rows_that_a_draw_leaves_empty_take_no_part():
    X = (np.random.default_rng(6).random((30, 6)) < 0.3) * 1.0
    X = X[X.any(axis=1)]
    dense, thin = (
        shesha.estimate(kind, variant="basis_averaged_split", n_permutations=19, n_rotations=2, seed=0, n_bootstrap=0)
        for kind in (X, sparse.csr_array(X))
    )
    assert np.isfinite(dense.null).all()
    assert thin.null == dense.null
