"""The protocol: a twin that moves rows for real, false positives, groups, units, bad input."""

import numpy as np
import pytest

from shesha import CalibrationWarning
from shesha.steering import steerability
from shesha.steering.labelled_rows import coordinates
from shesha.steering.steerability import Setup, local_effects, steer
from shesha.steering.vectors import fit_probe

ALPHAS = np.array([-1.5, -0.5, 0.0, 1.0])


@pytest.fixture(params=[2, 3])
def case(request, two_classes, three_classes):
    X, y = two_classes if request.param == 2 else three_classes
    codes = np.unique(y, return_inverse=True)[1]
    rows = coordinates(X)
    tested = np.random.default_rng(0).random(len(X)) < 0.5
    probe = fit_probe(rows.values[~tested], codes[~tested], request.param, "logistic", 1.0)[0]
    return rows, codes, tested, probe


def test_steering_is_that_of_rows_moved_one_by_one(case):
    rows, codes, tested, probe = case
    found = steer(rows, codes, tested, probe, probe.direction, Setup(ALPHAS, "logistic", 1.0, 0))
    read = np.array(
        [
            [np.argmax((x + a * probe.direction) @ probe.weights.T + probe.intercepts) for a in ALPHAS]
            for x in rows.values[tested]
        ]
    )
    accuracy = (read == codes[tested, None]).mean(axis=0)
    np.testing.assert_allclose(found.accuracies, accuracy)
    up, down = read[read[:, 2] != probe.target], read[read[:, 2] != probe.source]
    expected = [
        accuracy[2],
        accuracy[2] - accuracy.min(),
        (up[:, 3] == probe.target).mean(),
        (down[:, 0] == probe.source).mean(),
    ]
    np.testing.assert_allclose(found.scores[:4], expected)


def test_half_of_the_rows_have_flipped_at_the_strength_that_is_named(case):
    rows, codes, tested, probe = case
    found = steer(rows, codes, tested, probe, probe.direction, Setup(ALPHAS, "logistic", 1.0, 0))
    scores = probe.scores(rows.values[tested])
    others = rows.values[tested][scores.argmax(axis=1) != probe.target]
    for factor, low, high in ((0.999, 0.0, 0.5), (1.001, 0.5, 1.0)):
        moved = others + factor * found.strength * probe.direction
        share = (probe.scores(moved).argmax(axis=1) == probe.target).mean()
        assert low <= share <= high


def test_effects_are_those_of_distances_measured_one_by_one(case):
    rows, codes, tested, probe = case
    found = local_effects(rows, codes, tested, probe, probe.direction, ALPHAS, 3)
    steps = ALPHAS - ALPHAS.mean()
    for place, i in enumerate(np.flatnonzero(tested)):
        nearer = []
        for alpha in ALPHAS:
            moved = rows.values[i] + alpha * probe.direction
            means = []
            for label in (probe.source, probe.target):
                others = [j for j in np.flatnonzero(tested & (codes == label)) if j != i]
                means.append(np.sort(np.linalg.norm(rows.values[others] - moved, axis=1))[:3].mean())
            nearer.append(means[0] - means[1])
        assert found[place] == pytest.approx(float(np.array(nearer) @ steps / (steps @ steps)), abs=1e-9)
        assert -2 <= found[place] <= 2


def test_coordinates_keep_distances_and_lose_nothing():
    rng = np.random.default_rng(0)
    for shape in ((30, 8), (20, 50)):
        X = rng.standard_normal(shape) + 4
        found = coordinates(X)
        assert found.values.shape == (len(X), min(shape))
        np.testing.assert_allclose(found.values @ found.axes + found.mean, X, atol=1e-9)
        expected = ((X[:, None] - X[None]) ** 2).sum(axis=2)
        np.testing.assert_allclose(found.squared_distances, expected, atol=1e-8)
        np.testing.assert_allclose(found.axes @ found.axes.T, np.eye(min(shape)), atol=1e-9)


def test_separated_classes_are_steered_above_chance_and_noise_is_not(two_classes):
    X, y = two_classes
    found = steerability(X, y, n_splits=2, n_draws=39, seed=0)
    assert (found.source, found.target) == ("neg", "pos")
    assert found.max_drop.p_value == found.accuracy.p_value == 1 / 40
    assert found.max_drop.value > 2 * found.random_drop
    assert found.anti_steerable.value < 0.1
    assert 0.3 < found.random_anti_steerable < 0.7
    noise = steerability(np.random.default_rng(9).standard_normal(X.shape), y, n_splits=2, n_draws=39, seed=0)
    assert noise.max_drop.p_value > 0.05
    assert noise.max_drop.chance > 0.02


