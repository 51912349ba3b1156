"""Layer grids: aggregates and closest pairs by hand, names and shapes of layers."""

import numpy as np
import pytest

import shesha.measures as measures
from shesha import calibrate, calibrate_layers, compare_layers
from shesha.support.warnings import CalibrationWarning

K = 39


def layers(seed, count, n=24):
    rng = np.random.default_rng([31, seed])
    return [rng.standard_normal((n, 3 + layer)) for layer in range(count)]


def drawn(n, count=K):
    rng = np.random.default_rng(n)
    return np.array([rng.permutation(n) for _ in range(count)])


A, B = layers(0, 3), layers(1, 4)


ORDERS = drawn(24)


def by_hand(measure, A, B, orders):
    """Scores of all pairs, observed and in each order: (1 + draws, rows, columns)."""
    every = [np.arange(len(A[0])), *orders]
    return np.array([[[measure.score(a, b[order]) for b in B] for a in A] for order in every])


def top(values, count):
    return np.sort(values, axis=None)[::-1][:count].mean()


NAMED = {
    "max": lambda grid: grid.max(),
    "row_max": lambda grid: np.mean([row.max() for row in grid]),
    "top_k": lambda grid: top(grid, 10),
    "mean": lambda grid: grid.mean(),
}


@pytest.mark.parametrize("name", ["CKA", "RSA", "mutual kNN", "OrthProc", "RDM drift", "RSMDiff"])
def test_aggregates_are_what_they_say(small, name):
    measure = small(name)
    sign = 1 if measure.higher_is_closer else -1
    scores = by_hand(measure, A, B, ORDERS)
    at = np.unravel_index((sign * scores[0]).argmax(), scores[0].shape)
    close = sign * (scores[1:] - scores[0]) >= -1e-11
    for aggregate, of_grid in NAMED.items():
        totals = np.array([sign * of_grid(sign * one) for one in scores])
        found = calibrate_layers(A, B, measure, aggregate, permutations=ORDERS)
        assert found.aggregate == aggregate
        assert found.value == pytest.approx(totals[0], abs=1e-12)
        assert found.null == pytest.approx(totals[1:], abs=1e-12)
        assert found.matrix().to_numpy() == pytest.approx(scores[0], abs=1e-12)
        assert (found.closest.first, found.closest.second) == (str(at[0]), str(at[1]))
        assert found.matrix("p_value").to_numpy() == pytest.approx((1 + close.sum(axis=0)) / (K + 1))
        assert found.p_value == (1 + (sign * (totals[1:] - totals[0]) >= -1e-11).sum()) / (K + 1)
        # A K + 1 of 40 puts the threshold third from the top, the observed value among them.
        assert sign * found.threshold == pytest.approx(np.sort(sign * totals)[-3])


def test_the_mean_of_the_closest_pairs_takes_all_where_there_are_fewer(small):
    two = layers(2, 2)
    top_k, mean = (calibrate_layers(two, two, "CKA", name, permutations=ORDERS) for name in ("top_k", "mean"))
    assert top_k.null == pytest.approx(mean.null, abs=1e-12)


def test_a_function_of_the_grid_is_an_aggregate(small):
    def spread(grid):
        """Largest less smallest."""
        return grid.max() - grid.min()

    scores = by_hand(small("CKA"), A, B, ORDERS)
    found = calibrate_layers(A, B, "CKA", spread, permutations=ORDERS)
    assert found.aggregate == "spread"
    assert found.value == pytest.approx(spread(scores[0]))
    assert found.null == pytest.approx([spread(one) for one in scores[1:]])
    assert calibrate_layers(A, B, "CKA", np.median, permutations=ORDERS).value == pytest.approx(np.median(scores[0]))


def test_a_function_of_ones_own_is_calibrated_over_layers():
    def own(a, b):
        return measures.cka(a, b)

    found = calibrate_layers(A, B, own, permutations=ORDERS, maximum=1)
    ours = calibrate_layers(A, B, "CKA", permutations=ORDERS)
    assert found.name == "own"
    assert found.null == pytest.approx(ours.null, abs=1e-12)
    assert found.calibrated == pytest.approx(ours.calibrated)
    assert (found.closest.first, found.closest.second) == (ours.closest.first, ours.closest.second)
    assert found.matrix("p_value").equals(ours.matrix("p_value"))


