"""Held-out values for measures that fit a map to some rows and evaluate it on other rows.

Each measure has two functions. The first returns sums over the test rows of one fold, and the second computes the value
from these sums, added over all folds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from shesha.measures.cca import _n_components, _require_freedom
from shesha.measures.registry import Measure
from shesha.support.types import Index, Matrix, Vector
from shesha.support.warnings import NotEstimable
from shesha.views import Basis, Representation

_FEWEST = 3
"""Smallest number of test rows for which a correlation is not always 1 or -1."""
_UNDETERMINED = 1e-10


@dataclass(frozen=True)
class Split:
    """Two representations, each divided into training rows and test rows."""

    x: Matrix
    y: Matrix
    x_test: Matrix
    y_test: Matrix

    def centred(self) -> Split:
        """Subtract the mean of the training rows from all rows."""
        x, y = self.x.mean(axis=0), self.y.mean(axis=0)
        return Split(self.x - x, self.y - y, self.x_test - x, self.y_test - y)


@dataclass(frozen=True)
class _HeldOut:
    """The held-out form of one measure."""

    sums: Callable[[Split, Mapping[str, Any]], Vector]
    value: Callable[[Vector], float]


def has_held_out(measure: Measure) -> bool:
    """Return whether the measure fits a map that can be evaluated on other rows."""
    return _form(measure) is not None


def measures_held_out() -> tuple[str, ...]:
    """Names of the measures that have held-out values."""
    return tuple(_FORMS)


def held_out_score(measure: Measure, x: Matrix, y: Matrix, fold: Index) -> float:
    """Fit to the rows outside each fold, evaluate on the rows inside, and combine all folds."""
    form = _form(measure)
    assert form is not None
    totals = [
        form.sums(Split(x[fold != k], y[fold != k], x[fold == k], y[fold == k]), measure.parameters)
        for k in range(int(fold.max()) + 1)
    ]
    return form.value(np.sum(totals, axis=0))


def _form(measure: Measure) -> _HeldOut | None:
    options = dict(measure.options)
    if measure.name.split("(")[0] == "Procrustes similarity" and any(
        options.get(name, usual) != usual for name, usual in _USUAL.items()
    ):
        return None
    return _FORMS.get(measure.name.split("(")[0])


_USUAL = {"center": True, "scale": True, "published": False}


def _rotation(x: Matrix, y: Matrix) -> tuple[Matrix, Matrix]:
    """Maps of both sides into a common space by the best rotation, within the span of the training rows."""
    # If there are fewer rows than columns, coordinates in the span of the rows suffice.
    left, right = (np.linalg.qr(side.T) if side.shape[1] > len(side) else (None, side.T) for side in (x, y))
    u, values, vt = np.linalg.svd(left[1] @ right[1].T, full_matrices=False)
    known = values > _UNDETERMINED * values.max(initial=0.0)
    maps = u[:, known], vt[known].T
    first, second = (axes if q is None else q @ axes for (q, _), axes in zip((left, right), maps, strict=True))
    return first, second


def _shape_sums(split: Split, options: Mapping[str, Any]) -> Vector:
    """Inner product of the test rows after the rotation, and the squared norm of each side."""
    centred = split.centred()
    to_x, to_y = _rotation(centred.x, centred.y)
    inner = float(np.sum((centred.x_test @ to_x) * (centred.y_test @ to_y)))
    return np.array([inner, np.sum(centred.x_test**2), np.sum(centred.y_test**2)])


def _shape_cosine(sums: Vector) -> float:
    if sums[1] == 0 or sums[2] == 0:
        raise NotEstimable("all rows are equal")
    return float(np.clip(sums[0] / np.sqrt(sums[1] * sums[2]), -1.0, 1.0))


def _cosine_sums(split: Split, options: Mapping[str, Any]) -> Vector:
    """Sum of the cosines between test rows after rotation without centring, and the number of rows."""
    to_x, to_y = _rotation(split.x, split.y)
    lengths = np.linalg.norm(split.x_test, axis=1) * np.linalg.norm(split.y_test, axis=1)
    products = np.sum((split.x_test @ to_x) * (split.y_test @ to_y), axis=1)
    return np.array([np.sum(products[lengths > 0] / lengths[lengths > 0]), np.count_nonzero(lengths)], dtype=np.float64)


def _bases(split: Split) -> tuple[Basis, Basis]:
    x, y = (Representation(side, np.finfo(float).eps).view(Basis) for side in (split.x, split.y))
    return x, y


def _coordinates(basis: Basis, rows: Matrix) -> Matrix:
    """Coordinates of rows along a basis, scaled to unit length over the training rows."""
    return np.asarray((rows / basis.unit) @ basis.loadings.T / basis.singular_values)


def _canonical_sums(split: Split, options: Mapping[str, Any]) -> Vector:
    """Mean correlation of the fitted canonical variates over the test rows, times the number of test rows."""
    a, b = _bases(split)
    if "components" in options:
        a, b = (side.truncated(_n_components(side, options["components"])) for side in (a, b))
    _require_freedom(a, b)
    if len(split.x_test) < _FEWEST:
        raise NotEstimable(f"every fold needs at least {_FEWEST} rows, got one with {len(split.x_test)}")
    u, _, vt = np.linalg.svd(a.overlap(b), full_matrices=False)
    centred = split.centred()
    variates = _coordinates(a, centred.x_test) @ u, _coordinates(b, centred.y_test) @ vt.T
    first, second = (variate - variate.mean(axis=0) for variate in variates)
    lengths = np.linalg.norm(first, axis=0) * np.linalg.norm(second, axis=0)
    correlations = np.sum(first * second, axis=0) / np.where(lengths > 0, lengths, 1.0)
    return np.array([correlations.mean() * len(first), len(first)])


def _regression_sums(split: Split, options: Mapping[str, Any]) -> Vector:
    """Squared errors in predicting X from Y, and squared distances of X from the training mean."""
    centred, (_, basis) = split.centred(), _bases(split)
    predicted = _coordinates(basis, centred.y_test) @ (basis.directions.T @ centred.x)
    return np.array([np.sum((centred.x_test - predicted) ** 2), np.sum(centred.x_test**2)])


def _unexplained_share(sums: Vector) -> float:
    if sums[1] == 0:
        raise NotEstimable("all rows are equal")
    return float(1.0 - sums[0] / sums[1])


def _mean(sums: Vector) -> float:
    if sums[1] == 0:
        raise NotEstimable("no row is nonzero in both representations")
    return float(sums[0] / sums[1])


_FORMS: Mapping[str, _HeldOut] = {
    "AlignCos": _HeldOut(_cosine_sums, _mean),
    "AngShape": _HeldOut(_shape_sums, lambda sums: float(np.arccos(_shape_cosine(sums)))),
    "OrthProc": _HeldOut(_shape_sums, lambda sums: float(np.sqrt(2.0 - 2.0 * _shape_cosine(sums)))),
    "ProcDist": _HeldOut(_shape_sums, lambda sums: float(np.sqrt(max(0.0, sums[1] + sums[2] - 2.0 * sums[0])))),
    "Procrustes similarity": _HeldOut(_shape_sums, _shape_cosine),
    "CCA": _HeldOut(_canonical_sums, _mean),
    "SVCCA": _HeldOut(_canonical_sums, _mean),
    "LinReg": _HeldOut(_regression_sums, _unexplained_share),
}
