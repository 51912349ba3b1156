"""Null distributions from random pairs of rows: equal to those of all pairs if all are drawn, and valid if not."""

import numpy as np
import pytest

from shesha import calibrate
from shesha.calibration import single_pair


def related(n, noise=1.0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 6))
    return X, X + noise * rng.standard_normal((n, 6))


@pytest.mark.parametrize("measure", ["RSA", "RDM drift", "RSMDiff(norm=frobenius)", "RSA(metric=euclidean)"])
def test_with_all_pairs_the_sample_is_exact(measure):
    X, Y = related(40)
    sampled, exact = (calibrate(X, Y, measure, seed=0, exact=choice) for choice in (False, True))
    assert sampled.value == pytest.approx(exact.value, abs=1e-12)
    np.testing.assert_allclose(sampled.null, exact.null, atol=1e-12)
    assert sampled.sampling_error == 0


@pytest.mark.parametrize("measure", ["RSA", "DistCorr"])
def test_the_stated_error_contains_the_exact_value(measure, monkeypatch):
    monkeypatch.setattr(single_pair, "_DISTANCES", 3_000)
    X, Y = related(300)
    exact = calibrate(X, Y, measure, n_permutations=19, seed=0).value
    inside = 0
    for seed in range(30):
        found = calibrate(X, Y, measure, n_permutations=19, seed=seed, exact=False)
        inside += abs(found.value - exact) <= 1.96 * found.sampling_error
    assert inside >= 24  # 30 x 0.95 less four standard deviations


def test_unrelated_data_are_called_related_as_often_as_stated(monkeypatch):
    monkeypatch.setattr(single_pair, "_DISTANCES", 200)
    rng = np.random.default_rng(0)
    p_values = [
        calibrate(*rng.standard_normal((2, 50, 4)), "RSA", n_permutations=19, seed=seed, exact=False).p_value
        for seed in range(90)
    ]
    assert 1 <= sum(p <= 0.05 for p in p_values) <= 12


def test_what_exceeds_the_memory_is_sampled_and_this_is_said(monkeypatch):
    X, Y = related(300)
    monkeypatch.setenv("SHESHA_MEMORY", "600k")
    monkeypatch.setattr(single_pair, "_DISTANCES", 3_000)
    found = calibrate(X, Y, "RSA", seed=0)
    assert found.significant
    assert found.notes[0].startswith("estimated from 3,000 of 44,850 pairs of rows, +-0.0")
    assert "exact=True needs" in str(found)
    with pytest.raises(ValueError, match="memory budget"):
        calibrate(X, Y, "RSA", seed=0, exact=True)


def test_what_takes_more_than_a_minute_is_sampled_and_this_is_said(monkeypatch):
    X, Y = related(60)
    monkeypatch.setattr(single_pair, "exact_seconds", lambda *args, **options: 840.0)
    monkeypatch.setattr(single_pair, "seconds_here", lambda seconds: seconds)
    assert "exact=True takes about 14 minutes" in " ".join(str(calibrate(X, Y, "RSA", seed=0)).split())
    assert calibrate(X, Y, "RSA", seed=0, exact=True).notes == ()
    assert calibrate(X, Y, "CKA", seed=0).notes == ()
