"""A representation to audit: where it is, its shape, and a fingerprint of its content."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

from shesha.inputs import Names
from shesha.support.types import Index
from shesha.views import Rdm, Rows, take_rows


class Location(Protocol):
    """An array in a file."""

    @property
    def distances(self) -> bool:
        """Whether it contains distances between rows."""
        ...

    @property
    def name(self) -> str:
        """Name of the array."""
        ...

    def take_rows(self, order: Index) -> Any:
        """The same array with its rows in another order."""
        ...

    def array(self) -> Any:
        """Open the array."""
        ...

    def load(self) -> Any:
        """Read the array."""
        ...


@dataclass(frozen=True)
class Subject:
    """A representation with its shape and fingerprint."""

    place: Location | Rows | Rdm
    shape: tuple[int, ...]
    known_fingerprint: str = ""
    """Fingerprint of the content of a file; for rows in memory it is computed when needed."""
    names: Names | None = field(default=None, compare=False)
    """Names of the rows, if known."""

    @classmethod
    def in_memory(cls, X: Rows | Rdm) -> Subject:
        """Describe rows or distances in memory."""
        return cls(X, X.shape if isinstance(X, Rows) else (X.n_rows,), names=X.names)

    def __getstate__(self) -> dict[str, Any]:
        """Drop the row names, which serve only to align rows."""
        return {**self.__dict__, "names": None}

    @cached_property
    def fingerprint(self) -> str:
        """Fingerprint of the content."""
        if not isinstance(self.place, Rows | Rdm):
            return self.known_fingerprint
        # This module imports all measures, which an audit without a store does not need.
        from shesha.comparison.content_fingerprints import fingerprint_as_it_is

        return fingerprint_as_it_is(self.place)

    def take_rows(self, order: Index) -> Subject:
        """Return the same representation with its rows in another order."""
        if isinstance(self.place, Rows | Rdm):
            return Subject.in_memory(take_rows(self.place, order))
        from shesha.comparison.content_fingerprints import reordered_fingerprint

        return Subject(self.place.take_rows(order), self.shape, reordered_fingerprint(self.fingerprint, order))

    @property
    def n_rows(self) -> int:
        """Number of inputs."""
        return self.shape[0]

    def load(self) -> Rows | Rdm:
        """Open the file, if it is one; OSError or ValueError if it cannot be read or has changed."""
        if isinstance(self.place, Rows | Rdm):
            return self.place
        if self.place.distances:
            rdm: Rdm = self.place.load().distances
            return rdm
        return Rows(self.place.array(), self.place.name, min_rows=0, min_columns=0)
