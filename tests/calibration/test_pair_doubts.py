"""Doubts about calibrated pairs: what is left out, what the effect counts in, and which warnings they give."""

import warnings

import numpy as np
import pytest

from shesha import CalibrationWarning, calibrate
from shesha.calibration.single_pair import (
    add_doubt,
    add_saturation,
    replace_row_effects,
    width_doubt,
)
from shesha.doubting import find_pair_doubts, warn_of_doubts
from shesha.results import Doubt, Doubts
from shesha.support.warnings import NotEstimable
from shesha.views import Rdm, Representation

N = 50
FEW = Doubt("few rows", 0.9, None, "three rows", "Check them", (1, 2, 3))
CLUSTER = Doubt("rare cluster", 0.8, None, "a cluster", "Check it", (4, 5))
OTHER = Doubt("order", 0.3, 0.01, "an order", "Use blocks")


def doubts(*found, n_looked_at=N):
    return Doubts(tuple(found), n_looked_at=n_looked_at)


def scores_by_number_left(values):
    """Score what is left by the number of rows, and note these rows."""
    met = []

    def without(kept):
        met.append(kept)
        return values[len(kept)]

    return without, met


def test_effects_of_rows_are_shares_of_the_way_from_chance_to_the_best_value():
    without, met = scores_by_number_left({47: 0.5, 48: 0.75})
    found = replace_row_effects(doubts(FEW, OTHER, CLUSTER), "RSA", N, 1.0, 0.5, without)
    assert [(one.name, one.effect) for one in found] == [("few rows", 1.0), ("rare cluster", 0.5), ("order", 0.3)]
    assert "RSA is 1.00 with rows" in found.found[0].text
    assert "With the cluster, RSA is 1.00; without it, 0.75" in found.found[1].text
    assert [sorted(set(range(N)) - set(kept.tolist())) for kept in met] == [[1, 2, 3], [4, 5]]


def test_the_larger_effect_comes_first_whatever_cka_said():
    without, _ = scores_by_number_left({47: 0.75, 48: 0.5})
    found = replace_row_effects(doubts(FEW, CLUSTER), "RSA", N, 1.0, 0.5, without)
    assert found.names == ("rare cluster", "few rows")


@pytest.mark.parametrize(("left", "stays"), [(0.75, True), (1.25, True), (0.76, False), (1.24, False)])
def test_rows_that_move_a_measure_by_less_than_a_fifth_are_not_reported(left, stays):
    without, _ = scores_by_number_left({47: left})
    # A quarter of 1.25 is a fifth; in binary both are exact.
    found = replace_row_effects(doubts(FEW, OTHER), "RSA", N, 1.0, 1.25, without)
    assert found.names == (("order", "few rows") if stays else ("order",))


def test_rows_without_which_there_is_no_value_are_not_reported():
    def without(kept):
        raise NotEstimable("too few")

    assert replace_row_effects(doubts(FEW, OTHER), "RSA", N, 1.0, 1.0, without).names == ("order",)


@pytest.mark.parametrize("scale", [0.0, -1.0, float("nan")])
def test_without_a_scale_nothing_changes(scale):
    given = doubts(FEW, OTHER)
    assert replace_row_effects(given, "RSA", N, 1.0, scale, lambda kept: 0.0) is given


def test_a_cluster_of_which_not_all_members_are_known_stays_as_it_is():
    without, met = scores_by_number_left({47: 0.0, 48: 0.0})
    found = replace_row_effects(doubts(FEW, CLUSTER, n_looked_at=N - 1), "RSA", N, 1.0, 1.0, without)
    assert found["rare cluster"] is CLUSTER
    assert found["few rows"] is not FEW
    assert len(met) == 1


def test_doubts_stay_in_the_order_of_their_effects():
    found = add_doubt(doubts(FEW, OTHER), CLUSTER)
    assert found.names == ("few rows", "rare cluster", "order")
    assert add_doubt(found, None) is found


def test_a_null_at_the_best_value_is_the_first_doubt():
    rng = np.random.default_rng(0)
    sides = [Representation.build(rng.standard_normal((20, *shape)), "X") for shape in ((3,), (2, 4))]
    distances = Representation.build(Rdm(np.abs(np.subtract.outer(np.arange(20.0), np.arange(20.0)))), "D")
    for chosen, sizes in (
        (sides, " of 3 and 8 features"),
        ([distances, sides[0]], " of 3 features"),
        ([distances], ""),
    ):
        found = add_saturation(doubts(OTHER), {"CKA": (0.99, 0.0, 1.0)}, chosen)
        assert found.names == ("saturated", "order")
        assert f"20 rows{sizes}: even" in found.found[0].text
    assert add_saturation(doubts(OTHER), {"CKA": (0.5, 0.0, 1.0)}, sides).names == ("order",)


def test_width_counts_the_features_of_both_and_needs_features():
    rng = np.random.default_rng(0)
    sides = [Representation.build(rng.standard_normal((20, d)), "X") for d in (150, 300)]
    found = width_doubt(sides, 0.9)
    assert found is not None
    assert "20 rows of 150 and 300 features" in found.text
    narrow = [Representation.build(rng.standard_normal((500, 3)), "X") for _ in range(2)]
    assert width_doubt(narrow, 0.9) is None
    assert width_doubt(sides, float("nan")) is None
    distances = Representation.build(Rdm(np.abs(np.subtract.outer(np.arange(20.0), np.arange(20.0)))), "D")
    assert width_doubt([sides[0], distances], 0.9) is None
    tokens = Representation.build(rng.standard_normal((20, 5, 150)), "T")
    assert width_doubt([sides[0], tokens], 0.9) is None


def test_dependence_has_warnings_of_its_own():
    with pytest.warns(CalibrationWarning, match=r"few rows: three rows\. Check them"):
        warn_of_doubts(doubts(FEW))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_doubts(doubts(OTHER))


def test_a_declared_design_says_what_the_order_means():
    rng = np.random.default_rng(0)
    walks = rng.standard_normal((2, 300, 8)).cumsum(axis=1)
    sides = [Representation.build(one, "X") for one in walks]
    assert "order" in find_pair_doubts(sides, {}).names
    assert "order" not in find_pair_doubts(sides, {"blocks": np.repeat(np.arange(10), 30)}).names


def test_one_shared_far_row_is_measured_by_the_calibrated_measure():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((2, 60, 6))
    X[7], Y[7] = 60 * rng.standard_normal((2, 6))
    with pytest.warns(CalibrationWarning, match="few rows: CKA is .* with row 7, but"):
        found = calibrate(X, Y, "CKA", n_permutations=99)
    # Ranks of distances hardly notice a single row.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ranks = calibrate(X, Y, "RSA", n_permutations=99)
    assert "few rows" in found.doubts.names
    assert "few rows" not in ranks.doubts.names
