"""Procrustes distances, after the best rotation, and matching of the individual features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from shesha.inputs import validation as check
from shesha.kernels import unit_matching
from shesha.kernels.distances import standard_rows
from shesha.measures.registry import measure
from shesha.support.device_arrays import namespace, norm, singular_values, take_rows, thin_svd, to_host
from shesha.support.types import Matrix
from shesha.support.warnings import NotEstimable
from shesha.views import Features

SHAPE = "shape"


def _shape_cosine(a: Features, b: Features) -> float:
    """Nuclear norm of the cross-product between two sides that are centred and scaled to unit norm."""
    if a.centred_norm == 0 or b.centred_norm == 0:
        raise NotEstimable("all rows are equal")
    return min(1.0, a.nuclear_norm(b) / (a.centred_norm * b.centred_norm))


@measure(
    "AlignCos",
    view=Features,
    closer="higher",
    bounds=(-1, 1),
    symmetric=True,
    invariant=("orthogonal", "scaling"),
    family=SHAPE,
    cost="n d^2 + d^3",
    formula="mean_i cos(Q x_i, y_i), Q = argmin ||X Q - Y||",
    reference="Hamilton et al. 2016b",
    caveats=("A common offset of all rows dominates every cosine.",),
    self_value=1.0,
    groups=("ReSi",),
    anywhere=True,
)
def aligned_cosine(a: Features, b: Features) -> float:
    """Mean cosine between corresponding rows after the best rotation, without centring.

    The narrower matrix is padded with zero columns. Rows that are all zero are left out.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((50, 4))
    >>> round(aligned_cosine(X, -X[:, ::-1]), 6)
    1.0
    """
    xp = namespace(a.rows)
    kept = np.flatnonzero(to_host(xp.any(a.rows != 0, axis=1) & xp.any(b.rows != 0, axis=1)))
    if not len(kept):
        raise NotEstimable("no row is nonzero in both representations")
    left, _, right = thin_svd(a.rows.T @ b.rows)
    # Directions that the cross-product leaves undetermined are multiplied by zeros, so the reduced map suffices.
    x, y = (standard_rows(take_rows(side.rows, kept), "cosine") for side in (a, b))
    return float(np.clip(to_host(xp.sum((x @ left @ right) * y, axis=1)), -1.0, 1.0).mean())


@measure(
    "AngShape",
    view=Features,
    closer="lower",
    bounds=(0, np.pi / 2),
    symmetric=True,
    invariant=("orthogonal", "scaling", "translation"),
    family=SHAPE,
    cost="n d^2 + d^3",
    formula="arccos ||X'Y||_*, columns centred, Frobenius norm 1",
    reference="Williams et al. 2021",
    caveats=("The distance of independent representations is not pi/2: it depends on n and d.",),
    self_value=0.0,
    groups=("ReSi",),
    anywhere=True,
)
def angular_shape(a: Features, b: Features) -> float:
    """Angle between two shapes, a metric on representations up to rotation, scale and offset.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((50, 4))
    >>> round(angular_shape(X, 3 * X[:, ::-1] + 1), 5)
    0.0
    """
    # Near a cosine of 1, the arccosine would lose twice as many digits to rounding as this formula.
    return float(min(np.pi / 2, 2 * np.arcsin(np.sqrt(max(0.0, 1.0 - _shape_cosine(a, b)) / 2))))


@measure(
    "OrthProc",
    view=Features,
    closer="lower",
    bounds=(0, float(np.sqrt(2))),
    symmetric=True,
    invariant=("orthogonal", "scaling", "translation"),
    family=SHAPE,
    cost="n d^2 + d^3",
    formula="sqrt(2 - 2 ||X'Y||_*), columns centred, Frobenius norm 1",
    reference="Schoenemann 1966; Ding et al. 2021",
    caveats=("The distance of independent representations is not sqrt(2): it depends on n and d.",),
    self_value=0.0,
    groups=("ReSi",),
    anywhere=True,
)
def orthogonal_procrustes(a: Features, b: Features) -> float:
    """Distance after centring, scaling and the best rotation.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((50, 4))
    >>> round(orthogonal_procrustes(X, 3 * X[:, ::-1] + 1), 5)
    0.0
    """
    return float(np.sqrt(max(0.0, 2.0 - 2.0 * _shape_cosine(a, b))))


@measure(
    "ProcDist",
    view=Features,
    closer="lower",
    bounds=(0, np.inf),
    symmetric=True,
    invariant=("orthogonal", "translation"),
    family=SHAPE,
    cost="n d^2 + d^3",
    formula="sqrt(||X||^2 + ||Y||^2 - 2 ||X'Y||_*), columns centred",
    reference="Kendall 1984; Williams et al. 2021",
    caveats=("The distance is in the units of the features: a larger scale gives a larger distance.",),
    self_value=0.0,
    groups=("ReSi",),
    anywhere=True,
)
def procrustes_size_and_shape(a: Features, b: Features) -> float:
    """Distance after centring and the best rotation, without scaling.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((50, 4))
    >>> round(procrustes_size_and_shape(X, X[:, ::-1] + 1), 5)
    0.0
    """
    unit = max(a.unit, b.unit)
    r, s = (side.centred_norm * (side.unit / unit) for side in (a, b))
    if r == 0 or s == 0:
        return max(r, s) * unit
    # (r - s)^2 + 2 r s (1 - cosine) loses no digits if both terms are small.
    return float(np.sqrt((r - s) ** 2 + 2 * r * s * (1 - _shape_cosine(a, b)))) * unit


def _declare(center: bool, scale: bool, published: bool) -> Mapping[str, Any]:
    """Invariances and range of Procrustes similarity, given its options."""
    invariant = {"orthogonal", "permutation", "scaling", "translation"}
    for value, name in ((center, "center"), (scale, "scale"), (published, "published")):
        check.boolean(value, name)
    if published or not scale:
        invariant.remove("scaling")
    if not center:
        invariant.remove("translation")
    return {
        "bounds": (-np.inf, 1) if published else (0, 1),
        "symmetric": not published,
        "invariant": frozenset(invariant),
    }


@measure(
    "Procrustes similarity",
    view=Features,
    closer="higher",
    bounds=(0, 1),
    symmetric=True,
    invariant=("orthogonal", "scaling", "translation"),
    family=SHAPE,
    cost="n d^2 + d^3",
    formula="1 - ||X - Y R||^2 / (||X||^2 + ||Y R||^2) = ||X'Y||_*, columns centred, Frobenius norm 1",
    reference="Raju 2026, section 7.8; Schoenemann 1966",
    caveats=(
        "The score depends mainly on the leading directions, but also on noise in many small directions.",
        "With published=True, the score ranges from minus infinity to 1, and f(X, Y) differs from f(Y, X).",
    ),
    self_value=1.0,
    anywhere=True,
    under=_declare,
)
def procrustes_similarity(
    a: Features, b: Features, *, center: bool = True, scale: bool = True, published: bool = False
) -> float:
    """Share of the squared norm that the best rotation explains, after centring and scaling.

    If the widths differ, the narrower matrix is padded with zero columns.

    Parameters
    ----------
    center, scale : bool
        Whether to subtract the column means, and whether to divide by the Frobenius norm.
    published : bool
        Whether to compute the formula of the calibration study, 1 - d / ||Y||, where d is the distance after the best
        rotation without scaling. This value is asymmetric and has no lower bound.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((50, 4))
    >>> round(procrustes_similarity(X, 3 * X[:, ::-1] + 1), 6)
    1.0
    """
    for name, value in (("center", center), ("scale", scale), ("published", published)):
        check.boolean(value, name)
    if published and not (center and scale):
        raise ValueError(
            "published must not be combined with center=False or scale=False: the published formula "
            "centres but does not scale"
        )
    if not center:
        return _similarity_without_centring(a, b, scale)
    cosine = _shape_cosine(a, b)
    if not published:
        return cosine if scale else cosine * _size_agreement(a.centred_norm * a.unit, b.centred_norm * b.unit)
    ratio = a.centred_norm * a.unit / (b.centred_norm * b.unit)
    return 1.0 - float(np.sqrt((ratio - 1) ** 2 + 2 * ratio * (1 - cosine)))


def _similarity_without_centring(a: Features, b: Features, scale: bool) -> float:
    norms = [norm(side.rows) for side in (a, b)]
    if not all(norms):
        raise NotEstimable("all entries are zero")
    cosine = min(1.0, float(singular_values(a.rows.T @ b.rows).sum()) / (norms[0] * norms[1]))
    return cosine if scale else cosine * _size_agreement(norms[0] * a.unit, norms[1] * b.unit)


def _size_agreement(first: float, second: float) -> float:
    """Factor 2 r s / (r^2 + s^2) that accounts for unequal sizes r and s."""
    ratio = min(first, second) / max(first, second)
    return 2 * ratio / (1 + ratio**2)


MATCHING = "matching"


def _correlations(a: Features, b: Features) -> Matrix:
    """Correlate every column of one side with every column of the other; 0 for constant columns."""
    correlations = a.correlations(b)
    for side, width in ((a, correlations.shape[0]), (b, correlations.shape[1])):
        if len(side.constant_columns) == width:
            raise NotEstimable("all rows are equal")
    return correlations


def _constant(a: Features, b: Features) -> str:
    """Return a note that names the constant columns; empty if there are none."""
    parts = [
        f"columns {check.join_items(side.constant_columns)} of the {name}"
        for name, side in (("first", a), ("second", b))
        if len(side.constant_columns)
    ]
    return f"constant features have no correlations, so these are set to 0: {' and '.join(parts)}" if parts else ""


def _best_matching(gain: Matrix) -> Matrix:
    from scipy.optimize import linear_sum_assignment

    return np.asarray(gain[linear_sum_assignment(gain, maximize=True)])


@measure(
    "PermProc",
    view=Features,
    closer="lower",
    bounds=(0, np.inf),
    symmetric=True,
    invariant=("permutation",),
    family=MATCHING,
    cost="n d^2 + d^3",
    formula="min_P ||X - Y P|| over permutations P of the columns",
    reference="Williams et al. 2021",
    caveats=("The distance is in the units of the features, and depends on their offsets.",),
    self_value=0.0,
    groups=("ReSi",),
)
def permutation_procrustes(a: Features, b: Features) -> float:
    """Distance after the best one-to-one matching of the columns, without centring or scaling.

    The narrower matrix is padded with zero columns.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((50, 4))
    >>> permutation_procrustes(X, X[:, ::-1])
    0.0
    """
    from scipy.optimize import linear_sum_assignment

    if a.rows.shape[1] > b.rows.shape[1]:
        a, b = b, a
    unit = max(a.unit, b.unit)
    left, right = linear_sum_assignment(_column_gain(a, b, unit), maximize=True)
    x, y = (side.rows * (side.unit / unit) for side in (a, b))
    alone = np.setdiff1d(np.arange(y.shape[1]), right)
    return float(np.hypot(np.linalg.norm(x[:, left] - y[:, right]), np.linalg.norm(y[:, alone]))) * unit


def _column_gain(narrow: Features, wide: Features, unit: float) -> Matrix:
    """Inner products between columns, without the part that is the same for every matching.

    A common offset of all columns would dominate every inner product and reduce precision, so the column means enter as
    differences. Adding a constant to a row of the gain does not change the best matching, because every column of the
    narrower side is matched. Adding a constant to a column has no effect only if the widths are equal.
    """
    x, y = (side.centred * (side.unit / unit) for side in (narrow, wide))
    means, others = ((side.rows[0] - side.centred[0]) * (side.unit / unit) for side in (narrow, wide))
    others = others - others.mean()
    if len(means) == len(others):
        return np.asarray(x.T @ y - len(x) / 2 * np.subtract.outer(means - means.mean(), others) ** 2)
    return np.asarray(x.T @ y + len(x) * np.outer(means, others))


@measure(
    "HardCorr",
    view=Features,
    closer="higher",
    bounds=(-1, 1),
    symmetric=True,
    invariant=("permutation", "scaling", "translation"),
    family=MATCHING,
    cost="n d^2 + d^3",
    formula="max_P mean_j corr(x_j, y_P(j)) over one-to-one matchings P",
    reference="Li et al. 2015",
    caveats=(
        "The best of many matchings is scored, so independent data score well above 0 if n is small.",
        "A constant feature, such as a unit that never fires, has correlation 0. With such a feature, a representation "
        "scores below 1 when compared with itself.",
    ),
    self_value=1.0,
    groups=("ReSi",),
    remark=_constant,
)
def hard_correlation_match(a: Features, b: Features) -> float:
    """Mean correlation in the best one-to-one matching of columns; some of the wider side stay unmatched.

    Constant columns have no correlations, so theirs are set to 0, with a warning.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((50, 4))
    >>> round(hard_correlation_match(X, X[:, ::-1]), 6)
    1.0
    """
    return float(_best_matching(_correlations(a, b)).mean())


@measure(
    "SoftCorr",
    view=Features,
    closer="higher",
    bounds=(-1, 1),
    symmetric=True,
    invariant=("permutation", "scaling", "translation"),
    family=MATCHING,
    cost="n d^2",
    formula="(mean_j max_k corr(x_j, y_k) + mean_k max_j corr(x_j, y_k)) / 2",
    reference="Li et al. 2015; Khosla and Williams 2024",
    caveats=(
        "The best of many matches is scored, so independent data score well above 0 if n is small.",
        "A constant feature, such as a unit that never fires, has correlation 0. With such a feature, a representation "
        "scores below 1 when compared with itself.",
    ),
    self_value=1.0,
    groups=("ReSi",),
    remark=_constant,
)
def soft_correlation_match(a: Features, b: Features) -> float:
    """Mean correlation of each column with its best match in the other representation, in both directions.

    Constant columns have no correlations, so theirs are set to 0, with a warning.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((50, 4))
    >>> round(soft_correlation_match(X, X[:, ::-1]), 6)
    1.0
    """
    correlations = _correlations(a, b)
    return float(correlations.max(axis=1).mean() + correlations.max(axis=0).mean()) / 2


@measure(
    "soft matching",
    view=Features,
    closer="higher",
    bounds=(-1, 1),
    symmetric=True,
    invariant=("permutation", "scaling", "translation"),
    family=MATCHING,
    cost="more",
    formula="max_P sum_jk P_jk corr(x_j, y_k) / mass; P >= 0, rows sum to 1/p at most, columns to 1/q, all to mass",
    reference="Khosla and Williams 2024 (arXiv 2311.09466); for mass < 1 arXiv 2602.19331",
    caveats=(
        "The best of many matchings is scored, so independent data score well above 0 if n is small. Calibrate the "
        "score.",
        "A smaller mass leaves out the units that match worst, which raises the score of noise as well.",
        "With equal widths and mass=1, the score equals HardCorr.",
        "A constant feature, such as a unit that never fires, has correlation 0. With such a feature, a representation "
        "scores below 1 when compared with itself.",
    ),
    self_value=1.0,
    remark=_constant,
)
def soft_matching(a: Features, b: Features, *, mass: float = 1.0) -> float:
    """Mean correlation of units under optimal transport, in which a unit may match parts of several units.

    Unlike a one-to-one matching, the transport includes every unit of the wider side. If `mass` is below 1, the
    worst-matching units, such as noise, are left out.

    Parameters
    ----------
    mass : float
        Share of the units on each side that is matched, in (0, 1].

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((50, 4))
    >>> round(soft_matching(X, np.repeat(X[:, ::-1], 2, axis=1)), 6)
    1.0
    >>> noisy = np.hstack([X, rng.standard_normal((50, 1))])
    >>> round(soft_matching(noisy, np.hstack([X, rng.standard_normal((50, 1))]), mass=0.8), 6)
    1.0
    """
    if not 0 < check.real_number(mass, "mass") <= 1:
        raise ValueError(f"mass must be above 0 and at most 1, got {mass}")
    gain = _correlations(a, b)
    if not unit_matching.is_feasible(*gain.shape):
        raise NotEstimable(
            f"the transport between {gain.shape[0]:,} and {gain.shape[1]:,} units takes too long; use equal widths, "
            "or SoftCorr"
        )
    return float((unit_matching.best_transport(gain, mass) * gain).sum() / mass)
