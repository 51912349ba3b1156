"""A representation with its views; its rows from any source, or distances as input in place of features."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from threading import RLock
from typing import Any, ClassVar, Literal, Self, TypeVar, cast
from weakref import ref

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shesha.inputs import NamedRows, Names, split_names, table_values, validation as check
from shesha.inputs.class_labels import class_names
from shesha.inputs.column_words import PICTURE_COLUMNS
from shesha.kernels.condensed_matrices import row_sums, square, take_condensed
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
from shesha.kernels.pairs import condensed_index
from shesha.kernels.rounding_and_scaling import ROUNDING
from shesha.kernels.shapes import rotate_rows
from shesha.kernels.threads import parallel
from shesha.support import device_arrays, memory as memory, types as kinds
from shesha.support.device_arrays import array_shape, input_precision
from shesha.support.provenance import state, state_warning
from shesha.support.types import Array, Index, Mask, Matrix, Vector
from shesha.support.warnings import MeasureWarning, NotEstimable, warn

_ADVICE, _WIDE = '; leave them out (missing="drop")', PICTURE_COLUMNS + 1


class UndirectedRowsError(NotEstimable):
    """Raised if the distances of some rows are undefined under the metric."""

    def __init__(self, rows: Index, metric: str, name: str = "X", *, width: int | None = None) -> None:
        super().__init__(rows, metric, name)
        self.rows, self.metric, self.name, self.width = rows, metric, name, width

    @property
    def kind(self) -> str:
        """What is wrong with the rows: 'zero' or 'constant'."""
        return "zero" if self.metric == "cosine" else "constant"

    def __str__(self) -> str:
        """Name the rows that have no distance."""
        advice = "; coordinates need metric=euclidean" if (self.width or _WIDE) < _WIDE else _ADVICE
        return f"{self.kind} rows have no {self.metric} distance: rows {check.join_items(self.rows)}{advice}"


def standardise(rows: Matrix, metric: Metric, name: str = "X", numbers: Index | None = None) -> Matrix:
    """Return rows in standard form for a metric; raise an error if rows (of these numbers) have no direction."""
    if len(bad := find_undirected_rows(rows, metric)):
        raise UndirectedRowsError(bad if numbers is None else numbers[bad], metric, name, width=rows.shape[1])
    return standard_rows(rows, metric)


def _has_columns_in_other_order(table: Any) -> bool:
    """Return whether rows and columns of a table have the same names in different orders."""
    rows, columns = list(table.index), list(table.columns)
    return rows != columns and table.index.is_unique and len(rows) == len(columns) and set(rows) == set(columns)


_FEWEST_ZEROS, _SOME_ZEROS, _UNLIKE, _FEW_LEVELS, _MOST_ROWS = 3, 0.05, 0.8, 10, 60
"""Fewest equal distances and their smallest share, smallest ratio of the differences between the rows of a zero and
between other rows, most values of ratings and models of categories, and most rows examined."""
_FAR_APART = 10
"""How many times the range of the other distances a value is beyond them if it cannot be a distance."""


def warn_of_unknown_distances(condensed: Vector, n: int) -> None:
    """Warn if one value stands in many pairs in place of a distance.

    It is far beyond all other distances, or the distance of some rows to all others. Or it is 0 between rows that
    differ in their distances to others, as for pairs that were never seen: equal rows have equal distances to all
    others, and rows at a small distance nearly so.
    """
    finite = np.isfinite(condensed)
    for extreme in (condensed.max(initial=-np.inf, where=finite), condensed.min(initial=np.inf, where=finite)):
        filled = condensed == extreme
        if filled.sum() < max(_FEWEST_ZEROS, _SOME_ZEROS * len(condensed)):
            continue
        others = condensed[finite & ~filled]
        if len(np.unique(others)) < _FEW_LEVELS:
            continue
        beyond = max(float(extreme - others.max()), float(others.min() - extreme))
        n_rows = int((square(filled, n).sum(axis=1) == n - 1).sum())
        if n_rows > 1 or beyond > _FAR_APART * np.ptp(others):
            where = f"{n_rows} of {n} rows to all others" if n_rows else f"{filled.mean():.0%} of the pairs"
            state_warning(
                f"{extreme:g} is the distance of {where}, beside distances from {others.min():.3g} to "
                f"{others.max():.3g}, like a code for missing distances; if so, pass NaN"
            )
            return
    zero = condensed == 0
    if not max(_FEWEST_ZEROS, _SOME_ZEROS * len(condensed)) <= zero.sum() < len(condensed):
        return
    matrix = square(np.where(zero, np.nan, condensed), n)[:_MOST_ROWS, :_MOST_ROWS]
    np.fill_diagonal(matrix, np.nan)
    i, j = np.triu_indices(len(matrix), 1)
    both = np.isfinite(matrix[i]) & np.isfinite(matrix[j])
    differences = np.where(both, np.abs(matrix[i] - matrix[j]), 0.0).sum(axis=1) / np.maximum(both.sum(axis=1), 1)
    known, unknown = both.any(axis=1), np.isnan(matrix[i, j])
    if not (known & unknown).any() or not (known & ~unknown).any() or len(np.unique(condensed)) <= _FEW_LEVELS:
        return
    if np.median(differences[known & unknown]) >= _UNLIKE * np.median(differences[known & ~unknown]):
        state_warning(
            "many distances are exactly 0 between rows whose distances to others differ; if these are missing or "
            "were cut at 0, pass NaN or the distances before the cut"
        )


class Rdm:
    """Distances between rows (a representational dissimilarity matrix), for use in place of features.

    Pass it instead of a representation. Measures that need features cannot use it.

    Parameters
    ----------
    D : array of shape (n_samples, n_samples) or (n_samples * (n_samples - 1) / 2,)
        Distances, as a symmetric matrix with zero diagonal or in condensed form, or RDMs of rsatoolbox with one RDM.
        Cross-validated distances may be negative. NaN marks missing distances, such as those of conditions that a
        subject lacks; measures of correlated distances (RSA) then use the pairs of rows that are known on both sides,
        and other measures are not estimable.
    name : str
        Name of the distances in error messages.

    Examples
    --------
    >>> Rdm([[0, 1, 2], [1, 0, 1], [2, 1, 0]])
    Rdm(3 rows)
    """

    def __init__(self, D: ArrayLike, name: str = "D") -> None:
        if not isinstance(name, str):
            raise TypeError(f"name must be a text, got {type(name).__name__}")
        if hasattr(D, "get_matrices"):
            D = _only(_toolbox_distances(D), name)
        # The columns of distances are named after the rows, so their names are no evidence.
        table: Any = D if hasattr(D, "iloc") and hasattr(D, "columns") else None
        if table is not None and _has_columns_in_other_order(table):
            table = D = table[list(table.index)]
            state(f"{name}: columns put in the order of the rows, by their names")
        values, names = split_names(D, name) if table is None else (table_values(D, name), Names.build(table.index))
        self.condensed, self.n_rows = check.rdm(values, name)
        self.n_missing = int(np.isnan(self.condensed).sum())
        self.has_negative = bool((self.condensed < 0).any())
        warn_of_unknown_distances(self.condensed, self.n_rows)
        self.precision = input_precision(values)
        # The names in a condensed triangle would be those of pairs.
        self.names: Names | None = names if len(array_shape(values)) == 2 else None

    @classmethod
    def stack(cls, D: ArrayLike, name: str = "D") -> list[Rdm]:
        """Return one object for each of several representations (subjects, layers, times).

        Parameters
        ----------
        D : array of shape (k, n_samples, n_samples) or (k, n_samples * (n_samples - 1) / 2), or RDMs of rsatoolbox
            Distances in k representations, in square or condensed form. Square matrices may also be stacked along the
            last axis.
        name : str
            Name of the distances in error messages.

        Examples
        --------
        >>> Rdm.stack([[1, 2, 1], [3, 1, 2]])
        [Rdm(3 rows), Rdm(3 rows)]
        """
        if hasattr(D, "get_matrices"):
            return [cls(distances, f"{name}[{number}]") for number, distances in enumerate(_toolbox_distances(D))]
        array = device_arrays.to_host(table_values(D, name))
        if array.ndim not in (2, 3):
            raise ValueError(f"{name} must be a stack (k, n, n) or (k, n (n - 1) / 2), got shape {array.shape}")
        if array.ndim == 3 and array.shape[0] == array.shape[1] != array.shape[2]:
            array = np.moveaxis(array, 2, 0)
        return [cls(distances, f"{name}[{number}]") for number, distances in enumerate(array)]

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the row names, which serve only to align rows."""
        return {**self.__dict__, "names": None}

    def __repr__(self) -> str:
        """Show the number of rows, and of missing distances."""
        missing = f", {self.n_missing:,} of {len(self.condensed):,} distances missing" if self.n_missing else ""
        return f"Rdm({self.n_rows} rows{missing})"

    @property
    def rows_without_distances(self) -> Mask:
        """Which rows, such as conditions that a subject lacks, have no distance to any other row."""
        known = row_sums((~np.isnan(self.condensed)).astype(np.float64), self.n_rows)
        return np.asarray(known == 0)

    def take_rows(self, chosen: Index) -> Rdm:
        """Return the distances between some of the rows."""
        return Rdm(take_condensed(self.condensed, chosen, self.n_rows))


