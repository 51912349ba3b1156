"""Threshold, p-value and calibrated score follow from the observed value and its null, in both directions."""

from fractions import Fraction
from math import ceil, isnan

import numpy as np
import pytest
from hypothesis import given, strategies as st

from shesha.nulls import best_value, summarise
from shesha.nulls.null_summary import require_attainable_maximum

VALUES = st.integers(-40, 40).map(lambda i: i / 8)
NULLS = st.lists(VALUES, min_size=1, max_size=60)


def higher(observed, null, alpha=0.05, best=None):
    return summarise(observed, np.array(null, dtype=float), "higher", alpha, best)


def lower(observed, null, alpha=0.05, best=None):
    return summarise(observed, np.array(null, dtype=float), "lower", alpha, best)


@pytest.mark.parametrize(
    ("alpha", "k", "rank"),
    [(0.05, 19, 19), (0.05, 99, 95), (0.05, 200, 191), (0.1, 33, 31), (0.3, 9, 7), (0.7, 9, 3), (0.01, 99, 99)],
)
def test_the_threshold_is_the_value_of_its_rank(alpha, k, rank):
    """Observed and null are ranked together, and the threshold is one of them."""
    together = np.random.default_rng(k).permutation(k + 1).astype(float)
    found = higher(together[0], together[1:], alpha)
    assert found.threshold == rank - 1


@pytest.mark.parametrize("k", [9, 19, 20, 39, 99, 199, 999])
def test_the_rank_does_not_suffer_from_rounding(k):
    """(1 - 0.7) * 10 is a little more than 3 in binary, and would be rounded up to 4."""
    null = np.arange(1, k + 1)
    for percent in range(1, 100):
        if percent * (k + 1) < 100:
            continue
        rank = ceil((1 - Fraction(percent, 100)) * (k + 1))
        assert higher(0, null, percent / 100).threshold == rank - 1


@given(VALUES, NULLS, st.integers(1, 19))
def test_the_threshold_is_never_interpolated(observed, null, twentieths):
    alpha = twentieths / 20
    together = sorted([observed, *null])
    rank = ceil((1 - Fraction(twentieths, 20)) * len(together))
    found = higher(observed, null, alpha)
    assert found.threshold == together[rank - 1]
    assert found.threshold in together


@given(VALUES, NULLS)
def test_p_is_add_one_and_ties_are_extreme(observed, null):
    found = higher(observed, null)
    assert found.p_value == (1 + sum(value >= observed for value in null)) / (len(null) + 1)
    below, ties = sum(value < observed for value in null), null.count(observed)
    assert found.percentile == pytest.approx(100 * (below + ties / 2) / len(null))


@pytest.mark.parametrize("off", [0.0, 1e-13, -1e-13])
@pytest.mark.parametrize("size", [0.5, 1.0, 1e6])
def test_what_differs_by_rounding_ties(off, size):
    found = higher(size, np.full(19, size * (1 + off)))
    assert (found.p_value, found.percentile) == (1.0, 50.0)
    assert found.calibrated == pytest.approx(0, abs=1e-12 * size)


@given(VALUES, NULLS, st.integers(1, 19))
def test_above_the_threshold_means_significant(observed, null, twentieths):
    alpha = twentieths / 20
    found = higher(observed, null, alpha, best=5.0)
    if found.calibrated > 0:
        assert found.p_value <= alpha + 1e-12


def test_draws_without_a_score_are_as_extreme_as_can_be():
    null = [0.1, np.nan, 0.2, np.nan, *[0.0] * 15]
    for of, sign in ((higher, 1), (lower, -1)):
        found = of(sign * 0.9, sign * np.array(null))
        assert (found.n_lost, found.p_value) == (2, 3 / 20)
        assert found.chance == pytest.approx(sign * 0.3 / 17)
        assert found.calibrated == 0
    # One of twenty is beyond the threshold of 0.05, lost or not.
    assert (higher(0.9, null[:2] + [0.0] * 17).threshold, higher(0.9, null).threshold) == (0.9, np.inf)


