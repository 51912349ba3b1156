"""A representation with its views, and the base class of views."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from threading import RLock
from typing import Any, ClassVar, Literal, Self, TypeVar, cast
from weakref import ref

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shesha.inputs import Names, split_names
from shesha.inputs import validation as check
from shesha.kernels.distances import (
    METRICS,
    Metric,
    condensed_distances,
    distance_rounding,
    find_undirected_rows,
    pair_distances,
    standard_rows,
)
from shesha.kernels.map_flattening import ROWS, Folding, average_pool, fold
from shesha.kernels.orthogonal_maps import rotate_rows
from shesha.kernels.pairs import condensed_index
from shesha.kernels.rounding_and_scaling import ROUNDING
from shesha.support import argument_types as kinds
from shesha.support import device_arrays
from shesha.support.device_arrays import input_precision
from shesha.support.types import Index, Matrix, Vector
from shesha.support.warnings import NotEstimable
from shesha.views.rdm_input import Rdm
from shesha.views.undirected_rows_error import UndirectedRowsError

V = TypeVar("V", bound="View")
Result = TypeVar("Result")

Standard = Literal["dot", "cosine", "correlation", "euclidean"]
STANDARDS: tuple[Standard, ...] = ("dot", *METRICS)
"""Ways to compare rows: by their inner product, or by a distance."""


_WIDE, _LARGE = 4, 2**26
"""A matrix is wide if it has so many times more features than rows, and more than so many bytes."""


@dataclass(frozen=True)
class Symmetric:
    """A symmetric matrix: upper triangle (counted `weight` times) and diagonal (None if zero)."""

    triangle: Vector
    diagonal: Vector | None
    weight: float


class View:
    """The part of a representation that a measure needs; subclasses are frozen and hold plain arrays."""

    folding: ClassVar[Folding] = "rows"
    """Whether the positions of feature maps are folded into rows or into columns."""

    @classmethod
    def build(cls, source: Representation) -> Self:
        """Build the view; its options are keyword-only parameters."""
        raise NotImplementedError

    @classmethod
    def build_subsets(cls, source: Representation, subsets: Sequence[Index], **options: Any) -> list[Self] | None:
        """Build the views of many row subsets at once; None if this is not faster than one by one."""
        return None

    @classmethod
    def average(cls, views: Sequence[Self], **options: Any) -> Self | None:
        """Average the views of repeated measurements; None if the features must be averaged instead."""
        return None

    @classmethod
    def memory(cls, n: int, d: int, **options: Any) -> tuple[int, int]:
        """Bytes that the view needs for n rows and d features, and more while it is built and compared."""
        return 24 * n * d, 24 * n * d

    @classmethod
    def takes_distances(cls, **options: Any) -> bool:
        """Whether the view can be computed from distances alone."""
        return False

    def permute(self, order: Index) -> Self:
        """Reorder the rows: row i of the result is row order[i] of this view."""
        raise NotImplementedError

    def cache_for_pair(self, other: View, name: str, work: Callable[[], Result]) -> Result:
        """Compute a result for two views once, for all measures that use it.

        The result is stored in `other` until `other` is combined with another view. In a null distribution, `other`
        exists only for one draw.
        """
        kept = other.__dict__.get(_BETWEEN)
        if kept is None or kept[0]() is not self:
            kept = ref(self), {}
            other.__dict__[_BETWEEN] = kept
        results: dict[str, Result] = kept[1]
        if name not in results:
            results[name] = work()
        return results[name]

    def __getstate__(self) -> dict[str, Any]:
        """Leave out cached results that involve another view."""
        return {name: value for name, value in self.__dict__.items() if name != _BETWEEN}


_BETWEEN = "_between"


class Representation:
    """A validated matrix (or feature maps, or distances) and its views, each of which is built once."""

    def __init__(self, array: NDArray[np.float64] | Rdm, precision: float) -> None:
        self._array = array
        """The values; an array from another library if they are on a device."""
        self.precision = precision
        """Relative rounding error of the stored numbers, which is larger in single precision."""
        self.names: Names | None = None
        """Names of the rows, until the rows have been aligned."""
        self._made: dict[Any, Any] = {}
        self._lock = RLock()

    @classmethod
    def build(cls, X: ArrayLike | Rdm | Representation, name: str = "X") -> Representation:
        """Check the input and build the representation; a representation is returned unchanged."""
        if isinstance(X, Representation):
            return X
        if isinstance(X, Rdm):
            source, names = cls(X, X.precision), X.names
        else:
            values, names = split_names(X, name)
            source = cls(check.representation(values, name), input_precision(values))
        source.names = names
        return source

    @property
    def to_numpy(self) -> Representation:
        """The representation for use with NumPy functions."""
        # Caching self would create a reference cycle, whose memory only the garbage collector could free.
        return self if isinstance(self._array, Rdm) or device_arrays.is_numpy(self._array) else self._to_numpy

    @cached_property
    def _to_numpy(self) -> Representation:
        return Representation(np.ascontiguousarray(device_arrays.to_host(self._array)), self.precision)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self._array.n_rows if isinstance(self._array, Rdm) else int(self._array.shape[0])

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array, or (n,) for distances between n rows."""
        return (self.n_rows,) if isinstance(self._array, Rdm) else tuple(self._array.shape)

    @property
    def has_distances_only(self) -> bool:
        """Whether only distances between rows are known."""
        return isinstance(self._array, Rdm)

    @property
    def distances(self) -> Rdm:
        """The distances, if only distances are known."""
        assert isinstance(self._array, Rdm)
        return self._array

    @property
    def rows(self) -> Matrix:
        """The matrix, inputs x features; raises an error if only distances are known."""
        if isinstance(self._array, Rdm):
            raise NotEstimable("features are needed, got distances between rows")
        return self._array

    @property
    def is_wide(self) -> bool:
        """Whether rows have so many features that views are better built from `rotated`; depends on the shape only."""
        return type(self) is Representation and not self.has_distances_only and _is_wide(*self.size("columns"))

    @property
    def rotated(self) -> Representation:
        """Rows with the same inner products in as many coordinates as there are rows, for a wide representation.

        Measures that are invariant to rotations give the same value up to rounding, from far less memory.
        """
        array = self._array
        if not self.is_wide or isinstance(array, Rdm) or not device_arrays.is_numpy(array) or array.ndim != 2:
            return self
        return cast(
            Representation,
            self.cached(("fold", "rotated"), lambda: Representation(rotate_rows(array), self.precision)),
        )

    def size(self, folding: Folding) -> tuple[int, int]:
        """Number of rows and number of columns after folding."""
        n, *rest = self.shape
        columns = int(np.prod(rest)) if rest else 1
        if len(rest) == 2 and folding == "rows":
            return n * rest[0], rest[1]
        if len(rest) == 3 and folding == "rows":
            return min(n * rest[1] * rest[2], 2 * ROWS), rest[0]
        return n, columns

    def __getstate__(self) -> tuple[Any, float]:
        """Leave out views when pickling, and move arrays from devices to the host."""
        return self.to_numpy._array, self.precision

    def __setstate__(self, state: tuple[Any, float]) -> None:
        """Start without views."""
        self.__init__(*state)  # type: ignore[misc]

    def view(self, kind: type[V], **options: Any) -> V:
        """Return the view, and build it if it does not exist yet."""
        for name, value in options.items():
            kinds.label(value, name)
        return cast(V, self.cached((kind, *sorted(options.items())), lambda: kind.build(self, **options)))

    def cached(self, key: Any, make: Callable[[], Any]) -> Any:
        """Return the cached result for a key, or compute it; a failure is cached as well."""
        with self._lock:
            if key not in self._made:
                try:
                    self._made[key] = make()
                except NotEstimable as reason:
                    self._made[key] = reason
            result = self._made[key]
        if isinstance(result, NotEstimable):
            raise copy(result)
        return result

    def drop_views(self, *, keep: type[View] | None = None) -> None:
        """Free the memory of all views, except those of one kind."""
        with self._lock:
            self._made = {key: view for key, view in self._made.items() if key[0] in ("fold", keep)}
            for key, source in self._made.items():
                if key[0] == "fold":
                    source.drop_views(keep=keep)

    def standard(self, metric: Standard) -> Matrix:
        """Return the rows in standard form for a metric; raise an error for zero (or constant) rows."""
        if metric == "dot":
            return self.rows
        check.choice(metric, STANDARDS, "metric")
        bad = find_undirected_rows(self.rows, metric)
        if len(bad):
            raise UndirectedRowsError(bad, metric)
        return standard_rows(self.rows, metric)

    def condensed_distances(
        self, metric: Metric, *, squared: bool = False, missing: bool = False
    ) -> tuple[Vector, float]:
        """Distances between all pairs i < j, in any unit, and the difference below which two are equal.

        Squares keep the sign of negative distances. Missing distances (NaN) are refused unless `missing`.
        """
        check.choice(metric, METRICS, "metric")
        if isinstance(self._array, Rdm):
            if self._array.n_missing and not missing:
                raise NotEstimable(
                    f"{self._array.n_missing:,} distances are missing (NaN), which only measures of correlated "
                    "distances, such as RSA, can leave out"
                )
            return _given_distances(self._array.condensed, squared)
        rows = self.standard(metric)
        return condensed_distances(rows, metric, squared=squared), distance_rounding(rows, metric)

    def distances_of_pairs(self, i: Index, j: Index, metric: Metric, *, squared: bool = False) -> tuple[Vector, float]:
        """Distances between the given pairs of rows, and the difference below which two count as equal."""
        check.choice(metric, METRICS, "metric")
        if isinstance(self._array, Rdm):
            return _given_distances(self._array.condensed[condensed_index(i, j, self.n_rows)], squared)
        rows = self.standard(metric)
        return pair_distances(rows, i, j, metric, squared=squared), distance_rounding(rows, metric)

    def take_rows(self, chosen: Index) -> Representation:
        """Return the representation of some of the rows."""
        if isinstance(self._array, Rdm):
            return Representation(self._array.take_rows(chosen), self.precision)
        return Representation(device_arrays.take_rows(self._array, chosen), self.precision)

    def fold(self, folding: Folding, grid: tuple[int, int] | None) -> Representation:
        """Return the representation as a matrix; feature maps are pooled to the grid and then folded."""
        if isinstance(self._array, Rdm) or self._array.ndim == 2:
            return self
        array = self._array
        return cast(
            Representation,
            self.cached(
                ("fold", folding, grid),
                lambda: Representation(fold(average_pool(array, grid), folding), self.precision),
            ),
        )


