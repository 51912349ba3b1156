"""Conversion of spike times to arrays of trials x neurons x times, and to and from rsatoolbox."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shesha.inputs import validation as check
from shesha.inputs.class_labels import describe_unit_quality
from shesha.inputs.spike_times import describe_resets
from shesha.neuro.trials import Conditions, Trials
from shesha.support import provenance, types as kinds
from shesha.support.device_arrays import to_host
from shesha.support.types import Array, Matrix
from shesha.support.warnings import MeasureWarning, warn
from shesha.support.wording import agree, count


def spike_counts(
    spikes: Any,
    onsets: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    window: tuple[float, float] = (0.0, 0.5),
    n_bins: int = 1,
) -> NDArray[np.int64]:
    """Count the spikes of each neuron in a window around each event.

    Parameters
    ----------
    spikes : mapping or sequence of arrays of spike times, or pynapple TsGroup
        One entry per neuron; the result has the neurons in the same order. If `clusters` is given, or for a pair
        (times, clusters): the times of all spikes in one array, as in the files of phy, Kilosort, IBL and Allen.
    onsets : array of shape (n_trials,), or pynapple Ts, or IntervalSet (its starts)
        Start of each trial, in the same unit as the spike times. Trials whose onset is NaN are left out, with a warning
        that counts them.
    clusters : array of shape (n_spikes,), optional
        The neuron of each spike. The result then has one column per cluster, in the order of `numpy.unique(clusters)`.
    window : pair of float
        Start and end of the window, relative to the onset. Bins contain their start but not their end, so a spike on an
        edge, up to rounding, counts in the later bin only.
    n_bins : int
        Number of equally wide bins in the window.

    Returns
    -------
    array of shape (n_trials, n_neurons), or (n_trials, n_neurons, n_bins) for several bins

    Raises
    ------
    ValueError
        If there are no neurons, times are not finite numbers, or the window does not end after it starts.

    Warns
    -----
    MeasureWarning
        If windows overlap, so that spikes count in several trials, if units of time seem to differ, or if the times of
        most neurons run backwards.

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
    trains = [_times(train, "spikes") for train in _trains(spikes, clusters)]
    if resets := describe_resets(trains):
        warn(resets, MeasureWarning)
    trains = [np.sort(train) for train in trains]
    begins = _onsets(onsets)
    edges = begins[:, None] + np.linspace(start, end, n_bins + 1)
    counts = np.stack([np.diff(_spikes_before(train, edges), axis=1) for train in trains], axis=1)
    if not resets:
        _warn_of_windows_without_recording(trains, edges, np.asarray(~counts.any(axis=(1, 2))))
    result: NDArray[np.int64] = counts.astype(np.int64)
    return result[:, :, 0] if n_bins == 1 else result


def _warn_of_windows_without_recording(
    trains: list[NDArray[np.floating[Any]]], edges: NDArray[np.float64], empty: NDArray[np.bool_]
) -> None:
    """Warn if windows are empty and outside the recording, as with onsets in another unit or after its end."""
    starts = np.sort(edges[:, 0])
    # Onsets that follow one another at the length of the window have some jitter.
    overlapping = np.diff(starts) < (1 - _JITTER) * (length := float(np.ptp(edges[:1])) if len(edges) else 0.0)
    if n_overlapping := int(overlapping.sum()):
        gap, n_windows = np.median(np.diff(starts)), np.searchsorted(starts, starts + length) - np.arange(len(starts))
        warn(
            f"{n_overlapping} of {count(len(edges), 'window')} {agree(n_overlapping, 'overlaps', 'overlap')} the next "
            f"one: windows last {length:g} and onsets are {gap:g} apart (median), so a spike counts in up to "
            f"{n_windows.max()} trials, which then resemble one another. Shorten window=, or if units differ, pass "
            "spikes, onsets and window in one unit, such as seconds",
            MeasureWarning,
        )
    ends = [float(train[place]) for train in trains if len(train) for place in (0, -1)]
    if not ends or not len(edges):
        return
    outside = int((empty & ((edges[:, -1] < min(ends)) | (edges[:, 0] > max(ends)))).sum())
    where = f"spikes from {min(ends):g} to {max(ends):g}, windows from {edges.min():g} to {edges.max():g}"
    remedy = "Pass spikes, onsets and window in one unit, such as seconds"
    if outside > _OUTSIDE * len(edges):
        warn(
            f"{outside} of {count(len(edges), 'window')} {agree(outside, 'is', 'are')} outside the time of the spikes "
            f"({where}), so counts are 0. {remedy}, and onsets within the recording",
            MeasureWarning,
        )
    elif empty.mean() > _EMPTY and _SPARSE * (edges.max() - edges.min()) < max(ends) - min(ends):
        warn(f"{empty.sum():,} of {count(len(edges), 'window')} contain no spike ({where}). {remedy}", MeasureWarning)


