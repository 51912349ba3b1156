"""Data sets of HDF5 files, and of NWB files, as matrices."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.distance import squareform

from shesha.inputs import Names
from shesha.io.array_selection import Keys, NamedArrays, StoredArray, gather, refused, strings, to_float32
from shesha.io.declared_sizes import require_own, require_sound
from shesha.io.file_checks import UnreadableFileError, optional, reading, require_memory
from shesha.support.natural_order import natural_key
from shesha.support.provenance import state
from shesha.support.types import Array

_MOST = 100_000
"""Largest number of data sets in a file."""


def hdf5_arrays(path: Path, keys: Keys = None) -> NamedArrays:
    """Describe the data sets of a file by their paths; links are refused unless keys name other data sets."""
    h5py = optional("h5py", path)
    with reading(path):
        root = h5py.File(path, "r")
    with root:
        arrays: dict[str, StoredArray] = {}
        row_names: list[Names] = []
        with reading(path):
            for name, found in walk(path, root, "", set()):
                if len(arrays) == _MOST:
                    raise UnreadableFileError(f"HDF5 file {path} must contain at most {_MOST:,} data sets, got more")
                arrays[name] = found
            if {"dissimilarities", "pattern_descriptors"} <= set(root) and not _links(arrays):
                return _toolbox(path, arrays)
            frames = [name for name in root if "pandas_type" in root[name].attrs] if not _links(arrays) else []
            for name in frames:
                arrays, names = _pandas(path, root, name, arrays)
                row_names += names
    links = {name: array for name, array in arrays.items() if array.refusal and "link" in array.refusal}
    if links and keys is None:
        name, link = next(iter(links.items()))
        raise UnreadableFileError(
            f"HDF5 file {path} must contain {name} itself, got an entry that {link.refusal}: copy the target into this "
            "file, or name other data sets with keys= (--key)"
        )
    gathered = gather(path, arrays, "/")
    if row_names and gathered.row_names is None:
        gathered.row_names = row_names[0]
    return gathered


def _links(arrays: dict[str, StoredArray]) -> bool:
    return any(array.refusal and "link" in array.refusal for array in arrays.values())


def walk(path: Path, group: Any, place: str, seen: set[Any]) -> Iterator[tuple[str, StoredArray]]:
    """Yield the data sets below a group: in natural order, or in the order of creation if the file keeps it."""
    if group.id in seen:
        raise UnreadableFileError(f"HDF5 file {path} must contain every group once, got {place or '/'} twice")
    seen.add(group.id)
    names = list(map(str, group))
    if not group[group.name].id.get_create_plist().get_link_creation_order():
        names.sort(key=natural_key)
    for name in names:
        inner = f"{place}/{name}" if place else name
        link = group.get(name, getlink=True)
        if type(link).__name__ != "HardLink":
            target = getattr(link, "filename", "") or getattr(link, "path", "")
            yield inner, refused(f"is a link to {target}, which is never followed")
            continue
        member = group[name]
        if hasattr(member, "keys"):
            yield from walk(path, member, inner, seen)
        elif hasattr(member, "shape"):
            yield inner, describe(path, inner, member)


def describe(path: Path, place: str, dataset: Any, load: Callable[..., Array] | None = None) -> StoredArray:
    """Describe a data set of numbers or text, which is read when it is used."""
    if dataset.is_virtual or dataset.external:
        return refused("is a link to values in other files, which is never followed")
    if dataset.shape is None:
        return refused("is empty")
    shape, dtype = tuple(dataset.shape), dataset.dtype
    if dtype.kind == "O":
        metadata = dict(dtype.metadata or {})
        if metadata.get("vlen") not in (str, bytes):
            kind = "references" if "ref" in metadata else "lists of varying length"
            return refused(f"contains {kind}, not numbers")
        dtype = np.dtype("U1")
    if dtype.kind == "V" and dtype.names is None and dtype.itemsize == 2:
        dtype = np.dtype("f4")
    return StoredArray(shape, dtype, load or partial(read_dataset, path, place))


def read_dataset(path: Path, place: str) -> Array:
    """Read a data set after checking its declared size; texts become strings."""
    h5py = optional("h5py", path)
    with reading(path), h5py.File(path, "r") as root:
        dataset = root[place]
        require_own(path, dataset.parent, [place.rpartition("/")[2]])
        require_sound(path, place, dataset)
        values = np.asarray(dataset[()])
    if values.dtype.kind == "O":
        return strings(values.ravel()).reshape(values.shape)
    return to_float32(values.view("u2")) if values.dtype.kind == "V" and values.dtype.itemsize == 2 else values


def _toolbox(path: Path, arrays: dict[str, StoredArray]) -> NamedArrays:
    """Describe the RDMs that rsatoolbox stored as square matrices, named by the one descriptor of the patterns."""
    n_rdms, n_pairs = arrays["dissimilarities"].shape
    n = round(0.5 + (0.25 + 2 * n_pairs) ** 0.5)

    def square(k: int) -> Array:
        require_memory(path, "dissimilarities", (n, n), np.dtype(float), "write fewer patterns")
        return squareform(read_dataset(path, "dissimilarities")[k], checks=False)

    prefix = "pattern_descriptors/"
    named = [
        name
        for name, array in arrays.items()
        if name.startswith(prefix) and name != f"{prefix}index" and array.shape == (n,)
        if len(set(array.load().tolist())) == n
    ]
    labels = {name: array for name, array in arrays.items() if name.startswith(prefix)}
    rdms = {
        f"dissimilarities[{k}]" if n_rdms > 1 else "dissimilarities": StoredArray(
            (n, n), np.dtype(float), partial(square, k)
        )
        for k in range(n_rdms)
    }
    names = Names(arrays[named[0]].load, column=named[0].removeprefix(prefix)) if len(named) == 1 else None
    return NamedArrays(rdms | labels, names)


def _pandas(
    path: Path, root: Any, name: str, arrays: dict[str, StoredArray]
) -> tuple[dict[str, StoredArray], list[Names]]:
    """Replace the parts of a data frame that pandas stored by its matrix of floats, with the index as row names."""
    group = root[name]
    parts = {place: array for place, array in arrays.items() if place.startswith(f"{name}/")}
    others = {place: array for place, array in arrays.items() if place not in parts}
    kind = group.attrs["pandas_type"]
    if kind not in ("frame", b"frame"):
        note = refused("is a table of PyTables; to convert it, use pandas.read_hdf(...).to_parquet(...)")
        return others | {name: note}, []
    blocks = {
        place: array
        for place, array in parts.items()
        if place.rpartition("/")[2].startswith("block") and place.endswith("_values") and array.dtype.kind in "fiub"
    }
    axis = parts.get(f"{name}/axis1")
    names = [] if axis is None or axis.refusal else [Names(partial(_index, path, f"{name}/axis1"))]
    found = {place if len(blocks) > 1 else name: array for place, array in blocks.items()}
    return others | found, names


def _index(path: Path, place: str) -> Array:
    values = read_dataset(path, place)
    return strings(values) if values.dtype.kind == "S" else values


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
