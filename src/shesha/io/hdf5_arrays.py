"""Data sets of HDF5, NWB and MATLAB files as matrices; fields of structs are joined by dots."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, NoReturn

import numpy as np
from scipy.spatial.distance import squareform

from shesha.inputs import Names
from shesha.inputs.class_labels import describe_unit_quality
from shesha.inputs.column_words import QUALITY
from shesha.inputs.identity import is_identity_name
from shesha.inputs.spike_times import describe_resets
from shesha.inputs.vector_columns import to_float32
from shesha.io.array_selection import (
    Keys,
    NamedArrays,
    StoredArray,
    flatten,
    gather,
    in_memory,
    refused,
    strings,
)
from shesha.io.file_checks import (
    UnreadableFileError,
    dense_from_sparse,
    open_hdf5,
    reading,
    require_memory,
    require_own,
    require_plausible,
    require_sound,
)
from shesha.support.memory import format_bytes, memory_budget
from shesha.support.provenance import state, state_warning
from shesha.support.types import Array
from shesha.support.wording import natural_key

_MOST = 100_000
"""Largest number of data sets in a file."""


def hdf5_arrays(path: Path, keys: Keys = None) -> NamedArrays:
    """Describe the data sets of a file by their paths; links are refused unless keys name other data sets."""
    with open_hdf5(path) as root:
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
    if (items := gathered.row_names) is not None and items.word == "key" and set(gathered) - set(arrays):
        with open_hdf5(path) as root, reading(path):
            gathered.row_names = _identities_of_items(root, list(arrays), items) or items
    return gathered


def _identities_of_items(root: Any, names: Sequence[str], items: Names) -> Names | None:
    """Return the attribute that identifies the items, if each is a data set that is only numbered."""
    numbers = [str(number) for number in items.values.tolist()]
    places = {name.rpartition("/")[2]: name for name in names}
    if not all(number.isdigit() and number in places for number in numbers):
        return None
    nodes = [root[places[number]].attrs for number in numbers]
    for name in filter(is_identity_name, nodes[0]):
        values = [attributes.get(name) for attributes in nodes]
        texts = [value.decode("utf-8", "replace") if isinstance(value, bytes) else value for value in values]
        if all(isinstance(text, str) for text in texts) and len(set(texts)) == len(texts):
            return Names.build(np.array(texts, dtype=object), name, chosen="format")
    return None


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


def describe(path: Path, place: str, dataset: Any) -> StoredArray:
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
    return StoredArray(shape, dtype, partial(read_dataset, path, place))


def read_dataset(path: Path, place: str) -> Array:
    """Read a data set after checking its declared size; texts become strings."""
    with open_hdf5(path) as root, reading(path):
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


_INTERVALS, _UNITS = "intervals", "units"
_NO_TRIALS = ("epochs", "invalid_times")
"""Tables of intervals that are not trials."""


def nwb_arrays(path: Path) -> NamedArrays:
    """Describe trials x units, the columns of the trials as labels, and other recorded arrays.

    If there are no trials, the only table of intervals, such as presentations of stimuli, takes their place. Without
    units, recorded series, such as fluorescence, are averaged in each trial.
    """
    with open_hdf5(path) as root:
        with reading(path):
            tops = [name for name in ("acquisition", "processing", _INTERVALS, _UNITS, "analysis") if name in root]
            require_groups(path, root, tops)
            tables = [name for name in root.get(_INTERVALS, ()) if name not in _NO_TRIALS]
            require_groups(path, root, [f"{_INTERVALS}/{name}" for name in tables])
            table = "trials" if "trials" in tables else tables[0] if len(tables) == 1 else ""
            trials = f"{_INTERVALS}/{table}"
            others = {
                place: array
                for top in tops
                for place, array in walk(path, root[top], top, set())
                if not place.startswith((*([trials] if table else []), f"{_UNITS}/"))
            }
            has_units = f"{_UNITS}/spike_times" in root
            series = _series(root, others) if table and not has_units else {}
        if not (table and trials in root and (has_units or series)):
            nothing = "units without trials" if has_units else "empty groups"
            if not any(len(array.shape) == 2 and array.dtype.kind == "f" for array in others.values()):
                raise UnreadableFileError(
                    f"NWB file {path} must contain units with spike times and trials, or arrays of times x channels, "
                    f"got only {', '.join(tables if len(tables) > 1 else others) or nothing}"
                    + "; name the trials 'trials', or count spikes with shesha.neuro.spike_counts"
                    * (len(tables) > 1 or has_units)
                )
            matrices = {place: array.shape for place, array in others.items() if len(array.shape) == 2}
            for place, (n_times, n_channels) in list(matrices.items())[: len(matrices) == 1]:
                unused = f"; {table} are not used, because neither units nor times of this array are given"
                unused = unused if table else ""
                if _has_times_in_columns(others, place.removesuffix("/data")):
                    unused += "; its columns are times, so pass transpose=True (--transpose)"
                state(f"{path.name}: {place}, {n_times:,} x {n_channels:,}{unused}")
            return NamedArrays(others)
        require_own(path, root[_INTERVALS], [table])
        require_own(path, root, [_UNITS] if has_units else [])
        with reading(path):
            labels = {
                name: describe(path, f"{trials}/{name}", column)
                for name, column in root[trials].items()
                if hasattr(column, "shape") and name not in ("id", "start_time", "stop_time") and column.ndim == 1
            }
            n_trials = int(root[f"{trials}/start_time"].shape[0])
            n_units = int(root[f"{_UNITS}/id"].shape[0]) if has_units else 0
            n_spikes = int(root[f"{_UNITS}/spike_times"].shape[0]) if has_units else 0
            about = [
                name
                for name, column in (root[_UNITS].items() if has_units else ())
                if QUALITY.fit(name) and getattr(column, "shape", None) == (n_units,) and _is_text(column.dtype)
            ]
    names = Names(partial(read_dataset, path, f"{trials}/id"))
    if series:
        state(f"{path.name}: means of {', '.join(series)} from start to stop of {n_trials} {table}")
        means = {}
        for name, clock in series.items():
            n_rows, n_columns = map(int, others[f"{name}/data"].shape)
            turned = _has_times_in_columns(others, name)
            if turned:
                state_warning(
                    f"{path.name}: {name} has its {n_columns:,} times in columns and {n_rows:,} channels in rows, and "
                    "was transposed; NWB has times in rows"
                )
            shape = n_trials, n_rows if turned else n_columns
            means[name] = StoredArray(shape, np.dtype(float), partial(_means, path, trials, name, clock, shape, turned))
        return NamedArrays(means | labels | others, names, on_request=others)
    shape = (n_trials, n_units)
    rows = f"{n_units} units in {n_trials} {'trials' if table == 'trials' else f'intervals of {table}'}"
    shortest, longest = _shortest_and_longest(_windows(path, trials))
    if _are_equal(shortest, longest):
        state(f"{path.name}: spikes of {rows}, counted from start to stop time")
    else:
        state(
            f"{path.name}: spikes per second of {rows}, because these last {shortest:.3g} to {longest:.3g} s. Short "
            "ones are noisier, so better count spikes in windows of one length with shesha.neuro.spike_counts"
        )
    if quality := describe_unit_quality((name, read_dataset(path, f"{_UNITS}/{name}")) for name in about):
        state(f"{path.name}: {quality}; all are used")
    counts = StoredArray(shape, np.dtype(float), partial(_counts, path, trials, shape, n_spikes))
    return NamedArrays({"units": counts} | labels | others, names, on_request=others)


def _is_text(kind: Any) -> bool:
    return kind.kind == "S" or (kind.metadata or {}).get("vlen") in (str, bytes)


def _series(root: Any, arrays: Mapping[str, StoredArray]) -> dict[str, tuple[float, float] | None]:
    """Return the recorded series of times x channels, with start and rate; None if each time is stored."""
    found: dict[str, tuple[float, float] | None] = {}
    for place, array in arrays.items():
        name = place.removesuffix("/data")
        if name == place or len(array.shape) != 2 or array.dtype.kind not in "fiu":
            continue
        if f"{name}/timestamps" in arrays:
            found[name] = None
        elif (start := arrays.get(f"{name}/starting_time")) is not None and (start.shape, start.dtype.kind) == (
            (),
            "f",
        ):
            clock = root[f"{name}/starting_time"]
            rate = float(clock.attrs.get("rate", 0.0))
            found |= {name: (float(clock[()]), rate)} if 0 < rate < math.inf else {}
    return found


def _has_times_in_columns(arrays: Mapping[str, StoredArray], name: str) -> bool:
    """Return whether the number of times or channels of a series shows that its rows are channels."""
    rows, columns = arrays[f"{name}/data"].shape
    n_times = {array.shape[0] for place, array in arrays.items() if place == f"{name}/timestamps" and array.shape}
    n_channels = {
        array.shape[0]
        for place, array in arrays.items()
        if place in (f"{name}/rois", f"{name}/electrodes") and array.shape
    }
    fits = (n_times or {columns}) == {columns} and (n_channels or {rows}) == {rows}
    return rows != columns and bool(n_times or n_channels) and fits


def _means(
    path: Path,
    trials: str,
    name: str,
    clock: tuple[float, float] | None,
    shape: tuple[int, int],
    has_times_in_columns: bool,
) -> Array:
    """Average each channel of a series over the times in each trial; NaN for a trial without times."""
    require_memory(path, name, shape, np.dtype(float), "write fewer trials")
    values = read_dataset(path, f"{name}/data")
    values = values.T if has_times_in_columns else values
    counted = None if clock is None else clock[0] + np.arange(len(values)) / clock[1]
    times = _read_numbers(path, f"{name}/timestamps") if counted is None else counted
    if len(times) != len(values) or not (np.diff(times) >= 0).all():
        raise UnreadableFileError(
            f"NWB file {path} must contain increasing times of {name}, one for each of {len(values):,} rows"
        )
    starts, stops = windows = _windows(path, trials)
    firsts, lasts = (np.searchsorted(times, ends) for ends in windows)
    recorded = np.flatnonzero((lasts > firsts) & (stops > starts))
    if clock is not None and 2 * len(recorded) < len(starts) and values.shape[1] > len(values):
        end = clock[0] + values.shape[1] / clock[1]
        if 2 * (starts < end).sum() > len(starts):
            raise UnreadableFileError(
                f"NWB file {path} must contain {name} with times in rows, got {len(values):,} x {values.shape[1]:,}, "
                f"of which rows are times in {len(recorded):,} of {len(starts):,} trials, and columns would be in "
                f"{int((starts < end).sum()):,}; write it transposed"
            )
    if not len(recorded):
        _refuse_other_clock(path, f"times of {name}", times, windows)
    means = np.full(shape, np.nan)
    for trial in recorded:
        means[trial] = values[firsts[trial] : lasts[trial]].mean(axis=0, dtype=np.float64)
    return means


_LONGER = 10
"""How many times as long as the trials spikes last if they are in another unit, such as milliseconds."""


def _have_other_clock(spikes: Array, windows: tuple[Array, Array], counts: Array) -> bool:
    """Return whether most trials lack spikes because these end before them, or last far longer."""
    empty = np.asarray(~counts.any(axis=1))
    if 2 * empty.sum() <= len(empty):
        return False
    first, last = float(spikes.min()), float(spikes.max())
    outside = (windows[1] < first) | (windows[0] > last)
    span = float(np.nanmax(windows[1]) - np.nanmin(windows[0]))
    return bool(empty.all() or 2 * outside.sum() > len(outside) or last - first > _LONGER * span)


def _refuse_other_clock(path: Path, what: str, times: Array, windows: tuple[Array, Array]) -> NoReturn:
    raise UnreadableFileError(
        f"NWB file {path} must contain {what} in its trials, got {what} from {times.min():g} to {times.max():g} and "
        f"trials from {np.nanmin(windows[0]):g} to {np.nanmax(windows[1]):g}; both must be in seconds since the start "
        "of the session"
    )


def _warn_of_trials_without_recording(path: Path, spikes: Array, counts: Array, windows: tuple[Array, Array]) -> None:
    """Warn of empty trials before the first or after the last spike."""
    empty = (windows[1] > windows[0]) & ~counts.any(axis=1)
    outside = int((empty & ((windows[0] > spikes.max()) | (windows[1] < spikes.min()))).sum())
    if outside:
        state_warning(
            f"{path.name}: {outside:,} of {len(counts):,} trials are before the first or after the last spike, so "
            "their counts are 0, as after the end of a recording. Leave these trials out"
        )


def _observed(path: Path, n_units: int, windows: tuple[Array, Array]) -> Array | None:
    """Return which units were observed in at least half of each trial; None if the file does not say so."""
    with open_hdf5(path) as root, reading(path):
        if not {"obs_intervals", "obs_intervals_index"} <= set(root[_UNITS]):
            return None
    ends = _read_numbers(path, f"{_UNITS}/obs_intervals_index")
    intervals = read_dataset(path, f"{_UNITS}/obs_intervals")
    if len(ends) != n_units or intervals.ndim != 2 or intervals.shape[1] != 2 or intervals.dtype.kind not in "fiu":
        return None
    found = np.ones((len(windows[0]), n_units), dtype=bool)
    for unit, (first, last) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
        own = intervals[int(first) : int(last)].astype(np.float64)
        own = own[np.argsort(own[:, 0], kind="stable")]
        if not len(own) or not (np.diff(own.ravel()) >= 0).all():
            continue
        # Observed time up to each moment.
        total = np.repeat(np.cumsum(np.ptp(own, axis=1)), 2)
        total[::2] -= np.ptp(own, axis=1)
        begin, end = (np.interp(side, own.ravel(), total) for side in windows)
        found[:, unit] = ~(end - begin < 0.5 * (windows[1] - windows[0]))
    return found


def require_groups(path: Path, root: Any, names: list[str]) -> None:
    """Refuse arrays in place of groups, whose rows would be taken for names."""
    for name in names:
        if not hasattr(root.get(name), "keys"):
            raise UnreadableFileError(f"{path} must contain {name} as a group, got another object")


def _read_numbers(path: Path, place: str) -> Array:
    values = read_dataset(path, place)
    if values.ndim != 1 or values.dtype.kind not in "fiu":
        raise UnreadableFileError(
            f"NWB file {path} must contain {place} as one row of numbers, got {values.dtype} of shape {values.shape}"
        )
    return values


def _counts(path: Path, trials: str, shape: tuple[int, int], n_spikes: int) -> Array:
    """Count the spikes of each unit in each trial, or per second if trials differ in length.

    A spike at the end of a trial is not counted. A trial without a start or an end is a row of NaN.
    """
    require_memory(path, "units", shape, np.dtype(float), "write fewer trials")
    starts, stops = windows = _windows(path, trials)
    spikes, ends = (_read_numbers(path, f"{_UNITS}/spike_times{part}") for part in ("", "_index"))
    if len(ends) != shape[1] or (ends.size and (np.diff(ends.astype(np.int64), prepend=0) < 0).any()):
        raise UnreadableFileError(f"NWB file {path} must have one end of spike times per unit, got {len(ends)}")
    if ends.size and int(ends[-1]) > n_spikes:
        raise UnreadableFileError(f"NWB file {path} must contain the spikes of every unit, got {n_spikes}")
    counts = np.zeros(shape)
    trains = [spikes[int(first) : int(last)] for first, last in zip([0, *ends[:-1]], ends, strict=True)]
    if resets := describe_resets(trains):
        state_warning(f"{path.name}: {resets}")
    for unit, train in enumerate(map(np.sort, trains)):
        counts[:, unit] = np.searchsorted(train, stops) - np.searchsorted(train, starts)
    counts[~(stops > starts)] = np.nan
    known = np.nan_to_num(counts)
    if spikes.size and not resets:
        if _have_other_clock(spikes, windows, known):
            _refuse_other_clock(path, "spikes", spikes, windows)
        _warn_of_trials_without_recording(path, spikes, known, windows)
    observed = _observed(path, shape[1], windows)
    if observed is not None and not observed.all():
        counts[~observed] = np.nan
        some, most = ~observed.all(axis=0), int((~observed).sum(axis=0).max())
        state_warning(
            f"{path.name}: {some.sum():,} of {shape[1]:,} units were not observed in up to {most:,} of {shape[0]:,} "
            "trials (obs_intervals), where counts are missing (NaN)"
        )
    if not _are_equal(*_shortest_and_longest(windows)):
        counts /= np.where(stops > starts, stops - starts, np.nan)[:, None]
    return counts


def _windows(path: Path, trials: str) -> tuple[Array, Array]:
    """Return the start and the end of each trial."""
    starts, stops = (_read_numbers(path, f"{trials}/{name}_time") for name in ("start", "stop"))
    if len(stops) != len(starts):
        raise UnreadableFileError(f"NWB file {path} must have one stop per start of {trials}, got {len(stops)}")
    return starts, stops


def _shortest_and_longest(windows: tuple[Array, Array]) -> tuple[float, float]:
    lengths = windows[1] - windows[0]
    known = lengths[lengths > 0]
    return (float(known.min()), float(known.max())) if len(known) else (0.0, 0.0)


_JITTER = 1.05
"""Ratio of the longest to the shortest trial that the clock of the recording explains."""


def _are_equal(shortest: float, longest: float) -> bool:
    return longest <= _JITTER * shortest


_COMPRESSED = 15
"""Type of a compressed element in a file of version 7."""
_MATRIX = 14
_NUMERIC_TYPES = frozenset({*range(1, 8), 9, 12, 13})
_TEXT_TYPES = frozenset({16, 17, 18})
_TEXT_CLASS = 4
_FEWEST_ELEMENTS = {_TEXT_CLASS: 3, 5: 5, **dict.fromkeys(range(6, 16), 3)}
"""Number of elements of a real variable of each class (text, sparse, numbers): shape, name and values."""
_COMPLEX = 1 << 11
"""Flag of variables with imaginary parts, which are one element more."""
_DEEPEST = 50
_CLASSES = {"double": "f8", "single": "f4", "logical": "?", "sparse": "f8", "char": "U1"}
_CLASSES |= {f"{sign}int{bits}": f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
_HIDDEN = ("#refs#", "#subsystem#")


def matlab_arrays(path: Path) -> NamedArrays:
    """Describe the variables of a .mat file; row and column vectors become 1-D, as MATLAB has no 1-D arrays."""
    with path.open("rb") as stream:
        start = stream.read(20)
    if start.startswith(b"MATLAB 7.3") or start.startswith(b"\x89HDF"):
        return matlab_hdf5_arrays(path)
    _require_bounded(path)
    from scipy import io

    with reading(path):
        variables = io.whosmat(str(path))
    tree: dict[str, Any] = {}
    for name, shape, kind in variables:
        if kind in _CLASSES:
            tree[name] = _describe_data_set(path, name, tuple(map(int, shape)), np.dtype(_CLASSES[kind]))
        elif kind in ("struct", "cell"):
            tree[name] = _plain(path, name, _load(path, name))
        else:
            tree[name] = refused(f"is a MATLAB {kind}; convert it with table2array, cellstr or double")
    return gather(path, flatten(path, tree, _leaf))


def _leaf(node: Any) -> StoredArray | None:
    if isinstance(node, StoredArray):
        return node
    return in_memory(node) if isinstance(node, np.ndarray) else None


def _require_bounded(path: Path) -> None:
    """Refuse a file that unpacks to more than fits the memory, or has unknown types, before SciPy reads it."""
    limit, size, total = memory_budget(), path.stat().st_size, 0
    with reading(path), path.open("rb") as stream:
        head = stream.read(128)
        order: Literal["little", "big"] = "little" if head[126:128] == b"IM" else "big"
        # Version 4, whose first number has a zero byte, has no elements.
        while 0 not in head[:4] and len(tag := stream.read(8)) == 8:
            kind, n_bytes = (int.from_bytes(tag[i : i + 4], order) for i in (0, 4))
            if kind == _COMPRESSED:
                unpacked = _Unpacked(stream.read(min(n_bytes, size)), limit - total)
                _require_known_types(path, unpacked, limit, order)
                total += unpacked.size
            elif kind == _MATRIX:
                _require_known_types(path, stream, n_bytes, order, within=True)
            else:
                stream.seek(n_bytes, 1)
            if total > limit:
                raise UnreadableFileError(
                    f"MATLAB file {path} must unpack to at most the memory budget of {format_bytes(limit)}, got more: "
                    "save fewer variables, or raise SHESHA_MEMORY"
                )
    require_plausible(path, "the variables", total, size)


class _Unpacked:
    """The bytes of a deflate stream up to a limit, unpacked piece by piece."""

    def __init__(self, packed: bytes, limit: int) -> None:
        self._decoder, self._packed, self._piece, self._limit = zlib.decompressobj(), packed, b"", limit
        self.size = 0

    def read(self, n: int) -> bytes:
        """Return the next bytes."""
        parts = []
        while n > 0 and (self._piece or self._unpack()):
            parts.append(self._piece[:n])
            n, self._piece = n - len(parts[-1]), self._piece[len(parts[-1]) :]
        return b"".join(parts)

    def seek(self, n: int, whence: int) -> None:
        """Leave out the next bytes."""
        while n > 0 and (self._piece or self._unpack()):
            n, self._piece = n - min(n, len(self._piece)), self._piece[n:]

    def _unpack(self) -> bool:
        self._piece = b"" if self.size > self._limit else self._decoder.decompress(self._packed, 1 << 20)
        self._packed, self.size = self._decoder.unconsumed_tail, self.size + len(self._piece)
        return bool(self._piece)


def _require_known_types(
    path: Path, stream: Any, left: int, order: Literal["little", "big"], depth: int = 0, *, within: bool = False
) -> None:
    """Refuse elements of a variable of other types, because SciPy uses a type as an index without checking it."""
    known, n_elements, fewest, is_text = frozenset({_MATRIX}), 0, 0, False
    if within:
        # SciPy reads the flags of a variable without their type and size.
        flags, left = int.from_bytes(stream.read(16)[8:12], order), left - 16
        known, is_text = known | _NUMERIC_TYPES, flags & 0xFF == _TEXT_CLASS
        # For an element that is missing, it would read the next variable.
        fewest = _FEWEST_ELEMENTS.get(flags & 0xFF, 0) + bool(flags & _COMPLEX)
    while left > 0 and len(tag := stream.read(8)) == 8:
        n_elements += 1
        kind, n_bytes = (int.from_bytes(tag[i : i + 4], order) for i in (0, 4))
        # The values of a short element are in its tag.
        kind, n_bytes = (kind & 0xFFFF, 0) if kind >> 16 else (kind, n_bytes)
        # The second element is the name.
        may_be_text = within and (is_text or n_elements == 2)
        if not (kind in known or (may_be_text and kind in _TEXT_TYPES)) or depth > _DEEPEST:
            raise UnreadableFileError(
                f"MATLAB file {path} must contain elements of known types, at most {_DEEPEST} inside one another, got "
                f"type {kind} at depth {depth}; save the file again"
            )
        n_bytes += 0 if kind == _MATRIX else -n_bytes % 8
        left -= 8 + n_bytes
        if kind == _MATRIX and n_bytes:
            _require_known_types(path, stream, n_bytes, order, depth + 1, within=True)
        else:
            stream.seek(n_bytes, 1)
    if n_elements < fewest:
        raise UnreadableFileError(
            f"MATLAB file {path} must contain variables of {fewest} elements, got one of {n_elements}; save the file "
            "again"
        )


def _load(path: Path, name: str) -> Any:
    from scipy import io

    with reading(path):
        return io.loadmat(str(path), variable_names=[name], mat_dtype=True)[name]


def _describe_data_set(path: Path, name: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> StoredArray:
    flat = _without_singletons(shape)

    def load() -> Array:
        require_memory(path, name, shape, dtype, "save fewer variables")
        return np.asarray(_dense(path, name, _load(path, name))).reshape(flat)

    if dtype.kind == "U":
        return in_memory(np.array([str(row) for row in np.atleast_1d(_load(path, name))]))
    return StoredArray(flat, dtype, load)


def _dense(path: Path, name: str, value: Any) -> Any:
    """Return a sparse matrix as a dense one, anything else unchanged."""
    if not hasattr(value, "toarray"):
        return value
    value = value.tocsc()
    return dense_from_sparse(path, name, "csc", [value.data, value.indices, value.indptr], value.shape, value.dtype)


def _without_singletons(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of a vector as 1-D, and of a single value as 0-D."""
    if len(shape) == 2 and 1 in shape:
        return () if shape == (1, 1) else (math.prod(shape),)
    return shape