_JITTER = 0.01
"""Share of a window that the next one may overlap without a warning."""
_OUTSIDE = 0.1
"""Share of windows outside the time of the spikes above which a warning is due."""
_SPARSE, _EMPTY = 10, 0.9
"""How many times as long as all windows together spikes last, and the share of empty windows, in another unit."""
_LOOKED_AT = 20
_ROUNDING = 4
"""Number of rounding steps of the spike times within which a spike counts as being on an edge."""


def _spikes_before(train: NDArray[np.floating[Any]], edges: NDArray[np.float64]) -> NDArray[np.intp]:
    """Number of spikes before each edge; a spike on the edge, up to rounding, is not before it."""
    if not len(train):
        return np.zeros(edges.shape, dtype=np.intp)
    largest = max(float(np.abs(train[[0, -1]]).max()), float(np.abs(edges).max(initial=0.0)))
    slack = _ROUNDING * float(np.finfo(train.dtype).eps) * largest
    return np.asarray(np.searchsorted(train.astype(np.float64), edges - slack))


def _trains(spikes: Any, clusters: Any) -> list[Any]:
    """Return the spike times of each neuron; flat times are divided by cluster."""
    kinds.iterable(spikes, "spikes", "spike times, one array per neuron")
    if clusters is None and isinstance(spikes, list | tuple) and len(spikes) == 2:
        pair = [to_host(side, "spikes") for side in spikes]
        spikes, clusters = pair if _is_flat_pair(*pair) else (spikes, None)
    table = spikes if hasattr(spikes, "columns") else getattr(spikes, "metadata", None)
    if hasattr(table, "columns"):
        _warn_of_poor_units(table)
    if hasattr(spikes, "columns"):
        spikes, clusters = _from_table(spikes, clusters)
    if clusters is not None:
        times, codes = np.ravel(to_host(spikes, "spikes")), np.ravel(to_host(clusters, "clusters"))
        if times.shape != codes.shape:
            raise ValueError(f"clusters must have one entry for each of the {len(times):,} spikes, got {len(codes):,}")
        if codes.dtype.kind in "if" and (codes == _NOISE).any():
            warn("cluster -1, in which many programs collect noise, is read as a neuron", MeasureWarning)
        order = np.argsort(codes, kind="stable")
        _, starts = np.unique(codes[order], return_index=True)
        trains: list[Any] = np.split(times[order], starts[1:])
        if not len(times):
            raise ValueError("spikes must contain at least one neuron, got none")
        return trains
    # A Series has keys too, but its entries need not be found by iterating over it.
    named = isinstance(spikes, Mapping) or (hasattr(spikes, "keys") and not hasattr(spikes, "iloc"))
    # A cell array of MATLAB has two axes.
    flat = np.ravel(spikes) if str(getattr(spikes, "dtype", "")) == "object" else spikes
    trains = [spikes[name] for name in spikes] if named else list(flat)
    if not trains:
        raise ValueError("spikes must contain at least one neuron, got none")
    if all(isinstance(train, int | float | np.number) for train in trains):
        raise ValueError(
            f"spikes must be one array of times per neuron, got {len(trains):,} single times; pass the neuron of each "
            "spike as clusters="
        )
    return trains


_NOISE = -1
_TIMES = re.compile(r"(spike_?)?times?(_s|_ms)?|timestamps?|t", re.IGNORECASE)
_UNITS = re.compile(r"(spike_)?(unit|cluster|neuron|cell)s?(_?(id|index|label))?", re.IGNORECASE)


