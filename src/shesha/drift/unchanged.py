"""What encoding the same inputs again shows where nothing changed: the noise floor of a monitor."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shesha import _validate as check
from shesha._types import Labels, Matrix, Vector
from shesha._warnings import NotEstimable
from shesha.drift.movement import movement, of_classes
from shesha.drift.scores import drifts
from shesha.measures import Measure
from shesha.views import Representation, in_one_order


@dataclass(frozen=True)
class Unchanged:
    """Drifts of K re-encodings, and how far each moved rows and classes at most."""

    drifts: Matrix
    """(K, measures)."""
    rows: Vector
    """The most that any of them moved each row."""
    classes: Vector
    """The same of each class."""

    def __len__(self) -> int:
        """Return how many re-encodings there are."""
        return len(self.drifts)

    @classmethod
    def of(
        cls,
        nulls: Iterable[Any],
        reference: Representation,
        measures: Sequence[Measure],
        codes: Labels | None,
        n_classes: int,
    ) -> Unchanged:
        """Score re-encodings one by one: none is kept."""
        found: list[Vector] = []
        rows, classes = np.zeros(reference.n_rows), np.zeros(n_classes)
        for k, null in enumerate(nulls):
            one = same_rows(null, reference, f"nulls[{k}]")
            found.append(drifts(measures, reference, one)[0])
            moved = moved_rows(reference, one)
            rows = np.fmax(rows, moved)
            if codes is not None:
                classes = np.fmax(classes, of_classes(moved, codes, n_classes))
        if not found:
            raise ValueError("nulls must hold at least one re-encoding of the same rows, got none")
        scores = np.array(found)
        if np.isnan(scores[:, 0]).all():
            raise ValueError(f"nulls must give values of {measures[0].name}, got none from {len(scores)} re-encodings")
        # A re-encoding without a value may have been any distance away.
        return cls(np.where(np.isnan(scores), np.inf, scores), rows, classes)


def same_rows(given: Any, reference: Representation, name: str) -> Representation:
    """Check another encoding of the rows of the reference, and put its rows in their order."""
    found = Representation.of(given, name)
    if found.given_distances or len(found.shape) != 2:
        raise ValueError(f"{name} must be a matrix (n_rows, n_features), got shape {found.shape}")
    require_count(found.n_rows, reference, name)
    return in_one_order({"reference": reference, name: found})[name]


def require_count(n_rows: int, reference: Representation, name: str) -> None:
    """Refuse what cannot be the same inputs."""
    if n_rows != reference.n_rows:
        raise ValueError(
            f"{name} must be the {reference.n_rows} rows of the reference encoded again, got {n_rows} rows: check "
            "compares the same inputs; for new inputs use update, for a window of them two_sample"
        )


def moved_rows(before: Representation, after: Representation) -> Vector:
    """Return how far each row moved among the others; NaN for all if a row has no direction."""
    try:
        return movement(before.once("unit rows", lambda: before.standard("cosine")), after.standard("cosine"))
    except NotEstimable:
        return np.full(before.n_rows, np.nan)


def many(nulls: Any) -> Iterable[Any]:
    """Return re-encodings one by one: of an array (K, n, d), a mapping, or any iterable of matrices."""
    if hasattr(nulls, "shape") and not hasattr(nulls, "values"):
        if len(nulls.shape) != 3:
            raise ValueError(f"nulls must be re-encodings (K, n_rows, n_features), got shape {tuple(nulls.shape)}")
        return (nulls[k] for k in range(len(nulls)))
    if isinstance(nulls, str | bytes) or not isinstance(nulls, Iterable):
        raise TypeError(f"nulls must be matrices, got {check.listed([nulls])}")
    return iter(nulls.values()) if hasattr(nulls, "values") else iter(nulls)