def _plain(path: Path, name: str, value: Any, depth: int = 0) -> Any:
    """Return structs as dictionaries and cells as lists; anything else as an array."""
    if depth > 40:
        return refused("is nested too deeply")
    if isinstance(value, np.ndarray) and value.dtype.names is not None:
        if type(value).__name__ == "MatlabFunction" or "MatlabOpaque" in type(value).__name__:
            return refused("is a MATLAB object; convert it with table2array, cellstr or double")
        rows = [
            {field: _plain(path, name, row[field], depth + 1) for field in value.dtype.names}
            for row in value.ravel("F")
        ]
        return rows[0] if len(rows) == 1 else rows
    if isinstance(value, np.ndarray) and value.dtype.kind == "O":
        items = [_plain(path, name, item, depth + 1) for item in value.ravel("F")]
        texts = [item for item in items if isinstance(item, str)]
        return np.array(texts) if items and len(texts) == len(items) else items
    if hasattr(value, "toarray"):
        return _dense(path, name, value)
    array = np.asarray(value)
    if array.dtype.kind == "U":
        return str(array.ravel()[0]) if array.size == 1 else "" if not array.size else array.ravel()
    return array.reshape(_without_singletons(array.shape))


def matlab_hdf5_arrays(path: Path) -> NamedArrays:
    """Describe the variables of a .mat file of version 7.3, whose arrays are stored transposed."""
    with open_hdf5(path) as root:
        with reading(path):
            found = list(root)
            names = [name for name in found if name not in _HIDDEN]
        require_own(path, root, found)
        with reading(path):
            tree = {name: _hdf5_tree(path, root, root[name], 0) for name in names}
    return gather(path, flatten(path, tree, _leaf))


