"""Corrected p-values follow their definitions, and say how many draws they need."""

from math import comb, isnan

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import false_discovery_control

from shesha import CalibrationWarning, compare_all
from shesha.calibration import benjamini_hochberg, holm
from shesha.nulls.null_summary import draw_stages, draws_needed, open_tests


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


@both
def test_p_values_of_zero_and_one_are_p_values_and_those_beyond_are_not(correct):
    assert correct([0.0, 1.0]).tolist() == [0.0, 1.0]
    for outside in (-1e-9, 1 + 1e-9):
        with pytest.raises(ValueError, match=r"p_values must lie in \[0, 1\], got values outside"):
            correct([0.5, outside])


@given(P_VALUES)
def test_holm_is_the_stricter(p_values):
    assert np.all(holm(p_values) >= benjamini_hochberg(p_values) - 1e-15)


def test_enough_permutations_let_one_of_many_stand_out():
    for n_tests in (1, 2, 10, 11, 45):
        k = draws_needed(n_tests, 0.05)
        smallest = np.array([1 / (k + 1), *[1.0] * (n_tests - 1)])
        assert holm(smallest)[0] <= 0.05 * (1 + 1e-9) and benjamini_hochberg(smallest)[0] <= 0.05 * (1 + 1e-9)
        fewer = np.array([1 / k, *[1.0] * (n_tests - 1)])
        assert holm(fewer)[0] > 0.05


def test_many_pairs_get_as_many_draws_as_their_correction_needs(rng):
    X = rng.standard_normal((30, 4))
    pairs = {"kin": (X, X + rng.standard_normal((30, 4)))}
    pairs |= {f"strangers {k}": (X, rng.standard_normal((30, 4))) for k in range(11)}
    for correction in ("holm", "benjamini-hochberg"):
        found = compare_all(pairs, "CKA", calibrate=True, correction=correction)
        assert found.n_draws == found["kin"].n_draws == 239
        assert found["kin"].corrected_p_value <= 0.05
    assert compare_all(dict(list(pairs.items())[:10]), "CKA", calibrate=True)["kin"].n_draws == 200
    with pytest.warns(CalibrationWarning, match="with 100 permutations, no single pair of 12 can be significant"):
        compare_all(pairs, "CKA", calibrate=True, n_permutations=100, correction="holm")


@pytest.mark.parametrize("correct", [holm, benjamini_hochberg])
@pytest.mark.parametrize("share", [0.0, 0.2])
def test_tests_that_end_early_are_decided_as_with_all_draws(correct, share, rng):
    """At most one of 1,000 decisions may differ: the risk of each is at most 0.001, and less in most tests."""
    stages, alpha, differing, early = draw_stages(199, 999), 0.05, 0, 0
    assert stages == [199, 399, 799, 999]
    for _ in range(20):
        truth = np.where(rng.random(50) < share, rng.random(50) * 0.004, rng.random(50))
        totals = np.cumsum([rng.binomial(more, truth) for more in np.diff([0, *stages])], axis=0)
        drawn, extreme, active = np.zeros(50), np.zeros(50), np.ones(50, dtype=bool)
        for stage, total in zip(stages, totals, strict=True):
            drawn[active], extreme[active] = stage, total[active]
            active &= open_tests((1 + extreme) / (1 + drawn), drawn, np.full(50, 999), correct, alpha, 4)
        decided = correct((1 + extreme) / (1 + drawn)) <= alpha
        differing += int((decided != (correct((1 + totals[-1]) / 1000) <= alpha)).sum())
        early += int((drawn < 999).sum())
    assert differing <= 1
    assert early > 0.6 * 1000


@pytest.mark.parametrize(("n", "most"), [(99, 199), (39, 199), (199, 199)])
def test_the_limits_of_a_single_test_are_hypergeometric(n, most):
    """A total of extreme values is possible unless the first draws are improbable; p = 0.05 needs 9 of 199."""
    for extreme in range(0, n, 3):
        possible = []
        for total in range(extreme, most - n + extreme + 1):
            shares = [comb(total, k) * comb(most - total, n - k) / comb(most, n) for k in range(n + 1)]
            if min(sum(shares[: extreme + 1]), sum(shares[extreme:])) >= 0.001 / 2:
                possible.append(total)
        is_open = min(possible) <= 9 < max(possible)
        assert open_tests([(1 + extreme) / (n + 1)], [n], [most], holm, 0.05, 1).tolist() == [is_open], extreme
    assert not open_tests([float("nan")], [0], [0], holm, 0.05, 1).any()
