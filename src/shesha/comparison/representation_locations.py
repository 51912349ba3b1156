"""Where representations are stored, so that any process can read each one when it is needed."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Any, Protocol

import numpy as np

from shesha.comparison.content_fingerprints import plain_array
from shesha.comparison.unchanged_files import require_unchanged
from shesha.inputs.matrix_shapes import one_row_per_input
from shesha.io import open_file
from shesha.support.atomic_files import replacing
from shesha.support.layer_axis import LayerAxis
from shesha.support.types import Index
from shesha.views import Rdm, Representation


class RepresentationLocation(Protocol):
    """A place from which a representation can be read."""

    def take_rows(self, order: Index) -> RepresentationLocation:
        """Return the same location with its rows in another order."""
        ...

    def load(self) -> Representation:
        """Return the representation; raise OSError or ValueError if it cannot be read."""
        ...


@dataclass(frozen=True)
class InMemoryRepresentation:
    """A representation in memory."""

    source: Representation

    def take_rows(self, order: Index) -> InMemoryRepresentation:
        """Return the same location with its rows in another order."""
        return InMemoryRepresentation(self.source.take_rows(order))

    def load(self) -> Representation:
        """Return the representation."""
        return self.source


@dataclass(frozen=True)
class InFile:
    """An array in a file that must not change after it was indexed."""

    path: str
    name: str
    keys: tuple[str, ...] | None
    """Name of the array to read, or names of the columns if the file is a table."""
    distances: bool
    layer_axis: LayerAxis
    stamp: str
    no_features: tuple[str, ...] = ()
    """Names of table columns that contain labels instead of features."""
    ids: str | None = None
    """Column or array that identifies the rows, and so is no feature."""
    transpose: bool = False
    """Whether features are in the rows of the file."""
    flatten: bool = False
    """Whether feature maps and token sequences are read as matrices."""
    order: bytes = b""
    """Row numbers in the requested order, as bytes; empty for the order of the file."""

    def take_rows(self, order: Index) -> InFile:
        """Return the same location with some of its rows, or all in another order."""
        rows = self._order[order] if self.order else np.asarray(order, dtype=np.int64)
        return replace(self, order=rows.astype(np.int64).tobytes())

    def load(self) -> Representation:
        """Read the representation from the file."""
        array = self.array()
        if not self.distances:
            return Representation.build(array, self.name)
        rdm = Rdm(array, self.name)
        return Representation.build(rdm.take_rows(self._order) if self.order else rdm)

    @property
    def _order(self) -> Index:
        return np.frombuffer(self.order, dtype=np.int64).astype(np.intp)

    def array(self) -> Any:
        """Open the file and return its array unchecked; it is memory-mapped or sparse if the format allows."""
        path = Path(self.path)
        require_unchanged(path, self.stamp)
        opened = open_file(
            path,
            keys=self.keys,
            labels_column=self.no_features or None,
            layer_axis=self.layer_axis,
            distances=self.distances,
            ids=self.ids,
            transpose=self.transpose,
            flatten=self.flatten,
        )
        array = opened.representations[self.name]
        array = one_row_per_input(array, self.name) if self.flatten and not self.distances else array
        return array[self._order] if self.order and not self.distances else array


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
            return place.source
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
