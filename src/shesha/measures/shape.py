"""Procrustes distances: differences after the best rotation of one representation onto the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from shesha.inputs import validation as check
from shesha.kernels.distances import standard_rows
from shesha.measures.registry import measure
from shesha.support.device_arrays import namespace, norm, singular_values, take_rows, thin_svd, to_host
from shesha.support.warnings import NotEstimable
from shesha.views import Features

FAMILY = "shape"


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
    family=FAMILY,
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
    family=FAMILY,
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
    family=FAMILY,
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
    family=FAMILY,
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
    family=FAMILY,
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
        Whether to compute the formula of the calibration study, 1 - d /

        Y

        , where d is the distance after the best rotation without scaling. This value is asymmetric and has no lower
        bound.

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
