"""The propositions of the null-calibration paper, for our measures and our nulls."""

from itertools import permutations as all_permutations, product

import numpy as np
import pytest
from scipy.stats import binom

import shesha.measures as measures
from shesha import calibrate, calibrate_layers
from shesha.calibration import permutation_scores as null_kernel
from shesha.views import Representation

pytestmark = pytest.mark.filterwarnings("ignore:saturated:shesha.CalibrationWarning")

ALPHA = 0.05


@pytest.fixture(autouse=True)
def one_thread(monkeypatch):
    # Starting threads takes longer than the draws of so few rows.
    monkeypatch.setenv("SHESHA_THREADS", "1")


UNIT_VARIANCE = {
    "Gaussian": lambda rng, shape: rng.standard_normal(shape),
    "signs": lambda rng, shape: rng.choice([-1.0, 1.0], shape),
    "skewed": lambda rng, shape: rng.exponential(size=shape) - 1,
    "heavy-tailed": lambda rng, shape: rng.standard_t(9, shape) * np.sqrt(7 / 9),
}


def within_four_errors(values, expected):
    error = np.std(values, ddof=1) / np.sqrt(len(values))
    assert abs(np.mean(values) - expected) < 4 * error


def every_order(n):
    return np.array(list(all_permutations(range(n))))


def covariance(X, Y):
    return (X - X.mean(axis=0)).T @ (Y - Y.mean(axis=0)) / (len(X) - 1)


@pytest.mark.parametrize(("n", "p", "q"), [(12, 5, 7), (8, 20, 12)])
@pytest.mark.parametrize("kind", UNIT_VARIANCE)
def test_1_interaction_energy_of_independent_data_is_pq_over_n_minus_1(rng, kind, n, p, q):
    found = []
    for _ in range(400):
        X, Y = (UNIT_VARIANCE[kind](rng, (n, width)) for width in (p, q))
        # CKA is the energy over the norms of both covariances.
        norms = np.linalg.norm(covariance(X, X)) * np.linalg.norm(covariance(Y, Y))
        found.append(measures.cka(X, Y) * norms)
    within_four_errors(found, p * q / (n - 1))


def test_1_interaction_energy_over_all_permutations_is_exact(rng):
    """Given the data, rows matched at random leave tr(C_X) tr(C_Y) / (n - 1), whatever their distribution."""
    X, Y = rng.lognormal(size=(6, 3)), rng.standard_normal((6, 9))
    a, b = covariance(X, X), covariance(Y, Y)
    expected = np.trace(a) * np.trace(b) / 5 / (np.linalg.norm(a) * np.linalg.norm(b))
    found = calibrate(X, Y, "CKA", permutations=every_order(6))
    assert found.chance == pytest.approx(expected, abs=1e-13)
    assert calibrate(X, Y, "unbiased CKA", permutations=every_order(6)).chance == pytest.approx(0, abs=1e-13)


@pytest.mark.parametrize(("n", "p", "q", "k"), [(20, 3, 30, 4), (15, 40, 2, 1), (12, 5, 5, 11)])
@pytest.mark.parametrize("metric", ["dot", "cosine", "euclidean"])
def test_2_mutual_neighbours_of_independent_data_are_k_over_n_minus_1(rng, n, p, q, k, metric):
    found = [
        measures.mutual_knn(rng.standard_normal((n, p)), rng.standard_t(3, (n, q)), k=k, metric=metric)
        for _ in range(250)
    ]
    if k == n - 1:
        assert set(found) == {1.0}
    else:
        within_four_errors(found, k / (n - 1))


@pytest.mark.parametrize("k", [1, 2, 4])
def test_2_mutual_neighbours_over_all_permutations_are_exact(rng, k):
    X, Y = rng.lognormal(size=(6, 2)), rng.standard_normal((6, 9))
    found = calibrate(X, Y, "mutual kNN", permutations=every_order(6), k=k)
    assert found.chance == pytest.approx(k / 5, abs=1e-13)