def _warn_of_poor_units(table: Any) -> None:
    """Warn that a table of units, or of their spikes, contains units that are no single neurons."""
    units = [name for name in table.columns if _UNITS.fullmatch(str(name))]
    # In a table of spikes, a unit has many rows.
    each = table.drop_duplicates(units) if len(units) == 1 and hasattr(table, "drop_duplicates") else table
    if quality := describe_unit_quality((str(name), each[name]) for name in each.columns):
        warn(f"{quality}; all are used. To leave units out, pass only the rows of the others", MeasureWarning)


def _from_table(table: Any, clusters: Any) -> tuple[Any, Any]:
    """Return the times and neurons in a table with one row per spike, or with one row per neuron."""
    times, units = ([name for name in table.columns if kind.fullmatch(str(name))] for kind in (_TIMES, _UNITS))
    listed = len(times) == 1 and all(np.size(value) == 1 for value in list(table[times[0]])[:_LOOKED_AT])
    if len(times) != 1 or (listed and clusters is None and len(units) != 1):
        columns = check.join_items(map(repr, table.columns))
        raise TypeError(
            f"spikes must have one column of times, and one of neurons (clusters=), got a table with the columns "
            f"{columns}; pass the times, and the neuron of each spike as clusters="
        )
    return table[times[0]], table[units[0]] if listed and clusters is None else clusters


def _is_flat_pair(times: NDArray[Any], clusters: NDArray[Any]) -> bool:
    """Return whether two arrays are the times and the clusters of spikes, not the spike times of two neurons."""
    sizes = [array.size if array.size == max(array.shape, default=0) else 0 for array in (times, clusters)]
    if sizes[0] != sizes[1] or sizes[0] < 2:
        return False
    first, second = (np.ravel(array) for array in (times, clusters))
    if second.dtype.kind in "USO":
        return True
    if _is_repeated(first) and not _is_repeated(second):
        raise ValueError("spikes must be a pair (times, clusters) in this order, got few different values first")
    mixed = second.dtype.kind in "iu" and first.dtype.kind == "f"
    return _is_whole(second) and bool((np.diff(second) < 0).any() or mixed or _is_repeated(second))


def _is_whole(array: NDArray[Any]) -> bool:
    return array.dtype.kind in "iu" or (array.dtype.kind == "f" and bool((array == np.round(array)).all()))


def _is_repeated(array: NDArray[Any]) -> bool:
    """Return whether whole numbers occur more than twice on average, as clusters do and spike times do not."""
    return _is_whole(array) and 2 * len(np.unique(array)) < len(array)


def _onsets(onsets: Any) -> NDArray[np.float64]:
    """Return the start of each trial, without those that are NaN."""
    times = _times(onsets, "onsets", missing=True).astype(np.float64)
    missing = np.isnan(times)
    if missing.any():
        text = f"{int(missing.sum())} of {count(len(times), 'trial')} without an onset (NaN) left out"
        provenance.state(text)
        warn(f"{text}. Leave the same trials out of conditions, as in conditions[~np.isnan(onsets)]", MeasureWarning)
    return times[~missing]


def _times(events: Any, name: str, *, missing: bool = False) -> NDArray[np.floating[Any]]:
    """Return event times, in single precision if spikes are; pynapple objects give their time stamps or starts."""
    for attribute in ("t", "start"):
        if type(events).__module__.partition(".")[0] == "pynapple" and hasattr(events, attribute):
            events = getattr(events, attribute)
            break
    if hasattr(events, "columns"):
        columns = check.join_items(map(repr, events.columns))
        raise TypeError(f"{name} must be one array of times, got a table; pass one of its columns: {columns}")
    given = to_host(events, name)
    if given.dtype.kind == "O" and not any(isinstance(time, complex | np.complexfloating) for time in given.ravel()):
        with contextlib.suppress(TypeError, ValueError, OverflowError):
            events = given.astype(np.float64)
    times = check.real(events, name)
    if times.ndim == 2 and 1 in times.shape:
        times = times.ravel()
    if times.ndim != 1:
        raise ValueError(f"{name} must be a 1-D array of times, got shape {times.shape}")
    infinite = ~np.isfinite(times) if not missing else np.isinf(times)
    if infinite.any():
        raise ValueError(
            f"{name} must be finite times, got {int(infinite.sum()):,} of {len(times):,} that are NaN or infinite; "
            f"leave them out with {name}[np.isfinite({name})]"
        )
    precise = times.astype(np.float32) if given.dtype.kind == "f" and given.dtype.itemsize == 4 else times
    return precise if name == "spikes" else times


