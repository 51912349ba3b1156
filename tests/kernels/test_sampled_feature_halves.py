"""Sampled pairs have the closeness that their rows have in each half, however the rows are read."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import spearmanr

from shesha.kernels import sampled_feature_halves
from shesha.kernels.distances import METRICS
from shesha.kernels.pairs import distinct_pairs, draw_pairs
from shesha.kernels.sampled_feature_halves import Masks, Planes

N, DRAWS = 30, 3


@pytest.fixture
def pairs(rng):
    return draw_pairs(N, 10 * N, rng)


@pytest.fixture(params=METRICS)
def metric(request):
    return request.param


def in_halves(X, plan, draw):
    """Coordinates of the rows in both halves of one draw."""
    if isinstance(plan, Masks):
        mask = plan.first[:, draw] == 1
        return X[:, mask], X[:, ~mask]
    basis = plan.bases[draw]
    rest = np.linalg.svd(np.eye(len(basis)) - basis @ basis.T)[0][:, : len(basis) - basis.shape[1]]
    return X @ basis, X @ rest


def direct(half, i, j, metric):
    x, y = half[i], half[j]
    if metric == "euclidean":
        return -((x - y) ** 2).sum(axis=1)
    if metric == "correlation":
        x, y = x - x.mean(axis=1, keepdims=True), y - y.mean(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        return (x * y).sum(axis=1) / np.linalg.norm(x, axis=1) / np.linalg.norm(y, axis=1)


def check(X, pairs, metric, plan, atol=1e-12):
    found = sampled_feature_halves.closeness(lambda ids: X[ids], X.shape[1], *pairs, metric, plan)
    for draw in range(len(plan)):
        first, second = in_halves(X, plan, draw)
        assert_allclose(found.first[draw], direct(first, *pairs, metric), atol=atol)
        assert_allclose(found.second[draw], direct(second, *pairs, metric), atol=atol)
    return found


@pytest.mark.parametrize("d", [8, 9])
def test_masks_give_the_closeness_of_the_chosen_features(rng, pairs, metric, d):
    check(rng.standard_normal((N, d)) + 0.5, pairs, metric, Masks.build([rng.permutation(d) for _ in range(DRAWS)]))


@pytest.mark.parametrize("rotated", ["cosine", "euclidean"])
@pytest.mark.parametrize("d", [8, 9])
def test_planes_give_the_closeness_of_the_rows_projected_on_and_off(rng, pairs, rotated, d):
    check(rng.standard_normal((N, d)) + 0.5, pairs, rotated, Planes.build(d, rng.spawn(DRAWS)))


@pytest.mark.parametrize("directional", ["cosine", "correlation"])
def test_rows_almost_wholly_in_the_first_half_keep_their_digits_in_the_second(rng, pairs, directional):
    X, orders = rng.standard_normal((N, 8)), [rng.permutation(8) for _ in range(DRAWS)]
    X[np.ix_([0, 3, 29], orders[1][:4])] *= 1e6
    check(X, pairs, directional, Masks.build(orders), atol=1e-8 if directional == "correlation" else 1e-11)


def test_rows_almost_within_a_plane_keep_their_digits_off_it(rng, pairs):
    plan = Planes.build(8, rng.spawn(DRAWS))
    X = rng.standard_normal((N, 8))
    X[:5] += 1e5 * rng.standard_normal((5, 4)) @ plan.bases[1].T
    check(X, pairs, "cosine", plan, atol=1e-9)


@pytest.mark.parametrize("directional", ["cosine", "correlation"])
def test_pairs_of_rows_without_a_direction_in_a_half_are_nan(rng, pairs, directional):
    X = rng.standard_normal((N, 8))
    X[1, :4] = 0.0 if directional == "cosine" else 0.7
    X[4, 4:] = 0.0 if directional == "cosine" else 0.1 + 0.2
    found = sampled_feature_halves.closeness(
        lambda ids: X[ids], X.shape[1], *pairs, directional, Masks.build([np.arange(8)])
    )
    touched = [np.isin(pairs[0], row) | np.isin(pairs[1], row) for row in (1, 4)]
    assert np.array_equal(np.isnan(found.first[0]), touched[0])
    assert np.array_equal(np.isnan(found.second[0]), touched[1])


def test_stretches_do_not_change_the_result(rng, metric, pairs, monkeypatch):
    X, plan = rng.standard_normal((N, 8)), Masks.build([rng.permutation(8)])
    whole = check(X, pairs, metric, plan)
    monkeypatch.setattr(sampled_feature_halves, "_ENTRIES", 7 * 8)
    assert_allclose(check(X, pairs, metric, plan).second, whole.second, atol=1e-14)


def test_drawn_pairs_are_of_different_rows_and_uniform(rng):
    i, j = draw_pairs(4, 60_000, rng)
    assert (i != j).all()
    assert (np.diff(i) >= 0).all()
    counts = np.bincount(4 * i + j, minlength=16).reshape(4, 4)
    expected = 60_000 / 12
    assert np.abs(counts[~np.eye(4, dtype=bool)] - expected).max() < 5 * np.sqrt(expected)


def test_the_score_is_the_rank_correlation_of_the_defined_pairs(rng, pairs):
    X, (i, j) = rng.standard_normal((N, 8)) + 0.5, pairs
    X[1, :4] = X[4, 4:] = 0.0
    first, second = direct(X[:, :4], i, j, "cosine"), direct(X[:, 4:], i, j, "cosine")
    defined = np.isfinite(first) & np.isfinite(second)
    found = sampled_feature_halves.score(lambda ids: X[ids], 8, pairs, "cosine", Masks.build([np.arange(8)]))
    # Pairs are drawn in both orders and more than once: what differs by rounding alone ties.
    expected = spearmanr(first[defined].round(12), second[defined].round(12)).statistic
    assert_allclose(found.score, expected, atol=1e-12)
    assert np.array_equal(found.i, i[defined])
    assert np.array_equal(found.j, j[defined])
    assert len(found.influence) == defined.sum() < len(i)
    assert abs(found.influence.mean()) < 0.05


@pytest.mark.parametrize("half", [np.zeros((N, 4)), np.ones((N, 4))], ids=["undefined", "constant"])
def test_a_draw_without_defined_pairs_or_differences_scores_nan(rng, pairs, half):
    X = np.hstack([rng.standard_normal((N, 4)), half])
    assert np.isnan(
        sampled_feature_halves.score(lambda ids: X[ids], 8, pairs, "cosine", Masks.build([np.arange(8)])).score
    )


def test_planes_refuse_in_advance_what_does_not_fit(rng, monkeypatch):
    monkeypatch.setenv("SHESHA_MEMORY", "1M")
    with pytest.raises(ValueError, match=r"3 rotations of 1,000 features must fit .* draw fewer"):
        Planes.build(1000, rng.spawn(3))


@pytest.mark.parametrize("n_pairs", [1, 40, 190])
def test_distinct_pairs_are_the_first_that_are_drawn(n_pairs):
    i, j = distinct_pairs(20, n_pairs, np.random.default_rng(3))
    assert len({*zip(i.tolist(), j.tolist(), strict=True)}) == n_pairs and (i < j).all() and j.max(initial=0) < 20
    if n_pairs == 40:
        every = [(a, b) for a in range(20) for b in range(a + 1, 20)]
        drawn = [every[at] for at in np.random.default_rng(3).integers(190, size=60)]
        assert list(zip(i.tolist(), j.tolist(), strict=True)) == list(dict.fromkeys(drawn))[:40]
