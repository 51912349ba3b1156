"""A representation to audit: where it is stored, its shape, and a fingerprint of its content."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

from shesha.inputs import Names
from shesha.support.types import Index
from shesha.views import Rdm, Rows, take_rows

_ENTRIES = 1 << 20
"""Number of values that are read at a time."""


class Location(Protocol):
    """The place of an array in a file."""

    @property
    def distances(self) -> bool:
        """Whether the array contains distances between rows."""
        ...

    @property
    def name(self) -> str:
        """Name of the array."""
        ...

    def take_rows(self, order: Index) -> Any:
        """Return the same location with the rows of its array in another order."""
        ...

    def array(self) -> Any:
        """Open the array without reading all of it."""
        ...

    def load(self) -> Any:
        """Read the array."""
        ...


@dataclass(frozen=True)
class Subject:
    """A representation in memory or in a file, with its shape and fingerprint."""

    place: Location | Rows | Rdm
    shape: tuple[int, ...]
    known_fingerprint: str = ""
    """Fingerprint of a file's content; for rows in memory, it is computed only when needed."""
    names: Names | None = field(default=None, compare=False)
    """Names of the rows, if known."""

    @classmethod
    def in_memory(cls, X: Rows | Rdm) -> Subject:
        """Describe rows or distances in memory."""
        return cls(X, X.shape if isinstance(X, Rows) else (X.n_rows,), names=X.names)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the row names, which serve only to align rows."""
        return {**self.__dict__, "names": None}

    @cached_property
    def fingerprint(self) -> str:
        """Fingerprint of the representation's content."""
        if not isinstance(self.place, Rows | Rdm):
            return self.known_fingerprint
        # The module of this function imports all measures, which an audit without a store does not need.
        from shesha.comparison.input_manifest import fingerprint_as_it_is

        return fingerprint_as_it_is(self.place)

    def take_rows(self, order: Index) -> Subject:
        """Return the representation with some of its rows, or all in another order."""
        names = None if self.names is None else self.names.take(order)
        shape = (len(order), *self.shape[1:])
        if isinstance(self.place, Rows | Rdm):
            return Subject(take_rows(self.place, order), shape, names=names)
        from shesha.comparison.input_manifest import reordered_fingerprint

        return Subject(self.place.take_rows(order), shape, reordered_fingerprint(self.fingerprint, order), names)

    def blocks(self) -> Iterator[tuple[int, Any]]:
        """Yield the values in blocks of rows; nothing for distances."""
        loaded = self.load()
        if isinstance(loaded, Rows):
            yield from loaded.blocks(_ENTRIES)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.shape[0]

    def load(self) -> Rows | Rdm:
        """Return the rows or distances, read from the file if there is one.

        Raises OSError or ValueError if the file cannot be read or has changed.
        """
        if isinstance(self.place, Rows | Rdm):
            return self.place
        if self.place.distances:
            rdm: Rdm = self.place.load().distances
            return rdm
        return Rows(self.place.array(), self.place.name, min_rows=0, min_columns=0)
