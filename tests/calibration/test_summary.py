"""What a calibration returns is the summary of its null, in the direction of the measure."""

import numpy as np
import pytest

import shesha.measures as measures
from shesha import calibrate, calibrate_layers
from shesha.nulls import summarise

DISTANCES = [name for name in measures.names() if measures.get(name).paired and not measures.get(name).higher_is_closer]


@pytest.mark.parametrize("name", DISTANCES)
@pytest.mark.parametrize("which", ["pair", "unrelated"])
def test_calibrating_a_distance_is_calibrating_its_negative(small, request, which, name):
    X, Y = request.getfixturevalue(which)
    measure = small(name)
    of = calibrate(X, Y, measure, n_permutations=39, seed=1)
    turned = calibrate(X, Y, lambda a, b: -measure.score(a, b), n_permutations=39, seed=1, maximum=0)
    assert (of.closer, of.best) == ("lower", 0.0)
    for field in ("value", "threshold", "chance"):
        assert getattr(of, field) == pytest.approx(-getattr(turned, field), abs=1e-10)
    for field in ("calibrated", "p_value", "percentile", "chance_sd", "centred", "z", "adjusted"):
        assert getattr(of, field) == pytest.approx(getattr(turned, field), rel=1e-8, abs=1e-10)
    assert of.null == pytest.approx(-np.array(turned.null), abs=1e-10)


@pytest.mark.parametrize("aggregate", ["max", "row_max", "top_k", "mean"])
def test_aggregates_of_distances_are_those_of_their_negatives(rng, aggregate):
    a, b = ([rng.standard_normal((20, 3)) for _ in range(4)] for _ in range(2))
    of = calibrate_layers(a, b, "OrthProc", aggregate, n_permutations=19, seed=1)
    turned = calibrate_layers(
        a, b, lambda x, y: -measures.orthogonal_procrustes(x, y), aggregate, n_permutations=19, seed=1, maximum=0
    )
    assert (of.value, of.threshold) == pytest.approx((-turned.value, -turned.threshold))
    assert (of.calibrated, of.p_value) == (pytest.approx(turned.calibrated), turned.p_value)
    assert (of.closest.first, of.closest.second) == (turned.closest.first, turned.closest.second)
    assert of.matrix("p_value").equals(turned.matrix("p_value"))


@pytest.mark.parametrize("name", [name for name in measures.names() if measures.get(name).paired])
def test_every_measure_has_a_best_value(small, pair, name):
    """So that every calibrated score ends at 1."""
    found = calibrate(*pair, small(name), n_permutations=19, seed=0)
    if np.isinf(measures.get(name).bounds[1]) and found.closer == "higher":
        # Sampled CKA may pass 1 by its noise: the excess over the threshold is all that can be said.
        assert np.isnan(found.best) and found.calibrated >= 0
        return
    assert found.best == (measures.get(name).bounds[1] if found.closer == "higher" else 0.0)
    assert 0 <= found.calibrated <= 1


@pytest.mark.parametrize(
    "name", [name for name in measures.names() if measures.get(name).paired and measures.get(name).self_value == 1]
)
def test_perfect_agreement_is_calibrated_to_one(small, pair, name):
    X, _ = pair
    found = calibrate(X, X.copy(), small(name), n_permutations=19, seed=0)
    # Measures down to -1 have their best value at 1 as well.
    assert found.calibrated == pytest.approx(1.0, abs=1e-9)


def test_another_maximum_can_be_given(pair):
    X, Y = pair
    found, half = (calibrate(X, Y, n_permutations=19, seed=0, maximum=maximum) for maximum in (None, 0.95))
    assert half.best == 0.95
    assert half.calibrated == pytest.approx((found.value - found.threshold) / (0.95 - found.threshold))
    assert calibrate(X, Y, n_permutations=19, seed=0, maximum=found.value).calibrated == 1.0
    for wrong in (found.value - 0.01, 0.0, -5.0):
        with pytest.raises(ValueError, match="maximum must be at least the observed value and its threshold"):
            calibrate(X, Y, n_permutations=19, seed=0, maximum=wrong)


def test_a_distance_has_its_best_value_below(pair):
    with pytest.raises(ValueError, match="maximum must be at most the observed value and its threshold"):
        calibrate(*pair, "OrthProc", n_permutations=19, seed=0, maximum=1.4)


def test_calibrate_returns_what_the_summary_says(pair):
    found = calibrate(*pair, "CKA", n_permutations=99, alpha=0.1, seed=2)
    summary = summarise(found.value, np.array(found.null), "higher", 0.1, 1.0)
    fields = [*summary.evidence(), "value", "closer", "null", "percentile", "centred", "z", "adjusted", "n_lost"]
    for field in fields:
        assert getattr(found, field) == getattr(summary, field)
