"""Held-out prediction: rows that are predicted have no part in the prediction, and groups stay together."""

import numpy as np
import pytest

import shesha.measures as measures
from shesha import calibrate
from shesha.measures import Groups, linear_predictivity
from shesha.views import Folds, Representation


def test_it_finds_the_share_that_is_there(rng):
    """Of Y a half is a linear map of X and the rest noise; X has a direction that Y lacks."""
    X = rng.standard_normal((2000, 5))
    Y = X @ np.linalg.qr(rng.standard_normal((5, 5)))[0] + rng.standard_normal((2000, 5))
    assert linear_predictivity(X, Y, direction="forward") == pytest.approx(0.5, abs=0.03)
    assert linear_predictivity(X[:, :4], X, direction="forward") == pytest.approx(0.8, abs=0.03)
    assert linear_predictivity(X[:, :4], X, direction="backward") == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize(("n", "p", "q"), [(40, 4, 4), (40, 60, 5), (30, 5, 60), (25, 50, 50)])
def test_unrelated_data_are_about_zero(rng, n, p, q):
    """However many the features: more of them than rows would fit the rows that are seen exactly."""
    found = [linear_predictivity(rng.standard_normal((n, p)), rng.standard_normal((n, q))) for _ in range(8)]
    assert -0.15 < np.mean(found) < 0.02


def test_directions_and_their_mean(rng):
    X, Y = rng.standard_normal((30, 6)), rng.standard_normal((30, 3))
    Y += X[:, :3]
    forward, backward = (linear_predictivity(X, Y, direction=one) for one in ("forward", "backward"))
    assert linear_predictivity(Y, X, direction="forward") == backward < forward
    assert linear_predictivity(X, Y) == (forward + backward) / 2
    assert measures.get("linear predictivity(direction=forward)").symmetric is False


def test_folds_are_even_and_depend_on_the_seed_alone(rng):
    one, other = (Representation.build(rng.standard_normal((23, 3))) for _ in range(2))
    fold = one.view(Folds, seed=1).fold
    assert sorted(np.bincount(fold)) == [4, 4, 5, 5, 5]
    assert np.array_equal(fold, other.view(Folds, seed=1).fold)
    assert not np.array_equal(fold, one.view(Folds, seed=2).fold)


def test_groups_stay_in_one_fold(rng):
    labels = np.repeat(list("abcdefghij"), [9, 1, 2, 3, 3, 2, 4, 1, 3, 2])[rng.permutation(30)]
    fold = Representation.build(rng.standard_normal((30, 3))).view(Folds, groups=Groups(labels), n_folds=3).fold
    assert all(len(set(fold[labels == one])) == 1 for one in set(labels))
    assert np.ptp(np.bincount(fold)) <= 2


def test_copies_of_a_row_leak_unless_they_are_a_group(rng):
    X, Y = rng.standard_normal((20, 30)), rng.standard_normal((20, 30))
    subject = np.repeat(np.arange(20), 3)
    assert linear_predictivity(X[subject], Y[subject]) > 0.5
    assert linear_predictivity(X[subject], Y[subject], groups=Groups(subject)) < 0.05


def test_a_null_by_groups(rng):
    """Copies of unrelated rows, exchanged as they are: no relation."""
    X, Y = rng.standard_normal((20, 4)), rng.standard_normal((20, 4))
    subject = np.repeat(np.arange(20), 2)
    found = calibrate(X[subject], Y[subject], "linear predictivity", groups=subject, n_permutations=19, seed=0)
    assert found.p_value > 0.05
    chosen = measures.get("linear predictivity").with_options(groups=Groups(subject))
    assert calibrate(X[subject], Y[subject], chosen, groups=subject, n_permutations=19, seed=0).p_value > 0.05
    related = calibrate(X[subject], X[subject] + 0.3 * Y[subject], chosen, groups=subject, n_permutations=19, seed=0)
    assert related.p_value == 0.05 and related.calibrated > 0.5