def _toolbox_distances(rdms: Any) -> list[Any]:
    """Return the matrices of RDMs of rsatoolbox, with names of the rows if one descriptor has them."""
    matrices = np.asarray(rdms.get_matrices(), dtype=np.float64)
    descriptors = {key: list(values) for key, values in dict(getattr(rdms, "pattern_descriptors", {})).items()}
    named = [
        values
        for key, values in descriptors.items()
        if key != "index" and len(set(map(str, values))) == len(values) == matrices.shape[1]
    ]
    if len(named) != 1:
        return list(matrices)
    return [NamedRows(matrix, Names.build(np.array(class_names(named[0]), dtype=object))) for matrix in matrices]


def _only(stack: list[Any], name: str) -> Any:
    if len(stack) != 1:
        raise ValueError(
            f"{name} must contain one RDM, got {len(stack)}; pass shesha.Rdm.stack({name}) for all of them"
        )
    return stack[0]


_LARGEST = 5000
"""Largest number of rows for which a matrix is checked for symmetry."""


def looks_like_distances(array: Any) -> bool:
    """Return whether a matrix is square, symmetric, non-negative and nonzero, with a zero diagonal."""
    shape: tuple[int, ...] = getattr(array, "shape", ())
    if len(shape) != 2 or shape[0] != shape[1] or not 2 < shape[0] <= _LARGEST or not device_arrays.is_numpy(array):
        return False
    values = np.asarray(array)
    if values.dtype.kind not in "fiu" or (np.diagonal(values) != 0).any() or not values.any():
        return False
    return bool((values >= 0).all() and np.allclose(values, values.T))


