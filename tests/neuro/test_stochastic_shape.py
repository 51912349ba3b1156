"""The shape distance of two recordings: what few trials add is taken off, and other noise is seen."""

import numpy as np
import pytest
from scipy.stats import ortho_group

from shesha.neuro import stochastic_shape

N_CONDITIONS, N_NEURONS = 8, 5


def recording(rng, tuning, noise, n_trials):
    """Return trials and the condition of each."""
    shown = np.repeat(np.arange(len(tuning)), n_trials)
    return tuning[shown] + rng.standard_normal((len(shown), tuning.shape[1])) @ noise.T, shown


@pytest.fixture
def model(rng):
    noise = ortho_group.rvs(N_NEURONS, random_state=0) * np.linspace(0.5, 1.5, N_NEURONS)
    return 1.5 * rng.standard_normal((N_CONDITIONS, N_NEURONS)), noise


@pytest.mark.parametrize("kind", ["gaussian", "energy"])
def test_the_same_code_is_at_distance_zero_however_few_the_trials(rng, model, kind):
    turn = ortho_group.rvs(N_NEURONS, random_state=1)
    corrected, raw = [], []
    for seed in range(5):
        (X, shown), (Y, _) = recording(rng, *model, 6), recording(rng, *model, 6)
        found = stochastic_shape(X, Y @ turn, shown, kind=kind, n_splits=4, seed=seed)
        corrected.append(found.corrected)
        raw.append(found.value)
        assert found.first_floor == pytest.approx(found.half_distance, rel=0.6, abs=0.4)
    if kind == "gaussian":
        assert np.mean(corrected) < 0.4 * np.mean(raw)
    assert np.mean(corrected) < 0.4


def test_the_correction_brings_few_trials_near_the_value_of_many(rng, model):
    tuning, noise = model
    other = tuning + 0.7 * rng.standard_normal(tuning.shape), 1.5 * noise
    (X, shown), (Y, _) = recording(rng, tuning, noise, 300), recording(rng, *other, 300)
    truth = stochastic_shape(X, Y, shown, n_splits=1).value
    found = []
    for seed in range(4):
        (X, shown), (Y, _) = recording(rng, tuning, noise, 8), recording(rng, *other, 8)
        found.append(stochastic_shape(X, Y, shown, n_splits=4, seed=seed))
    raw, corrected = (np.mean([getattr(one, name) for one in found]) for name in ("value", "corrected"))
    assert abs(corrected - truth) < 0.5 * abs(raw - truth)


def test_noise_alone_is_seen_unless_only_means_count(rng, model):
    tuning, noise = model
    (X, shown), (Y, _) = recording(rng, tuning, noise, 60), recording(rng, tuning, noise[::-1] * 2, 60)
    means, both = (stochastic_shape(X, Y, shown, weight=w, n_splits=2) for w in (2, 1))
    assert both.corrected > 1.0
    assert means.corrected < 0.5 * both.corrected


def test_neurons_need_not_match_and_many_cost_nothing(rng, model):
    (X, shown), (Y, _) = recording(rng, *model, 5), recording(rng, *model, 5)
    wide = Y @ np.linalg.qr(rng.standard_normal((300, N_NEURONS)))[0].T
    narrow = stochastic_shape(X, Y, shown, n_splits=2)
    assert stochastic_shape(X, wide, shown, n_splits=2).value == pytest.approx(narrow.value, rel=1e-4)


def test_conditions_are_matched_by_name_and_rare_ones_left_out(rng, model):
    (X, shown), (Y, _) = recording(rng, *model, 6), recording(rng, *model, 6)
    order = rng.permutation(len(Y))
    rare = shown.copy()
    rare[np.flatnonzero(shown == 3)[2:]] = 4
    found = stochastic_shape(X, Y[order], rare, shown[order], n_splits=2)
    assert (found.n_conditions, found.fewest_trials) == (7, 6)
    shuffled = stochastic_shape(X, Y[order], shown, shown[order], n_splits=2)
    assert shuffled.value == pytest.approx(stochastic_shape(X, Y, shown, n_splits=2).value, rel=1e-6)


@pytest.mark.parametrize(
    ("factor", "expected"), [(1, ""), (1.5, ""), (4, "of Y are 4 times"), (0.25, "of X are 4 times")]
)
def test_recordings_in_different_units_are_named(rng, factor, expected):
    shown = np.tile(np.arange(4), 10)
    X = rng.normal(3 + shown[:, None], 1, (40, 5))
    found = stochastic_shape(X, factor * X[:, ::-1], shown, n_splits=1)
    texts = [text for text in found.inputs if "root mean square" in text]
    assert len(texts) == bool(expected) and all(expected in text for text in texts)


def test_conditions_that_only_the_first_recording_fits_are_told():
    rng = np.random.default_rng(0)
    means = 1.5 * rng.standard_normal((10, 12))
    of_x, of_y = (rng.permutation(np.repeat(np.arange(10), 16)) for _ in range(2))
    X, Y = (means[shown] + rng.standard_normal((160, 12)) for shown in (of_x, of_y))
    said = str(stochastic_shape(X, Y, of_x).inputs)
    assert "the conditions of X are those of Y, trial by trial" in said
    assert "as if the rows of Y were in another order. Pass its own as conditions_of_Y=" in said
    said = str(stochastic_shape(X, Y, of_x, of_y).inputs)
    assert "another order" not in said and "trial by trial" not in said
