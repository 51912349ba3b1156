"""Threshold, p-value and calibrated score follow from the observed value and its null, in both directions."""

from __future__ import annotations

from dataclasses import asdict
from fractions import Fraction
from math import ceil, isnan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import false_discovery_control

import shesha.measures as measures
from shesha import benjamini_hochberg, calibrate, calibrate_layers, holm
from shesha.kernels.null_summary import best_value, summarise

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


def test_p_is_never_zero():
    assert higher(10.0, np.zeros(999)).p_value == 1 / 1000


@pytest.mark.parametrize("off", [0.0, 1e-13, -1e-13])
@pytest.mark.parametrize("size", [0.5, 1.0, 1e6])
def test_what_differs_by_rounding_ties(off, size):
    found = higher(size, np.full(19, size * (1 + off)))
    assert (found.p_value, found.percentile) == (1.0, 50.0)
    assert found.score == pytest.approx(0, abs=1e-12 * size)


@pytest.mark.parametrize("size", [1.0, 1e6])
def test_what_differs_by_more_does_not_tie(size):
    assert higher(size, np.full(19, size * (1 - 1e-10))).p_value == 1 / 20
    assert higher(size, np.full(19, size * (1 + 1e-10))).p_value == 1


def test_small_units_do_not_tie():
    assert higher(2e-13, np.full(19, 1e-13)).p_value == 1 / 20


def test_a_score_above_zero_is_significant():
    """The paper's rule: what is above the threshold is above chance at alpha."""
    found = higher(0.5 + 1e-13, np.full(19, 0.5))
    assert found.p_value == 1
    assert found.score == 0


@given(VALUES, NULLS, st.integers(1, 19))
def test_above_the_threshold_means_significant(observed, null, twentieths):
    alpha = twentieths / 20
    found = higher(observed, null, alpha, best=5.0)
    if found.score > 0:
        assert found.p_value <= alpha + 1e-12


def test_draws_without_a_score_are_as_extreme_as_can_be():
    null = [0.1, np.nan, 0.2, np.nan, *[0.0] * 15]
    for of, sign in ((higher, 1), (lower, -1)):
        found = of(sign * 0.9, sign * np.array(null))
        assert (found.n_lost, found.p_value) == (2, 3 / 20)
        assert found.null_mean == pytest.approx(sign * 0.3 / 17)
        assert found.score == 0
    # One of twenty is beyond the threshold of 0.05, lost or not.
    assert (higher(0.9, null[:2] + [0.0] * 17).threshold, higher(0.9, null).threshold) == (0.9, np.inf)


@given(VALUES, NULLS, st.sampled_from([5.0, 6.5]))
def test_the_score_is_zero_up_to_the_threshold_and_one_at_the_maximum(observed, null, best):
    found = higher(observed, null, 0.1, best)
    if found.threshold < best:
        assert found.score == pytest.approx(max(0.0, (observed - found.threshold) / (best - found.threshold)))
        # The rest is linear between the two.
        mean, sd = np.mean(null), np.std(null)
        assert found.adjusted == pytest.approx((observed - mean) / (best - mean))
        assert found.centred == pytest.approx(observed - mean)
        assert found.z == pytest.approx((observed - mean) / sd) if sd > 1e-9 else True


@given(VALUES, NULLS)
def test_without_a_maximum_the_score_is_the_excess(observed, null):
    found = higher(observed, null, 0.1)
    assert found.score == max(0.0, observed - found.threshold)
    assert isnan(found.adjusted)


def test_perfect_agreement_is_one():
    assert higher(1.0, np.linspace(0, 0.4, 99), best=1.0).score == 1.0
    assert lower(0.0, np.linspace(0.6, 1, 99), best=0.0).score == 1.0
    assert higher(1.0, np.ones(19), best=1.0).score == 0.0


def test_by_hand():
    """Twenty values, 0.05: the threshold is the nineteenth, the largest of the null."""
    found = higher(0.8, [0.1] * 10 + [0.3] * 9, 0.05, 1.0)
    assert found.threshold == 0.3
    assert found.score == pytest.approx(0.5 / 0.7)
    assert found.p_value == 1 / 20
    assert found.null_mean == pytest.approx((1 + 2.7) / 19)
    assert found.null_sd == pytest.approx(np.sqrt((0.1 + 0.81) / 19 - (3.7 / 19) ** 2))
    assert found.percentile == 100


