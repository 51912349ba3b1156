"""Conversion to and from data sets and dissimilarity matrices of rsatoolbox."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from shesha.neuro._trials import Conditions, Trials
from shesha.support.types import Array, Matrix


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
    descriptors = {"condition": _values(trials.names)[trials.codes]}
    if runs is not None:
        codes, names = trials.codes_of(X, runs, "runs")
        descriptors["run"] = _values(names)[codes]
    if trials.values.ndim == 2:
        return data.Dataset(trials.values, obs_descriptors=descriptors)
    times = np.arange(trials.values.shape[2])
    if trials.source is not None and trials.source.dims[2] in trials.source.coords:
        times = trials.source.coords[trials.source.dims[2]].values
    return data.TemporalDataset(trials.values, obs_descriptors=descriptors, time_descriptors={"time": times})


def _values(names: tuple[str, ...]) -> Array:
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
