"""Spike times as files contain them, and tests with too few trials to decide."""

import numpy as np
import pandas as pd
import pytest

from shesha.neuro import crossnobis, crossnobis_test, spike_counts

TIMES = np.array([0.1, 0.6, 0.8, 0.2, 0.7, 0.9])
CLUSTERS = np.array([3, 3, 3, 7, 7, 7])


@pytest.mark.parametrize(
    "spikes",
    [
        (TIMES, CLUSTERS.astype(float)),
        (TIMES[:, None], CLUSTERS[:, None]),
        pd.Series([TIMES[:3], TIMES[3:]], index=[11, 12]),
        pd.DataFrame({"spike_times": [TIMES[:3], TIMES[3:]]}, index=[11, 12]),
        pd.Series([TIMES[None, :3], TIMES[None, 3:]]).to_numpy()[None],
    ],
)
def test_containers_of_spikes(spikes):
    assert spike_counts(spikes, [0.0, 0.5]).tolist() == [[1, 1], [2, 2]]


@pytest.mark.parametrize(
    ("spikes", "onsets", "message"),
    [
        ((CLUSTERS.astype(float), TIMES), [0.0], "in this order"),
        ([np.array([0.1, np.nan])], [0.0], "1 of 2 that are NaN"),
        ([TIMES], pd.DataFrame({"start_time": [0.0], "stop_time": [1.0]}), "one of its columns: 'start_time'"),
    ],
)
def test_refusals_name_the_cause(spikes, onsets, message):
    with pytest.raises((TypeError, ValueError), match=message):
        spike_counts(spikes, onsets)


def test_too_few_trials_are_undecided():
    shown = np.tile(np.arange(3), 2)
    X = 50 * np.eye(3, 6)[shown] + np.random.default_rng(0).normal(size=(6, 6))
    found = crossnobis_test(X, shown, noise=None)
    assert found.n_undecided == 3
    assert found.smallest_p_value == pytest.approx(1 / 3)
    assert "cannot be decided" in found.headline


@pytest.mark.parametrize(
    "dims",
    [
        ("time", "cells", "rep"),
        ("time_relative_to_stimulus_onset", "unit_id", "stimulus_presentation_id"),
        ("bin", "neuron_id", "trial_id"),
        ("sample", "channel", "epoch"),
    ],
)
def test_trial_axis_follows_the_coordinate(dims):
    xarray = pytest.importorskip("xarray")
    X = np.random.default_rng(0).normal(size=(24, 5, 4))
    shown = np.arange(24) % 3
    array = xarray.DataArray(X.transpose(2, 1, 0), dims=dims, coords={"stim": (dims[2], shown)})
    np.testing.assert_allclose(crossnobis(array, "stim", noise=None), crossnobis(X, shown, noise=None))