def to_rsatoolbox(X: Any, conditions: Conditions, runs: Conditions | None = None) -> Any:
    """Convert trials to an rsatoolbox Dataset (a TemporalDataset if there are times).

    Parameters
    ----------
    X : array of shape (n_trials, n_neurons) or (n_trials, n_neurons, n_times), or xarray.DataArray
    conditions, runs
        See `crossnobis`. They become the observation descriptors `condition` and `run`.

    Returns
    -------
    rsatoolbox.data.Dataset

    Raises
    ------
    ImportError
        If rsatoolbox is not installed.
    """
    try:
        data: Any = import_module("rsatoolbox.data")
    except ImportError as error:
        # rsatoolbox is not part of any extra, because it has many dependencies and only this function uses it.
        raise ImportError("to_rsatoolbox needs rsatoolbox: pip install rsatoolbox") from error
    trials = Trials.build(X, conditions, min_trials=1)
    descriptors = {"condition": _numbers_or_names(trials.names)[trials.codes]}
    if runs is not None:
        codes, names = trials.label_codes(X, runs, "runs")
        descriptors["run"] = _numbers_or_names(names)[codes]
    if trials.values.ndim == 2:
        return data.Dataset(trials.values, obs_descriptors=descriptors)
    times = np.arange(trials.values.shape[2])
    if trials.source is not None and trials.source.dims[2] in trials.source.coords:
        times = trials.source.coords[trials.source.dims[2]].values
    return data.TemporalDataset(trials.values, obs_descriptors=descriptors, time_descriptors={"time": times})


def _numbers_or_names(names: tuple[str, ...]) -> Array:
    """Return names that are all whole numbers as numbers, so that rsatoolbox sorts them as numbers."""
    whole = all(name.removeprefix("-").isdecimal() and str(int(name)) == name for name in names)
    return np.array([int(name) for name in names] if whole else names)


def from_rsatoolbox(given: Any, conditions: str = "condition", runs: str | None = None) -> tuple[Array, ...]:
    """Convert an rsatoolbox object to arguments for `trial_split`, `crossnobis` and `noise_ceiling`.

    Parameters
    ----------
    given : rsatoolbox Dataset, TemporalDataset or RDMs
    conditions, runs : str
        Names of the observation descriptors to use. For RDMs, `conditions` is the name of a pattern descriptor.

    Returns
    -------
    tuple of arrays
        For a data set: responses, conditions and, if `runs` is given, runs. For RDMs: distances of shape (n_repeats,
        n_conditions, n_conditions), and the conditions.

    Raises
    ------
    TypeError
        If `given` is not an rsatoolbox data set or RDMs.
    ValueError
        If a descriptor is missing.
    """
    if hasattr(given, "dissimilarities") and hasattr(given, "get_matrices"):
        matrices: Matrix = np.asarray(given.get_matrices(), dtype=np.float64)
        known = {key: values for key, values in given.pattern_descriptors.items() if key != "index"}
        names = _check_descriptor(known, conditions, "pattern") if known else np.arange(matrices.shape[1])
        return matrices, names
    if not hasattr(given, "measurements") or not hasattr(given, "obs_descriptors"):
        raise TypeError(f"given must be a Dataset or RDMs of rsatoolbox, got a {type(given).__name__}")
    descriptors = [
        _check_descriptor(given.obs_descriptors, name, "observation") for name in (conditions, runs) if name is not None
    ]
    return np.asarray(given.measurements), *descriptors


def _check_descriptor(known: Any, name: str, kind: str) -> Array:
    if not isinstance(name, str) or name not in known:
        raise ValueError(f"given must have the {kind} descriptor {name!r}, got {', '.join(map(str, known)) or 'none'}")
    return np.asarray(known[name])
