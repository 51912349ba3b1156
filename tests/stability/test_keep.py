"""What a row is by itself can be kept in the null: stability is then told beyond scale and depth."""

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import binom

import shesha
from shesha.nulls import exchange, match_by_quantity
from shesha.stability import row_matching
from shesha.stability.evaluation import build_request
from shesha.stability.row_matching import conditional_requests, scales
from shesha.views import Rows

RUNS = 25


def scaled(rng, n=36, d=24, latent=0.0):
    """Noise of several scales about an offset, with a shared part or without."""
    noise = rng.standard_normal((n, d)) + latent * rng.standard_normal((n, 3)) @ rng.standard_normal((3, d))
    return rng.standard_normal(d) + rng.lognormal(0, 0.5, (n, 1)) * noise


def counted(rng, n=36, d=120):
    """Counts without biology: rows differ in depth alone, and are brought to one depth. With their depths."""
    rates = rng.gamma(0.5, 2, d)
    counts = rng.poisson(0.6 * rng.lognormal(0, 0.5, (n, 1)) * rates)
    depth = counts.sum(axis=1)
    return np.log1p(1e4 * counts / depth[:, None]), depth


def positive(found):
    return sum(one.p_value <= 0.05 for one in found)


def limit(rate=0.05):
    return binom.ppf(0.999, RUNS, rate)


@pytest.mark.parametrize("metric", ["cosine", "euclidean", "correlation"])
def test_scale_alone_is_not_stability_where_the_null_keeps_it(metric):
    data = [scaled(np.random.default_rng([1, run])) for run in range(RUNS)]
    options = {"n_permutations": 19, "n_splits": 2, "metric": metric, "seed": 0}
    assert positive(shesha.estimate(X, **options, n_bootstrap=0) for X in data) > 0.8 * RUNS
    assert positive(shesha.estimate(X, keep="row scale", **options, n_bootstrap=0) for X in data) <= limit()


@pytest.mark.filterwarnings("ignore:p-values may be too small:shesha.support.warnings.CalibrationWarning")
def test_depth_alone_is_not_stability_where_the_null_keeps_it():
    data = [counted(np.random.default_rng([2, run])) for run in range(RUNS)]
    options = {"n_permutations": 19, "n_splits": 4, "seed": 0}
    assert positive(shesha.estimate(X, **options, n_bootstrap=0) for X, _ in data) > 0.8 * RUNS
    assert positive(shesha.estimate(X, keep="row scale", **options, n_bootstrap=0) for X, _ in data) <= limit()
    assert positive(shesha.estimate(X, keep=depth, **options, n_bootstrap=0) for X, depth in data) <= limit(0.07)


@pytest.mark.parametrize("variant", ["feature_split", "basis_averaged_split"])
def test_structure_beyond_the_scale_is_found(variant):
    data = [scaled(np.random.default_rng([3, run]), latent=1.0) for run in range(10)]
    options = {"variant": variant, "n_permutations": 19, "n_draws": 4, "seed": 0}
    assert positive(shesha.estimate(X, keep="row scale", **options, n_bootstrap=0) for X in data) >= 8


def test_the_strictest_of_the_quantities_is_returned():
    X = scaled(np.random.default_rng(4))
    options = {"n_permutations": 39, "n_splits": 4, "seed": 0}
    one_by_one = [
        shesha.estimate(X, keep=kept, **options, n_bootstrap=0) for kept in list(scales(Rows(X)).values())[:2]
    ]
    found = shesha.estimate(X, keep="row scale", **options, n_bootstrap=0)
    assert found.p_value == max(one.p_value for one in one_by_one)
    assert {one.value for one in one_by_one} == {found.value}


def test_labels_are_strata_as_they_are():
    X, label = scaled(np.random.default_rng(5)), np.repeat(list("abcd"), 9)
    options = {"n_permutations": 19, "n_splits": 4, "seed": 0}
    kept, within = (
        shesha.estimate(X, keep=label, **options, n_bootstrap=0),
        shesha.estimate(X, within=label, **options, n_bootstrap=0),
    )
    assert kept.null == within.null


@pytest.mark.parametrize("seed", [3, None, "generator"])
def test_all_quantities_stand_beside_one_score(seed):
    made = np.random.default_rng(3) if seed == "generator" else seed
    request = build_request(scaled(np.random.default_rng(6)), None, "feature_split", {}, n_permutations=19, seed=made)
    candidates = conditional_requests(request, "row scale")
    assert len(candidates) == 2
    assert len({request.variant.estimator(one).value for one in candidates}) == 1


def test_scales_are_those_of_their_definitions():
    rng = np.random.default_rng(7)
    X = rng.standard_normal((30, 6)) * (rng.random((30, 6)) < 0.5) * 1e150
    for kind in (X, sparse.csr_array(X)):
        found = scales(Rows(kind))
        assert found["norm"] == pytest.approx(1e150 * np.sqrt(((X / 1e150) ** 2).sum(axis=1)))
        centred = (X - X.mean(axis=0)) / 1e150
        assert found["distance from the mean row"] == pytest.approx(1e150 * np.sqrt((centred**2).sum(axis=1)))
        assert found["number of features detected"].tolist() == (X != 0).sum(axis=1).tolist()
    within = scales(Rows(X), within_rows=True)["norm"]
    assert within == pytest.approx(1e150 * np.linalg.norm((X - X.mean(axis=1, keepdims=True)) / 1e150, axis=1))


@pytest.mark.parametrize(("n", "size"), [(6, 3), (40, 3), (400, 5), (5000, 10)])
def test_strata_hold_neighbours_in_the_quantity(n, size):
    quantity = np.random.default_rng(8).standard_normal(n)
    found = match_by_quantity(quantity)
    sizes = np.bincount(found.block)
    assert (sizes.min(), sizes.max()) in {(size, size), (size, size + 1)}
    assert (np.diff(found.block[np.argsort(quantity)]) >= 0).all()


def test_small_strata_are_chosen_whole_where_rows_are_many():
    design = match_by_quantity(np.random.default_rng(9).standard_normal(20_000))
    rng, at_most = np.random.default_rng(0), row_matching.NULL_ROWS
    chosen = row_matching._rows(design, rng, at_most)
    kept = np.bincount(design.block[chosen], minlength=design.block.max() + 1)
    assert set(kept[kept > 0]) <= {10, 11}
    assert 4000 < len(chosen) <= at_most
    large = exchange(20_000, blocks=np.arange(20_000) // 5000)
    assert len(row_matching._rows(large, np.random.default_rng(0), row_matching.NULL_ROWS)) == row_matching.NULL_ROWS


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"keep": "depth"}, "keep must be one of 'row scale', got 'depth'"),
        ({"keep": np.arange(5)}, "keep must have one label for each of the 20 rows, got 5"),
        ({"keep": np.r_[np.nan, np.arange(19)]}, "keep must be free of NaN, got NaN or infinity in rows 0"),
        ({"keep": np.ones(20)}, "keep must contain at least 2 classes, got 1"),
        ({"keep": "row scale", "shift": True}, "keep must be used alone or with blocks, got also shift"),
        (
            {"keep": "row scale", "within": np.arange(20), "groups": np.arange(20)},
            "keep must be used alone or with blocks, got also groups and within",
        ),
        (
            {"keep": np.arange(20), "blocks": np.arange(20), "n_permutations": 200},
            "the design must leave at least 20 distinct",
        ),
    ],
)
def test_what_cannot_be_kept_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        shesha.estimate(np.random.default_rng(0).standard_normal((20, 8)), **options, n_bootstrap=0)
