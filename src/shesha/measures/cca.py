"""Canonical correlations between two representations, and held-out values of measures that fit a map.

Each measure with a held-out value has two functions. The first returns sums over the test rows of one fold, and the
second computes the value from these sums, added over the folds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import exp, lgamma, pi, sqrt
from typing import Any, Literal

import numpy as np

from shesha.inputs import validation as check
from shesha.measures.registry import Measure, measure
from shesha.support.device_arrays import convert_like, namespace, thin_svd, to_host
from shesha.support.types import Index, Matrix, Vector
from shesha.support.warnings import NotEstimable
from shesha.views import Basis, Representation

FAMILY = "canonical correlation"
_EQUAL = 1e-8
"""Difference below which two canonical correlations count as equal."""


def _require_freedom(*sides: Basis) -> None:
    for side in sides:
        if side.rank >= side.n_rows - 1:
            raise NotEstimable(
                f"canonical correlations are all 1 because the features span all {side.n_rows - 1} dimensions of "
                f"{side.n_rows} centred rows: reduce the features, or use SVCCA"
            )


@measure(
    "CCA",
    view=Basis,
    closer="higher",
    bounds=(0, 1),
    symmetric=True,
    invariant=("affine",),
    family=FAMILY,
    cost="n d^2",
    formula="mean of the min(p, q) canonical correlations: singular values of U_X' U_Y",
    reference="Hotelling 1936; Weenink 2003",
    caveats=(
        "All directions have equal weight, so noise of small variance has as much weight as signal.",
        "The score rises with the number of features: independent data of rank p and q give about sqrt(max(p, q) / n).",
    ),
    self_value=1.0,
    anywhere=True,
)
def cca(a: Basis, b: Basis) -> float:
    """Mean canonical correlation: how well the linear subspaces of the two representations agree.

    If the rank of either side is at least n - 1, every canonical correlation is 1 for any data; the value is then NaN,
    and the warning gives this reason. The calibration study uses single precision and an absolute ridge of 1e-6, which
    distort small values; this function uses neither.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((50, 4))
    >>> round(cca(X, X @ [[2, 1, 0, 0], [0, 1, 0, 0], [0, 0, 1, 5], [1, 0, 0, 1]] + 3), 6)
    1.0
    """
    _require_freedom(a, b)
    return float(a.canonical_correlations(b).mean())


@measure(
    "SVCCA",
    view=Basis,
    closer="higher",
    bounds=(0, 1),
    symmetric=True,
    invariant=("orthogonal", "scaling", "translation"),
    family=FAMILY,
    cost="n d^2",
    formula="mean canonical correlation of the principal components with 99 % of each variance",
    reference="Raghu et al. 2017",
    caveats=(
        "If one direction has most of the variance, only this direction is compared.",
        "A small number of recorded units lowers the score: two populations with the same latent signals score 0.48 "
        "with 10 units of each and 0.98 with 1,000 (300 rows; arXiv 2502.19648). Compare equal numbers of units.",
    ),
    self_value=1.0,
    groups=("ReSi",),
    anywhere=True,
)
def svcca(a: Basis, b: Basis, *, components: float | int | Literal["published"] = 0.99) -> float:
    """Mean canonical correlation of the leading principal components.

    Parameters
    ----------
    components : float in (0, 1], int or 'published'
        Share of the variance that the components must explain, or the number of components (10 in the calibration
        study). Components with equal singular values are kept or dropped together. 'published' is the rule in the ReSi
        benchmark's code. It compares the cumulative *share* with 0.99 times the *total* variance, and so keeps only one
        component unless the total is below about 1.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((50, 4))
    >>> round(svcca(X, 10 * X[:, ::-1] + 3), 6)
    1.0
    """
    reduced = [side.truncated(_n_components(side, components)) for side in (a, b)]
    _require_freedom(*reduced)
    return float(reduced[0].canonical_correlations(reduced[1]).mean())


def _n_components(side: Basis, components: float | int | str) -> int:
    if isinstance(components, str):
        check.choice(components, ("published",), "components")
        total = float(((side.singular_values * side.unit) ** 2).sum())
        reached = np.cumsum(side.variances) >= 0.99 * total
        return side.count_with_ties(int(np.argmax(reached)) + 1)
    if isinstance(components, int | np.integer):
        return side.count_with_ties(check.count(components, "components"))
    return side.components_for(check.fraction(components, "components"))


@measure(
    "PWCCA",
    view=Basis,
    closer="higher",
    bounds=(0, 1),
    symmetric=False,
    invariant=("permutation", "scaling", "translation"),
    family=FAMILY,
    cost="n d^2",
    formula="sum_i alpha_i rho_i / sum_i alpha_i, alpha_i = sum_j |<h_i, x_j>|",
    reference="Morcos et al. 2018",
    caveats=(
        "The sum of absolute values depends on the axes: a rotation changes the weights.",
        "If rank X + rank Y exceeds n - 1, the excess is the number of correlations that are 1 for any data.",
    ),
    self_value=1.0,
    groups=("ReSi",),
    anywhere=True,
)
def pwcca(a: Basis, b: Basis, *, weights: Literal["projection", "l1"] = "projection") -> float:
    """Mean canonical correlation, weighted by how much each direction contributes to the features of X.

    Canonical directions with equal correlations are arbitrary within the space that they span, so each of them gets the
    mean weight over all directions in that space. The ReSi benchmark's code, in contrast, skips the whitening, adds
    column means back and fails for p > q.

    Parameters
    ----------
    weights : {'projection', 'l1'}
        'projection': ``alpha_i = sum_j |<h_i, x_j>|``, where the directions h_i and the columns x_j belong to the side
        with the smaller rank, as in the original code, or to X if the ranks are equal. 'l1': the l1 norm of h_i, where
        the directions always belong to X, as in the calibration study.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((50, 4))
    >>> round(pwcca(X, X @ [[2, 1, 0, 0], [0, 1, 0, 0], [0, 0, 1, 5], [1, 0, 0, 1]]), 6)
    1.0
    """
    check.choice(weights, ("projection", "l1"), "weights")
    _require_freedom(a, b)
    if weights == "projection" and a.rank > b.rank:
        a, b = b, a
    rotation, correlations = _canonical(a, b)
    if weights == "projection":
        # Each column is directions * singular values @ loadings, so the projections can be computed without the rows.
        carried = (rotation.T * convert_like(a.singular_values, rotation)) @ a.loadings
    else:
        carried = (a.directions @ rotation).T
    alpha = _mean_weights(to_host(carried), correlations)[: min(a.rank, b.rank)]
    return float((alpha * correlations[: len(alpha)]).sum() / alpha.sum())


def _canonical(a: Basis, b: Basis) -> tuple[Matrix, Vector]:
    """Canonical directions of `a`, expressed in its basis, and their correlations.

    If `a` has the larger rank, some of its directions have no partner. If some correlations are 0 as well, these
    directions cannot be told apart from those without a partner, and all of them are returned.
    """
    overlap = a.overlap(b)
    rotation, correlations, _ = thin_svd(overlap)
    missing = a.rank - len(correlations)
    if missing and correlations[-1] <= _EQUAL:
        rotation, _, _ = namespace(overlap).linalg.svd(overlap, full_matrices=True)
        correlations = np.append(correlations, np.zeros(missing))
    return rotation, np.clip(correlations, 0.0, 1.0)


def _mean_weights(carried: Matrix, correlations: Vector) -> Vector:
    """Weight of each direction: the l1 norm of its projections, averaged over equal correlations."""
    starts = np.flatnonzero(np.diff(correlations, prepend=np.inf) < -_EQUAL)
    sizes = np.diff(starts, append=len(correlations))
    lengths = np.sqrt(np.add.reduceat(carried**2, starts, axis=0)).sum(axis=1)
    return np.repeat(lengths * [_mean_entry(int(size)) for size in sizes], sizes)


def _mean_entry(n: int) -> float:
    """Mean absolute value of an entry of a random unit vector in n dimensions."""
    return exp(lgamma(n / 2) - lgamma((n + 1) / 2)) / sqrt(pi)


_FEWEST = 3
"""Smallest number of test rows for which a correlation is not always 1 or -1."""
_UNDETERMINED = 1e-10


@dataclass(frozen=True)
class RowSplit:
    """Two representations, each divided into training rows and test rows."""

    x: Matrix
    y: Matrix
    x_test: Matrix
    y_test: Matrix

    def centred(self) -> RowSplit:
        """Subtract the mean of the training rows from all rows."""
        x, y = self.x.mean(axis=0), self.y.mean(axis=0)
        return RowSplit(self.x - x, self.y - y, self.x_test - x, self.y_test - y)


@dataclass(frozen=True)
class _HeldOut:
    """The held-out form of one measure."""

    sums: Callable[[RowSplit, Mapping[str, Any]], Vector]
    value: Callable[[Vector], float]


def has_held_out(measure: Measure) -> bool:
    """Return whether the measure fits a map that can be evaluated on other rows."""
    return _form(measure) is not None


def measures_held_out() -> tuple[str, ...]:
    """Names of the measures that have held-out values."""
    return tuple(_FORMS)


def score_held_out_rows(measure: Measure, x: Matrix, y: Matrix, fold: Index) -> float:
    """Fit to the rows outside each fold, evaluate on the rows inside, and combine all folds."""
    form = _form(measure)
    assert form is not None
    totals = [
        form.sums(RowSplit(x[fold != k], y[fold != k], x[fold == k], y[fold == k]), measure.parameters)
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


def _shape_sums(split: RowSplit, options: Mapping[str, Any]) -> Vector:
    """Inner product of the test rows after the rotation, and the squared norm of each side."""
    centred = split.centred()
    to_x, to_y = _rotation(centred.x, centred.y)
    inner = float(np.sum((centred.x_test @ to_x) * (centred.y_test @ to_y)))
    return np.array([inner, np.sum(centred.x_test**2), np.sum(centred.y_test**2)])


def _shape_cosine(sums: Vector) -> float:
    if sums[1] == 0 or sums[2] == 0:
        raise NotEstimable("all rows are equal")
    return float(np.clip(sums[0] / np.sqrt(sums[1] * sums[2]), -1.0, 1.0))


def _cosine_sums(split: RowSplit, options: Mapping[str, Any]) -> Vector:
    """Sum of the cosines between test rows after rotation without centring, and the number of rows."""
    to_x, to_y = _rotation(split.x, split.y)
    lengths = np.linalg.norm(split.x_test, axis=1) * np.linalg.norm(split.y_test, axis=1)
    products = np.sum((split.x_test @ to_x) * (split.y_test @ to_y), axis=1)
    return np.array([np.sum(products[lengths > 0] / lengths[lengths > 0]), np.count_nonzero(lengths)], dtype=np.float64)


def _bases(split: RowSplit) -> tuple[Basis, Basis]:
    x, y = (Representation(side, np.finfo(float).eps).view(Basis) for side in (split.x, split.y))
    return x, y


def _coordinates(basis: Basis, rows: Matrix) -> Matrix:
    """Coordinates of rows along a basis, scaled to unit length over the training rows."""
    return np.asarray((rows / basis.unit) @ basis.loadings.T / basis.singular_values)


def _canonical_sums(split: RowSplit, options: Mapping[str, Any]) -> Vector:
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


def _regression_sums(split: RowSplit, options: Mapping[str, Any]) -> Vector:
    """Squared errors in predicting X from Y, and squared distances of X from the training mean."""
    centred, (_, basis) = split.centred(), _bases(split)
    predicted = _coordinates(basis, centred.y_test) @ (basis.directions.T @ centred.x)
    return np.array([np.sum((centred.x_test - predicted) ** 2), np.sum(centred.x_test**2)])


def _residual_share(sums: Vector) -> float:
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
    "LinReg": _HeldOut(_regression_sums, _residual_share),
}
