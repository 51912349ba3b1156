"""Series that repeat are told from noise, memory and drifts, and the advice holds."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import binom

from shesha import CalibrationWarning, calibrate
from shesha.nulls.dependence import _phase_agreement, dependence, find_period

N, PERIOD = 200, 24.3
PHASE = 2 * np.pi * np.arange(N) / PERIOD


def periodic(rng, strength=1.5, n_features=6):
    wave = np.sin(PHASE + rng.uniform(0, 6))[:, None]
    return strength * wave @ rng.standard_normal((1, n_features)) + rng.standard_normal((N, n_features))


def filtered(rng, coefficients, n_features):
    rows = rng.standard_normal((N + 100, n_features))
    for at in range(len(coefficients), len(rows)):
        rows[at] += sum(weight * rows[at - lag] for lag, weight in enumerate(coefficients, start=1))
    return rows[100:]


def test_a_period_is_found(rng):
    found = [find_period(periodic(rng), periodic(rng)) for _ in range(20)]
    assert np.isclose(found, PERIOD, rtol=0.01).mean() >= 0.9


@pytest.mark.parametrize("coefficients", [(), (0.9,), (1.0,), (1.56, -0.81)])
def test_noise_memory_drifts_and_damped_waves_are_no_periods(rng, coefficients):
    assert sum(find_period(filtered(rng, coefficients, 6)) > 0 for _ in range(50)) <= 1


@pytest.mark.parametrize("turns", [(0, 0, 0, 0), (0, 0.25, 0.5, 0.75), (0, 0.5, 0, 0.5), (0, 0, 0.25, 0.25)])
def test_parts_agree_as_the_cosines_of_their_phases(turns):
    """Mean over all pairs of the eight parts of a wave, of which two each begin at a phase of their own."""
    phase = 2 * np.pi * (0.1 * np.arange(400) + np.repeat(turns, 100))
    expected = np.mean([np.cos(2 * np.pi * (a - b)) for a, b in combinations(np.repeat(turns, 2), 2)])
    rows = np.stack([np.sin(phase), 2 * np.sin(phase)], axis=1)
    assert _phase_agreement(rows, 0.1) == pytest.approx(expected, abs=0.05)


def test_series_of_different_periods_share_none(rng):
    other = np.sin(2 * np.pi * np.arange(N) / 17.1)[:, None] * np.ones(6) + 0.3 * rng.standard_normal((N, 6))
    assert find_period(other) == pytest.approx(17.1, rel=0.01)
    assert find_period(other, periodic(rng, strength=4)) == 0


def test_degenerate_rows_have_no_period():
    for rows in (np.ones((100, 3)), np.zeros((100, 1)), np.ones((3, 2))):
        assert find_period(rows) == 0


def test_shifts_of_periodic_series_are_warned_of_with_the_phase_as_advice(rng):
    X, Y = periodic(rng, 3), periodic(rng, 3)
    for design in ({"shift": True}, {"block_length": 8}, {}):
        with pytest.warns(
            CalibrationWarning, match=r"repeat with a period of about 24\.\d rows.* phase as covariates="
        ):
            calibrate(X, Y, "CKA", n_permutations=19, seed=0, **design)
    assert dependence(X, Y).is_dependent


def test_the_phase_as_a_covariate_holds_the_level():
    phase = np.column_stack([np.sin(PHASE), np.cos(PHASE)])
    found = 0
    for run in range(40):
        rng = np.random.default_rng([7, run])
        found += calibrate(
            periodic(rng), periodic(rng), "CKA", n_permutations=19, seed=run, covariates=phase
        ).significant
    assert found <= binom.ppf(0.999, 40, 0.05)
