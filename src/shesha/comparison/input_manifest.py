"""The inputs of a comparison: where they are stored, their names, shapes and fingerprints."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from threading import Lock
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from shesha.inputs import Names, orders
from shesha.inputs.matrix_shapes import is_one_hot, one_row_per_input
from shesha.io import Contents, open_file
from shesha.io.array_selection import full_name, refuse_parts, short_paths
from shesha.io.file_checks import UnreadableFileError, file_stem, require_existing
from shesha.io.formats import find_format, formats, is_readable, is_table
from shesha.io.json_vectors import is_own_result
from shesha.results.json_loading import fits
from shesha.runs import ResultStore
from shesha.support import types as kinds
from shesha.support.files import file_stamp, is_stream, replacing
from shesha.support.layer_axis import LayerAxis
from shesha.support.progress import track
from shesha.support.provenance import state, state_left_out
from shesha.support.types import Index
from shesha.support.warnings import MeasureWarning, warn
from shesha.support.wording import count, join_names, natural_place
from shesha.views import (
    Rdm,
    Representation,
    Rows,
    looks_like_distances,
    representation_from,
    rows_or_distances,
)

_HASHED_ENTRIES = 1 << 18
"""Number of values that are hashed together."""


def fingerprint(source: Representation) -> str:
    """Hash the values, shape and precision of a representation."""
    array = plain_array(source)
    kind = f"{'distances' if source.has_distances_only else 'features'} {source.shape} {source.precision!r}"
    digest = hashlib.sha256(kind.encode())
    digest.update(np.ascontiguousarray(array).view(np.uint8).data if array.size else b"")
    return digest.hexdigest()[:24]


def reordered_fingerprint(fingerprint: str, order: Index) -> str:
    """Return the fingerprint of the same content with its rows in another order."""
    return hashlib.sha256(fingerprint.encode() + np.asarray(order, dtype=np.int64).tobytes()).hexdigest()[:24]


def fingerprint_as_it_is(X: Rows | Rdm) -> str:
    """Hash values as stored, which may be NaN or infinite, reading one stretch of rows at a time."""
    if isinstance(X, Rdm):
        return fingerprint(Representation.build(X))
    kind = "sparse" if X.is_sparse else str(X.sample.dtype)
    digest = hashlib.sha256(f"as it is {kind} {X.shape} {X.precision!r}".encode())
    for _, block in X.blocks(_HASHED_ENTRIES):
        digest.update(np.ascontiguousarray(block).view(np.uint8).data if block.size else b"")
    return digest.hexdigest()[:24]


def plain_array(source: Representation) -> NDArray[np.float64]:
    """Return the values of a representation as a NumPy array; distances are in condensed form."""
    host = source.to_numpy
    if host.has_distances_only:
        return host.condensed_distances("euclidean", missing=True)[0]
    return host.rows


class RepresentationLocation(Protocol):
    """A place from which a representation can be read."""

    def take_rows(self, order: Index) -> RepresentationLocation:
        """Return the same location with its rows in another order."""
        ...

    def load(self) -> Representation:
        """Return the representation; raise OSError or ValueError if it cannot be read."""
        ...

    def rows(self) -> Rows | Rdm:
        """Return the rows, whose values are not checked, or the distances."""
        ...


@dataclass(frozen=True)
class InMemoryRepresentation:
    """A representation in memory."""

    source: Representation | Rows | Rdm

    def take_rows(self, order: Index) -> InMemoryRepresentation:
        """Return the same location with its rows in another order."""
        return InMemoryRepresentation(self.source.take_rows(order))

    def load(self) -> Representation:
        """Return the representation."""
        return self.source if isinstance(self.source, Representation) else representation_from(self.source)

    def rows(self) -> Rows | Rdm:
        """Return the rows or distances."""
        return rows_or_distances(self.source) if isinstance(self.source, Representation) else self.source


@dataclass(frozen=True)
class Files:
    """Files and directories whose arrays are to be compared."""

    paths: Sequence[str | os.PathLike[str]]
    keys: Sequence[str] | None = None
    """Names of the arrays to read; None means all arrays."""
    distances: bool = False
    """Whether the arrays are distances between rows."""
    layer_axis: LayerAxis = "guess"
    """Axis of a three-dimensional array along which its layers are stacked."""
    no_features: Sequence[str] = ()
    """Names of table columns and arrays that contain labels instead of features."""
    as_it_is: bool = False
    """Whether to index arrays that no measure could compare (NaN, few rows) instead of leaving them out."""
    by_position: bool = False
    """Whether row i is the same input in all representations, regardless of row names."""
    ids: str | None = None
    """Column or array that identifies the rows of each file; None means that names are recognised."""
    transpose: bool = False
    """Whether features are in the rows of the files, and inputs in the columns."""
    flatten: bool = False
    """Whether feature maps and token sequences become matrices with one row per input."""
    fewest: int = 0
    """Minimum number of columns; arrays named by `keys`, and files with no wider array, are exempt."""

    def open(self, path: Path) -> Contents:
        """Open a file as these options say."""
        return open_file(
            path,
            keys=self.keys,
            labels_column=tuple(self.no_features) or None,
            layer_axis=self.layer_axis,
            distances=self.distances,
            ids=self.ids,
            transpose=self.transpose,
            flatten=self.flatten,
        )

    def flat(self, array: Any, name: str) -> Any:
        """Return an array as a matrix with one row per input, if feature maps are flattened."""
        return one_row_per_input(array, name) if self.flatten and not self.distances else array


@dataclass(frozen=True)
class InFile:
    """An array in a file that must not change after it was indexed."""

    path: str
    name: str
    how: Files
    """How the file is read; `keys` are the array, or the columns if the file is a table."""
    stamp: str
    order: bytes = b""
    """Row numbers in the requested order, as bytes; empty for the order of the file."""

    def take_rows(self, order: Index) -> InFile:
        """Return the same location with some of its rows, or all in another order."""
        rows = self._order[order] if self.order else np.asarray(order, dtype=np.int64)
        return replace(self, order=rows.astype(np.int64).tobytes())

    def load(self) -> Representation:
        """Read the representation from the file."""
        array = self.array()
        if not self.how.distances:
            return Representation.build(array, self.name)
        rdm = Rdm(array, self.name)
        return Representation.build(rdm.take_rows(self._order) if self.order else rdm)

    def rows(self) -> Rows | Rdm:
        """Return the rows, which may stay in the file, or the distances."""
        return self.load().distances if self.how.distances else Rows(self.array(), self.name, min_rows=0, min_columns=0)

    @property
    def _order(self) -> Index:
        return np.frombuffer(self.order, dtype=np.int64).astype(np.intp)

    def array(self) -> Any:
        """Open the file and return its array unchecked; it is memory-mapped or sparse if the format allows."""
        path = Path(self.path)
        if file_stamp(path) != self.stamp:
            raise UnreadableFileError(f"{path} must not change while the command runs, got a file that has changed")
        array = self.how.flat(self.how.open(path).representations[self.name], self.name)
        return array[self._order] if self.order and not self.how.distances else array


@dataclass(frozen=True)
class SpooledRepresentation:
    """A representation that this run wrote to a file so that other processes can read it."""

    path: str
    distances: bool
    precision: float

    @classmethod
    def write(cls, source: Representation, path: Path) -> SpooledRepresentation:
        """Write a representation to a file."""
        array = plain_array(source)
        with replacing(path) as draft, draft.open("wb") as file:
            np.save(file, array, allow_pickle=False)
        return cls(str(path), source.has_distances_only, source.precision)

    def load(self) -> Representation:
        """Read the representation, with the same numbers and precision."""
        array = np.load(self.path, allow_pickle=False)
        return Representation(Rdm(array) if self.distances else array, self.precision)


def array_bytes(shape: tuple[int, ...]) -> int:
    """Return the memory of a representation with this shape; (n,) means distances between n rows."""
    n_numbers = math.prod(shape) if len(shape) > 1 else shape[0] * (shape[0] - 1) // 2
    return 8 * n_numbers


class RecentRepresentations:
    """A cache of the representations that this process used last, limited in bytes."""

    def __init__(self) -> None:
        self._kept: OrderedDict[RepresentationLocation, Representation] = OrderedDict()
        self._lock = Lock()

    def load(
        self, places: Mapping[str, RepresentationLocation], room: int
    ) -> tuple[dict[str, Representation], dict[str, str]]:
        """Return representations by name; also return, for those that cannot be read, the reason why."""
        loaded: dict[str, Representation] = {}
        unreadable: dict[str, str] = {}
        needed = set(places.values())
        # If several threads read at once, their representations together could exceed the memory limit.
        with self._lock:
            for name, place in places.items():
                try:
                    loaded[name] = self._get(place, needed, room)
                except (OSError, ValueError, MemoryError) as error:
                    unreadable[name] = f"cannot be read: {error or type(error).__name__}"
        return loaded, unreadable

    def _get(
        self, place: RepresentationLocation, needed: Collection[RepresentationLocation], room: int
    ) -> Representation:
        if isinstance(place, InMemoryRepresentation):
            return place.load()
        if place not in self._kept:
            self._make_room(needed, room)
            self._kept[place] = place.load()
        self._kept.move_to_end(place)
        return self._kept[place]

    def _make_room(self, needed: Collection[RepresentationLocation], room: int) -> None:
        sizes = {place: array_bytes(source.shape) for place, source in self._kept.items()}
        # The next representation is assumed to be as large as the largest one in memory.
        total = sum(sizes.values()) + max(sizes.values(), default=0)
        for place in [place for place in self._kept if place not in needed]:
            if total <= room:
                return
            del self._kept[place]
            total -= sizes[place]


FILES = "file"
"""Name under which a store keeps the index of files."""
_ENTRIES = 1 << 20
_RECORD = {"stamp": str, "reason": str, "arrays": list, "skipped": dict[str, str]}
_ARRAY = tuple[str, list, str, bool]  # type: ignore[type-arg]
"""Types of what a store keeps on a file, and on each of its arrays."""
_MOST_NAMED = 20
"""Maximum number of left-out files that are named individually."""


@dataclass(frozen=True)
class IndexedInput:
    """A representation in memory or in a file, with its shape, fingerprint and row names."""

    place: RepresentationLocation
    shape: tuple[int, ...]
    known_fingerprint: str = ""
    """Hash of the content of the representation; without it, the content is hashed when needed."""
    names: Names | None = field(default=None, compare=False)
    """Row names of the representation."""

    @classmethod
    def in_memory(cls, source: Representation | Rows | Rdm, fingerprint: str = "") -> IndexedInput:
        """Describe a representation in memory."""
        shape = (source.n_rows,) if isinstance(source, Rdm) else source.shape
        return cls(InMemoryRepresentation(source), shape, fingerprint, source.names)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the row names, which serve only to align rows."""
        return {**self.__dict__, "names": None}

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the content of the representation."""
        return self.known_fingerprint or fingerprint_as_it_is(self.place.rows())

    def take_rows(self, order: Index) -> IndexedInput:
        """Return the representation with some of its rows, or all in another order."""
        known = self.known_fingerprint and reordered_fingerprint(self.known_fingerprint, order)
        names = None if self.names is None else self.names.take(order)
        return IndexedInput(self.place.take_rows(order), (len(order), *self.shape[1:]), known, names)

    def take_columns(self, chosen: Index) -> IndexedInput:
        """Return the representation with some of its columns, in memory."""
        rows = self.place.rows()
        if not isinstance(rows, Rows):
            raise TypeError(f"columns must be taken from a matrix, got {type(rows).__name__}")
        return IndexedInput(
            InMemoryRepresentation(rows.take_columns(chosen)), (self.n_rows, len(chosen)), names=self.names
        )

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.shape[0]

    def blocks(self) -> Iterator[tuple[int, Any]]:
        """Yield the values in blocks of rows; nothing for distances."""
        if isinstance(self.place, InMemoryRepresentation) and isinstance(self.place.source, Representation):
            yield 0, self.place.source.to_numpy.rows
        elif isinstance(rows := self.place.rows(), Rows):
            yield from rows.blocks(_ENTRIES)

    @property
    def outline(self) -> Representation:
        """A placeholder with the same shape that takes up no memory."""
        return Representation(np.broadcast_to(np.float64(0.0), self.shape), 0.0)


@dataclass
class InputIndex:
    """The indexed representations by name, and the inputs that were left out."""

    known: dict[str, IndexedInput] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    """For each file that cannot be read, the reason why."""
    skipped: dict[tuple[str, str], int] = field(default_factory=dict)
    """For each array that is not a representation, by name and reason, the number of its files."""
    ignored: list[str] = field(default_factory=list)
    """Files in the given directories whose kind is not supported."""
    like_distances: list[str] = field(default_factory=list)
    """Arrays that are read as features although they look like distances."""

    def align_rows(self) -> None:
        """Align all rows with the first representation that has row names; warn of those that were reordered."""
        for name, order in orders({name: source.names for name, source in self.known.items()}).items():
            self.known[name] = self.known[name].take_rows(order)

    def warn_of_left_out(self) -> None:
        """Warn of the files that were left out, and state which arrays are not representations."""
        for path, reason in list(self.left_out.items())[:_MOST_NAMED]:
            warn(f"left out: {path}: {reason}", MeasureWarning)
        others = {Path(path).name: reason for path, reason in self.left_out.items()}
        state_left_out("files", dict.fromkeys([*others, *(Path(path).name for path in self.ignored)], "is no matrix"))
        if len(self.left_out) > _MOST_NAMED:
            warn(f"left out: {len(self.left_out) - _MOST_NAMED} more files that cannot be read", MeasureWarning)
        for (name, reason), n_files in self.skipped.items():
            state(f"left out {name} in {count(n_files, 'file')}: {reason}")
        if self.ignored:
            warn(f"skipped {join_names(self.ignored)}: unsupported kind of file", MeasureWarning)
        if self.like_distances:
            names = join_names(self.like_distances)
            warn(f"{names} look like distances between rows; if they are, use Rdm or --rdm", MeasureWarning)


def index_files(files: Files, store: ResultStore) -> InputIndex:
    """Index every array of every file; a file that cannot be read is left out, with the reason.

    Raises
    ------
    FileNotFoundError
        If a path does not exist.
    ValueError
        If a path is repeated, or a directory contains no readable file.
    """
    index = InputIndex()
    # The store itself may be in a given directory.
    paths = list(_expand_paths(files.paths, index, store.path.name, files.distances))
    repeated = [str(path) for path in dict.fromkeys(paths) if paths.count(path) > 1]
    if repeated:
        raise ValueError(f"FILE must not be repeated, got {', '.join(repeated)} more than once")
    short = dict(zip(paths, short_paths(paths, endings=False), strict=True))
    for path in track(paths, len(paths), "reading"):
        for name, known in _arrays(path, files, store, index):
            index.known[full_name(path, short[path], name, index.known, alone=len(paths) == 1)] = known
    if len(paths) > 1 and files.keys is None and not files.distances:
        refuse_parts(f"the files of {paths[0].parent}", index.known)
    return index


def index_mapping(
    representations: Mapping[Any, Any], store: ResultStore, *, hashed: bool, options: Mapping[str, Any] | None = None
) -> InputIndex:
    """Index arrays and the arrays of files by name; without `hashed`, no two arrays count as equal.

    `options` are fields of `Files`, which say how to read the files.
    """
    index = InputIndex()
    for label, value in representations.items():
        name = str(label)
        if kinds.is_path(value):
            new = index_file(name, Files([Path(value)], **(options or {})), store, index)
        else:
            source = Representation.build(value, name)
            # Without a store, the name can serve as fingerprint, because only this run uses it.
            new = {name: IndexedInput.in_memory(source, fingerprint(source) if hashed else name)}
        if {*new} & {*index.known}:
            labels = ", ".join(map(repr, representations))
            raise ValueError(f"representations must have names that differ when converted to strings, got {labels}")
        index.known |= new
    return index


def index_file(label: str, files: Files, store: ResultStore, index: InputIndex) -> dict[str, IndexedInput]:
    """Index the arrays of one file under a given label instead of the file's name."""
    path = Path(files.paths[0])
    if is_folder(path, distances=files.distances):
        raise IsADirectoryError(f"{label} must be an array or a file, got the directory {path}")
    arrays = dict(_arrays(require_existing(path), files, store, index))
    return {label if len(arrays) == 1 else f"{label}:{name}": known for name, known in arrays.items()}


