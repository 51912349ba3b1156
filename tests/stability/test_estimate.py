"""An estimate's value is the documented function's, and what stands beside it is what it says."""

import json

import numpy as np
import pytest

import shesha
from shesha.kernels import feature_halves
from shesha.stability import split_scores
from shesha.stability.evaluation import build_request, evaluate

SUPERVISED = [
    "variance_ratio",
    "supervised_alignment",
    "class_separation_ratio",
    "zscore_separation",
    "label_conditioned_split",
    "lda_stability",
    "lda_subspace_stability",
]


@pytest.fixture(params=["feature_split", "basis_averaged_split"])
def split(request):
    return request.param


def labelled(rng, n=60, k=3):
    y = np.arange(n) % k
    return rng.standard_normal((n, 8)) + rng.standard_normal((k, 8))[y], y


def test_value_is_exactly_that_of_the_function_with_the_same_seed(low_rank, split, metric):
    X = low_rank(50, 13) + 0.5
    found = shesha.estimate(X, variant=split, metric=metric, n_draws=13, n_bootstrap=5, seed=4, n_permutations=0)
    assert found.value == getattr(shesha, split)(X, 13, metric, seed=4)


@pytest.mark.parametrize("variant", SUPERVISED)
def test_interval_of_a_supervised_score_contains_its_value(rng, variant):
    X, y = labelled(rng, k=2 if variant == "lda_stability" else 3)
    options = {"n_draws": 10} if "lda" in variant or "split" in variant else {}
    found = shesha.estimate(X, y, variant, n_bootstrap=60, seed=0, **options)
    assert found.low < found.value < found.high
    assert found.standard_error > 0
    assert found.n_resamples == 60


@pytest.mark.parametrize("pairs", [None, 3000])
def test_interval_contains_the_value_and_widens_with_confidence(low_rank, split, pairs):
    X = low_rank(60, 16)
    low, high = np.transpose(
        [
            [found.low - found.value, found.high - found.value]
            for found in (
                shesha.estimate(X, variant=split, n_draws=8, confidence=level, pairs=pairs, seed=0, n_permutations=0)
                for level in (0.5, 0.8, 0.99)
            )
        ]
    )
    assert (np.diff(low) < 0).all()
    assert (np.diff(high) > 0).all()
    assert low[0] < 0 < high[0]


def test_resampling_noise_does_not_raise_its_score(rng):
    # Replicated rows that kept their pairs would add agreement: 0.019 on independent data.
    X = rng.standard_normal((60, 24))
    evidence = evaluate(build_request(X, None, "feature_split", {"n_splits": 20}, n_bootstrap=400, seed=0))
    deviations = evidence.resampled - evidence.value
    assert abs(deviations.mean()) < 0.005
    assert len(deviations) == 400


def test_partitions_are_added_until_the_error_is_small_enough(low_rank, split):
    X = low_rank(40, 16, noise=2.0)
    few = shesha.estimate(X, variant=split, n_draws=10, n_bootstrap=0, seed=0, n_permutations=0)
    target = few.monte_carlo_error / 3
    more = shesha.estimate(X, variant=split, n_draws=10, n_bootstrap=0, target_se=target, seed=0, n_permutations=0)
    assert more.monte_carlo_error <= target < few.monte_carlo_error
    assert more.n_partitions > few.n_partitions
    assert more.value == getattr(shesha, split)(X, more.n_partitions, seed=0)
    assert not more.notes


def test_monte_carlo_error_predicts_the_spread_over_seeds(low_rank, split):
    X = low_rank(25, 12, noise=2.0)
    found = [
        shesha.estimate(X, variant=split, n_draws=10, n_bootstrap=0, seed=seed, n_permutations=0) for seed in range(60)
    ]
    predicted = np.sqrt(np.mean([one.monte_carlo_error**2 for one in found]))
    assert np.std([one.value for one in found]) == pytest.approx(predicted, rel=0.3)


def test_pairs_undefined_within_a_half_are_left_out_and_counted(low_rank):
    X = low_rank(30, 8)
    X[[4, 9], 1:] = 0.0
    found = shesha.estimate(X, n_splits=3, n_bootstrap=10, seed=6, n_permutations=0)
    assert found.pairs_dropped == 3 * (30 * 29 - 28 * 27) // 2
    assert found.value == pytest.approx(shesha.feature_split(np.delete(X, [4, 9], axis=0), 3, seed=6), abs=1e-12)
    assert found.low < found.value < found.high
    with pytest.raises(ValueError, match=r"zero halves in rows 4, 9; .*shesha\.stability\.estimate"):
        shesha.feature_split(X, 3, seed=6)


def test_panels_give_what_whole_matrices_give(low_rank, split, metric, monkeypatch):
    X = low_rank(40, 9)
    whole = shesha.estimate(X, variant=split, metric=metric, n_draws=5, seed=0, n_permutations=0)
    monkeypatch.setattr(feature_halves, "DENSE_ROWS", 10)
    panels = shesha.estimate(X, variant=split, metric=metric, n_draws=5, seed=0, n_permutations=0)
    assert panels.value == pytest.approx(whole.value, abs=1e-12)
    assert panels.low == pytest.approx(whole.low, abs=1e-12)


def test_thinning_pairs_changes_the_interval_a_little_and_the_value_not_at_all(low_rank, monkeypatch):
    X = low_rank(80, 16)
    whole = shesha.estimate(X, n_splits=10, seed=0, n_permutations=0)
    monkeypatch.setattr(split_scores, "BOOTSTRAP_PAIRS", 1500)
    thinned = shesha.estimate(X, n_splits=10, seed=0, n_permutations=0)
    assert thinned.value == whole.value
    assert thinned.standard_error == pytest.approx(whole.standard_error, rel=0.25)
    assert thinned.notes == ("the value uses all pairs; the interval uses 1,500 random pairs",)


def test_options_hold_what_repeats_the_estimate(low_rank):
    X = low_rank(20, 8)
    found = shesha.estimate(X, n_splits=7, metric="euclidean", seed=5, n_permutations=0)
    assert (found.options, found.seed) == ({"metric": "euclidean", "n_draws": 7}, 5)
    assert shesha.estimate(X, seed=found.seed, n_permutations=0, **found.options) == found
    assert json.loads(json.dumps(found.to_dict()))["value"] == found.value


@pytest.mark.filterwarnings("ignore:columns are uncorrelated")
@pytest.mark.parametrize(
    ("fitted", "variant", "named"),
    [(True, "feature_split", 1), (False, "feature_split", 0), (True, "basis_averaged_split", 0)],
)
def test_principal_components_are_named(fitted, variant, named):
    X = np.random.default_rng(0).standard_normal((60, 12)) * np.arange(1, 13)
    X -= X.mean(axis=0)
    X = X @ np.linalg.svd(X)[2].T if fitted else X
    found = shesha.estimate(X, variant=variant, n_permutations=19, n_bootstrap=10, seed=0)
    assert sum("share nothing by construction" in text for text in found.inputs) == named