INCREASING = {
    "affine": lambda s: 100 * s - 7,
    "cube": lambda s: s**3,
    "exponential": lambda s: float(np.exp(5 * s)),
    "arctangent": lambda s: float(np.arctan(3 * s)),
    "steps": lambda s: s + np.floor(10 * s),
    "another unit": lambda s: 1e-6 * s,
    "a tiny unit": lambda s: 1e-14 * s,
}


@pytest.mark.parametrize("how", INCREASING)
@pytest.mark.parametrize("share", [0.0, 0.4])
def test_3_increasing_transformations_leave_p_and_percentile_alone(rng, how, share):
    X = rng.standard_normal((24, 5))
    Y = share * X + rng.standard_normal((24, 5))
    plain = calibrate(X, Y, measures.rsa, n_permutations=99, seed=1)
    changed = calibrate(X, Y, lambda a, b: INCREASING[how](measures.rsa(a, b)), n_permutations=99, seed=1)
    # A p-value of 1 is what everything has that ties with everything.
    assert plain.p_value < 1
    assert (changed.p_value, changed.percentile) == (plain.p_value, plain.percentile)


@pytest.mark.parametrize("name", ["ProcDist", "PermProc", "RSMDiff"])
def test_3_units_of_the_features_leave_p_alone(pair, name):
    X, Y = pair
    given, tiny = (calibrate(unit * X, unit * Y, name, n_permutations=99, seed=1) for unit in (1, 1e-14))
    assert given.p_value == 0.01
    assert (tiny.p_value, tiny.percentile) == (given.p_value, given.percentile)


def unrelated_models(seed, depths, width=6, n=20):
    """Layers that share a trunk within each model, as those of networks do, and nothing between the models."""
    rng = np.random.default_rng([11, seed])
    models = []
    for depth in depths:
        trunk = rng.standard_normal((n, width))
        models.append([trunk + rng.standard_normal((n, width)) for _ in range(depth)])
    return models


def spread_of(grid):
    return float(grid.max() - grid.min())


AGGREGATED = [
    *product(["CKA"], ["max", "row_max", "top_k", "mean", spread_of]),
    ("RDM drift", "max"),
]


@pytest.mark.parametrize(("measure", "aggregate"), AGGREGATED)
def test_4_p_values_of_aggregates_are_uniform_without_a_relation(measure, aggregate):
    runs = 60
    p_values = np.array(
        [
            calibrate_layers(*unrelated_models(k, (4, 3)), measure, aggregate, n_permutations=19, seed=k).p_value
            for k in range(runs)
        ]
    )
    for level in (0.05, 0.25, 0.5, 0.75):
        low, high = binom.ppf([0.0005, 0.9995], runs, level)
        assert low <= np.count_nonzero(p_values <= level) <= high


def test_5_width_inflates_the_raw_score_but_not_the_calibrated_one():
    """The share of two features' variance is rho, so that CKA of infinitely many rows is rho squared."""
    n, rho = 24, 0.7
    raw, adjusted, score = [], [], []
    for width in (16, 64, 256, 4096):
        found = []
        for k in range(8):
            u, v, w = np.random.default_rng([12, k, width]).standard_normal((3, n, width))
            X, Y = np.sqrt(rho) * u + np.sqrt(1 - rho) * v, np.sqrt(rho) * u + np.sqrt(1 - rho) * w
            found.append(calibrate(X, Y, "CKA", n_permutations=39, seed=k))
        raw.append(np.mean([one.value for one in found]))
        adjusted.append(np.mean([one.adjusted for one in found]))
        score.append(np.mean([one.calibrated for one in found]))
    assert np.all(np.diff(raw) > 0)
    assert raw[-1] > 0.98
    assert np.allclose(adjusted, rho**2, atol=0.08)
    assert np.all(np.array(score) <= adjusted)
    assert np.ptp(score) < 0.2