def _expand_paths(
    paths: Iterable[str | os.PathLike[str]], index: InputIndex, own_prefix: str, distances: bool
) -> Iterator[Path]:
    """Yield each given file and the supported files in each directory, sorted; record the others."""
    for value in paths:
        path = require_existing(value)
        if not is_folder(path, distances=distances):
            yield path
            continue
        inside = [file for file in list_files(path) if not file.name.startswith((".", own_prefix))]
        readable = [file for file in inside if is_readable(file)]
        if not readable and any(path.rglob("*")):
            open_file(path)  # The error says how to convert it.
        if not readable:
            raise ValueError(f"{path} must contain files that end in one of {', '.join(formats())}, got none")
        index.ignored += [str(file) for file in inside if file not in readable and not is_own_result(file)]
        yield from readable


def list_files(folder: Path) -> list[Path]:
    """Return the paths in a folder in natural order, with layer_2 before layer_10, without pipes and devices."""
    return sorted((path for path in folder.iterdir() if not is_stream(path)), key=natural_place)


def is_folder(path: Path, *, distances: bool = False) -> bool:
    """Return whether a path is a directory of files, not a data set that is stored as a directory."""
    return path.is_dir() and find_format(path, distances=distances) is None


def too_narrow(arrays: Mapping[str, Any], keys: Any, fewest: int) -> dict[str, str]:
    """Find arrays, or shapes, with too few columns, and one-hot labels, unless `keys` is given or nothing is left."""
    shapes = {name: tuple(getattr(array, "shape", array)) for name, array in arrays.items()}
    few = {
        name: f"has only {shape[1]} column{'s' * (shape[1] != 1)}, like a UMAP"
        for name, shape in shapes.items()
        if len(shape) == 2 and shape[1] < fewest
    }
    few |= {
        name: "has one 1 in every row, like one-hot labels"
        for name, array in arrays.items()
        if name not in few and hasattr(array, "shape") and is_one_hot(array)
    }
    if keys is not None or len(few) == len(arrays):
        return {}
    return {name: f"{reason}; it is read only if --key names it" for name, reason in few.items()}


