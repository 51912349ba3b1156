"""Agreement of geometries between times."""

import numpy as np
import pytest

from shesha.neuro import over_time, spike_counts, trial_split


def film(seed: int = 0, n_trials: int = 300) -> tuple[np.ndarray, np.ndarray]:
    """Conditions differ at the last two of four times, in the same way."""
    rng = np.random.default_rng(seed)
    shown = rng.integers(9, size=n_trials)
    tuned = rng.gamma(1, 2, size=(9, 15))[shown][:, :, None] * np.array([0, 0, 1, 1])
    return rng.poisson(2 + tuned).astype(float), shown


def test_the_diagonal_is_the_split_of_each_time() -> None:
    X, shown = film()
    found = over_time(X, shown, n_permutations=0)
    for at in range(4):
        assert found.values[at][at] == pytest.approx(trial_split(X[:, :, at], shown, n_permutations=0).value)
    cells = np.array(found.values)
    assert cells == pytest.approx(cells.T)
    assert found.value == cells.max()


def test_what_is_there_is_found_and_the_largest_keeps_its_level() -> None:
    X, shown = film()
    found = over_time(X, shown, n_permutations=39, times=[-0.2, -0.1, 0.1, 0.2])
    late = np.array(found.p_values)[2:, 2:]
    assert (late <= 0.05).all()
    assert min(found.argmax) > 0
    assert "entries are above" in str(found)
    hits = 0
    for seed in range(8):
        X, shown = film(seed, 60)
        hits += over_time(X[:, :, :2], shown, n_permutations=19, seed=seed).significant
    assert hits <= 2


def test_labelled_in_and_out() -> None:
    xarray = pytest.importorskip("xarray")
    X, shown = film()
    given = xarray.DataArray(
        X.transpose(2, 0, 1),
        dims=("time", "trial", "neuron"),
        coords={"time": [0.0, 0.1, 0.2, 0.3], "shape": ("trial", shown)},
    )
    found = over_time(given, "shape", n_permutations=0)
    assert found.times == (0.0, 0.1, 0.2, 0.3)
    assert found.to_xarray().sel({"time": 0.2, "other time": 0.3}).item() == found.values[2][3]


def test_spikes_are_counted_in_windows() -> None:
    rng = np.random.default_rng(0)
    trains, onsets = [rng.random(50) * 10 for _ in range(3)], np.array([1.0, 4.0, 8.0])
    found = spike_counts(trains, onsets, window=(-0.5, 1.0), n_bins=3)
    expected = [[[((t >= o - 0.5 + k / 2) & (t < o + k / 2)).sum() for k in range(3)] for t in trains] for o in onsets]
    assert found.tolist() == expected
    assert spike_counts(trains, onsets, window=(-0.5, 1.0)).tolist() == found.sum(axis=2).tolist()


def test_pynapple_groups_and_intervals_are_taken() -> None:
    """Stand-ins are told by their module and attributes, as the real classes are."""

    class Ts:
        def __init__(self, t: list[float]) -> None:
            self.t = np.array(t)

    class IntervalSet:
        start = np.array([0.0, 1.0])

    Ts.__module__ = IntervalSet.__module__ = "pynapple.core"
    assert spike_counts({0: Ts([0.1, 1.2]), 1: Ts([0.3])}, IntervalSet()).tolist() == [[1, 1], [1, 0]]


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([], [0.0]), {}, "spikes must contain at least one neuron, got none"),
        (([[0.1]], [0.0]), {"window": (1, 0)}, "window must end after it starts, got 1 to 0"),
        (([[np.nan]], [0.0]), {}, "spikes must be finite times, got 1 of 1 that are NaN or infinite"),
        (([[0.1]], [[[0.0]]]), {}, "onsets must be a 1-D array of times"),
    ],
)
def test_bad_spikes(arguments, options, message) -> None:
    with pytest.raises(ValueError, match=message):
        spike_counts(*arguments, **options)