def test_a_null_of_equal_values_has_no_z():
    assert isnan(higher(0.8, [0.5] * 19).z)
    # 0.1 nineteen times has a mean that is off by rounding; its spread is rounding as well.
    assert higher(0.8, [0.5] * 19).null_sd == 0


def test_a_null_without_any_score_has_no_mean():
    found = higher(0.8, [np.nan] * 19, best=1.0)
    assert (found.p_value, found.score, found.n_lost) == (1.0, 0.0, 19)
    assert np.isnan([found.null_mean, found.null_sd, found.z, found.centred, found.adjusted]).all()


@given(VALUES, NULLS, st.integers(1, 19), st.sampled_from([None, 0.0, -6.0]))
def test_a_distance_is_its_negative_turned_round(observed, null, twentieths, best):
    alpha = twentieths / 20
    of = lower(observed, null, alpha, best)
    turned = higher(-observed, -np.array(null), alpha, None if best is None else -best)
    assert (of.threshold, of.null_mean) == (-turned.threshold, -turned.null_mean)
    for field in ("score", "p_value", "percentile", "null_sd", "centred", "z", "adjusted", "n_lost"):
        assert getattr(of, field) == pytest.approx(getattr(turned, field), nan_ok=True)


DISTANCES = [name for name in measures.names() if measures.get(name).paired and not measures.get(name).higher_is_closer]


@pytest.mark.parametrize("name", DISTANCES)
@pytest.mark.parametrize("which", ["pair", "unrelated"])
def test_calibrating_a_distance_is_calibrating_its_negative(small, request, which, name):
    X, Y = request.getfixturevalue(which)
    measure = small(name)
    of = calibrate(X, Y, measure, n_permutations=39, seed=1)
    turned = calibrate(X, Y, lambda a, b: -measure.between(a, b), n_permutations=39, seed=1, maximum=0)
    assert (of.closer, of.maximum) == ("lower", 0.0)
    for field in ("observed", "threshold", "null_mean"):
        assert getattr(of, field) == pytest.approx(-getattr(turned, field), abs=1e-10)
    for field in ("score", "p_value", "percentile", "null_sd", "centred", "z", "adjusted"):
        assert getattr(of, field) == pytest.approx(getattr(turned, field), rel=1e-8, abs=1e-10)
    assert of.null == pytest.approx(-np.array(turned.null), abs=1e-10)


@pytest.mark.parametrize("aggregate", ["max", "row_max", "top_k", "mean"])
def test_aggregates_of_distances_are_those_of_their_negatives(rng, aggregate):
    a, b = ([rng.standard_normal((20, 3)) for _ in range(4)] for _ in range(2))
    of = calibrate_layers(a, b, "OrthProc", aggregate, n_permutations=19, seed=1)
    turned = calibrate_layers(
        a, b, lambda x, y: -measures.orthogonal_procrustes(x, y), aggregate, n_permutations=19, seed=1, maximum=0
    )
    assert (of.observed, of.threshold) == pytest.approx((-turned.observed, -turned.threshold))
    assert (of.score, of.p_value, of.best) == (pytest.approx(turned.score), turned.p_value, turned.best)
    assert of.entry_p_values == turned.entry_p_values


def test_the_best_value_is_the_bound_in_the_direction_of_closer():
    assert best_value("higher", (0, 1), None) == 1.0
    assert best_value("lower", (0, 2), None) == 0.0
    assert best_value("lower", (0, np.inf), None) == 0.0
    assert best_value("higher", (0, np.inf), None) is None
    assert best_value("higher", (-np.inf, np.inf), None) is None
    assert best_value("higher", (-np.inf, np.inf), 3) == 3.0
    assert best_value("higher", (0, 1), 0.5) == 0.5


@pytest.mark.parametrize("name", [name for name in measures.names() if measures.get(name).paired])
def test_every_measure_has_a_best_value(small, pair, name):
    """So that every calibrated score ends at 1."""
    found = calibrate(*pair, small(name), n_permutations=19, seed=0)
    assert found.maximum == (measures.get(name).bounds[1] if found.closer == "higher" else 0.0)
    assert 0 <= found.score <= 1


