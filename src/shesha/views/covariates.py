"""Covariates of rows, and residuals of representations after regression on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shesha.inputs import labels_in_order, validation as check
from shesha.inputs.class_labels import refuse_measurements_as_text
from shesha.kernels.condensed_matrices import square
from shesha.kernels.distances import Metric
from shesha.kernels.regression import MOST_TERMS, natural_spline
from shesha.kernels.rounding_and_scaling import is_constant, length_unit
from shesha.nulls.design_builder import STRATUM, match_by_distance
from shesha.nulls.restricted_permutations import Exchange
from shesha.support.device_arrays import to_host
from shesha.support.types import Index, Matrix, Vector
from shesha.support.warnings import NotEstimable
from shesha.views.representation import Rdm, Representation, View

_COUNTS = (6, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40)
_MORE = 1.5
"""Factor by which the number of terms from cross-validation is increased, because tests detect even small curvature."""
_MOST_FEATURES = 256
_MOST_JUMPS, _OF_A_JUMP = 3, 2
"""Largest number of jumps per covariate, and the degrees of freedom that a jump at an unknown position uses."""


def orthonormal_basis(terms: Matrix) -> Matrix:
    """Orthonormal columns that span the centred terms."""
    u, values, _ = np.linalg.svd(terms - terms.mean(axis=0), full_matrices=False)
    return np.ascontiguousarray(u[:, values > 1e-9 * max(1.0, float(values.max(initial=0.0)))])


def choose_terms(
    numbers: Mapping[str, Vector], rest: Matrix, sides: Sequence[Matrix], fewest: int, most: int
) -> dict[str, Matrix]:
    """Choose the terms of each numeric covariate in turn: spline terms, and jumps that they cannot fit.

    Parameters
    ----------
    numbers : mapping of names to arrays of shape (n,)
        Numeric covariates, by name.
    rest : array of shape (n, n_columns)
        Columns of those covariates that are labels.
    sides : arrays of shape (n, n_features)
        Features of each representation; the one that needs the most terms decides.
    fewest, most : int
        Smallest and largest number of spline terms per covariate.

    References
    ----------
    .. [1] Craven & Wahba 1979, Smoothing noisy data with spline functions, Numerische Mathematik 31.
    .. [2] Friedman 1991, Multivariate adaptive regression splines, Annals of Statistics 19 (cost of a knot position).
    """
    chosen = {name: natural_spline(number, fewest) for name, number in numbers.items()}
    candidates = [fewest, *(count for count in _COUNTS if fewest < count < most), most]
    rows = [_sample(side) for side in sides]
    for name, number in numbers.items() if most > fewest else ():
        fixed = np.concatenate([rest, *(terms for other, terms in chosen.items() if other != name)], axis=1)
        chosen[name] = _spline_and_jumps(number, fixed, rows, candidates)
    return chosen


def _spline_and_jumps(number: Vector, fixed: Matrix, rows: Sequence[Matrix], candidates: Sequence[int]) -> Matrix:
    """Jumps and spline terms of one covariate, as many as the most demanding side needs."""
    fewest, most = candidates[0], candidates[-1]
    splines = [natural_spline(number, count) for count in candidates]
    models = []
    for n_jumps in range(_MOST_JUMPS + 1):
        jumps = _jumps(number, fixed, rows, n_jumps)
        terms = np.concatenate([fixed, jumps], axis=1)
        losses = [_losses(rows, np.concatenate([terms, spline], axis=1), n_jumps) for spline in splines]
        models.append((jumps, np.array(losses)))
    jumps, least = models[int(np.argmin([losses.min(axis=0) for _, losses in models], axis=0).max())]
    best = candidates[int(np.argmin(least, axis=0).max())]
    spline = natural_spline(number, min(most, round(_MORE * best))) if best > fewest else splines[0]
    return np.concatenate([spline, jumps], axis=1)


def _jumps(number: Vector, fixed: Matrix, rows: Sequence[Matrix], n_jumps: int) -> Matrix:
    """Place a number of jumps in addition to a line, each at the best position given the others."""
    line = np.concatenate([fixed, number[:, None]], axis=1)
    jumps = np.empty((len(number), 0))
    # Jumps are placed one by one; afterwards, each is placed again twice, given the others.
    for step in range(3 * n_jumps):
        kept = jumps if step < n_jumps else np.delete(jumps, 0, axis=1)
        jump = _best_jump(number, rows, np.concatenate([line, kept], axis=1))
        if jump is None:
            break
        jumps = np.concatenate([kept, jump[:, None]], axis=1)
    return jumps


def _best_jump(number: Vector, rows: Sequence[Matrix], terms: Matrix) -> Vector | None:
    """Return the jump that explains the largest share of a side's residual; None if the residual is zero."""
    basis = orthonormal_basis(terms)
    order = np.argsort(number, kind="stable")
    ends = np.flatnonzero(np.diff(number[order]) > 0)
    n, below = len(number), ends + 1.0
    lengths = below * (n - below) / n - (np.cumsum(basis[order], axis=0)[ends] ** 2).sum(axis=1)
    inverse = np.where(lengths > 1e-6 * n, 1 / np.maximum(lengths, 1e-6 * n), 0.0)
    best, share = None, 0.0
    for side in rows:
        residuals = side - basis @ (basis.T @ side)
        gains = (np.cumsum(residuals[order], axis=0)[ends] ** 2).sum(axis=1) * inverse
        place, total = int(np.argmax(gains)), float((residuals**2).sum())
        if total > 0 and gains[place] > share * total:
            best, share = (number > number[order[ends[place]]]).astype(np.float64), float(gains[place]) / total
    return best