def _matlab_class(node: Any) -> str:
    kind = node.attrs.get("MATLAB_class", b"")
    return kind.decode() if isinstance(kind, bytes) else str(kind)


def _hdf5_tree(path: Path, root: Any, node: Any, depth: int) -> Any:
    """Describe a variable of version 7.3: a struct as dictionary, a cell as list, an array as it will be read."""
    if depth > 40:
        return refused("is nested too deeply")
    if hasattr(node, "keys"):
        if "MATLAB_sparse" in node.attrs:
            return _sparse(path, node)
        if _matlab_class(node) not in ("struct", ""):
            return refused(f"is a MATLAB {_matlab_class(node)}; convert it with table2array, cellstr or double")
        return _struct({name: _hdf5_tree(path, root, node[name], depth + 1) for name in node})
    if node.dtype.kind == "O" and node.dtype.metadata and "ref" in node.dtype.metadata:
        require_sound(path, node.name, node)
        references = np.asarray(node[()]).T.ravel("F")
        items = [_hdf5_tree(path, root, root[reference], depth + 1) for reference in references]
        if items and all(isinstance(item, str) for item in items):
            return np.array(items)
        return items
    if "MATLAB_empty" in node.attrs:
        return refused("is empty")
    if _matlab_class(node) == "char":
        require_sound(path, node.name, node)
        codes = np.atleast_2d(node[()].T)
        texts = ["".join(map(chr, row)) for row in codes]
        return texts[0] if len(texts) == 1 else np.array(texts)
    if node.shape is None or node.dtype.kind not in "fiub":
        return refused(f"contains {_matlab_class(node) or node.dtype}, not numbers")
    shape = _without_singletons(tuple(node.shape[::-1]))
    return StoredArray(shape, node.dtype, partial(_read_transposed, path, node.name, shape))