def test_6_depth_inflates_the_maximum_but_not_the_calibrated_one():
    raw, scores, significant, naive = [], [], [], []
    depths, runs = (1, 3, 9), 40
    for depth in depths:
        found = [
            calibrate_layers(*unrelated_models(k, (depth, depth)), "CKA", "max", n_permutations=19, seed=k)
            for k in range(runs)
        ]
        raw.append(np.mean([one.value for one in found]))
        scores.append(np.mean([one.calibrated for one in found]))
        significant.append(np.count_nonzero([one.significant for one in found]))
        naive.append(np.mean([one.matrix("p_value").to_numpy().min() <= ALPHA for one in found]))
    assert np.all(np.diff(raw) > 0.02)
    limit = binom.ppf(0.9995, runs, ALPHA)
    assert max(significant) <= limit
    assert max(scores) < 0.02
    # The best of many pairs, held against its own null, is what calibration guards against.
    assert naive[0] <= limit / runs
    assert naive[-1] > 0.4


@pytest.mark.parametrize("depths", [(1, 2), (3, 3), (9, 9)])
def test_6_the_maximum_stays_below_its_bound(depths):
    """E max <= mu + 3 sigma sqrt(log M), for the sub-Gaussian sigma of scores between 0 and 1 around their mean."""
    a, b = unrelated_models(0, depths)
    measure = measures.get("CKA")
    views = [[measure.look(Representation.build(layer)) for layer in side] for side in (a, b)]
    orders = [np.random.default_rng(k).permutation(20) for k in range(200)]
    grids = np.array(list(null_kernel.grids(measure, *views, orders)))
    mean, sd = grids.mean(axis=0).max(), grids.std(axis=0).max()
    tallest = grids.max(axis=(1, 2)).mean()
    assert mean <= tallest <= mean + 3 * sd * np.sqrt(np.log(grids[0].size))


def shared_neighbours(anchor, k):
    """Count the neighbours of one row that both have, from distances written out."""

    def function(X, Y):
        found = []
        for side in (X, Y):
            distances = ((side - side[anchor]) ** 2).sum(axis=1)
            distances[anchor] = np.inf
            found.append(set(np.argsort(distances)[:k].tolist()))
        return len(found[0] & found[1])

    return function


@pytest.mark.parametrize("k", [1, 2, 3])
def test_7_the_neighbours_of_a_row_are_any_with_equal_probability(rng, k):
    """Over all permutations each set of k others is met equally often."""
    n, anchor = 6, 2
    Y = rng.standard_normal((n, 4))
    measure = measures.get("mutual kNN").with_options(k=k, metric="euclidean")
    view = measure.look(Representation.build(Y))
    met = [tuple(sorted(view.permute(order).nearest[anchor].tolist())) for order in every_order(n)]
    counts = {found: met.count(found) for found in set(met)}
    others = [row for row in range(n) if row != anchor]
    assert len(counts) == len({frozenset(chosen) for chosen in product(others, repeat=k) if len(set(chosen)) == k})
    assert len(set(counts.values())) == 1


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_8_shared_neighbours_of_a_row_are_hypergeometric(rng, k):
    n = 6
    X, Y = rng.standard_normal((n, 3)), rng.standard_normal((n, 20))
    found = calibrate(X, Y, shared_neighbours(1, k), permutations=every_order(n))
    assert found.chance == pytest.approx(k**2 / (n - 1), abs=1e-12)
    assert found.chance_sd**2 == pytest.approx(k**2 * (n - 1 - k) ** 2 / ((n - 1) ** 2 * (n - 2)), abs=1e-12)


def test_8_the_mean_over_rows_is_the_mean_of_the_rows(rng):
    """The rows' counts, of which the law above is known, make up the measure."""
    n, k = 9, 3
    X, Y = rng.standard_normal((n, 3)), rng.standard_normal((n, 5))
    counts = [shared_neighbours(row, k)(X, Y) for row in range(n)]
    assert measures.mutual_knn(X, Y, k=k, metric="euclidean") == pytest.approx(np.mean(counts) / k)


def test_8_the_spread_of_mutual_neighbours_shrinks_with_the_rows(rng):
    k = 5
    for n in (40, 160, 640):
        X, Y = rng.standard_normal((n, 8)), rng.standard_normal((n, 8))
        found = calibrate(X, Y, "mutual kNN", k=k, metric="euclidean", n_permutations=99, seed=0)
        of_one = (n - 1 - k) ** 2 / ((n - 1) ** 2 * (n - 2))
        # Rows are not independent, but nearly so.
        assert found.chance_sd == pytest.approx(np.sqrt(of_one / n), rel=0.4)