def _arrays(path: Path, files: Files, store: ResultStore, index: InputIndex) -> Iterator[tuple[str, IndexedInput]]:
    """Yield the arrays of a file, from the index in the store if the file has not changed."""
    request: list[Any] = [None if files.keys is None else list(files.keys), files.distances, files.layer_axis]
    if files.as_it_is or files.no_features or files.ids:
        request += [list(files.no_features), files.as_it_is, files.ids]
    request += ["transposed"] * files.transpose + ["flattened"] * files.flatten
    key = json.dumps([str(path.absolute()), *request, "identity"])
    try:
        stamp = file_stamp(path)
        record = _read_record(store.get(FILES, key))
        if record.get("stamp") != stamp or record["reason"]:
            record = {"stamp": stamp, "reason": "", **_inspect_file(path, files)}
            store.put(FILES, {key: json.dumps(record)})
    except (OSError, ValueError, TypeError, ImportError, MemoryError) as error:
        index.left_out[str(path)] = reason = str(error) or type(error).__name__
        store.put(FILES, {key: json.dumps({"stamp": "", "reason": reason})})
        return
    for entry in record["skipped"].items():
        if files.keys is None and entry[0] not in files.no_features and not is_table(path):
            index.skipped[entry] = index.skipped.get(entry, 0) + 1
    few = too_narrow({name: tuple(shape) for name, shape, *_ in record["arrays"]}, files.keys, files.fewest)
    for entry in few.items():
        index.skipped[entry] = index.skipped.get(entry, 0) + 1
    no_features = tuple(files.no_features)
    for name, shape, content, like_distances in record["arrays"]:
        if name in few:
            continue
        names = None
        if (stored := record.get("names_by_array", {}).get(name, record.get("names"))) and not files.by_position:
            with store.decoding():
                load = partial(_names_in, path, files, name)
                names = Names.lazy(stored, load, chosen="column" if files.ids else "")
        if like_distances:
            index.like_distances.append(name if name == file_stem(path) else f"{file_stem(path)}:{name}")
        columns = name == file_stem(path) and is_table(path)
        keys = (name,) if not columns else None if files.keys is None else tuple(files.keys)
        how = replace(files, paths=(), keys=keys, no_features=no_features, fewest=0)
        place = InFile(str(path.absolute()), name, how, stamp)
        yield name, IndexedInput(place, tuple(shape), content, names)


