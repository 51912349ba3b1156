"""Warnings about a number whose effect inside the strata of `within` looks like a relation."""

from __future__ import annotations

from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shesha.kernels.splines import natural_spline
from shesha.support.arrays import to_host
from shesha.support.types import Index, Matrix, Vector

_MOST_ROWS = 512
"""Rows of whole strata that are looked at."""
_N_DRAWS = 99
_ROWS_PER_TERM, _MOST_TERMS = 6, 8
_LEVEL, _TOO_OFTEN = 0.05, 0.07
"""Level of a test, and the rate of false positives from which a warning comes."""
_NORMAL = NormalDist()


def strata_warnings(sides: list[NDArray[Any]], within: ArrayLike | None, strata: Index) -> list[str]:
    """Return warnings about a number that both sides follow inside its strata."""
    if within is None:
        return []
    values = np.asarray(to_host(within))
    if values.dtype.kind not in "iuf" or len(np.unique(values)) == len(np.unique(strata)):
        return []
    rows = _whole_strata(strata)
    if len(np.unique(values[rows])) < 3:
        return []
    numbers = values[rows].astype(np.float64)
    excess = strata_excess(numbers, strata[rows], *(np.asarray(side[rows], dtype=np.float64) for side in sides))
    # Standard errors fall with the root of the rows; what strata leave does not.
    rate = _NORMAL.cdf(excess * np.sqrt(len(values) / len(rows)) - _NORMAL.inv_cdf(1 - _LEVEL))
    if rate < _TOO_OFTEN:
        return []
    return [
        f"features still follow the number of within= inside its strata, so that about {100 * rate:.0f} % of unrelated "
        "data would be called related at 5 %. Pass the number as covariates=, which takes a smooth function of it out, "
        "or as keep= in chance()"
    ]


def _whole_strata(strata: Index) -> Index:
    """Rows of whole strata, spread evenly, as many as are looked at."""
    order = np.argsort(strata, kind="stable")
    if len(order) <= _MOST_ROWS:
        return order
    step = -(-len(order) // _MOST_ROWS)
    codes = np.unique(strata)[::step]
    return order[np.isin(strata[order], codes)]


def strata_excess(values: Vector, strata: Index, *sides: Matrix) -> float:
    """What a smooth effect of a number adds to the linear kernel similarity, in standard deviations of its null.

    The similarity is the inner product of kernel matrices, and the null permutes rows within strata. The effect is a
    spline that is fitted to each side; what noise adds to the fit is subtracted.

    Parameters
    ----------
    values : array of shape (n,)
    strata : array of shape (n,)
        Codes.
    *sides : one or two arrays of shape (n, n_features)
        One is compared with itself.
    """
    rng = np.random.default_rng(0)
    orders = [_permute_within(strata, rng) for _ in range(_N_DRAWS)]
    terms = natural_spline(values, int(np.clip(len(values) // _ROWS_PER_TERM, 1, _MOST_TERMS)))
    basis = np.linalg.qr(terms - terms.mean(axis=0))[0]
    rows = [_centre(side) for side in sides]
    effects = [_effect(side, basis) for side in rows]
    kernels = [side @ side.T for side in rows]
    turned = [basis.T @ basis[order] for order in orders]
    expected = [float(np.sum(effects[0] * (one @ effects[-1] @ one.T))) for one in turned]
    null = [float(np.sum(kernels[0] * kernels[-1][np.ix_(order, order)])) for order in orders]
    spread = float(np.std(null))
    excess = float(np.sum(effects[0] * effects[-1])) - float(np.mean(expected))
    return excess / spread if spread > 0 else 0.0


def _effect(rows: Matrix, basis: Matrix) -> Matrix:
    """Products of the coefficients of the spline, less what noise alone would give."""
    coefficients = basis.T @ rows
    noise = (rows**2).sum() - (coefficients**2).sum()
    free = len(rows) - 1 - basis.shape[1]
    return np.asarray(coefficients @ coefficients.T - noise / free * np.eye(basis.shape[1]))


def _centre(side: Matrix) -> Matrix:
    side = side / (np.abs(side).max(initial=0.0) or 1.0)
    return np.asarray(side - side.mean(axis=0))


def _permute_within(strata: Index, rng: np.random.Generator) -> Index:
    found = np.empty(len(strata), dtype=np.intp)
    found[np.argsort(strata, kind="stable")] = np.lexsort((rng.random(len(strata)), strata))
    return found
