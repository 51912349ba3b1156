"""Warnings about invalid designs: short series, dependent rows within blocks, drifts."""

from __future__ import annotations

from collections.abc import Collection
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shesha.inputs import validation as check
from shesha.nulls.dependence import dependence, p_value_within_design
from shesha.nulls.designs import exchange
from shesha.nulls.permutations import Design, nonempty_arguments
from shesha.results import Dependence
from shesha.results.audit.dependence import DRIFT, LEVEL, describe_period
from shesha.support.arrays import to_host
from shesha.support.types import Index, Matrix, Vector
from shesha.support.warnings import CalibrationWarning, warn

_MOST_ROWS = 1024
"""Number of rows whose dependence on a covariate is checked."""
_N_DRAWS = 999
_NORMAL = NormalDist()


def warn_of_series(sides: list[NDArray[Any]], design: Design) -> None:
    """Warn if rows depend on one another in a way that the design does not preserve.

    Parameters
    ----------
    sides : arrays of shape (n_samples, n_features)
        What is compared; what all of them show counts.
    design : dict
        Arguments of `exchange`, at least one of them given.
    """
    asked = nonempty_arguments(design)
    found = dependence(*sides)
    reasons = [DRIFT] if found.has_drift else []
    if found.period and (asked.get("shift") or asked.get("block_length")):
        reasons.append(describe_period(found.period))
    elif asked.get("shift"):
        reasons += _short_series(found, asked.get("blocks"))
    else:
        reasons += _autocorrelation_warnings(p_value_within_design(exchange(found.n_rows, **asked), *sides), asked)
    reasons += _strata_warnings(sides, asked.get("within"))
    if reasons:
        warn(f"p-values of this design may be too small: {'; '.join(reasons)}", CalibrationWarning)


def _strata_warnings(sides: list[NDArray[Any]], within: ArrayLike | None) -> list[str]:
    """Return warnings about features that still follow a covariate inside the strata of `within`."""
    if within is None:
        return []
    values = np.asarray(to_host(within))
    rows = np.arange(min(len(values), _MOST_ROWS))
    strata = exchange(len(values), within=values).block[rows]
    if values.dtype.kind not in "iuf" or len(np.unique(values)) == len(np.unique(strata)):
        return []
    # Normal scores: most of what strata leave of a covariate lies in its tails.
    places = np.argsort(np.argsort(values[rows], kind="stable"))
    quantity = np.array([_NORMAL.inv_cdf(place) for place in (places + 0.5) / len(rows)])
    p_value = max(_p_value_of_slope(quantity, np.asarray(side[rows], dtype=np.float64), strata) for side in sides)
    # All sides must follow it: by chance, independent ones do so at this level together.
    if p_value > LEVEL ** (1 / len(sides)):
        return []
    return [
        f"features still follow the covariate inside the strata of within= (p = {p_value:.1g}). Pass it as "
        "covariates=, or as keep= in chance()"
    ]


def _p_value_of_slope(quantity: Vector, features: Matrix, strata: Index) -> float:
    """p-value of features following a quantity within strata, by permutation within strata."""
    rng = np.random.default_rng(0)
    features = _centre_within(features / (np.abs(features).max(initial=0.0) or 1.0), strata)
    draws = np.stack([quantity, *(quantity[_permute_within(strata, rng)] for _ in range(_N_DRAWS))], axis=1)
    strength = ((_centre_within(draws, strata).T @ features) ** 2).sum(axis=1)
    return float(np.mean(strength >= strength[0] * (1 - 1e-9)))


def _centre_within(columns: Matrix, strata: Index) -> Matrix:
    sizes = np.bincount(strata)
    sums = np.zeros((len(sizes), columns.shape[1]))
    np.add.at(sums, strata, columns)
    return np.asarray(columns - (sums / np.maximum(sizes, 1)[:, None])[strata])


def _permute_within(strata: Index, rng: np.random.Generator) -> Index:
    found = np.empty(len(strata), dtype=np.intp)
    found[np.argsort(strata, kind="stable")] = np.lexsort((rng.random(len(strata)), strata))
    return found


def _short_series(found: Dependence, blocks: ArrayLike | None) -> list[str]:
    length = _series_length(found.n_rows, blocks)
    if not found.is_short(length):
        return []
    return [
        f"series of {length:g} rows are too short for a memory of {found.memory:.1f} rows. Use series of at "
        "least 30 times that length; remove drifts that last as long as the series first"
    ]


def _autocorrelation_warnings(p_value: float, asked: Collection[str]) -> list[str]:
    if p_value > LEVEL:
        return []
    return [
        f"rows are not exchangeable under {' and '.join(asked)}: neighbours are closer than after a "
        f"permutation (p = {p_value:.1g}). If rows are a time series, use shift=True, with sessions as blocks"
    ]


def _series_length(n_rows: int, blocks: ArrayLike | None) -> float:
    """Rows of a typical series."""
    if blocks is None:
        return n_rows
    return float(np.median(np.bincount(check.labels(blocks, n_rows, "blocks", min_classes=1)[0])))