def look_like_similarities(values: Any) -> bool:
    """Return whether a square matrix is symmetric, with one value on its diagonal that none exceeds."""
    shape: tuple[int, ...] = getattr(values, "shape", ())
    is_square = len(shape) == 2 and shape[0] == shape[1] and 2 < shape[0] <= _LARGEST
    if not is_square or not device_arrays.is_numpy(values) or values.dtype.kind != "f":
        return False
    diagonal = np.diagonal(values)
    top = float(diagonal[0])
    same = 0 < top < np.inf and np.allclose(diagonal, top) and not np.array_equal(values, np.diag(diagonal))
    return bool(same and (np.abs(values) <= top * (1 + _TIES)).all() and np.allclose(values, values.T))


_TIES = 1e-5


def hint_of_distances(named: Mapping[str, Any]) -> None:
    """Warn about features that look like a matrix of distances or similarities."""
    for name, X in named.items():
        shape = getattr(X, "shape", ())
        if not (isinstance(shape, tuple) and len(shape) == 2):
            continue
        if shape[0] != shape[1]:
            _state_smooth_columns(X, name)
            continue
        values = split_names(X, name)[0]
        kind = "distances" if looks_like_distances(values) else "similarities" * look_like_similarities(values)
        if kind:
            text = f"{name} looks like a matrix of {kind}, but is used as features"
            rdm = name if kind == "distances" else f"1 - {name}"
            state(text)
            warn(
                f"{text}. If it contains {kind}, pass shesha.Rdm({rdm})"
                + (", or --rdm on the command line" if kind == "distances" else f", or save {rdm} and pass --rdm"),
                MeasureWarning,
            )


