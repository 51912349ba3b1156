"""Read rows in chunks, dense or sparse, from memory or from disk."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from shesha.inputs import split_names, validation as check
from shesha.inputs.validation import require_squarable
from shesha.support.device_arrays import to_host
from shesha.support.types import Index, Matrix, Vector, is_array

_ENTRIES = 1 << 23
"""Maximum number of entries in a dense piece (64 MiB)."""
_SPARSE_ROWS = 4_000


class RowPieces:
    """A matrix of rows that can be read piece by piece, as often as needed.

    Parameters
    ----------
    X : array, sparse matrix, or object whose slices of rows are one of these (a data set on disk, a lazy array)
        Numbers, of shape (n, n_features), with slices along rows.
    name : str
        Name of X for error messages.
    moved : bool
        Whether to subtract the mean of the first piece from dense rows, because distances between rows that are far
        from zero lose digits. Sparse rows are never moved, so that they stay sparse.
    """

    def __init__(self, X: Any, name: str = "X", *, moved: bool = True) -> None:
        # Coordinates have no slices of rows.
        X = X.tocsr() if hasattr(X, "tocsr") else X
        in_memory = isinstance(X, np.ndarray) or not hasattr(X, "__getitem__") or not is_array(X)
        self._X: Any = check.raw_matrix(X, name, min_rows=1) if in_memory else X
        # Slices of a table of pandas may be of names instead of positions.
        self._rows = getattr(self._X, "iloc", self._X)
        self._name = name
        check.shape(tuple(self._X.shape), name, 1, 1)
        self.shape: tuple[int, int] = (int(self._X.shape[0]), int(self._X.shape[1]))
        self.sparse = hasattr(_read(self._rows[:1]), "toarray")
        self._step = _SPARSE_ROWS if self.sparse else max(1, _ENTRIES // self.shape[1])
        self._seen = False
        self._only: Any = None
        self.origin: Vector = np.zeros(self.shape[1])
        if moved and not self.sparse:
            self.origin = self._piece(0, min(self._step, self.shape[0])).mean(axis=0)

    def _piece(self, start: int, stop: int) -> Any:
        """Return the rows from start to stop as float64: an array, or a sparse matrix in row format."""
        block = _read(self._rows[start:stop])
        if hasattr(block, "toarray"):
            check.real(block.data, self._name)  # A cast would drop imaginary parts.
            block = block.tocsr().astype(np.float64, copy=False)
            values = block.data
        else:
            block = values = check.real(split_names(block, self._name)[0], self._name)
        if not self._seen:
            if not np.isfinite(values).all():
                dense = block.toarray() if hasattr(block, "toarray") else block
                check.finite(dense, self._name, first_row=start)
            require_squarable(values, self._name)
        return block

    def pieces(self) -> Iterator[tuple[int, Any]]:
        """Yield each piece as the number of its first row and its rows, minus the origin if they are dense."""
        if self._only is not None:
            yield 0, self._only
            return
        for start in range(0, self.shape[0], self._step):
            block = self._piece(start, min(start + self._step, self.shape[0]))
            block = block if self.sparse else block - self.origin
            if self.shape[0] <= self._step:
                self._only = block
            yield start, block
        self._seen = True

    def squared_lengths(self) -> Vector:
        """Return the squared distance of each row from the origin: (n,)."""
        out = np.empty(self.shape[0])
        for start, block in self.pieces():
            of_block = block.multiply(block).sum(axis=1) if self.sparse else np.einsum("ij,ij->i", block, block)
            out[start : start + block.shape[0]] = np.asarray(of_block).ravel()
        return out

    def sums(self, codes: Index, n_codes: int, weights: Matrix | None = None) -> NDArray[np.float64]:
        """Sum the rows of each code, once for each of k sets of weights: (k, n_codes, n_features).

        Parameters
        ----------
        codes : array of shape (n,)
            Code of each row, counted from 0. Rows with a negative code are left out.
        n_codes : int
        weights : array of shape (k, n), optional
            Default: one set, with weight 1 for every row.
        """
        from scipy.sparse import csr_array

        weights = np.ones((1, self.shape[0])) if weights is None else weights
        out = np.zeros((len(weights), n_codes, self.shape[1]))
        for start, block in self.pieces():
            piece_codes = codes[start : start + block.shape[0]]
            rows = np.flatnonzero(piece_codes >= 0)
            for k, row_weights in enumerate(weights):
                which = csr_array(
                    (row_weights[start + rows], (piece_codes[rows], rows)), shape=(n_codes, block.shape[0])
                )
                summed = which @ block
                out[k] += summed.toarray() if self.sparse else summed
        return out

    def products(self, codes: Index, vectors: NDArray[np.float64]) -> Matrix:
        """Return inner products of each row with the k vectors of its code: (n, k); NaN for negative codes.

        Parameters
        ----------
        codes : array of shape (n,)
        vectors : array of shape (n_codes, k, n_features)
        """
        out = np.full((self.shape[0], vectors.shape[1]), np.nan)
        for start, block in self.pieces():
            piece_codes = codes[start : start + block.shape[0]]
            order = np.argsort(piece_codes, kind="stable")
            bounds = np.flatnonzero(np.diff(piece_codes[order], prepend=-3, append=-3))
            for first, last in pairwise(bounds):
                rows = order[first:last]
                if piece_codes[rows[0]] >= 0:
                    out[start + rows] = block[rows] @ vectors[piece_codes[rows[0]]].T
        return out

    def take(self, rows: Index) -> Any:
        """Return some rows, sorted by row number: an array minus the origin, or a sparse matrix."""
        parts = []
        for start, block in self.pieces():
            here = rows[(rows >= start) & (rows < start + block.shape[0])] - start
            if len(here):
                parts.append(block[here])
        if not self.sparse:
            return np.concatenate(parts)
        from scipy.sparse import vstack

        return vstack(parts, format="csr")


def _read(block: Any) -> Any:
    """Return a block of rows, computed if it is a lazy array."""
    if hasattr(block, "compute"):
        block = block.compute()
    return block if hasattr(block, "toarray") else cast(Any, to_host(block))
