"""A function that fails or is interrupted on the way is told, and never makes significance."""

import numpy as np
import pytest

from shesha import NotEstimableWarning, calibrate, compare_all
from shesha.calibration import DrawError

K = 19


def test_an_aggregate_that_has_no_value_for_the_observed_grid_is_refused(layered):
    values = iter([np.nan, *[0.1] * K])
    with pytest.raises(ValueError, match="aggregate must return a number for the observed grid, got NaN"):
        layered(aggregate=lambda grid: next(values))


def test_an_aggregate_that_has_no_value_for_some_draws_makes_them_extreme(layered):
    values = iter([0.5, *[0.1] * (K - 2), np.nan, np.nan])
    found = layered(aggregate=lambda grid: next(values))
    assert (found.n_lost, found.p_value) == (2, 3 / 20)


@pytest.mark.parametrize(("draw", "where"), [(0, "the observed pairing"), (1, "draw 1 of 19"), (19, "draw 19 of 19")])
def test_a_function_that_raises_says_in_which_draw(either, scripted, draw, where):
    error = ZeroDivisionError("no rows left")
    function = scripted([0.5] * draw + [error])
    with pytest.raises(DrawError, match=f"the measure failed in {where}: ZeroDivisionError: no rows left") as caught:
        either(function)
    assert caught.value.__cause__ is error


def test_a_function_of_tied_values_is_never_significant(either, scripted):
    found = either(scripted([0.5] * 20))
    assert (found.p_value, found.calibrated) == (1.0, 0.0)


def test_nan_for_the_observed_pairing_is_nan_with_a_reason(scalar, scripted):
    with pytest.warns(NotEstimableWarning, match="the measure returned NaN for the observed pairing"):
        found = scalar(scripted([np.nan] + [0.1] * K))
    assert np.isnan([found.value, found.p_value, found.calibrated, found.threshold]).all()
    assert found.reason == "the measure returned NaN for the observed pairing"
    assert not found.significant


@pytest.mark.parametrize("n_lost", [1, 2, K])
def test_nan_in_draws_counts_as_extreme_and_is_reported(either, scripted, n_lost):
    values = [0.1] * (K - n_lost) + [np.nan] * n_lost
    found = either(scripted([0.9, *values]))
    assert (found.n_lost, found.p_value) == (n_lost, (1 + n_lost) / (K + 1))
    assert (found.significant, found.calibrated) == (False, 0.0)
    assert np.isnan(found.null[-n_lost:]).all()
    if n_lost < K:
        assert (found.chance, found.n_draws) == (pytest.approx(0.1), K)


def test_draws_without_a_score_are_told(scalar, scripted):
    found = scalar(scripted([0.9] * 18 + [np.nan] * 2))
    assert "2 draws without a value count as at least as close" in str(found)


def test_minus_infinity_in_draws_is_as_far_as_can_be(either, scripted):
    found = either(scripted([0.9] + [0.1] * (K - 5) + [-np.inf] * 5))
    assert (found.n_lost, found.p_value, found.threshold) == (0, 1 / 20, 0.1)
    assert np.isnan(found.chance)
    found.plot()


def test_an_infinite_observed_value_is_beyond_all_draws(scalar, scripted):
    found = scalar(scripted([np.inf] + [0.1] * K))
    assert (found.p_value, found.percentile) == (1 / 20, 100.0)


def test_draws_of_a_measure_that_have_no_score_are_lost():
    """Rows that equal all their neighbours have no second-order cosine, and some permutations bring that about."""
    rng = np.random.default_rng(0)
    X, Y = (np.eye(5)[rng.integers(5, size=24)] for _ in range(2))
    found = calibrate(X, Y, "2nd-Cos", n_permutations=39, seed=0, k=3)
    null = np.array(found.null)
    assert found.n_lost == np.isnan(null).sum() == 2
    assert found.p_value == (1 + 2 + (null >= found.value - 1e-12).sum()) / 40


def test_an_interrupt_leaves_what_has_come(either, scripted):
    found = either(scripted([0.9, 0.1, 0.2, 0.95, KeyboardInterrupt()]), n_permutations=200)
    assert (found.interrupted, found.n_draws, found.null) == (True, 3, (0.1, 0.2, 0.95))
    assert found.p_value == 2 / 4
    assert "nterrupted: fewer permutations than requested" in str(found)


@pytest.mark.parametrize("before", [0, 1])
def test_an_interrupt_before_any_draw_is_one(either, scripted, before):
    with pytest.raises(KeyboardInterrupt):
        either(scripted([0.9] * before + [KeyboardInterrupt()]))


def test_an_interrupt_of_a_measure_leaves_what_has_come(either, monkeypatch):
    """Draws of a measure come from threads: those that are done count."""
    from shesha.support import progress

    def until_fourth(items, total, label):
        for done, item in enumerate(items):
            if done == 4:
                raise KeyboardInterrupt
            yield item

    expected = either(n_permutations=60).null[:3]
    monkeypatch.setattr(progress, "track", until_fourth)
    found = either(n_permutations=60)
    assert (found.interrupted, found.n_draws, found.null) == (True, 3, expected)


def test_after_an_interrupt_no_other_pair_begins(pair, scripted):
    values = [0.9, *[0.1] * 5, KeyboardInterrupt()]
    found = compare_all(dict.fromkeys("abc", pair), scripted(values), calibrate=True, n_permutations=K, seed=0)
    assert ([score.first for score in found.scores], found.interrupted) == (["a"], True)
    assert (found["a"].interrupted, found["a"].n_draws) == (True, 5)
    assert "Interrupted: the remaining values were not computed." in str(found)


@pytest.mark.parametrize("before", [0, 1])
def test_an_interrupt_before_any_draw_of_a_pair_leaves_those_before(pair, scripted, before):
    values = [0.9, *[0.1] * K, *[0.9] * before, KeyboardInterrupt()]
    try:
        found = compare_all(dict.fromkeys("abc", pair), scripted(values), calibrate=True, n_permutations=K, seed=0)
    except KeyboardInterrupt:
        # Let out, it would end all tests.
        pytest.fail("interrupted")
    assert ([score.first for score in found.scores], found.interrupted) == (["a"], True)


def test_functions_get_permuted_rows_and_their_own_options(pair):
    """Rows of Y move together, those of X stay."""
    X, Y = pair
    seen = []

    def watch(a, b):
        seen.append((a.copy(), b.copy()))
        return 0.0

    orders = [np.random.default_rng(k).permutation(40) for k in range(K)]
    calibrate(X, Y, watch, permutations=orders)
    assert all(np.array_equal(a, X) for a, _ in seen)
    assert all(np.array_equal(b, Y[order]) for (_, b), order in zip(seen, [np.arange(40), *orders], strict=True))


def test_a_function_cannot_change_the_data(pair):
    X, Y = pair
    before = X.copy()

    def spoil(a, b):
        a -= a.mean()
        return 0.0

    calibrate(X, Y, spoil, n_permutations=K, seed=0)
    assert np.array_equal(X, before)
