"""Control rows: the pool from which null groups are drawn, and the covariance that whitens features."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from shesha.coherence.chunked_matrix import RowPieces
from shesha.inputs import validation as check
from shesha.kernels.noise_covariance import ledoit_wolf
from shesha.support.types import Index, Matrix, Vector
from shesha.support.warnings import CalibrationWarning, warn
from shesha.support.wording import agree, count


def warn_of_shared_rows(controls: Matrix, rows: Matrix, *, controls_name: str, rows_name: str) -> None:
    """Warn if rows are also among the controls, because such rows move the mean control."""
    known = {row.tobytes() for row in controls}
    shared = sum(row.tobytes() in known for row in rows)
    if shared:
        warn(
            f"{count(shared, 'row')} of {rows_name} {agree(shared, 'is', 'are')} also among the controls, which biases "
            f"coherence and effect size. Remove such rows from {controls_name}",
            CalibrationWarning,
        )


def whitening_matrix(centred: Matrix, shrinkage: float | None) -> tuple[Matrix, float]:
    """Return the inverse square root of the shrunk covariance, (d, d), and the share of the identity in it.

    Parameters
    ----------
    centred : array of shape (n, d)
        Controls, each minus the mean of the controls in its block.
    shrinkage : float, optional
        Share of the identity, in [0, 1]. Default: the estimate of Ledoit and Wolf.
    """
    n, d = centred.shape
    products = centred.T @ centred
    share = (
        ledoit_wolf(centred, products, d) if shrinkage is None else check.require_at_least(shrinkage, "shrinkage", 0.0)
    )
    if share > 1:
        raise ValueError(f"shrinkage must be at most 1, got {share:g}")
    covariance = products / n
    scale = np.trace(covariance) / d
    values, vectors = np.linalg.eigh((1 - share) * covariance + share * scale * np.eye(d))
    if not values[-1] > 0 or values[0] <= 1e-12 * values[-1]:
        raise ValueError(
            f"shrinkage must make the covariance of the controls invertible, got {share:g}: the controls vary in fewer "
            "directions than there are features"
        )
    return vectors / np.sqrt(values) @ vectors.T, share


_ENTRIES = 1 << 24
"""Maximum number of entries to store; if there are more, only evenly spaced control rows are stored."""
_HELD = 4096
"""Number of rows that is stored at least, if there are that many controls."""
_SPANNED = 2048
"""Number of rows that is stored at least, if there are more features than this."""


@dataclass(frozen=True)
class Pool:
    """Rows of one block, centred on their own mean."""

    rows: Matrix
    numbers: Index
    """Row numbers in the data."""

    @cached_property
    def total(self) -> Vector:
        """Sum of the rows."""
        return np.asarray(self.rows.sum(axis=0))

    @cached_property
    def squared(self) -> Vector:
        """Squared lengths of the rows."""
        return np.asarray(np.einsum("ij,ij->i", self.rows, self.rows))

    @cached_property
    def scatter(self) -> float:
        """Variance of the rows, summed over features."""
        centred = self.squared.sum() - self.total @ self.total / len(self)
        return float(centred / max(1, len(self) - 1))

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.rows)


def build_pool(rows: RowPieces, numbers: Index, largest: int) -> Pool:
    """Store enough of these rows to draw groups of up to `largest` rows, in few coordinates.

    Parameters
    ----------
    rows : RowPieces
    numbers : array of int
        Row numbers of the candidates.
    largest : int
        Number of rows of the largest group.
    """
    wide = rows.shape[1] > _SPANNED
    fewest = max(2 * largest, _SPANNED if wide else max(_HELD, _ENTRIES // rows.shape[1]))
    if len(numbers) > fewest:
        numbers = numbers[np.linspace(0, len(numbers) - 1, fewest).astype(np.intp)]
    pool_rows = rows.take(numbers)
    if wide and len(numbers) < rows.shape[1]:
        return Pool(_span_coordinates(pool_rows), numbers)
    dense = np.asarray(pool_rows.toarray() if hasattr(pool_rows, "toarray") else pool_rows)
    return Pool(np.ascontiguousarray(dense - dense.mean(axis=0)), numbers)


def _span_coordinates(pool_rows: Any) -> Matrix:
    """Return fewer coordinates with the same centred inner products, which suffice for all scores."""
    gram = pool_rows @ pool_rows.T
    gram = np.asarray(gram.toarray() if hasattr(gram, "toarray") else gram)
    gram = gram - gram.mean(axis=0)
    gram -= gram.mean(axis=1, keepdims=True)
    values, vectors = np.linalg.eigh((gram + gram.T) / 2)
    return np.ascontiguousarray(vectors * np.sqrt(np.maximum(values, 0.0)))
