"""Measures of distributions of rows, of spectra and leading subspaces, and of single numbers per representation."""

from __future__ import annotations

import numpy as np

from shesha.inputs import validation as check
from shesha.kernels.distances import PANEL, Metric
from shesha.kernels.threads import parallel
from shesha.measures.registry import measure
from shesha.support.types import Matrix, Seed, Vector
from shesha.support.warnings import NotEstimable
from shesha.views import Basis, Concentricity, Features, Magnitude, Projections, Spectrum, SplitStability, Uniformity

DISTRIBUTIONS = "distributions"
_MEDIAN_ROWS = 2000


@measure(
    "sliced Wasserstein",
    view=Projections,
    closer="lower",
    bounds=(0, np.inf),
    symmetric=True,
    invariant=(),
    family=DISTRIBUTIONS,
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
    unit = max(a.unit, b.unit)
    x, y = (side.values * (side.unit / unit) for side in (a, b))
    if x.shape == y.shape:
        return float(np.abs(x - y).mean()) * unit
    return float(np.mean([_wasserstein(u, v) for u, v in zip(x, y, strict=True)])) * unit


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
    family=DISTRIBUTIONS,
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
    # A kernel this narrow is 1 for equal rows and 0 for all others; narrower ones would overflow.
    scale = max(scale, _NARROWEST * float(max(np.abs(x).max(), np.abs(y).max())))
    x, y = x / scale, y / scale
    squared = _mean_kernel(x, x) + _mean_kernel(y, y) - 2 * _mean_kernel(x, y)
    # For equal distributions, only the rounding error of the three sums remains.
    return float(np.sqrt(squared)) if squared > 1e-14 else 0.0


_NARROWEST = 1e-140
"""Bandwidth relative to the largest number, below which the kernel does not change."""


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


SPECTRA = "spectra"


@measure(
    "subspace overlap",
    view=Basis,
    closer="higher",
    bounds=(0, 1),
    symmetric=True,
    invariant=("orthogonal", "scaling", "translation"),
    family=SPECTRA,
    cost="n d^2",
    formula="||U_X(1:k)' U_Y(1:k)||^2 / k, U(1:k) the first k left singular vectors of centred columns",
    reference="Raju 2026, section 10; Bjorck and Golub 1973",
    caveats=(
        "Unrelated data score about k / n.",
        "If singular values k and k + 1 are close, the subspace is arbitrary.",
    ),
    self_value=1.0,
    anywhere=True,
)
def subspace_overlap(a: Basis, b: Basis, *, k: int = 10) -> float:
    """Mean squared cosine of the principal angles between the leading k-dimensional subspaces.

    Parameters
    ----------
    k : int
        Number of leading directions, at most the rank of each side. The drift study uses 5, 10 and 20.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((50, 20))
    >>> round(subspace_overlap(X, 3 * X[:, ::-1] + 1), 6)
    1.0
    """
    k = check.count(k, "k")
    if k > min(a.rank, b.rank):
        raise NotEstimable(f"{k} leading directions need that rank, got {min(a.rank, b.rank)}")
    if max(a.count_with_ties(k), b.count_with_ties(k)) > k:
        raise NotEstimable(
            f"singular values {k} and {k + 1} are equal, so the leading directions are arbitrary: pass another k"
        )
    return float(min(1.0, a.truncated(k).squared_overlap(b.truncated(k)).sum() / k))


@measure(
    "eigenspectrum similarity",
    view=Spectrum,
    closer="higher",
    bounds=(0, 1),
    symmetric=True,
    invariant=("orthogonal", "scaling", "translation"),
    family=SPECTRA,
    cost="n d^2",
    formula="cos(s_X, s_Y), where s are the singular values after centring, and the shorter list is padded with zeros",
    reference="Raju 2026, section 10",
    caveats=("Two spectra with a similar decay score near 1, because directions have no effect.",),
    paired=False,
    self_value=1.0,
)
def eigenspectrum_similarity(a: Spectrum, b: Spectrum) -> float:
    """Cosine between the two vectors of singular values.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((50, 8))
    >>> round(eigenspectrum_similarity(X, 3 * X[::-1, ::-1] + 1), 6)
    1.0
    """
    x, y = np.sqrt(a.variances), np.sqrt(b.variances)
    shorter = min(len(x), len(y))
    # The variance shares sum to one, so these vectors have unit length.
    return float(np.clip((x[:shorter] * y[:shorter]).sum(), 0.0, 1.0))


STATISTICS = "statistics"
_COARSE = "Unrelated representations can have equal values, and so a difference of 0."
_ALONE = 1e-6
"""If pairs of different rows contribute less than this share of the mean, they have no visible effect."""


def _no_near_rows_note(a: Uniformity, b: Uniformity) -> str:
    """Return a note if, on either side, no two different rows are close enough to contribute."""
    share = max(a.beyond, b.beyond)
    if share >= _ALONE or min(a.n_rows, b.n_rows) < 2:
        return ""
    size = f"{share:.0e}" if share > 0 else "less than a float can represent"
    return (
        "rows are so far apart that exp(-2 d^2) is 0 except for a row with itself. Both uniformities are -log n, and "
        f"all other pairs add {size}. Scale the features first, for example to rows of unit length"
    )


@measure(
    "MagDiff",
    view=Magnitude,
    closer="lower",
    bounds=(0, np.inf),
    symmetric=True,
    invariant=("orthogonal",),
    family=STATISTICS,
    cost="n d",
    formula="| ||mean_i x_i|| - ||mean_i y_i|| |",
    reference="Wang et al. 2022",
    caveats=(_COARSE,),
    paired=False,
    self_value=0.0,
    groups=("ReSi",),
)
def magnitude_difference(a: Magnitude, b: Magnitude) -> float:
    """Difference between the norms of the two mean rows.

    Examples
    --------
    >>> magnitude_difference(np.ones((5, 4)), np.zeros((5, 2)))
    2.0
    """
    return abs(a.value - b.value)


@measure(
    "ConcDiff",
    view=Concentricity,
    closer="lower",
    bounds=(0, 2),
    symmetric=True,
    invariant=("orthogonal", "scaling"),
    family=STATISTICS,
    cost="n d",
    formula="| mean_i cos(x_i, mean x) - mean_i cos(y_i, mean y) |",
    reference="Wang et al. 2022",
    caveats=(_COARSE,),
    paired=False,
    self_value=0.0,
    groups=("ReSi",),
)
def concentricity_difference(a: Concentricity, b: Concentricity) -> float:
    """Difference between the two mean cosines of rows with their mean row.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((50, 8))
    >>> round(concentricity_difference(X, 3 * X[::-1, ::-1]), 6)
    0.0
    """
    return abs(a.value - b.value)


@measure(
    "UnifDiff",
    view=Uniformity,
    closer="lower",
    bounds=(0, np.inf),
    symmetric=True,
    invariant=("orthogonal", "translation"),
    family=STATISTICS,
    cost="n^2 d",
    formula="| log mean_ij exp(-2 ||x_i - x_j||^2) - the same of Y |, all n^2 pairs",
    reference="Wang and Isola 2020",
    caveats=(
        _COARSE,
        "Pairs of rows farther apart than about 3 (many or large features) add almost nothing: scale rows first, for "
        "example to unit length. The difference then comes from the few nearest pairs.",
    ),
    paired=False,
    self_value=0.0,
    groups=("ReSi",),
    remark=_no_near_rows_note,
)
def uniformity_difference(a: Uniformity, b: Uniformity) -> float:
    """Difference between the two uniformities, which measure how evenly rows fill their space.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((50, 8))
    >>> round(uniformity_difference(X, X[::-1, ::-1] + 1), 6)
    0.0
    """
    return a.difference(b)


@measure(
    "stability difference",
    view=SplitStability,
    closer="lower",
    bounds=(0, 2),
    symmetric=True,
    invariant=("scaling",),
    family="stability",
    cost="n^2 d",
    formula="| feature_split(X) - feature_split(Y) |",
    reference="Raju 2026",
    caveats=(_COARSE, "Halves are random: pass a seed to get a reproducible number."),
    paired=False,
    self_value=0.0,
)
def stability_difference(
    a: SplitStability, b: SplitStability, *, metric: Metric = "cosine", n_splits: int = 30, seed: Seed = None
) -> float:
    """Difference between the two feature-split stabilities.

    Parameters
    ----------
    metric : {'cosine', 'correlation', 'euclidean'}
        Distance between rows.
    n_splits : int
        Number of random divisions of the features into halves.
    seed : int, Generator or None
        Seed for the halves, as for `shesha.feature_split`. An int gives representations of equal width the same halves.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((50, 8))
    >>> stability_difference(X, 3 * X, seed=0)
    0.0
    """
    return abs(a.value - b.value)