@given(VALUES, NULLS, st.sampled_from([5.0, 6.5]))
def test_the_score_is_zero_up_to_the_threshold_and_one_at_the_maximum(observed, null, best):
    found = higher(observed, null, 0.1, best)
    if found.threshold < best:
        assert found.calibrated == pytest.approx(max(0.0, (observed - found.threshold) / (best - found.threshold)))
        # The rest is linear between the two.
        mean, sd = np.mean(null), np.std(null)
        assert found.adjusted == pytest.approx((observed - mean) / (best - mean))
        assert found.centred == pytest.approx(observed - mean)
        assert found.z == pytest.approx((observed - mean) / sd) if sd > 1e-9 else True


@given(VALUES, NULLS)
def test_without_a_maximum_the_score_is_the_excess(observed, null):
    found = higher(observed, null, 0.1)
    assert found.calibrated == max(0.0, observed - found.threshold)
    assert isnan(found.adjusted)


def test_by_hand():
    """Twenty values, 0.05: the threshold is the nineteenth, the largest of the null."""
    found = higher(0.8, [0.1] * 10 + [0.3] * 9, 0.05, 1.0)
    assert found.threshold == 0.3
    assert found.calibrated == pytest.approx(0.5 / 0.7)
    assert found.p_value == 1 / 20
    assert found.chance == pytest.approx((1 + 2.7) / 19)
    assert found.chance_sd == pytest.approx(np.sqrt((0.1 + 0.81) / 19 - (3.7 / 19) ** 2))
    assert found.percentile == 100


def test_a_null_without_any_score_has_no_mean():
    found = higher(0.8, [np.nan] * 19, best=1.0)
    assert (found.p_value, found.calibrated, found.n_lost) == (1.0, 0.0, 19)
    assert np.isnan([found.chance, found.chance_sd, found.z, found.centred, found.adjusted]).all()


@given(VALUES, NULLS, st.integers(1, 19), st.sampled_from([None, 0.0, -6.0]))
def test_a_distance_is_its_negative_turned_round(observed, null, twentieths, best):
    alpha = twentieths / 20
    of = lower(observed, null, alpha, best)
    turned = higher(-observed, -np.array(null), alpha, None if best is None else -best)
    assert (of.threshold, of.chance) == (-turned.threshold, -turned.chance)
    for field in ("calibrated", "p_value", "percentile", "chance_sd", "centred", "z", "adjusted", "n_lost"):
        assert getattr(of, field) == pytest.approx(getattr(turned, field), nan_ok=True)


def test_the_best_value_is_the_bound_in_the_direction_of_closer():
    assert best_value("higher", (0, 1), None) == 1.0
    assert best_value("lower", (0, 2), None) == 0.0
    assert best_value("lower", (0, np.inf), None) == 0.0
    assert best_value("higher", (0, np.inf), None) is None
    assert best_value("higher", (-np.inf, np.inf), None) is None
    assert best_value("higher", (-np.inf, np.inf), 3) == 3.0
    assert best_value("higher", (0, 1), 0.5) == 0.5


@pytest.mark.parametrize(("closer", "sign", "words"), [("higher", 1, "at least"), ("lower", -1, "at most")])
def test_a_maximum_is_as_close_as_the_value_and_its_threshold(closer, sign, words):
    require_attainable_maximum(None, sign * 5.0, sign * 9.0, closer)
    for observed, threshold in ((0.5, 0.25), (0.25, 0.5), (-0.5, -2.0)):
        nearest = max(observed, threshold)
        # Sums in another order differ by rounding, which is no excess.
        for maximum in (nearest, nearest + 1, nearest - 1e-13 * abs(nearest)):
            require_attainable_maximum(sign * maximum, sign * observed, sign * threshold, closer)
        with pytest.raises(ValueError, match=f"maximum must be {words} the observed value and its threshold"):
            require_attainable_maximum(sign * (nearest - 1e-9), sign * observed, sign * threshold, closer)
