"""Units matched one to one: beside an assignment of all pairs, planted matches, noise, and sparse beside dense."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linear_sum_assignment

import shesha
from shesha.comparison import unit_matching
from shesha.kernels import unit_matching as kernel


def random_pair(seed):
    """Units of any number: related, rectified, constant, repeated, far from zero, or of one row each."""
    rng = np.random.default_rng([16, seed])
    n, p, q = int(rng.integers(5, 40)), int(rng.integers(1, 12)), int(rng.integers(1, 12))
    X, Y = rng.standard_normal((n, p)), rng.standard_normal((n, q))
    Y[:, 0] += X[:, 0]
    changes = (
        lambda: (X, Y),
        lambda: (np.maximum(X - 0.7, 0), np.maximum(Y - 0.7, 0)),
        lambda: (X * np.arange(p), Y),
        lambda: (X[:, rng.integers(0, p, p)], Y),
        lambda: (X + 1e4, Y * 1e-100),
        lambda: (np.eye(n)[:, : min(n, p)], np.eye(n)[::-1, : min(n, q)]),
    )
    return changes[seed % len(changes)]()


def best_sum(X, Y):
    varying = [np.ptp(side, axis=0) > 0 for side in (X, Y)]
    table = np.zeros((X.shape[1], Y.shape[1]))
    for i, j in np.argwhere(np.outer(*varying)):
        table[i, j] = max(np.corrcoef(X[:, i], Y[:, j])[0, 1], 0)
    return table[linear_sum_assignment(table, maximize=True)].sum()


@pytest.mark.parametrize("seed", range(24))
def test_with_all_candidates_the_matching_is_the_best(seed):
    X, Y = random_pair(seed)
    for form in (np.asarray, sparse.csr_array):
        i, j, values = kernel.match_candidates(form(X), form(Y), 20)
        assert len(set(i)) == len(set(j)) == len(values)
        assert values.sum() == pytest.approx(best_sum(X, Y), rel=1e-6, abs=1e-9)


def test_planted_features_are_found_and_noise_is_not(rng):
    n, p = 4000, 300
    X = np.maximum(rng.standard_normal((n, p)) - rng.uniform(1.3, 2.8, p), 0)
    other = np.maximum(rng.standard_normal((n, 150)) - 1.8, 0)
    order = rng.permutation(p)
    Y = np.hstack([X[:, :150] * (rng.random((n, 150)) < 0.7), other])[:, order]
    found = shesha.match_units(X, sparse.coo_matrix(Y), seed=1)
    table = found.to_frame().query("corrected_p_value <= 0.05")
    right = order[table["second"]] == table["first"]
    assert found.n_matched == len(table) >= 145 and right.sum() >= 140
    assert np.count_nonzero(table["first"] >= 150) <= 0.1 * len(table)
    assert found.p_value == 1 / 124 and found.calibrated > 0.2


def test_noise_keeps_its_level(rng):
    """80 runs of the score, and the units of all: rare ones, which chance matches best, among them."""
    significant, rejected, units = 0, 0, []
    for seed in range(80):
        sides = np.random.default_rng([3, seed]).standard_normal((2, 60, 12))
        X, Y = np.maximum(sides - np.linspace(-1, 1.8, 12), 0)
        found = shesha.match_units(X, Y, seed=seed)
        significant += found.p_value <= 0.05
        rejected += found.n_matched > 0
        units.append(np.mean(np.array(found.p_values) <= 0.05) * len(found.p_values) / 12)
    assert significant <= 11
    assert rejected <= 11
    assert np.mean(units) == pytest.approx(0.05, abs=0.025)


def test_forms_of_the_same_numbers_match_alike(rng):
    X, Y = np.maximum(rng.standard_normal((2, 80, 30)) - 1.6, 0)
    expected = shesha.match_units(X, Y)
    for form in (sparse.csc_matrix, sparse.csr_array, np.asarray, np.asfortranarray):
        found = shesha.match_units(form(X), Y)
        assert (found.first, found.second) == (expected.first, expected.second)
        assert found.correlations == pytest.approx(expected.correlations)


@pytest.mark.parametrize("kind", ["walk", "clusters"])
def test_dependent_rows_are_warned_of(kind, rng):
    def side():
        if kind == "walk":
            return rng.standard_normal((200, 8)).cumsum(axis=0)
        return np.repeat(rng.standard_normal((20, 8)), 10, axis=0) + 0.1 * rng.standard_normal((200, 8))

    with pytest.warns(shesha.CalibrationWarning):
        shesha.match_units(side(), side())


@pytest.mark.parametrize("n_classes", [1, 2, 4])
def test_classes_of_units_with_distinct_activity_are_equally_large(n_classes, monkeypatch):
    monkeypatch.setattr(unit_matching, "_CLASSES", n_classes)
    n_units = 8 * unit_matching._UNITS
    rows = np.arange(n_units)[:, None] <= np.arange(n_units)
    sizes = np.bincount(unit_matching._activity_classes(rows.astype(float)))
    assert sizes.tolist() == [n_units // n_classes] * n_classes
