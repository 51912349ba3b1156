"""Count and sum the rows of each group within each block."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shesha.coherence.chunked_matrix import RowPieces
from shesha.coherence.row_roles import Layout
from shesha.support.types import Index, Matrix, Vector


class Parts:
    """Rows by group and block, with functions that sum over these parts or assign values to their rows."""

    def __init__(self, rows: RowPieces, layout: Layout, *, centred: bool) -> None:
        self.rows, self.layout, self.centred = rows, layout, centred
        self.shape = layout.n_groups, layout.n_blocks
        self.code = layout.part
        self.inside = np.flatnonzero(self.code >= 0)
        self.group: Index = layout.group[self.inside]
        self.sizes = layout.part_sizes()
        self.n = self.sizes.sum(axis=1)
        self.references = self._references() if centred else np.zeros((layout.n_blocks, rows.shape[1]))

    def _references(self) -> Matrix:
        """Return the mean of the controls in each block."""
        n_blocks = self.layout.n_blocks
        counts = np.bincount(self.layout.block[self.layout.controls], minlength=n_blocks)
        return np.asarray(self.rows.sums(self.layout.control_block, n_blocks)[0] / np.maximum(counts, 1)[:, None])

    def row_sums(self, weights: Matrix | None = None) -> NDArray[np.float64]:
        """Sum the rows of each part, minus their reference, with weights: (k, n_groups, n_blocks, n_features).

        Parameters
        ----------
        weights : array of shape (k, n), optional
            Default: one set, with weight 1 for every row.
        """
        weights = (
            np.ones((1, len(self.code))) if weights is None else np.where(self.code >= 0, np.nan_to_num(weights), 0.0)
        )
        sums = self.rows.sums(self.code, self.shape[0] * self.shape[1], weights).reshape(len(weights), *self.shape, -1)
        for of_set, row_weights in zip(sums, weights, strict=True):
            of_set -= self.sums(row_weights)[..., None] * self.references
        return sums

    def products(self, *vectors: NDArray[np.float64]) -> Matrix:
        """Return inner products of each row, minus its reference, with its group's or part's vectors: (k, n).

        Parameters
        ----------
        *vectors : arrays of shape (n_groups, n_features) or (n_groups, n_blocks, n_features)
        """
        d = self.rows.shape[1]
        full = [np.broadcast_to(v if v.ndim == 3 else v[:, None], (*self.shape, d)) for v in vectors]
        products = self.rows.products(self.code, np.stack([v.reshape(-1, d) for v in full], axis=1)).T
        return np.stack(
            [
                product - self.spread_to_rows((v * self.references).sum(axis=-1))
                for product, v in zip(products, full, strict=True)
            ]
        )

    def squared_lengths(self) -> Vector:
        """Return the squared length of each row minus its reference; NaN outside all groups."""
        on_block = np.broadcast_to(self.references, (*self.shape, self.rows.shape[1]))
        projections = self.rows.products(self.code, on_block.reshape(-1, 1, self.rows.shape[1]))[:, 0]
        reference = self.spread_to_rows((self.references**2).sum(axis=1)[None])
        return np.maximum(0.0, self.rows.squared_lengths() - 2 * projections + reference)

    def spread_to_rows(self, numbers: NDArray[np.float64] | Index) -> Vector:
        """Assign to each row the value of its group or part; NaN outside all groups."""
        shaped = numbers[:, None] if numbers.ndim == 1 else numbers
        return np.append(np.broadcast_to(shaped, self.shape).ravel(), np.nan)[self.code]

    def sums(self, values: Vector) -> Matrix:
        """Sum values of the rows over each part: (n_groups, n_blocks)."""
        counted = np.bincount(self.code[self.inside], values[self.inside], self.shape[0] * self.shape[1])
        return np.asarray(counted.reshape(self.shape), dtype=np.float64)

    def means(self, values: Vector) -> Vector:
        """Return the mean of values of the rows over each group."""
        return np.asarray(self.sums(values).sum(axis=1) / self.n)