def _sample(side: Matrix) -> Matrix:
    columns = np.unique(np.linspace(0, side.shape[1] - 1, _MOST_FEATURES).astype(np.intp))
    chosen = side[:, columns]
    chosen = chosen / length_unit(chosen)
    return np.asarray(chosen - chosen.mean(axis=0))


def _losses(rows: Sequence[Matrix], terms: Matrix, n_jumps: int) -> list[float]:
    """Generalised cross-validation loss of each side: residual squares over squared degrees of freedom."""
    basis = orthonormal_basis(terms)
    free = len(terms) - 1 - basis.shape[1] - (_OF_A_JUMP - 1) * n_jumps
    return [float((side**2).sum() - ((basis.T @ side) ** 2).sum()) / max(free, 1) ** 2 for side in rows]


FEWEST_FREE = 4
"""Smallest number of degrees of freedom that must remain after the covariates are removed."""
_ROWS_PER_TERM, _MOST_FITTED = 5, 40
"""Smallest number of rows per spline term of a numeric covariate, and largest number of terms."""
_NOTHING = 1e-10
"""If a residual is shorter than this share of its feature's length, it is a rounding error."""


@dataclass(frozen=True)
class Covariates:
    """Covariates as standardised columns, or as distances between rows if only those are known."""

    columns: Matrix | None
    """Standardised numeric covariates, and for each label covariate one column per class."""
    given: Rdm | None = None
    terms: Matrix | None = None
    """Regressors of the features: spline terms for each numeric covariate, and the columns of labels."""
    numbers: Mapping[str, Vector] = field(default_factory=dict)
    """The numeric covariates by name."""
    parts: Mapping[str, Matrix] = field(default_factory=dict)
    """The columns of each covariate, by name."""

    @classmethod
    def build(cls, covariates: ArrayLike | Rdm, n_rows: int) -> Covariates:
        """Check the covariates.

        Parameters
        ----------
        covariates : array of shape (n_rows,) or (n_rows, n_covariates), DataFrame, mapping of names to columns, or Rdm
            Numbers or labels. Text, booleans, and whole numbers with at most one distinct value per ten rows count as
            labels.
        n_rows : int
            Number of rows of the data.

        Raises
        ------
        ValueError
            If covariates do not match the rows, have missing values, are constant, or leave too few degrees of freedom.
        """
        if isinstance(covariates, Rdm):
            if covariates.n_rows != n_rows:
                raise ValueError(f"covariates must have the {n_rows} rows of the data, got {covariates.n_rows} rows")
            return cls(None, covariates)
        parts = {name: _code_column(column, name, n_rows) for name, column in _columns(covariates, n_rows)}
        numbers = {name: part[:, 0] for name, part in parts.items() if len(np.unique(part)) > len(part.T) + 1}
        n_terms = int(np.clip(_most_terms(n_rows, numbers), 1, MOST_TERMS))
        if not parts:
            raise ValueError("covariates must have at least one column, got none")
        terms = _terms(parts, {name: natural_spline(number, n_terms) for name, number in numbers.items()})
        result = cls(np.concatenate(list(parts.values()), axis=1), terms=terms, numbers=numbers, parts=parts)
        if n_rows - result.n_taken < FEWEST_FREE:
            raise ValueError(
                f"covariates must leave at least {FEWEST_FREE} degrees of freedom of {n_rows} rows, got "
                f"{result.n_taken} terms including the mean (a label has one term per class); use fewer covariates"
            )
        return result

    def fit(self, *sides: Matrix) -> Covariates:
        """Return covariates with as many spline terms as the features need, but no fewer than before.

        Parameters
        ----------
        *sides : arrays of shape (n_rows, n_features)
            Features of the representations.
        """
        most = min(_MOST_FITTED, _most_terms(self.n_rows, self.numbers))
        if most <= MOST_TERMS:
            return self
        labels = [part for name, part in self.parts.items() if name not in self.numbers]
        rest = np.concatenate([np.empty((self.n_rows, 0)), *labels], axis=1)
        return replace(self, terms=_terms(self.parts, choose_terms(self.numbers, rest, sides, MOST_TERMS, most)))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.given.n_rows if self.given is not None else len(self._columns)

    @property
    def _columns(self) -> Matrix:
        assert self.columns is not None
        return self.columns

    @cached_property
    def basis(self) -> Matrix:
        """Orthonormal columns that span the centred terms."""
        terms = self._columns if self.terms is None else self.terms
        return orthonormal_basis(terms)

    @property
    def n_taken(self) -> int:
        """Number of degrees of freedom that the covariates use: one for the mean, and one per term."""
        return 1 + int(self.basis.shape[1])

    def residuals(self, rows: Matrix) -> Matrix:
        """Return residuals of the rows after regression on smooth functions of the covariates; keep means."""
        unit = length_unit(rows)
        rows = rows / unit
        mean = rows.mean(axis=0)
        centred = rows - mean
        residuals = centred - self.basis @ (self.basis.T @ centred)
        lengths, norms = np.linalg.norm(centred, axis=0), np.linalg.norm(residuals, axis=0)
        residuals[:, norms <= _NOTHING * lengths] = 0.0
        residuals += mean
        return _in_unit(residuals, unit)

    def permute(self, residuals: Matrix, order: Index) -> Matrix:
        """Permute residuals so that they stay free of the covariates and keep their degrees of freedom.

        If the permuted rows were adjusted again, they would lose the directions that fall into the space of the
        covariates, and unrelated data with many features would then look related. Instead, the permutation is replaced
        by the nearest orthogonal matrix that maps the space of the residuals to itself.
        """
        unit = length_unit(residuals)
        rows = residuals / unit
        mean = rows.mean(axis=0)
        moved = np.where(is_constant(rows), 0.0, rows - mean)[order]
        basis, turned = self.basis, self.basis[order]
        lost = basis.T @ moved
        u, cosines, right = np.linalg.svd(turned.T @ basis)
        back = (turned @ u - basis @ (right.T * cosines)) / (1 + cosines)
        return _in_unit(moved - basis @ lost - back @ (right @ lost) + mean, unit)

    def take(self, rows: Index) -> Covariates:
        """Return the covariates of some of the rows."""
        if self.given is not None:
            return Covariates(None, self.given.take_rows(rows))
        return Covariates(self._columns[rows], terms=None if self.terms is None else self.terms[rows])

    @cached_property
    def distances(self) -> Rdm:
        """Distances between the covariates of the rows: as given, or Euclidean."""
        if self.given is not None:
            return self.given
        lengths = np.einsum("ij,ij->i", self._columns, self._columns)
        squared = lengths[:, None] + lengths - 2 * self._columns @ self._columns.T
        # Rows with equal covariates get distance zero, despite rounding errors.
        distances = np.sqrt(np.where(squared > 1e-12 * (1 + lengths[:, None]), squared, 0.0))
        np.fill_diagonal(distances, 0.0)
        return Rdm((distances + distances.T) / 2, "covariates")

    def design(self, blocks: ArrayLike | None = None) -> Exchange:
        """Return the design that permutes rows only among those with similar covariates."""
        return match_by_distance(square(self.distances.condensed, self.n_rows), "covariates", blocks)


