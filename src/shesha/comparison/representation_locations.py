"""Locations of representations, so that any process can read each when needed."""

from __future__ import annotations

import hashlib
import math
from collections import OrderedDict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from shesha.io import UnreadableFileError, open_file
from shesha.support.atomic_files import replacing
from shesha.support.layer_axis import LayerAxis
from shesha.support.types import Index
from shesha.views import Rdm, Representation, Rows

_ENTRIES = 1 << 18
"""Number of values that are hashed together."""


class Place(Protocol):
    """A source of a representation."""

    def take_rows(self, order: Index) -> Place:
        """The same representation with its rows in another order."""
        ...

    def load(self) -> Representation:
        """Return the representation; raise OSError or ValueError if it cannot be read."""
        ...


@dataclass(frozen=True)
class Held:
    """A representation in memory."""

    source: Representation

    def take_rows(self, order: Index) -> Held:
        """The same representation with its rows in another order."""
        return Held(self.source.take_rows(order))

    def load(self) -> Representation:
        """Return the representation."""
        return self.source


@dataclass(frozen=True)
class InFile:
    """An array of a file, which must not have changed since it was indexed."""

    path: str
    name: str
    keys: tuple[str, ...] | None
    """Names to read: the array, or the columns of a table."""
    distances: bool
    layer_axis: LayerAxis
    stamp: str
    no_features: tuple[str, ...] = ()
    """Columns of a table that hold labels."""
    order: bytes = b""
    """Row numbers in the requested order; empty for the order of the file."""

    def take_rows(self, order: Index) -> InFile:
        """The same representation with its rows in another order."""
        return replace(self, order=np.asarray(order, dtype=np.int64).tobytes())

    def load(self) -> Representation:
        """Read the file."""
        array = self.array()
        if not self.distances:
            return Representation.build(array, self.name)
        found = Rdm(array, self.name)
        return Representation.build(found.take_rows(self._order) if self.order else found)

    @property
    def _order(self) -> Index:
        return np.frombuffer(self.order, dtype=np.int64).astype(np.intp)

    def array(self) -> Any:
        """Open the file, and return the array unchecked: mapped or sparse if the file type allows it."""
        path = Path(self.path)
        if file_stamp(path) != self.stamp:
            raise UnreadableFileError(f"{path} must not change while it is compared, got a file that has changed")
        opened = open_file(
            path,
            keys=self.keys,
            labels_column=self.no_features or None,
            layer_axis=self.layer_axis,
            distances=self.distances,
        )
        array = opened.representations[self.name]
        return array[self._order] if self.order and not self.distances else array


@dataclass(frozen=True)
class Spooled:
    """A representation that this run wrote to a file for other processes."""

    path: str
    distances: bool
    precision: float

    @classmethod
    def write(cls, source: Representation, path: Path) -> Spooled:
        """Write a representation."""
        array = plain_array(source)
        with replacing(path) as draft, draft.open("wb") as file:
            np.save(file, array, allow_pickle=False)
        return cls(str(path), source.has_distances_only, source.precision)

    def load(self) -> Representation:
        """Read the representation, with the same numbers and precision."""
        array = np.load(self.path, allow_pickle=False)
        return Representation(Rdm(array) if self.distances else array, self.precision)


def plain_array(source: Representation) -> NDArray[np.float64]:
    """Return the numbers of a representation as a NumPy array; distances are condensed."""
    host = source.to_numpy
    if host.has_distances_only:
        return host.condensed_distances("euclidean")[0]
    return host.rows


def file_stamp(path: Path) -> str:
    """Return a value that changes with the content of a file, or of a directory store, without reading it."""
    if not path.is_dir():
        known = path.stat()
        return f"{known.st_size}:{known.st_mtime_ns}"
    inside = sorted(file for file in path.rglob("*") if file.is_file())
    parts = [f"{file.relative_to(path)}:{file_stamp(file)}" for file in inside]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def fingerprint(source: Representation) -> str:
    """Hash a representation's numbers, their shape and their precision."""
    array = plain_array(source)
    kind = f"{'distances' if source.has_distances_only else 'features'} {source.shape} {source.precision!r}"
    digest = hashlib.sha256(kind.encode())
    digest.update(np.ascontiguousarray(array).view(np.uint8).data if array.size else b"")
    return digest.hexdigest()[:24]


def reordered_fingerprint(fingerprint: str, order: Index) -> str:
    """Return the name of a content with its rows in another order."""
    return hashlib.sha256(fingerprint.encode() + np.asarray(order, dtype=np.int64).tobytes()).hexdigest()[:24]


def fingerprint_as_it_is(X: Rows | Rdm) -> str:
    """Hash stored numbers, which may be NaN or infinite, in stretches of rows."""
    if isinstance(X, Rdm):
        return fingerprint(Representation.build(X))
    kind = "sparse" if X.is_sparse else str(X.sample.dtype)
    digest = hashlib.sha256(f"as it is {kind} {X.shape} {X.precision!r}".encode())
    for _, block in X.blocks(_ENTRIES):
        digest.update(np.ascontiguousarray(block).view(np.uint8).data if block.size else b"")
    return digest.hexdigest()[:24]


def array_bytes(shape: tuple[int, ...]) -> int:
    """Memory of the numbers of a representation of a shape; (n,) means distances between n rows."""
    n_numbers = math.prod(shape) if len(shape) > 1 else shape[0] * (shape[0] - 1) // 2
    return 8 * n_numbers


class Recent:
    """The representations that this process used last, up to a number of bytes."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Place, Representation] = OrderedDict()
        self._lock = Lock()

    def load(self, places: Mapping[str, Place], room: int) -> tuple[dict[str, Representation], dict[str, str]]:
        """Return the representations of some sources by name, and the reasons why others cannot be read."""
        loaded: dict[str, Representation] = {}
        unreadable: dict[str, str] = {}
        needed = set(places.values())
        # Threads that read at the same time would hold what all of them need.
        with self._lock:
            for name, place in places.items():
                try:
                    loaded[name] = self._get(place, needed, room)
                except (OSError, ValueError, MemoryError) as error:
                    unreadable[name] = f"cannot be read: {error or type(error).__name__}"
        return loaded, unreadable

    def _get(self, place: Place, needed: Collection[Place], room: int) -> Representation:
        if isinstance(place, Held):
            return place.source
        if place not in self._kept:
            self._make_room(needed, room)
            self._kept[place] = place.load()
        self._kept.move_to_end(place)
        return self._kept[place]

    def _make_room(self, needed: Collection[Place], room: int) -> None:
        sizes = {place: array_bytes(source.shape) for place, source in self._kept.items()}
        # What comes is taken to be as large as the largest that is there.
        total = sum(sizes.values()) + max(sizes.values(), default=0)
        for place in [one for one in self._kept if one not in needed]:
            if total <= room:
                return
            del self._kept[place]
            total -= sizes[place]
