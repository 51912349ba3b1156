"""The noise floor of a monitor, from re-encodings of the same inputs by the unchanged model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shesha.drift.canary_reference import check_same_rows
from shesha.drift.drift_scores import drifts
from shesha.drift.row_movement import class_means, row_movement
from shesha.inputs import validation as check
from shesha.measures import Measure
from shesha.support.types import Index, Labels, Matrix, Vector
from shesha.views import Representation


@dataclass(frozen=True)
class NoiseFloor:
    """Drifts of K re-encodings, and the largest movements of rows and classes among them."""

    drifts: Matrix
    """Drift of each re-encoding by each measure, of shape (n_reencodings, n_measures)."""
    rows: Vector
    """For each row, its largest movement in any re-encoding."""
    classes: Vector
    """For each class, its largest movement in any re-encoding."""

    def __len__(self) -> int:
        """Return the number of re-encodings."""
        return len(self.drifts)

    def take(self, kept: Index, classes: Sequence[int]) -> NoiseFloor:
        """Return the floor of some of the rows and classes; drifts stay those of all rows."""
        return NoiseFloor(self.drifts, self.rows[kept], self.classes[list(classes)])

    @classmethod
    def build(
        cls,
        nulls: Iterable[Any],
        reference: Representation,
        measures: Sequence[Measure],
        codes: Labels | None,
        n_classes: int,
    ) -> NoiseFloor:
        """Score re-encodings one at a time, without keeping them in memory."""
        rows_of_scores: list[Vector] = []
        rows, classes = np.zeros(reference.n_rows), np.zeros(n_classes)
        for k, null in enumerate(nulls):
            encoding = check_same_rows(null, reference, f"nulls[{k}]")
            rows_of_scores.append(drifts(measures, reference, encoding)[0])
            moved = row_movement(reference, encoding)
            rows = np.fmax(rows, moved)
            if codes is not None:
                classes = np.fmax(classes, class_means(moved, codes, n_classes))
        if not rows_of_scores:
            raise ValueError("nulls must contain at least one re-encoding of the same rows, got none")
        scores = np.array(rows_of_scores)
        if np.isnan(scores[:, 0]).all():
            raise ValueError(f"nulls must have a value of {measures[0].name}, got none from {len(scores)} re-encodings")
        # A missing drift may have been of any size, so it counts as infinite.
        return cls(np.where(np.isnan(scores), np.inf, scores), rows, classes)


def many(nulls: Any) -> Iterable[Any]:
    """Iterate over re-encodings, given as an array (K, n, d), a mapping, or any iterable of matrices."""
    if hasattr(nulls, "shape") and not hasattr(nulls, "values"):
        if len(nulls.shape) != 3:
            raise ValueError(f"nulls must be re-encodings (K, n_rows, n_features), got shape {tuple(nulls.shape)}")
        return (nulls[k] for k in range(len(nulls)))
    if isinstance(nulls, str | bytes) or not isinstance(nulls, Iterable):
        raise TypeError(f"nulls must be an iterable of matrices, got {check.join_items([nulls])}")
    return iter(nulls.values()) if hasattr(nulls, "values") else iter(nulls)