def _in_unit(rows: Matrix, unit: float) -> Matrix:
    """Multiply rows by a unit; residuals of the largest numbers may exceed them, and are cut there."""
    most = np.finfo(np.float64).max / max(unit, 1.0)
    return np.asarray(np.clip(rows, -most, most, out=rows) * unit)


def _most_terms(n_rows: int, numbers: Mapping[str, Vector]) -> int:
    """Return how many terms each number may have so that most degrees of freedom remain."""
    n_numbers = int(np.linalg.matrix_rank(list(numbers.values()))) if numbers else 0
    return n_rows // (_ROWS_PER_TERM * n_numbers) if n_numbers else 0


def _terms(parts: Mapping[str, Matrix], of_numbers: Mapping[str, Matrix]) -> Matrix:
    """Return the regressors: terms for each number, and the columns of labels."""
    return np.concatenate([of_numbers.get(name, part) for name, part in parts.items()], axis=1)


def _columns(covariates: Any, n_rows: int) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield each covariate with its name."""
    if hasattr(covariates, "columns") and hasattr(covariates, "iloc"):
        columns = [(f"covariates[{str(name)!r}]", np.asarray(covariates[name])) for name in covariates.columns]
    elif isinstance(covariates, Mapping):
        columns = [(f"covariates[{str(name)!r}]", to_host(column, str(name))) for name, column in covariates.items()]
        _require_vectors(columns)
    else:
        array = to_host(covariates, "covariates")
        if array.ndim not in (1, 2) or 0 in array.shape:
            raise ValueError(f"covariates must be of shape (n,) or (n, n_covariates), got shape {array.shape}")
        if array.ndim == 1:
            columns = [("covariates", array)]
        else:
            columns = [(f"column {number} of covariates", column) for number, column in enumerate(array.T)]
    for name, column in columns:
        if len(column) != n_rows:
            raise ValueError(f"{name} must have one value for each of the {n_rows} rows, got {len(column)}")
        yield name, column


def _require_vectors(columns: list[tuple[str, NDArray[Any]]]) -> None:
    if not columns:
        raise ValueError("covariates must contain at least one covariate, got an empty mapping")
    for name, column in columns:
        if column.ndim != 1:
            raise ValueError(f"{name} must be of shape (n,), got shape {column.shape}")


def _code_column(column: NDArray[Any], name: str, n_rows: int) -> Matrix:
    """Standardise a column of numbers; turn a column of labels into one column per class."""
    if column.dtype.kind == "O":
        column = _numbers_if_all_are(column)
    codes, values = check.labels(column, n_rows, name, min_classes=1)
    refuse_measurements_as_text(values, n_rows, name)
    if len(values) < 2:
        raise ValueError(f"{name} must vary between rows, got {values[0]!s} in all rows")
    few = values.dtype.kind in "iu" and len(values) <= max(2, n_rows // STRATUM)
    if values.dtype.kind in "iuf" and not few:
        numbers = np.asarray(column, dtype=np.float64)
        numbers = numbers / np.abs(numbers).max()
        return np.asarray((numbers - numbers.mean()) / numbers.std())[:, None]
    return np.eye(len(values))[codes]


def _numbers_if_all_are(column: NDArray[Any]) -> NDArray[Any]:
    """Convert a column of objects to numbers if all are numbers, as in a DataFrame that also has text."""
    numbers = (int, float, np.integer, np.floating)
    if all(isinstance(value, numbers) and not isinstance(value, bool) for value in column):
        return column.astype(np.float64)
    return column


_ONLY_DISTANCES = "controlling for covariates needs features and covariate columns, got a distance matrix"


class Adjusted(Representation):
    """A representation from which covariates have been regressed out.

    If the measure compares distances, the covariates are regressed out of the distances, otherwise out of the features.
    If the representation or the covariates are given as distances, only distances can be adjusted and compared.
    """

    def __init__(self, given: Representation, covariates: Covariates) -> None:
        self.given, self.covariates = given, covariates
        self.by_distances = given.has_distances_only or covariates.columns is None
        array = given._array if self.by_distances else covariates.residuals(given.rows)
        super().__init__(array, given.precision)

    @property
    def rows(self) -> Matrix:
        """The residuals of the features after regression on the covariates."""
        self._require_features()
        return super().rows

    @property
    def distances(self) -> Rdm:
        """Raise an error, because given distances are not adjusted."""
        raise NotEstimable(_ONLY_DISTANCES)

    def condensed_distances(
        self, metric: Metric, *, squared: bool = False, missing: bool = False
    ) -> tuple[Vector, float]:
        """Distances between the adjusted rows, and the difference below which two count as equal."""
        self._require_features()
        return super().condensed_distances(metric, squared=squared, missing=missing)

    def _require_features(self) -> None:
        if self.by_distances:
            raise NotEstimable(_ONLY_DISTANCES)

    def take_rows(self, chosen: Index) -> Adjusted:
        """Return the representation of some rows, adjusted for the covariates of these rows."""
        return Adjusted(self.given.take_rows(chosen), self.covariates.take(chosen))

    def __getstate__(self) -> tuple[Any, Any]:
        """Leave out views when pickling, because each copy computes its views again."""
        return self.given, self.covariates

    def __setstate__(self, state: tuple[Any, Any]) -> None:
        """Start without views."""
        self.__init__(*state)  # type: ignore[misc]


@dataclass(frozen=True)
class Refitted(View):
    """A view of an adjusted representation for a null, which adjusts every permutation again."""

    source: Adjusted
    look: Callable[[Representation], View]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.source.n_rows

    def permute(self, order: Index) -> View:  # type: ignore[override]
        """Return the view of the residuals in another order, adjusted again."""
        # The residuals stay free of the covariates and keep their degrees of freedom.
        rows = self.source.covariates.permute(self.source.rows, order)
        return self.look(Representation(rows, self.source.precision))


def adjust_for_covariates(
    sides: list[Representation], covariates: ArrayLike | Rdm | None
) -> tuple[list[Representation], Any]:
    """Adjust all sides for covariates; return them and the covariates (None if there are none)."""
    if covariates is None:
        return sides, None
    for side in sides:
        if len(side.shape) > 2:
            raise ValueError(f"covariates must have one row per input, got data of shape {side.shape}")
    ordered = labels_in_order((side.names for side in sides), {"covariates": covariates})["covariates"]
    known = Covariates.build(ordered, sides[0].n_rows)
    for side in sides:
        if side.n_rows != known.n_rows:
            raise ValueError(f"covariates must have the {side.n_rows} rows of the data, got {known.n_rows} rows")
    sides = [side.to_numpy for side in sides]
    features = [side.rows for side in sides if not side.has_distances_only]
    if features and known.columns is not None:
        known = known.fit(*features)
    return [Adjusted(side, known) for side in sides], known
