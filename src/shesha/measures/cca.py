"""Canonical correlations between two representations."""

from __future__ import annotations

from math import exp, lgamma, pi, sqrt
from typing import Literal

import numpy as np

from shesha.inputs import validation as check
from shesha.measures.registry import measure
from shesha.support.device_arrays import convert_like, namespace, thin_svd, to_host
from shesha.support.types import Matrix, Vector
from shesha.support.warnings import NotEstimable
from shesha.views import Basis

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
