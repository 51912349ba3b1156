"""Distances between the distributions of rows in two representations whose features correspond."""

from __future__ import annotations

import numpy as np

from shesha.inputs import validation as check
from shesha.kernels.distances import PANEL
from shesha.kernels.threads import parallel
from shesha.measures.registry import measure
from shesha.support.types import Matrix, Seed, Vector
from shesha.support.warnings import NotEstimable
from shesha.views import Features, Projections

FAMILY = "distributions"
_MEDIAN_ROWS = 2000


@measure(
    "sliced Wasserstein",
    view=Projections,
    closer="lower",
    bounds=(0, np.inf),
    symmetric=True,
    invariant=(),
    family=FAMILY,
    cost="n d",
    formula="mean over random unit directions u of W1(X u, Y u)",
    reference="Rabin et al. 2012; Bonneel et al. 2015",
    caveats=(
        "Features must correspond: a rotation of one representation counts as a change.",
        "Directions are random: pass a seed to get a reproducible number.",
    ),
    paired=False,
    equal_widths=True,
    self_value=0.0,
)
def sliced_wasserstein(a: Projections, b: Projections, *, n_projections: int = 100, seed: Seed = None) -> float:
    """Mean Wasserstein distance between the two distributions of rows along random directions.

    Parameters
    ----------
    n_projections : int
        Number of random directions.
    seed : int, Generator or None
        Seed for the random directions, which are the same for both sides.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((50, 8))
    >>> sliced_wasserstein(X, X[::-1])
    0.0
    """
    x, y = a.values, b.values
    if x.shape == y.shape:
        return float(np.abs(x - y).mean())
    return float(np.mean([_wasserstein(u, v) for u, v in zip(x, y, strict=True)]))


def _wasserstein(u: Vector, v: Vector) -> float:
    """Area between the quantile functions of two sorted samples."""
    edges = np.union1d(np.arange(1, len(u)) / len(u), np.arange(1, len(v)) / len(v))
    edges = np.concatenate([[0.0], edges, [1.0]])
    middle = (edges[1:] + edges[:-1]) / 2
    gap = np.abs(u[(middle * len(u)).astype(np.intp)] - v[(middle * len(v)).astype(np.intp)])
    return float((gap * np.diff(edges)).sum())


@measure(
    "MMD",
    view=Features,
    closer="lower",
    bounds=(0, float(np.sqrt(2))),
    symmetric=True,
    invariant=(),
    family=FAMILY,
    cost="n^2 d",
    formula="sqrt(mean k(x, x') + mean k(y, y') - 2 mean k(x, y)), k(x, y) = exp(-||x - y||^2 / (2 bandwidth^2))",
    reference="Gretton et al. 2012",
    caveats=(
        "Features must correspond: a rotation of one representation counts as a change.",
        "The distance is biased: two samples of one distribution have a distance of about sqrt(2 (1 - mean k) / n), "
        "not 0. With the median bandwidth, this is sqrt(0.8 / n).",
    ),
    paired=False,
    equal_widths=True,
    self_value=0.0,
)
def mmd(a: Features, b: Features, *, bandwidth: float | None = None) -> float:
    """Maximum mean discrepancy between the two distributions of rows, with a Gaussian kernel.

    Parameters
    ----------
    bandwidth : float, optional
        Bandwidth of the kernel. Default: the median distance between all rows of both sides, or between about 2,000
        evenly spaced rows if there are more.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((50, 8))
    >>> mmd(X, X[::-1])
    0.0
    """
    unit = max(a.unit, b.unit)
    x, y = (side.rows * (side.unit / unit) for side in (a, b))
    origin = np.median(np.concatenate([x, y]), axis=0)
    x, y = x - origin, y - origin
    scale = _median_distance(x, y) if bandwidth is None else check.positive(bandwidth, "bandwidth") / unit
    if scale <= 0:
        raise NotEstimable("the median distance between rows is zero: pass a bandwidth")
    x, y = x / scale, y / scale
    squared = _mean_kernel(x, x) + _mean_kernel(y, y) - 2 * _mean_kernel(x, y)
    # For equal distributions, only the rounding error of the three sums remains.
    return float(np.sqrt(squared)) if squared > 1e-14 else 0.0


def _median_distance(x: Matrix, y: Matrix) -> float:
    from shesha.kernels.distances import condensed_distances

    rows = np.concatenate([x, y])
    return float(np.median(condensed_distances(rows[:: max(1, -(-len(rows) // _MEDIAN_ROWS))], "euclidean")))


def _mean_kernel(x: Matrix, y: Matrix) -> float:
    lengths = np.einsum("ij,ij->i", y, y)

    def total(start: int) -> float:
        panel = x[start : start + PANEL]
        block = panel @ y.T
        block *= -2.0
        block += lengths
        block += np.einsum("ij,ij->i", panel, panel)[:, None]
        np.maximum(block, 0.0, out=block)
        block *= -0.5
        return float(np.exp(block, out=block).sum())

    return sum(parallel(total, range(0, len(x), PANEL))) / (len(x) * len(y))
