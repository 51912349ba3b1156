"""Covariates of rows, for which comparisons control."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shesha.inputs import validation as check
from shesha.kernels.condensed_matrices import square
from shesha.kernels.rounding_and_scaling import length_unit
from shesha.kernels.splines import MOST_TERMS, natural_spline
from shesha.kernels.standardisation import is_constant
from shesha.nulls.covariate_matching import match_by_distance
from shesha.nulls.design_builder import STRATUM
from shesha.nulls.restricted_permutations import Exchange
from shesha.support.device_arrays import to_host
from shesha.support.types import Index, Matrix, Vector
from shesha.views._spline_choice import choose_terms, orthonormal_basis
from shesha.views.rdm_input import Rdm

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
        """Number of inputs."""
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
        return np.asarray((residuals + mean) * unit)

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
        return np.asarray((moved - basis @ lost - back @ (right @ lost) + mean) * unit)

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
