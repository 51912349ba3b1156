"""Distances as input in place of features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from shesha.inputs import NamedRows, Names, split_names, table_values
from shesha.inputs import validation as check
from shesha.inputs.class_labels import class_names
from shesha.kernels.condensed_matrices import take_condensed
from shesha.support import device_arrays
from shesha.support.device_arrays import array_shape, input_precision
from shesha.support.types import Index
from shesha.support.warnings import MeasureWarning, warn


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
        if hasattr(D, "get_matrices"):
            D = _only(_toolbox_distances(D), name)
        # The columns of distances are named after the rows, so their names are no evidence.
        table: Any = D if hasattr(D, "iloc") and hasattr(D, "columns") else None
        values, names = split_names(D, name) if table is None else (table_values(D, name), Names.build(table.index))
        self.condensed, self.n_rows = check.rdm(values, name)
        self.n_missing = int(np.isnan(self.condensed).sum())
        self.has_negative = bool((self.condensed < 0).any())
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


def hint_of_distances(named: Mapping[str, Any]) -> None:
    """Warn about features that look like a matrix of distances."""
    for name, X in named.items():
        shape = getattr(X, "shape", ())
        square = isinstance(shape, tuple) and len(shape) == 2 and shape[0] == shape[1]
        if square and looks_like_distances(split_names(X, name)[0]):
            warn(
                f"{name} looks like a matrix of distances, but is used as features. If it contains distances, pass "
                f"shesha.Rdm({name}), or --rdm on the command line",
                MeasureWarning,
            )
