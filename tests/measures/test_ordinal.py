"""Orders of distances on random data with ties and repeats, samples beside all comparisons, and both directions."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from scipy.stats import kendalltau

import shesha
import shesha.measures as measures
from shesha.views import Comparisons, Representation, rdm as comparisons

SPEC = spec_from_file_location("twins_ordinal", Path(__file__).with_name("twins_ordinal.py"))
twins = module_from_spec(SPEC)
SPEC.loader.exec_module(twins)
FUNCTIONS = {
    "TSI": measures.triplet_similarity,
    "QSI": measures.quadruplet_similarity,
    "information imbalance": measures.information_imbalance,
}


def random_pair(seed):
    """Unrelated and related rows of all widths, some rounded, repeated, one-hot, far out or on a line."""
    rng = np.random.default_rng([5, seed])
    n = int(rng.integers(5, 13))
    X = rng.standard_normal((n, int(rng.integers(1, 9)))) * 10.0 ** rng.integers(-3, 4)
    Y = X @ rng.standard_normal((X.shape[1], 4)) + rng.standard_normal((n, 4)) * (seed % 3)
    changes = (
        lambda: (X, Y),
        lambda: (np.round(X / np.abs(X).max() * 3), Y),
        lambda: (X[rng.integers(0, n - 2, n)], Y[rng.integers(0, n - 1, n)]),
        lambda: (np.eye(n)[:, : n // 2], Y),
        lambda: (np.vstack([X[:-1], X[-1:] * 100]), Y + 1e3),
        lambda: (np.arange(float(n))[:, None], Y),
    )
    return changes[seed % len(changes)]()


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("seed", range(54))
def test_every_value_is_that_of_counting(name, seed):
    X, Y = random_pair(seed)
    assert FUNCTIONS[name](X, Y) == pytest.approx(twins.TWINS[name][0](X, Y), rel=1e-6)


def test_quadruplets_are_kendalls_tau_of_distances():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 5))
    Y = X + rng.standard_normal(X.shape)
    tau = kendalltau(pdist(X), pdist(Y)).statistic
    assert measures.quadruplet_similarity(X, Y, n_samples=10**6, seed=0) == pytest.approx((1 + tau) / 2, abs=0.01)


@pytest.mark.parametrize(("shape", "n"), [("triplets", 6), ("quadruplets", 6)])
def test_samples_are_even_over_different_rows(shape, n):
    tuples, sampled = comparisons.draw_tuples(n, shape, 30, 0)
    assert sampled
    tuples, _ = comparisons.draw_tuples(200, shape, 10**5, 0)
    parts = (0, 1, 3) if shape == "triplets" else (0, 1, 2, 3)
    assert all((tuples[a] != tuples[b]).all() for a in parts for b in parts if a < b)
    assert (tuples[0] == tuples[2]).all() == (shape == "triplets")
    for line in tuples:
        assert np.abs(np.bincount(line, minlength=200) / 500 - 1).max() < 0.25


@pytest.mark.parametrize("name", ["TSI", "QSI"])
def test_the_monte_carlo_error_is_that_of_samples(name):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((30, 5))
    Y = X + rng.standard_normal(X.shape)
    exact = FUNCTIONS[name](X, Y)
    error = np.sqrt(exact * (1 - exact) / 2000)
    with pytest.warns(
        shesha.MeasureWarning, match="2,000 sampled comparisons give a Monte Carlo standard error of 0.01"
    ):
        found = np.array([FUNCTIONS[name](X, Y, n_samples=2000, seed=seed) for seed in range(200)])
    assert 186 <= np.count_nonzero(np.abs(found - exact) < 2 * error) <= 199
    assert found.std() == pytest.approx(error, rel=0.2)


def test_many_rows_compute_what_they_need_alone(monkeypatch):
    rng = np.random.default_rng(2)
    X, order = rng.standard_normal((90, 4)), rng.permutation(90)
    held = Comparisons.build(Representation.build(X), seed=0)
    monkeypatch.setattr(comparisons, "_TABLE_ROWS", 50)
    computed = Comparisons.build(Representation.build(X), seed=0)
    assert held.distances is not None and computed.distances is None
    assert (held.signs == computed.signs).all()
    assert (held.permute(order).signs == computed.permute(order).signs).all()
    again = Comparisons.build(Representation.build(X[order]), seed=0)
    assert (again.signs == held.permute(order).signs).all()


def test_imbalance_has_a_direction():
    X = np.random.default_rng(3).standard_normal((300, 4))
    forward, back = measures.information_imbalance(X, X[:, :2]), measures.information_imbalance(X[:, :2], X)
    assert forward < 0.8 * back
    noise = [
        measures.information_imbalance(*np.random.default_rng(seed).standard_normal((2, 100, 3))) for seed in range(50)
    ]
    assert np.mean(noise) == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_equal_distances_have_no_order(name):
    with pytest.warns(shesha.NotEstimableWarning, match="all distances between rows are equal"):
        assert np.isnan(FUNCTIONS[name](np.eye(8), np.random.default_rng(0).standard_normal((8, 2))))


def test_too_few_rows_for_so_many_neighbours():
    X = np.random.default_rng(0).standard_normal((6, 2))
    with pytest.warns(shesha.NotEstimableWarning, match="6 nearest neighbours need more than 6 rows, got 6"):
        assert np.isnan(measures.information_imbalance(X, X, k=6))