def _is_wide(n: int, d: int) -> bool:
    return d >= _WIDE * n and 8 * n * d > _LARGE


def check_named_arrays(device_arrays: Mapping[Any, Any], argument: str, label: str) -> dict[str, Representation]:
    """Check named arrays; `label` formats their names in messages."""
    sources = {str(name): Representation.build(X, label.format(name)) for name, X in device_arrays.items()}
    if len(sources) < len(device_arrays):
        raise ValueError(f"{argument} must have distinct names as text, got {', '.join(map(repr, device_arrays))}")
    return sources


def move_to_one_device(sources: Sequence[Representation], *, anywhere: bool) -> list[Representation]:
    """Move all arrays to NumPy, unless all are on a device and the computation can run there."""
    if anywhere and not any(source is source.to_numpy for source in sources):
        return list(sources)
    return [source.to_numpy for source in sources]


def aligned(
    a: Representation, b: Representation, folding: Folding, *, anywhere: bool = False
) -> tuple[Representation, Representation]:
    """Return two representations as comparable matrices; `anywhere` leaves them on their device."""
    a, b = move_to_one_device((a, b), anywhere=anywhere)
    if a is b and len(a.shape) == 2:
        return a, b
    where = choose_folding(a, b, folding)
    maps = [source.shape for source in (a, b) if len(source.shape) == 4]
    grid = (min(s[2] for s in maps), min(s[3] for s in maps)) if maps else None
    return a.fold(where, grid), b.fold(where, grid)


def choose_folding(a: Representation, b: Representation, folding: Folding) -> Folding:
    """Choose how positions are folded: into rows only if both sides have positions, else into columns."""
    kinds = {len(a.shape), len(b.shape)}
    return "columns" if len(kinds) > 1 else "rows" if kinds == {3} else folding


def _given_distances(distances: Vector, squared: bool) -> tuple[Vector, float]:
    """Return a copy of given distances, or their squares with the same sign, and the tolerance for ties."""
    tolerance = ROUNDING * float(np.nanmax(np.abs(distances), initial=0.0))
    return distances * np.abs(distances) if squared else distances.copy(), tolerance
