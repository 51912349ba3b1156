"""Representations to audit, by name: arrays, or arrays in files that are opened when needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shesha.auditing._path_inputs import is_path
from shesha.comparison.index import Files, Known, index_file, index_files
from shesha.comparison.index import Index as Contents
from shesha.comparison.sources import InFile, fingerprint_as_it_is, reordered_fingerprint
from shesha.inputs import Names, orders
from shesha.runs import ResultStore
from shesha.support.layer_axis import LayerAxis, split_layers
from shesha.support.types import Index
from shesha.views import Rdm, Rows, rows_or_distances, take_rows


@dataclass(frozen=True)
class Subject:
    """A representation with its shape and fingerprint."""

    place: InFile | Rows | Rdm
    shape: tuple[int, ...]
    fingerprint: str
    """Names its content."""
    names: Names | None = field(default=None, compare=False)
    """Names of its rows."""

    def __getstate__(self) -> dict[str, Any]:
        """Drop the row names, which serve only to align rows."""
        return {**self.__dict__, "names": None}

    def take_rows(self, order: Index) -> Subject:
        """Return the same representation with its rows in another order."""
        place = self.place.take_rows(order) if isinstance(self.place, InFile) else take_rows(self.place, order)
        return Subject(place, self.shape, reordered_fingerprint(self.fingerprint, order))

    @property
    def n_rows(self) -> int:
        """Number of inputs."""
        return self.shape[0]

    def load(self) -> Rows | Rdm:
        """Open the file, if it is one; OSError or ValueError if it cannot be read or has changed."""
        if isinstance(self.place, InFile):
            if self.place.distances:
                return self.place.load().distances
            return Rows(self.place.array(), self.place.name, min_rows=0, min_columns=0)
        return self.place


def find_files(representations: Any, layer_axis: LayerAxis) -> Files | None:
    """Return the files of paths; None if the input is arrays."""
    if isinstance(representations, Files):
        return representations
    if is_path(representations):
        return Files([representations], layer_axis=layer_axis, as_it_is=True)
    listed = isinstance(representations, Sequence) and not isinstance(representations, str) and len(representations)
    if listed and all(map(is_path, representations)):
        return Files(list(representations), layer_axis=layer_axis, as_it_is=True)
    return None


def file_subjects(files: Files, store: ResultStore) -> dict[str, Subject]:
    """Describe files; one that cannot be read is left out, with a warning."""
    found = index_files(files, store)
    found.tell()
    if not found.known:
        told = "; ".join(f"left out: {path}: {reason}" for path, reason in found.left_out.items())
        raise ValueError(f"representations must be at least one that can be read, got none; {told}".rstrip("; "))
    return _align_rows({name: _subject_from_index(known) for name, known in found.known.items()})


def mapping_subjects(representations: Any, layer_axis: LayerAxis, store: ResultStore) -> dict[str, Subject]:
    """Describe arrays, and arrays of files, by name."""
    several = representations if isinstance(representations, Mapping) else {"X": representations}
    if not several:
        raise ValueError("representations must hold at least one matrix, got none")
    index, found, twice = Contents(), dict[str, Subject](), list[str]()
    for label, given in split_layers(several, layer_axis).items():
        new = _array_subjects(str(label), given, layer_axis, store, index)
        twice += [repr(name) for name in new if name in found]
        found |= new
    if twice:
        raise ValueError(f"representations must have distinct names, got {', '.join(twice)} more than once")
    index.tell()
    if not found:
        raise ValueError(f"representations must be at least one that can be read, got {index.left_out}")
    return _align_rows(found)


def _align_rows(subjects: dict[str, Subject]) -> dict[str, Subject]:
    """Return subjects with their rows in the order of the first that has names."""
    moved = orders({name: one.names for name, one in subjects.items()})
    return {name: one.take_rows(moved[name]) if name in moved else one for name, one in subjects.items()}


def _array_subjects(
    name: str, value: Any, layer_axis: LayerAxis, store: ResultStore, index: Contents
) -> dict[str, Subject]:
    if is_path(value):
        files = Files([Path(value)], layer_axis=layer_axis, as_it_is=True)
        return {one: _subject_from_index(known) for one, known in index_file(name, files, store, index).items()}
    X = rows_or_distances(value, name, min_rows=0, min_columns=0)
    shape = X.shape if isinstance(X, Rows) else (X.n_rows,)
    return {name: Subject(X, shape, fingerprint_as_it_is(X), X.names)}


def _subject_from_index(entry: Known) -> Subject:
    assert isinstance(entry.place, InFile)
    return Subject(entry.place, entry.shape, entry.fingerprint, entry.names)