@pytest.mark.parametrize("runs", [15])
def test_drops_of_noise_are_significant_as_often_as_the_level_says(runs):
    p_values = []
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((24, 3)), np.repeat([0, 1], 12)
        found = steerability(X, y, alphas=[-1, 0, 1], n_splits=1, n_draws=19, n_directions=1, seed=seed)
        p_values.append(found.max_drop.p_value)
    assert np.mean(np.array(p_values) <= 0.1) < 0.1 + 4 * np.sqrt(0.09 / runs)
    # Drops of few rows tie, and ties count as extreme.
    assert -4 * np.sqrt(1 / 12 / runs) < np.mean(p_values) - 0.5 < 0.1 + 4 * np.sqrt(1 / 12 / runs)


def test_rows_of_a_template_that_is_not_kept_whole_look_steerable():
    # The label is that of the group alone: a new group cannot be read.
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(24), 4)
    y = (groups % 2).astype(int)
    X = rng.standard_normal((24, 30))[groups] + 0.1 * rng.standard_normal((96, 30))
    with pytest.warns(CalibrationWarning, match="consecutive rows are closer"):
        cut = steerability(X, y, n_splits=2, n_draws=19, seed=0)
    whole = steerability(X, y, groups=groups, n_splits=2, n_draws=19, seed=0)
    assert cut.accuracy.value > 0.9
    assert cut.accuracy.p_value == 0.05
    assert whole.accuracy.value < 0.7
    assert whole.accuracy.p_value > 0.05
    assert whole.exchanged == "labels of whole groups"


def test_strengths_in_mean_lengths_do_not_depend_on_the_scale_of_the_features(two_classes):
    X, y = two_classes
    options = {"alphas": [-0.2, 0, 0.2], "units": "norm", "n_splits": 2, "n_draws": 19, "seed": 0}
    # The penalty depends on the scale, and C makes up for it.
    one, other = steerability(X, y, **options), steerability(10 * X, y, C=0.01, **options)
    np.testing.assert_allclose(one.accuracies, other.accuracies)
    assert one.strength == pytest.approx(other.strength, rel=1e-3)
    raw = steerability(X, y, alphas=[-0.2 * one.norm, 0, 0.2 * one.norm], n_splits=2, n_draws=19, seed=0)
    np.testing.assert_allclose(one.accuracies, raw.accuracies)


def test_huge_strengths_read_all_rows_as_one_class_and_that_is_said(two_classes):
    X, y = two_classes
    found = steerability(X, y, alphas=[-50, 0, 50], n_splits=2, n_draws=19, seed=0)
    assert found.max_drop.value == pytest.approx(found.largest_drop)
    assert found.to_target.value == found.to_target.chance == 1
    assert "push nearly all rows into one class" in found.notes[-1]
    small = steerability(X, y, alphas=[-0.2, 0, 0.2], n_splits=2, n_draws=19, seed=0)
    assert not small.notes


def test_strengths_of_one_sign_flip_one_way_only(two_classes):
    X, y = two_classes
    found = steerability(X, y, alphas=[0, 1, 2], n_splits=2, n_draws=19, seed=0)
    assert np.isnan(found.to_source.value)
    assert "no strength is below 0" in found.to_source.reason
    assert found.to_target.value > 0.5


def test_every_row_has_an_effect_and_the_same_seed_the_same_numbers(two_classes):
    X, y = two_classes
    one, other = (steerability(X, y, n_splits=2, n_draws=19, seed=3) for _ in range(2))
    assert one.to_dict() == other.to_dict()
    assert len(one.effects) == 80
    assert np.isfinite(one.effects).all()


@pytest.mark.parametrize("method", ["mean_difference", "svd"])
def test_other_directions_are_read_by_the_same_probe(two_classes, method):
    X, y = two_classes
    options = {"n_splits": 2, "n_draws": 19, "seed": 0}
    one, other = steerability(X, y, **options), steerability(X, y, method=method, **options)
    assert one.accuracy == other.accuracy
    assert one.accuracies != other.accuracies


def test_without_shuffles_there_is_no_chance_level_and_the_rest_is_the_same(two_classes):
    with_chance, without = (steerability(*two_classes, n_splits=2, n_draws=n, seed=0) for n in (19, 0))
    assert not without.max_drop.has_null
    assert without.max_drop.reason == "no shuffles were requested"
    assert without.shuffled_accuracies == ()
    assert "max drop" in str(without)
    assert abs(without.max_drop.value - with_chance.max_drop.value) < 0.1