@pytest.mark.parametrize(
    "name", [name for name in measures.names() if measures.get(name).paired and measures.get(name).self_value == 1]
)
def test_perfect_agreement_is_calibrated_to_one(small, pair, name):
    X, _ = pair
    found = calibrate(X, X.copy(), small(name), n_permutations=19, seed=0)
    # Measures down to -1 have their best value at 1 as well.
    assert found.score == pytest.approx(1.0, abs=1e-9)


def test_another_maximum_can_be_given(pair):
    X, Y = pair
    found, half = (calibrate(X, Y, n_permutations=19, seed=0, maximum=maximum) for maximum in (None, 0.95))
    assert half.maximum == 0.95
    assert half.score == pytest.approx((found.observed - found.threshold) / (0.95 - found.threshold))
    assert calibrate(X, Y, n_permutations=19, seed=0, maximum=found.observed).score == 1.0
    for wrong in (found.observed - 0.01, 0.0, -5.0):
        with pytest.raises(ValueError, match="maximum must be at least the observed value and its threshold"):
            calibrate(X, Y, n_permutations=19, seed=0, maximum=wrong)


def test_a_distance_has_its_best_value_below(pair):
    with pytest.raises(ValueError, match="maximum must be at most the observed value and its threshold"):
        calibrate(*pair, "OrthProc", n_permutations=19, seed=0, maximum=1.4)


def test_calibrate_returns_what_the_summary_says(pair):
    found = calibrate(*pair, "CKA", n_permutations=99, alpha=0.1, seed=2)
    for field, value in asdict(summarise(found.observed, np.array(found.null), "higher", 0.1, 1.0)).items():
        assert getattr(found, field) == value


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.2, 0.001, 0.02, 0.5]) == pytest.approx([0.4, 0.004, 0.06, 0.5])
    assert holm([0.3, 0.6, 0.4]) == pytest.approx([0.9, 0.9, 0.9])
    assert holm([0.5, 0.9]) == pytest.approx([1.0, 1.0])
    assert holm([0.02]) == pytest.approx([0.02])


def test_benjamini_hochberg_by_hand():
    assert benjamini_hochberg([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.04, 0.04])
    assert benjamini_hochberg([0.2, 0.001, 0.02, 0.5]) == pytest.approx([0.8 / 3, 0.004, 0.04, 0.5])
    assert benjamini_hochberg([0.02]) == pytest.approx([0.02])


P_VALUES = st.lists(st.integers(1, 200).map(lambda i: i / 200), max_size=30)
both = pytest.mark.parametrize("correct", [holm, benjamini_hochberg])


@given(P_VALUES.filter(bool))
def test_benjamini_hochberg_is_scipys(p_values):
    assert benjamini_hochberg(p_values) == pytest.approx(false_discovery_control(p_values))


@given(P_VALUES)
def test_holm_is_its_definition(p_values):
    """The largest of (m - rank) p up to one's own rank, at most 1."""
    m, ordered = len(p_values), sorted(p_values)
    for p, found in zip(p_values, holm(p_values), strict=True):
        steps = [(m - rank) * value for rank, value in enumerate(ordered) if value <= p]
        # Of equal p-values the first has the largest factor.
        assert found == pytest.approx(min(1.0, max(steps)))


@both
@given(p_values=P_VALUES, data=st.data())
def test_corrections_are_monotone_order_free_and_never_smaller(correct, p_values, data):
    found = correct(p_values)
    assert found.shape == (len(p_values),)
    assert np.all(found >= np.array(p_values) - 1e-15)
    assert np.all(found <= 1)
    order = np.argsort(p_values, kind="stable")
    assert np.all(np.diff(found[order]) >= 0)
    shuffled = data.draw(st.permutations(range(len(p_values))))
    assert correct([p_values[i] for i in shuffled]) == pytest.approx(found[list(shuffled)] if shuffled else [])


@both
@given(p_values=P_VALUES, at=st.integers(0, 30))
def test_nan_is_no_test_and_stays(correct, p_values, at):
    at = min(at, len(p_values))
    found = correct([*p_values[:at], np.nan, *p_values[at:]])
    assert isnan(found[at])
    assert np.delete(found, at) == pytest.approx(correct(p_values))


@given(P_VALUES)
def test_holm_is_the_stricter(p_values):
    assert np.all(holm(p_values) >= benjamini_hochberg(p_values) - 1e-15)
