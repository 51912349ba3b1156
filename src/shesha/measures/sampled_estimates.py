"""Estimates of measures from random rows, pairs or triples, with the influence of each draw."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from shesha.kernels.distances import Metric
from shesha.kernels.sampled_feature_halves import spearman_influence
from shesha.support.types import Matrix, Vector
from shesha.support.warnings import NotEstimable

_EQUAL = "all distances between sampled rows are equal, so they have no correlation"


@dataclass(frozen=True)
class PairSample:
    """Distances within random tuples of rows, for both sides; one line per tuple, one column per pair."""

    first: Matrix
    second: Matrix
    n_rows: int
    tolerances: tuple[float, float]
    """For each side, the difference below which two distances count as equal."""


Estimate = tuple[float, Vector]
"""The value, and the influence of each tuple on it. Influences have mean 0 and the spread of the sampling error."""


@dataclass(frozen=True)
class SampledRows:
    """Estimation of a measure from random rows, as the mean over rows of `terms`."""

    terms: Callable[..., Vector]
    """Function of two views and the options that returns one number per row."""


@dataclass(frozen=True)
class SampledPairs:
    """Estimation of a measure from random tuples of rows.

    Attributes
    ----------
    estimate : function of a PairSample and the measure's options
        Returns the value and the influence of each tuple on it.
    size : int
        Number of rows in each tuple.
    metric : str or None
        Distance between rows. None means the value of the measure's `metric` option.
    lacks : function of the options, optional
        Returns the reason why there is no estimate for these options; empty if there is one, which is the default.
    """

    estimate: Callable[[PairSample, Mapping[str, Any]], Estimate]
    size: int = 2
    metric: Metric | None = None
    lacks: Callable[[Mapping[str, Any]], str] = lambda options: ""


def correlation(sample: PairSample, options: Mapping[str, Any]) -> Estimate:
    """Pearson or Spearman correlation between the distances."""
    a, b = sample.first[:, 0].copy(), sample.second[:, 0].copy()
    if options["method"] == "spearman":
        value, influence = spearman_influence(a, b, sample.tolerances)
        if np.isnan(value):
            raise NotEstimable(_EQUAL)
        return value, influence
    for side, tolerance in ((a, sample.tolerances[0]), (b, sample.tolerances[1])):
        if np.ptp(side) <= tolerance:
            raise NotEstimable(_EQUAL)
        side -= side.mean()
        side /= side.std()
    value = float((a * b).mean())
    return value, a * b - value * (a * a + b * b) / 2


def drift(sample: PairSample, options: Mapping[str, Any]) -> Estimate:
    """One minus the correlation between the distances."""
    value, influence = correlation(sample, options)
    return 1.0 - value, influence


def frobenius(sample: PairSample, options: Mapping[str, Any]) -> Estimate:
    """Frobenius norm of the difference between the two distance matrices."""
    squared = (sample.first[:, 0] - sample.second[:, 0]) ** 2
    total = sample.n_rows * (sample.n_rows - 1) * float(squared.mean())
    if total == 0:
        return 0.0, np.zeros(len(squared))
    return sqrt(total), sqrt(total) / 2 * (squared / squared.mean() - 1)


def distance_correlation(sample: PairSample, options: Mapping[str, Any]) -> Estimate:
    """Distance correlation over all n rows, estimated from means over triples of rows.

    The sum of the entrywise product of two double-centred matrices depends on four means over different rows i, j and
    k: those of d_ij d'_ij, d_ij, d'_ij and d_ij d'_ik. A triple has three pairs and three corners.
    """
    a, b = sample.first, sample.second
    parts = [_product_moments(x, y) for x, y in ((a, b), (a, a), (b, b))]
    values, gradients = zip(*(_centred_product(part.mean(axis=0), sample.n_rows) for part in parts), strict=True)
    if values[1] <= 0 or values[2] <= 0:
        raise NotEstimable(_EQUAL)
    squared = values[0] / sqrt(values[1] * values[2])
    if squared <= 0:
        raise NotEstimable("there are too few sampled distances to distinguish the value from 0: sample more pairs")
    terms = [(part - part.mean(axis=0)) @ gradient for part, gradient in zip(parts, gradients, strict=True)]
    influence = squared * (terms[0] / values[0] - terms[1] / (2 * values[1]) - terms[2] / (2 * values[2]))
    return sqrt(min(squared, 1.0)), influence / (2 * sqrt(squared))


def _product_moments(a: Matrix, b: Matrix) -> Matrix:
    """For each triple, the mean of d d' over pairs, its mean over corners, and the means of d and of d'."""
    products = (a * b).mean(axis=1)
    sums = a.sum(axis=1), b.sum(axis=1)
    corners = (sums[0] * sums[1] - 3 * products) / 6
    return np.stack([products, corners, sums[0] / 3, sums[1] / 3], axis=1)


def _centred_product(moments: Vector, n: int) -> tuple[float, Vector]:
    """Mean entry of the product of two double-centred matrices with zero diagonal, and its gradient."""
    pairs = (n - 1) / n
    corners = pairs * (n - 2) / n
    of_products = pairs - 2 * pairs / n
    value = of_products * moments[0] - 2 * corners * moments[1] + pairs**2 * moments[2] * moments[3]
    gradient = np.array([of_products, -2 * corners, pairs**2 * moments[3], pairs**2 * moments[2]])
    return float(value), gradient