def test_a_grid_of_feature_maps_is_calibrated_as_the_pair_is(rng):
    maps = rng.standard_normal((2, 12, 4, 3, 3))
    found = calibrate_layers([maps[0]], [maps[1]], "CKA", n_permutations=K, seed=0)
    assert found.null == pytest.approx(calibrate(*maps, "CKA", n_permutations=K, seed=0).null, abs=1e-12)


@pytest.mark.parametrize("shape", [(12, 4, 2, 2), (12, 5)], ids=["another grid", "no positions"])
def test_layers_of_several_shapes_are_calibrated_as_their_pairs_are(rng, shape):
    first, second = rng.standard_normal((12, 4, 4, 4)), rng.standard_normal(shape)
    if shape == (12, 5):
        first = rng.standard_normal((12, 3, 4))
    found = calibrate_layers([first], [second], "CKA", n_permutations=K, seed=0)
    assert found.value == pytest.approx(calibrate(first, second, "CKA", n_permutations=K, seed=0).value)


def test_a_layer_more_leaves_the_other_pairs_alone(rng):
    """As `calibrate` and `compare_layers` have it, which pool the two of a pair."""
    first, small = rng.standard_normal((12, 4, 8, 8)), rng.standard_normal((12, 4, 2, 2))
    second = first + rng.standard_normal(first.shape)
    one, more = (calibrate_layers([first], side, n_permutations=K, seed=0) for side in ([second], [second, small]))
    assert compare_layers([first], [second, small], "CKA").matrix().iloc[0, 0] == pytest.approx(one.closest.value)
    assert more.matrix().iloc[0, 0] == pytest.approx(one.closest.value)


def test_the_same_permutation_meets_all_layers():
    """Equal layers have equal scores in every draw."""
    spreads = []

    def watch(grid):
        spreads.append(np.ptp(grid, axis=1).max())
        return grid.max()

    calibrate_layers(A, [B[1], B[1].copy(), 3 * B[1]], "RSA", watch, metric="euclidean", permutations=ORDERS)
    assert len(spreads) == K + 1
    assert max(spreads) < 1e-12


def test_a_grid_of_one_pair_is_worth_what_the_pair_is(rng):
    """Also where values lie below 0, as the calibration study's Procrustes similarity may."""
    X, Y = rng.standard_normal((2, 30, 4))
    for other in (0.1 * Y, X + 0.3 * Y):
        asked = {"published": True, "n_permutations": 39, "seed": 0}
        one = calibrate(X, other, "Procrustes similarity", **asked)
        grid = calibrate_layers([X], [other], "Procrustes similarity", **asked)
        assert (one.value, one.calibrated, one.best) == (grid.value, grid.calibrated, grid.best)
        assert one.best == 1
    assert one.calibrated > 0.5


def doubtful(rng):
    """Rows of which a few are far out, in the second layer only; the second model shares them."""
    X, Y = rng.standard_normal((2, 60, 6))
    far = np.zeros((60, 1))
    far[:2] = 40.0
    return [rng.standard_normal((60, 6)), X + far], [Y + far]


@pytest.mark.parametrize("measure", ["CKA", "OrthProc", lambda X, Y: float(measures.cka(X, Y))])
def test_the_closest_pair_is_doubted_as_by_itself(measure):
    a, b = doubtful(np.random.default_rng(0))
    with pytest.warns(CalibrationWarning):
        grid = calibrate_layers(a, b, measure, n_permutations=39, seed=0)
    with pytest.warns(CalibrationWarning):
        alone = calibrate(a[1], b[0], measure, n_permutations=39, seed=0)
    assert (grid.closest.first, grid.closest.second) == ("1", "0") and grid.doubts.names
    assert grid.doubts == alone.doubts
    for one in grid.doubts:
        assert one.name in grid.full_text()
        assert any(getattr(part, "name", "") == one.name for part in grid._page().doubts)


def test_layers_without_faults_are_not_doubted():
    rng = np.random.default_rng(1)
    a, b = (list(rng.standard_normal((2, 60, 6))) for _ in range(2))
    found = calibrate_layers(a, b, n_permutations=19, seed=0)
    assert found.doubts is not None and not found.doubts
    assert "could be wrong" not in str(found)
