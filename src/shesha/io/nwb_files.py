"""Read NWB files with h5py: spike counts of units per trial, or other recorded arrays by name."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

from shesha.inputs import Names
from shesha.io._array_selection import StoredArray
from shesha.io._external_links_and_declared_sizes import require_own
from shesha.io._hdf5_arrays import describe, read_dataset, walk
from shesha.io._nested_arrays import NamedArrays
from shesha.io.file_checks import UnreadableFileError, optional, reading, require_memory
from shesha.support.provenance import state
from shesha.support.types import Array

_TRIALS, _UNITS = "intervals/trials", "units"


def nwb_arrays(path: Path) -> NamedArrays:
    """Describe trials x units, the columns of the trials as labels, and other recorded arrays."""
    h5py = optional("h5py", path)
    with reading(path):
        root = h5py.File(path, "r")
    with root:
        with reading(path):
            tops = [name for name in ("acquisition", "processing", "intervals", "units", "analysis") if name in root]
            others = {
                place: array
                for top in tops
                for place, array in walk(path, root[top], top, set())
                if not place.startswith((_TRIALS, f"{_UNITS}/"))
            }
            has_both = _TRIALS in root and f"{_UNITS}/spike_times" in root
        if not has_both:
            if not any(len(array.shape) == 2 and array.dtype.kind == "f" for array in others.values()):
                raise UnreadableFileError(
                    f"NWB file {path} must contain units with spike times and trials, or arrays of times x channels, "
                    f"got only {', '.join(others) or 'empty groups'}"
                )
            return NamedArrays(others)
        require_own(path, root["intervals"], ["trials"])
        require_own(path, root, [_UNITS])
        with reading(path):
            labels = {
                name: describe(path, f"{_TRIALS}/{name}", column)
                for name, column in root[_TRIALS].items()
                if hasattr(column, "shape") and name not in ("id", "start_time", "stop_time") and column.ndim == 1
            }
            n_trials, n_units = (int(root[place].shape[0]) for place in (f"{_TRIALS}/start_time", f"{_UNITS}/id"))
            n_spikes = int(root[f"{_UNITS}/spike_times"].shape[0])
    shape = (n_trials, n_units)
    state(f"{path.name}: spikes of {n_units} units in {n_trials} trials, counted from start to stop time")
    counts = StoredArray(shape, np.dtype(float), partial(_counts, path, shape, n_spikes))
    names = Names(partial(read_dataset, path, f"{_TRIALS}/id"))
    return NamedArrays({"units": counts} | labels | others, names, on_request=others)


def _counts(path: Path, shape: tuple[int, int], n_spikes: int) -> Array:
    """Count the spikes of each unit in each trial; a spike at the end of a trial is not counted."""
    require_memory(path, "units", shape, np.dtype(float), "write fewer trials")
    starts, stops = (read_dataset(path, f"{_TRIALS}/{name}_time") for name in ("start", "stop"))
    spikes, ends = (read_dataset(path, f"{_UNITS}/spike_times{part}") for part in ("", "_index"))
    if len(ends) != shape[1] or (ends.size and (np.diff(ends.astype(np.int64), prepend=0) < 0).any()):
        raise UnreadableFileError(f"NWB file {path} must have one end of spike times per unit, got {len(ends)}")
    if ends.size and int(ends[-1]) > n_spikes:
        raise UnreadableFileError(f"NWB file {path} must contain the spikes of every unit, got {n_spikes}")
    counts = np.zeros(shape)
    for unit, (first, last) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
        train = np.sort(spikes[int(first) : int(last)])
        counts[:, unit] = np.searchsorted(train, stops) - np.searchsorted(train, starts)
    return counts
