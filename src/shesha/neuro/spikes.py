"""Conversion of spike times around events to arrays of trials x neurons x times."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shesha.inputs import validation as check
from shesha.support import argument_types as kinds


def spike_counts(
    spikes: Any, onsets: ArrayLike, *, window: tuple[float, float] = (0.0, 0.5), n_bins: int = 1
) -> NDArray[np.int64]:
    """Count the spikes of each neuron in a window around each event.

    Parameters
    ----------
    spikes : mapping or sequence of arrays of spike times, or pynapple TsGroup
        One entry per neuron; the result has the neurons in the same order.
    onsets : array of shape (n_trials,), or pynapple Ts, or IntervalSet (its starts)
        Start of each trial, in the same unit as the spike times.
    window : pair of float
        Start and end of the window, relative to the onset. Spikes exactly at the end are not counted.
    n_bins : int
        Number of equally wide bins in the window.

    Returns
    -------
    array of shape (n_trials, n_neurons), or (n_trials, n_neurons, n_bins) for several bins

    Raises
    ------
    ValueError
        If there are no neurons, times are not finite numbers, or the window does not end after it starts.

    Examples
    --------
    >>> spike_counts({"a": [0.1, 0.2, 1.3], "b": [1.05]}, [0.0, 1.0]).tolist()
    [[2, 0], [1, 1]]
    """
    n_bins = check.count(n_bins, "n_bins")
    if len(kinds.sequence(window, "window", "two numbers")) != 2:
        raise ValueError(f"window must be a start and an end, got {window!r}")
    start, end = (check.finite_number(value, "window") for value in window)
    if end <= start:
        raise ValueError(f"window must end after it starts, got {start:g} to {end:g}")
    kinds.instance(spikes, Iterable, "spikes", "spike times, one array per neuron")
    named = isinstance(spikes, Mapping) or hasattr(spikes, "keys")
    trains = [spikes[name] for name in spikes] if named else list(spikes)
    if not trains:
        raise ValueError("spikes must contain at least one neuron, got none")
    begins = _times(onsets, "onsets")
    edges = begins[:, None] + np.linspace(start, end, n_bins + 1)
    counts = np.stack([np.diff(np.searchsorted(_times(train, "spikes"), edges), axis=1) for train in trains], axis=1)
    result: NDArray[np.int64] = counts.astype(np.int64)
    return result[:, :, 0] if n_bins == 1 else result


def _times(events: Any, name: str) -> NDArray[np.float64]:
    """Return event times, sorted if they are spikes; pynapple objects give their time stamps or starts."""
    for attribute in ("t", "start"):
        if type(events).__module__.partition(".")[0] == "pynapple" and hasattr(events, attribute):
            events = getattr(events, attribute)
            break
    times = check.real(events, name)
    if times.ndim != 1 or not np.isfinite(times).all():
        raise ValueError(f"{name} must be a 1-D array of finite times, got shape {times.shape}")
    return np.sort(times) if name == "spikes" else times
