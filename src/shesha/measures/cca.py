"""Canonical correlations: how far linear maps of two representations agree."""

from __future__ import annotations

from typing import Literal

import numpy as np

from shesha import _validate as check
from shesha._arrays import beside, namespace, thin_svd, to_host
from shesha._warnings import NotEstimable
from shesha.measures._registry import measure
from shesha.views import Basis

FAMILY = "canonical correlation"


def _require_freedom(*sides: Basis) -> None:
    for side in sides:
        if side.rank >= side.n_rows - 1:
            raise NotEstimable(
                f"canonical correlations are all 1 where the features span the {side.n_rows - 1} dimensions that "
                f"{side.n_rows} centred rows have, got rank {side.rank}: reduce the features, or use SVCCA"
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
        "Directions of any variance count alike: noise counts as much as signal.",
        "Rises with the number of features: independent data of rank p and q give about sqrt(max(p, q) / n).",
    ),
    self_value=1.0,
    anywhere=True,
)
def cca(a: Basis, b: Basis) -> float:
    """Mean canonical correlation: do the two span the same linear subspace?

    The calibration study computes it in single precision with an absolute ridge of 1e-6, which distorts
    small numbers; ours has neither. With p or q at least n - 1 (in rank) every canonical
    correlation is 1: NaN with that reason.

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
    formula="mean canonical correlation of the principal components that hold 99 % of each variance",
    reference="Raghu et al. 2017",
    caveats=("One direction of large variance may be all that is compared.",),
    self_value=1.0,
    groups=("ReSi",),
    anywhere=True,
)
def svcca(a: Basis, b: Basis, *, components: float | int | Literal["published"] = 0.99) -> float:
    """Mean canonical correlation of the leading principal components.

    Parameters
    ----------
    components : float in (0, 1], int or 'published'
        Share of the variance that the components hold, their number (the calibration study takes 10),
        or the rule that made the ReSi benchmark's numbers: that code compares the cumulative *share* with 0.99
        times the *total* variance, so that it keeps one component unless the total is below about 1.

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
        return int(np.argmax(reached)) + 1
    if isinstance(components, int | np.integer):
        return check.count(components, "components")
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
    caveats=("The sum of absolute values depends on the axes: a rotation changes the weights.",),
    self_value=1.0,
    groups=("ReSi",),
    anywhere=True,
)
def pwcca(a: Basis, b: Basis, *, weights: Literal["projection", "l1"] = "projection") -> float:
    """Canonical correlations weighted by how much of the features each direction carries.

    The directions h_i and the columns x_j are those of the side with the smaller rank, as in the original
    code, and of X where the ranks are equal. The ReSi benchmark's code skips the whitening, adds column
    means back and fails for p > q.

    Parameters
    ----------
    weights : {'projection', 'l1'}
        'projection': alpha_i = sum_j |<h_i, x_j>|. 'l1': the l1 norm of h_i itself, as the calibration study
        writes it.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((50, 4))
    >>> round(pwcca(X, X @ [[2, 1, 0, 0], [0, 1, 0, 0], [0, 0, 1, 5], [1, 0, 0, 1]]), 6)
    1.0
    """
    check.choice(weights, ("projection", "l1"), "weights")
    _require_freedom(a, b)
    if a.rank > b.rank:
        a, b = b, a
    rotation, correlations, _ = thin_svd(a.overlap(b))
    if weights == "projection":
        # Columns are directions * singular values @ loadings, so projections need no rows.
        carried = (rotation.T * beside(a.singular_values, rotation)) @ a.loadings
    else:
        carried = (a.directions @ rotation).T
    xp = namespace(carried)
    alpha = to_host(xp.sum(xp.abs(carried), axis=1))
    return float((alpha * np.clip(correlations, 0.0, 1.0)).sum() / alpha.sum())
