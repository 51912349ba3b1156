"""Intrinsic dimension: beside the likelihood maximised by brute force, data of known dimension, and its errors."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.spatial.distance import cdist

import shesha
from shesha.descriptors import dimension_over_scale, intrinsic_dimension
from shesha.kernels import neighbours as kernel
from shesha.views import NeighbourDistances, Representation


def random_data(seed):
    """Rows of any width and scale: noise, subspaces, far rows, offsets, rounded numbers and repeated rows."""
    rng = np.random.default_rng([29, seed])
    n, d, more = int(rng.integers(30, 160)), int(rng.integers(1, 8)), seed % 5
    X = rng.standard_normal((n, d)) @ rng.standard_normal((d, d + more))
    changes = (
        lambda: X,
        lambda: X + 0.05 * rng.standard_normal(X.shape),
        lambda: X * 1e150 + 50,
        lambda: np.round(X, 1),
        lambda: X[rng.integers(0, n // 2, n)],
        lambda: np.vstack([X, X[:1] + 1e6]),
        lambda: X + 1e7,
    )
    return changes[seed % len(changes)]()


def most_likely(X, rank):
    """Maximise the likelihood as it is printed, with the distances of distinct rows from SciPy."""
    rows = np.unique((X - X[0]) / np.abs(X - X[0]).max(), axis=0)
    distances = np.sort(cdist(rows, rows), axis=1)
    ratios = np.log(distances[:, 2 * rank] / distances[:, rank])

    def loss(log_d):
        d = np.exp(log_d)
        with np.errstate(divide="ignore"):
            power = 0 if rank == 1 else (rank - 1) * np.log(np.expm1(d * np.maximum(ratios, 1e-300)))
        return -(np.log(d) + power - ((2 * rank - 1) * d + 1) * ratios).sum()

    return np.exp(minimize_scalar(loss, bounds=(-5, 5), method="bounded", options={"xatol": 1e-10}).x)


@pytest.mark.parametrize("seed", range(56))
def test_the_value_maximises_the_likelihood(seed):
    X = random_data(seed)
    n = len(np.unique(X, axis=0))
    for rank in (1, 2, 8):
        if 2 * rank < n:
            assert intrinsic_dimension(X, rank=rank) == pytest.approx(most_likely(X, rank), rel=1e-4), rank


def torus(seed, n, dimension):
    """A flat torus: no edges, no curvature within."""
    angles = np.random.default_rng([seed, n, dimension]).random((n, dimension)) * 2 * np.pi
    return np.hstack([np.cos(angles), np.sin(angles)])


@pytest.mark.parametrize("dimension", [1, 2, 4])
def test_a_torus_has_its_dimension(dimension):
    found = dimension_over_scale(torus(0, 2000, dimension))
    for value, error in zip(found.dimensions[:5], found.errors[:5], strict=True):
        assert abs(value - dimension) < 4 * error + 0.05 * dimension
    assert all(np.diff(found.distances) > 0)


def test_errors_are_the_spread_over_samples():
    runs = [dimension_over_scale(torus(seed, 200, 2), seed=seed) for seed in range(100)]
    values, errors = (np.array([getattr(run, name)[:5] for run in runs]) for name in ("dimensions", "errors"))
    covered = np.abs(values - values.mean(axis=0)) < 2 * errors
    # 200 such runs: 93 to 98 %.
    assert (covered.mean(axis=0) > 0.87).all()
    assert np.allclose(values.std(axis=0) / errors.mean(axis=0), 1, atol=0.25)


def test_errors_cover_the_largest_scales_too():
    kinds = {
        "uniform": lambda rng: rng.random((130, 10)),
        "normal": lambda rng: rng.standard_normal((200, 4)),
        "clusters": lambda rng: np.eye(5)[rng.integers(3, size=130)] * 8 + rng.standard_normal((130, 5)),
    }
    for make in kinds.values():
        runs = [dimension_over_scale(make(np.random.default_rng(seed)), seed=seed) for seed in range(20)]
        values, errors = (np.array([getattr(run, name) for run in runs]) for name in ("dimensions", "errors"))
        assert (np.mean(np.abs(values - values.mean(axis=0)) < 2 * errors, axis=0)[-2:] > 0.85).all()


def test_noise_raises_the_small_scales():
    rng = np.random.default_rng(0)
    line = np.outer(rng.random(800) * 10, np.ones(20)) + 0.02 * rng.standard_normal((800, 20))
    found = dimension_over_scale(line).dimensions
    assert found[0] > 2 > 1.3 > found[-1]


def test_rows_that_repeat_count_once():
    X = np.random.default_rng(1).standard_normal((90, 3))
    alone, twice = dimension_over_scale(X), dimension_over_scale(np.repeat(X, 2, axis=0))
    assert twice.dimensions == pytest.approx(alone.dimensions)
    assert (twice.n_rows, twice.n_repeated) == (90, 90)
    assert "90 rows (90 repeated rows left out)" in str(twice)


def test_rotated_repeats_are_repeats():
    rng = np.random.default_rng(2)
    X = np.repeat(rng.standard_normal((40, 5)), 3, axis=0)[rng.permutation(120)]
    turned = X @ np.linalg.qr(rng.standard_normal((5, 5)))[0] + 3
    assert len(kernel.distinct_rows(X)) == len(kernel.distinct_rows(turned)) == 40


def test_ranks_within_halves_are_those_of_each_half_alone():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((300, 4))
    half = rng.random(300) < 0.5
    ranks = np.array([1, 2, 4, 8, 16, 32, 64])
    whole, split = kernel.neighbour_distances(X, ranks, half[None])
    np.testing.assert_allclose(whole, np.sort(cdist(X, X), axis=1)[:, ranks], rtol=1e-9)
    for chosen in (half, ~half):
        alone = np.sort(cdist(X[chosen], X[chosen]), axis=1)[:, ranks]
        np.testing.assert_allclose(split[chosen], alone, rtol=1e-9)


def test_what_has_no_dimension_has_a_reason():
    with pytest.warns(shesha.NotEstimableWarning, match="rank 8 needs more than 16 distinct rows, got 12"):
        assert np.isnan(intrinsic_dimension(np.random.default_rng(0).random((12, 3)), rank=8))
    with pytest.warns(shesha.NotEstimableWarning, match="neighbours of different ranks have equal distances"):
        assert np.isnan(intrinsic_dimension(np.eye(12)))
    with pytest.warns(shesha.NotEstimableWarning, match="at least 3 distinct rows are needed, got 2"):
        assert np.isnan(intrinsic_dimension([[0.0], [1.0], [1.0]]))
    with pytest.raises(ValueError, match="rank must be one of 1, 2, 4, 8, 16, 32, got 3"):
        intrinsic_dimension(np.eye(12), rank=3)
    with pytest.raises(shesha.NotEstimable, match="errors need at least 6 distinct rows, got 5"):
        dimension_over_scale(np.random.default_rng(0).random((5, 3)))
    with pytest.raises(TypeError, match="X must be features, got distances between rows"):
        dimension_over_scale(shesha.Rdm(np.arange(1.0, 11)))


def test_six_distinct_rows_are_the_fewest_with_errors():
    rows = np.random.default_rng(0).standard_normal((6, 2))
    assert len(dimension_over_scale(rows).dimensions) > 0
    with pytest.raises(shesha.NotEstimable, match="at least 6 distinct rows"):
        dimension_over_scale(rows[[0, 1, 2, 3, 4, 4]])


@pytest.mark.parametrize(("n", "n_ranks"), [(8, 3), (9, 4), (16, 4), (17, 5)])
def test_neighbours_are_read_at_powers_of_two_below_the_number_of_rows(rng, n, n_ranks):
    assert Representation.build(rng.standard_normal((n, 3))).view(NeighbourDistances).distances.shape == (n, n_ranks)