def _struct(fields: dict[str, Any]) -> Any:
    """Return a struct array, whose fields are lists of one length, as a list of structs."""
    lengths = {len(value) if isinstance(value, list) else 0 for value in fields.values()}
    if len(lengths) == 1 and (n := lengths.pop()):
        return [{name: values[i] for name, values in fields.items()} for i in range(n)]
    return fields


def _read_transposed(path: Path, place: str, shape: tuple[int, ...]) -> Array:
    with open_hdf5(path) as root, reading(path):
        require_sound(path, place, root[place])
        return np.asarray(root[place][()]).T.reshape(shape)


def _sparse(path: Path, group: Mapping[str, Any]) -> StoredArray:
    """Describe a sparse matrix, which is stored by columns."""
    if "ir" not in group:
        return refused("is an empty sparse matrix")
    rows, columns = int(group.attrs["MATLAB_sparse"]), len(group["jc"]) - 1  # type: ignore[attr-defined]
    shape, dtype, place = (rows, columns), group["data"].dtype, group.name  # type: ignore[attr-defined]

    def load() -> Array:
        require_memory(path, place, shape, dtype, "save fewer rows")
        with open_hdf5(path) as root, reading(path):
            require_sound(path, place, root[place])
            data, rows, starts = (root[f"{place}/{name}"][()] for name in ("data", "ir", "jc"))
            parts = data, rows.astype(np.int64), starts.astype(np.int64)
            return np.asarray(dense_from_sparse(path, place, "csc", parts, shape, dtype))

    return StoredArray(shape, dtype, load)
