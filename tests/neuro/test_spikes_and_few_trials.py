"""Spike times as files contain them, and tests with too few trials to decide."""

import warnings

import numpy as np
import pandas as pd
import pytest

from shesha.io import read
from shesha.neuro import crossnobis, crossnobis_test, spike_counts
from shesha.support.provenance import collect_statements

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


def _recording(change, n_changed):
    """Return the spike times of six neurons, of which the first ones were changed."""
    rng = np.random.default_rng(0)
    trains = [np.sort(rng.uniform(0, 100, 80)) for _ in range(6)]
    return [change(rng, train) if place < n_changed else train for place, train in enumerate(trains)]


@pytest.mark.parametrize(
    ("change", "n_changed", "told"),
    [
        (lambda _, train: np.where(train < 60, train, train - 60), 6, "6 of 6 neurons run backwards (neuron 0 from 59"),
        (lambda _, train: train % 20, 6, "6 of 6 neurons run backwards"),
        (lambda _, train: train % 50, 4, "4 of 6 neurons run backwards"),
        # Clusters that were merged, and times in no order.
        (lambda _, train: train % 50, 2, ""),
        (lambda rng, train: rng.permutation(train), 6, ""),
        (lambda _, train: train, 6, ""),
    ],
)
@pytest.mark.parametrize("kind", ["list", "flat", "nwb"])
def test_times_that_run_backwards_are_named(change, n_changed, told, kind, tmp_path):
    trains = _recording(change, n_changed)
    starts = np.arange(0.0, 100, 5)
    expected = np.stack([((t >= starts[:, None]) & (t < starts[:, None] + 1)).sum(axis=1) for t in trains], axis=1)
    with warnings.catch_warnings(record=True) as caught, collect_statements() as statements:
        warnings.simplefilter("always")
        if kind == "nwb":
            h5py = pytest.importorskip("h5py")
            with h5py.File(tmp_path / "a.nwb", "w") as file:
                file.attrs["nwb_version"] = "2.6.0"
                file["intervals/trials/id"], file["units/id"] = np.arange(20), np.arange(6)
                file["intervals/trials/start_time"], file["intervals/trials/stop_time"] = starts, starts + 1
                file["units/spike_times"], file["units/spike_times_index"] = (
                    np.concatenate(trains),
                    80 * np.arange(1, 7),
                )
            found = read(tmp_path / "a.nwb")["units"]
        else:
            flat = np.concatenate(trains), np.repeat(np.arange(6), 80)
            found = spike_counts(trains if kind == "list" else flat, starts, window=(0, 1))
    np.testing.assert_array_equal(found, expected)
    text = " ".join([*statements, *(str(one.message) for one in caught)])
    assert (told in text) if told else ("backwards" not in text)


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