def _state_smooth_columns(X: Any, name: str) -> None:
    """State that columns may be times of a recording if each is nearly equal to the next one."""
    n, d = X.shape
    if not isinstance(X, np.ndarray) or X.dtype.kind != "f" or n < _FEWEST_SMOOTH or d < max(2 * n, _FEWEST_TIMES):
        return
    places = np.linspace(0, d - 2, _PLACES).astype(np.intp)
    one, later = (np.asarray(X[:_PLACES, places + step], dtype=np.float64) for step in (0, 1))
    apart = np.asarray(X[:_PLACES, (places + d // 2) % d], dtype=np.float64)
    near, far = ((_unit_columns(one) * _unit_columns(other)).sum(axis=0) for other in (later, apart))
    # A constant column, such as the first one of a filtered series, is like no other.
    near, far = near[np.isfinite(near)], far[np.isfinite(far)]
    if min(len(near), len(far)) > _PLACES / 2 and np.median(near) > _SMOOTH and np.median(np.abs(far)) < _UNLIKE:
        state(
            f"{name}: neighbouring columns are nearly equal (correlation {np.median(near):.2f}), as times are. If rows "
            f"are neurons and columns are times, pass {name}.T (--transpose)"
        )


def _unit_columns(values: NDArray[np.float64]) -> NDArray[np.float64]:
    values = values - values.mean(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(values / np.linalg.norm(values, axis=0))


_FEWEST_SMOOTH, _FEWEST_TIMES, _PLACES, _SMOOTH, _UNLIKE = 8, 100, 64, 0.8, 0.5
"""Fewest rows and columns, number of columns and rows looked at, correlation of neighbouring columns from which on they
are smooth, and correlation below which distant columns are not similar."""


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
    distances_suffice: ClassVar[bool] = False
    """Whether the view can be computed from distances alone."""

    @classmethod
    def build(cls, source: Representation) -> Self:
        """Build the view; its options are keyword-only parameters."""
        raise NotImplementedError

    @classmethod
    def build_subsets(
        cls, source: Representation, subsets: Sequence[Index], **options: Any
    ) -> Iterable[View | None] | None:
        """Build the views of many row subsets at once; None if this is not faster than one by one.

        A subset for which the view does not exist has None.
        """
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
        """Whether the view can be computed from distances alone, with these options."""
        return cls.distances_suffice

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


class OrderKept(View):
    """A view that keeps its rows and the order in which they are read, instead of copies in another order."""

    order: Index | None

    def permute(self, order: Index) -> Self:
        """Reorder the rows: row i of the result is row order[i] of this view."""
        return replace(self, order=order if self.order is None else self.order[order])  # type: ignore[type-var]


class Unordered(View):
    """A view that does not depend on the order of the rows."""

    def permute(self, order: Index) -> Self:
        """Return this view."""
        return self


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
        return standardise(self.rows, metric)

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
            return _copy_distances(self._array.condensed, squared)
        rows = self.standard(metric)
        return condensed_distances(rows, metric, squared=squared), distance_rounding(rows, metric)

    def distances_of_pairs(self, i: Index, j: Index, metric: Metric, *, squared: bool = False) -> tuple[Vector, float]:
        """Distances between the given pairs of rows, and the difference below which two count as equal."""
        check.choice(metric, METRICS, "metric")
        if isinstance(self._array, Rdm):
            return _copy_distances(self._array.condensed[condensed_index(i, j, self.n_rows)], squared)
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


def where_estimable(make: Callable[[Index], V], subsets: Iterable[Index]) -> Iterator[V | None]:
    """Yield the view of each subset, or None where it does not exist."""
    for subset in subsets:
        try:
            yield make(subset)
        except NotEstimable:
            yield None


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


def _copy_distances(distances: Vector, squared: bool) -> tuple[Vector, float]:
    """Return a copy of given distances, or their squares with the same sign, and the tolerance for ties."""
    tolerance = ROUNDING * float(np.nanmax(np.abs(distances), initial=0.0))
    return distances * np.abs(distances) if squared else distances.copy(), tolerance


_ENTRIES = 1 << 20
"""Number of values per block."""


def is_stored(X: Any) -> bool:
    """Return whether X is an array in a file or on a cluster, which is read in slices of rows."""
    if isinstance(X, np.ndarray | Representation) or not all(hasattr(X, name) for name in ("shape", "dtype")):
        return False
    return getattr(X, "chunks", None) is not None or not (
        hasattr(X, "__array__") or hasattr(X, "__dlpack__") or hasattr(X, "toarray")
    )


class RowSource:
    """A matrix, inputs x features, from which any rows can be read; values are checked as they are read.

    Parameters
    ----------
    X : array, mapped file, stored array or Representation
        Source of the rows. Stored arrays (Zarr, HDF5, Dask, `shesha.io.open_matrix`) are read in slices.
    name : str
        Name of the source in error messages.
    """

    def __init__(self, X: Any, name: str = "X") -> None:
        self.name = name
        self._array = X.to_numpy.rows if isinstance(X, Representation) else X
        self.is_stored = not isinstance(self._array, np.ndarray)
        if np.dtype(self._array.dtype).kind not in "fiub":
            raise TypeError(f"{name} must be a matrix of real numbers, got an array of dtype {self._array.dtype}")
        check.shape(tuple(self._array.shape), name, 4, 1)
        self.n_rows, self.n_features = (int(size) for size in self._array.shape)
        step = max(1, _ENTRIES // self.n_features)
        chunks = getattr(self._array, "chunks", None)
        # Whole chunks are read, because reading a part of a chunk decodes all of it.
        chunk = int(np.max(chunks[0])) if chunks else 1
        self._step = max(step // chunk, 1) * chunk

    @property
    def starts(self) -> range:
        """Numbers of the first rows of the blocks."""
        return range(0, self.n_rows, self._step)

    def block(self, start: int) -> Matrix:
        """Return the block of rows that begins at row `start`."""
        return check.finite(np.asarray(self._array[start : start + self._step]), self.name, first_row=start)

    def blocks(self) -> Iterator[tuple[int, Matrix]]:
        """Yield every block with the number of its first row."""
        for start in self.starts:
            yield start, self.block(start)

    def read(self, rows: Index) -> Matrix:
        """Return the rows with the given numbers, which must be in increasing order."""
        if not self.is_stored:
            rows_read = np.ascontiguousarray(self._array[rows], dtype=np.float64)
        else:
            rows_read = np.empty((len(rows), self.n_features))
            for block in np.unique(rows // self._step):
                some = np.flatnonzero(rows // self._step == block)
                first, last = rows[some[0]], rows[some[-1]]
                rows_read[some] = np.asarray(self._array[int(first) : int(last) + 1])[rows[some] - first]
        bad = np.flatnonzero(~np.isfinite(rows_read).all(axis=1))
        if len(bad):
            raise ValueError(f"{self.name} must be finite, got NaN or infinity in rows {check.join_items(rows[bad])}")
        return rows_read


_CHOSEN_ENTRIES = 1 << 18
"""Number of values read at a time."""


class ChosenRows:
    """Selected rows of a matrix or memory-mapped file, without a copy.

    Parameters
    ----------
    given : array of shape (n_samples, n_features)
        Matrix or memory-mapped file.
    numbers : array of shape (n_chosen,)
        Numbers of the selected rows, in the order of the result.
    """

    ndim = 2

    def __init__(self, given: Array, numbers: Index) -> None:
        self._given, self._numbers = given, numbers
        self.shape, self.dtype = (len(numbers), int(given.shape[1])), given.dtype

    def __len__(self) -> int:
        """Number of rows."""
        return len(self._numbers)

    def __getitem__(self, key: Any) -> Array:
        """Return some rows, or some columns of them; two index arrays are combined as `np.ix_` does."""
        if not isinstance(key, tuple):
            return np.asarray(self._given[self._numbers[key]])
        rows, columns = (np.ravel(part) if isinstance(part, np.ndarray) else part for part in key)
        numbers = self._numbers[rows]
        step = max(1, _CHOSEN_ENTRIES // self.shape[1])
        parts = [self._given[numbers[row : row + step]][:, columns] for row in range(0, max(1, len(numbers)), step)]
        return np.concatenate(parts)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """Return a copy of all rows."""
        return np.asarray(self[:], dtype=dtype)


SourceView = TypeVar("SourceView", bound=View)
_SOME = 4096
_COPIED = 16
"""When rows are dropped, the remaining rows are copied if they fit into the memory budget divided by this number."""


class Rows:
    """A matrix, inputs x features, from which any rows can be read; values are checked when they are read.

    Parameters
    ----------
    X : array, mapped file, SciPy sparse matrix, tensor, DataFrame, Representation or Rows
        Source of the rows. Sparse matrices and files are not converted; only the rows that are read become dense.
    name : str
        Name of the source in error messages.
    """

    def __init__(self, X: Any, name: str = "X", *, min_rows: int = 4, min_columns: int = 1) -> None:
        self.names: Names | None
        """Names of the rows, if there are any."""
        if isinstance(X, Rows):
            X, self.names = X._array, X.names
        elif isinstance(X, Representation):
            X, self.names = X.to_numpy.rows, X.names
        else:
            X, self.names = split_names(X, name)
        self.name = name
        self._made: dict[type[View], View] = {}
        self._array: Any
        if hasattr(X, "toarray") and hasattr(X, "tocsr"):
            self._array = _sparse(X, name)
            check.shape(X.shape, name, min_rows, min_columns)
        elif isinstance(X, ChosenRows):
            self._array = X
        else:
            self._array = check.raw_matrix(X, name, min_rows=min_rows, min_columns=min_columns)
        stored = X if device_arrays.stays(X) else self._array.data if self.is_sparse else self._array
        self.precision = input_precision(stored)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the row names, which serve only to align rows."""
        return {**self.__dict__, "names": None}

    @property
    def is_sparse(self) -> bool:
        """Whether the source is a sparse matrix, which stores only nonzero entries."""
        return not isinstance(self._array, np.ndarray | ChosenRows)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and features."""
        n, d = self._array.shape
        return int(n), int(d)

    def __len__(self) -> int:
        """Number of rows."""
        return self.shape[0]

    def read(self, rows: Index | slice) -> Matrix:
        """Return some rows in double precision, without checking their values."""
        chosen = self._array[rows]
        if self.is_sparse:
            chosen = chosen.toarray()
        return np.asarray(chosen, dtype=np.float64)

    def blocks(self, entries: int) -> Iterator[tuple[int, Matrix]]:
        """Yield consecutive blocks of rows with about `entries` values, each with its first row number."""
        step = max(1, entries // max(1, self.shape[1]))
        for start in range(0, len(self), step):
            yield start, self.read(slice(start, start + step))

    def map_blocks(self, entries: int, work: Callable[[int, Matrix], Result]) -> Iterator[Result]:
        """Yield in order what the work returns for each block and its first row number, with all threads."""
        step = max(1, entries // max(1, self.shape[1]))
        return parallel(lambda at: work(at, self.read(slice(at, at + step))), range(0, len(self), step))

    def require_finite(self) -> None:
        """Raise an error that names rows with NaN or infinity, without a copy of all rows."""
        for _ in self.map_blocks(_ENTRIES, lambda start, block: check.finite(block, self.name, first_row=start)[:0]):
            pass

    def rows_without_direction(self, metric: Metric) -> Index:
        """Return the rows for which a metric is undefined, without a copy of all rows."""
        found = self.map_blocks(_ENTRIES, lambda start, block: start + find_undirected_rows(block, metric))
        return np.concatenate([np.empty(0, dtype=np.intp), *found])

    @property
    def sample(self) -> Array:
        """All rows if reading them is cheap; only the first few thousand rows of a sparse matrix."""
        return self.read(slice(0, _SOME)) if self.is_sparse else cast(Array, self._array)

    def take_rows(self, rows: Index) -> Rows:
        """Return only the given rows: a copy if it is small, and otherwise a view."""
        if self.is_sparse or self._array.dtype.itemsize * len(rows) * self.shape[1] * _COPIED <= memory.memory_budget():
            return Rows(self._array[rows], self.name, min_rows=0, min_columns=0)
        result = copy(self)
        # What was computed for all rows is not valid for some of them.
        result.__dict__.pop("whole", None)
        result.names, result._made, result._array = None, {}, ChosenRows(self._array, rows)
        return result

    def take_columns(self, columns: Index) -> Rows:
        """Return only the given features."""
        return Rows(self._array[:, columns], self.name, min_rows=0, min_columns=0)

    def view(self, kind: type[SourceView]) -> SourceView:
        """Return a view, built from blocks of rows if possible, and otherwise from all rows at once."""
        make = getattr(kind, "from_rows", None)
        if make is None:
            return self.whole.view(kind)
        if kind not in self._made:
            self._made[kind] = make(self)
        return cast(SourceView, self._made[kind])

    def __getitem__(self, rows: slice) -> Matrix:
        """Return some rows in double precision."""
        return self.read(rows)

    def drop_views(self) -> None:
        """Free the memory of views of all rows at once."""
        if "whole" in self.__dict__:
            self.whole.drop_views()

    @cached_property
    def whole(self) -> Representation:
        """All rows at once, checked; raises an error if they exceed the memory budget."""
        n, d = self.shape
        memory.require(16 * n * d, f"{n:,} rows x {d:,} features", "pass fewer rows")
        dense = self._array.toarray() if self.is_sparse else self._array
        return Representation(check.finite(dense, self.name), self.precision)


def rows_or_distances(X: Any, name: str = "X", *, min_rows: int = 4, min_columns: int = 1) -> Rows | Rdm:
    """Return the input of a score as rows, or as distances if only those are known."""
    if isinstance(X, Representation) and X.has_distances_only:
        return X.distances
    return X if isinstance(X, Rdm) else Rows(X, name, min_rows=min_rows, min_columns=min_columns)


def representation_from(X: Rows | Rdm) -> Representation:
    """Return the representation from which views are built."""
    return X.whole if isinstance(X, Rows) else Representation.build(X)


def _sparse(X: Any, name: str) -> Any:
    if X.dtype.kind not in "fiub":
        raise TypeError(f"{name} must be a matrix of real numbers, got an array of dtype {X.dtype}")
    return X.tocsr()