def _read_record(text: str | None) -> dict[str, Any]:
    """Return the stored description of a file; if it has another form, an empty one, so that it is made again."""
    with suppress(ValueError, RecursionError):
        record = json.loads(text or "{}")
        if isinstance(record, dict) and all(fits(record.get(name), kind) for name, kind in _RECORD.items()):
            arrays = [tuple(entry) for entry in record["arrays"] if isinstance(entry, list)]
            if len(arrays) == len(record["arrays"]) and all(fits(entry, _ARRAY) for entry in arrays):
                return record
    return {}


def _names_in(path: Path, files: Files, name: str) -> Any:
    contents = files.open(path)
    names = contents.names_of(name)
    assert names is not None
    return names.values


def _inspect_file(path: Path, files: Files) -> dict[str, Any]:
    contents = files.open(path)
    make: Callable[[Any, str], Any] = Rdm if files.distances else lambda array, _: array
    arrays = []
    for name, array in contents.representations.items():
        array = files.flat(array, name)
        if files.as_it_is:
            rows = rows_or_distances(make(array, name), name, min_rows=0, min_columns=0)
            shape = rows.shape if isinstance(rows, Rows) else (rows.n_rows,)
            arrays.append([name, list(shape), fingerprint_as_it_is(rows), False])
            continue
        source = Representation.build(make(array, name), name)
        like = not files.distances and looks_like_distances(array)
        arrays.append([name, list(source.shape), fingerprint(source), like])
    names = None if contents.row_names is None else contents.row_names.record
    own = {name: one.record for name, one in contents.names_by_array.items()}
    return {"arrays": arrays, "skipped": contents.skipped, "names": names, "names_by_array": own}
