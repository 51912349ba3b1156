"""Rows divided into folds for held-out prediction, with a decomposition for each fold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from shesha.inputs import validation as check
from shesha.kernels import regression
from shesha.support.seeds import generator
from shesha.support.types import Index, Matrix, Seed
from shesha.support.warnings import NotEstimable
from shesha.views.features import Features
from shesha.views.representation import Representation, View


class Groups:
    """Groups of rows that stay in the same fold, passed as an option of a measure.

    Parameters
    ----------
    labels : array of shape (n_samples,)
        Group of each row, such as a subject, session or document.

    Examples
    --------
    >>> Groups(["a", "a", "b", "c", "c"])
    Groups(3 of 5 rows)
    """

    def __init__(self, labels: ArrayLike) -> None:
        values = check.dense(labels, "labels")
        if values.ndim != 1:
            raise ValueError(f"labels must be 1-D (n_samples,), got shape {values.shape}")
        self.codes: tuple[int, ...] = tuple(check.labels(values, len(values), "labels", min_classes=1)[0].tolist())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Groups) and self.codes == other.codes

    def __hash__(self) -> int:
        return hash(self.codes)

    def __repr__(self) -> str:
        return f"Groups({len(set(self.codes))} of {len(self.codes)} rows)"


@dataclass(frozen=True)
class Folds(View):
    """Centred rows in folds, with a decomposition of the training rows for each fold."""

    rows: Matrix
    fold: Index
    """The fold to which each row belongs."""
    n_folds: int

    folding = "columns"

    @classmethod
    def build(cls, source: Representation, *, n_folds: int = 5, groups: Groups | None = None, seed: Seed = 0) -> Folds:
        """Divide the rows, or whole groups, into folds of about equal size."""
        count = check.count(n_folds, "n_folds", minimum=2)
        features = source.view(Features)
        if features.centred_norm == 0:
            raise NotEstimable("all rows are equal")
        fold = deal_folds(source.n_rows, count, groups, seed)
        # Errors are summed over all features, so an orthogonal map to fewer coordinates does not change them.
        return cls(features.compact / features.centred_norm, fold, count)

    @classmethod
    def memory(cls, n: int, d: int, **options: Any) -> tuple[int, int]:
        """Memory for the features, and for the principal axes of each fold."""
        folds = options["n_folds"] if isinstance(options["n_folds"], int) else 5
        side = 8 * min(n, d) ** 2
        return 24 * n * d + folds * side, 24 * n * d + 6 * side

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.rows)

    @cached_property
    def parts(self) -> list[regression.Training]:
        """Decompositions of the rows outside each fold."""
        return regression.decompose_folds(self.rows, self.fold, self.n_folds)

    def predicts(self, other: Folds) -> float:
        """Share of the other representation's variance that is predicted for held-out rows, over all folds."""
        errors, spread = self.cache_for_pair(
            other, "errors", lambda: regression.prediction_errors(self.rows, self.parts, other.rows)
        )
        return 1.0 - errors / spread

    def permute(self, order: Index) -> Folds:
        """Reorder the rows: row i of the result is row order[i] of this view; each position keeps its fold."""
        return Folds(self.rows[order], self.fold, self.n_folds)


def deal_folds(n: int, n_folds: int, groups: Groups | None, seed: Seed) -> Index:
    """Return the fold of each row; the rows of a group stay together."""
    if groups is None:
        if n < 2 * n_folds:
            raise NotEstimable(f"{n_folds} folds need at least {2 * n_folds} rows, got {n}")
        fold = np.empty(n, dtype=np.intp)
        fold[generator(seed).permutation(n)] = np.arange(n) % n_folds
        return fold
    if not isinstance(groups, Groups):
        raise TypeError(f"groups must be shesha.measures.Groups(labels), got a {type(groups).__name__}")
    if len(groups.codes) != n:
        raise ValueError(f"groups must have one label per row ({n}), got {len(groups.codes)}")
    return _dealt_by_size(groups.codes, n_folds, seed)


def _dealt_by_size(codes: Sequence[int], n_folds: int, seed: Seed) -> Index:
    """Assign groups, largest first, to the fold with the fewest rows; equal sizes are in random order."""
    sizes = np.bincount(codes)
    if len(sizes) < n_folds:
        raise NotEstimable(f"{n_folds} folds need at least as many groups, got {len(sizes)}")
    order = generator(seed).permutation(len(sizes))
    order = order[np.argsort(-sizes[order], kind="stable")]
    fold, filled = np.empty(len(sizes), dtype=np.intp), np.zeros(n_folds)
    for group in order:
        fold[group] = int(np.argmin(filled))
        filled[fold[group]] += sizes[group]
    return np.asarray(fold[np.asarray(codes)])
