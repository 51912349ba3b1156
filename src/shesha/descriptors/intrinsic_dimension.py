"""Intrinsic dimension from distances to neighbours, at one scale or over scales."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from shesha.descriptors._registry import descriptor
from shesha.descriptors.dimension_curve import DimensionCurve
from shesha.inputs import validation as check
from shesha.kernels.intrinsic_dimension import dimension_of_ratios
from shesha.kernels.neighbour_distances import neighbour_distances
from shesha.kernels.threads import single_threaded_blas
from shesha.support.seeds import generator
from shesha.support.types import Matrix, Seed, Vector
from shesha.support.warnings import NotEstimable
from shesha.views import NeighbourDistances, Rdm, Representation, Rows, rows_or_distances

_RANKS = (1, 2, 4, 8, 16, 32)
_N_SPLITS = 20
_EQUAL = 1e-10


@descriptor(
    view=NeighbourDistances,
    title="Intrinsic dimension",
    bounds=(0, float("inf")),
    means="Number of coordinates that rows need locally, from the growth of the number of neighbours with distance "
    "(Gride).",
    means_not=(
        "The value is not the dimension of the data: it depends on the scale and the number of rows, and estimators "
        "disagree (arXiv 2604.20276). Look at the curve of `shesha.descriptors.dimension_over_scale`."
    ),
    reference="Denti et al. 2022; Facco et al. 2017",
    invariant=("scaling", "translation", "orthogonal"),
)
def intrinsic_dimension(view: NeighbourDistances, *, rank: int = 1) -> float:
    """Intrinsic dimension from the distances to the neighbours of rank r and 2 r of each row.

    Rank 1 gives the two-nearest-neighbour estimator (2NN), which measures the smallest scale and includes noise there.
    Larger ranks measure larger scales. Repeated rows count once. Run time grows as n^2 d.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The representation, with at least 3 distinct rows and finite values.
    rank : {1, 2, 4, 8, 16, 32}
        Rank r of the nearer neighbour. More than 2 r distinct rows are required.

    Returns
    -------
    float
        Dimension, greater than 0. NaN, with a warning, if all rows are equal, or the two neighbours of every row are
        equally far.

    Examples
    --------
    >>> import numpy as np
    >>> plane = np.random.default_rng(0).random((500, 2)) @ np.ones((2, 9)) * [1, 2, 3, 4, 5, 6, 7, 8, 9]
    >>> round(intrinsic_dimension(plane), 1)
    1.0
    """
    if check.count(rank, "rank") not in _RANKS:
        raise ValueError(f"rank must be one of {', '.join(map(str, _RANKS))}, got {rank}")
    place = _RANKS.index(rank) + 1
    if place >= view.distances.shape[1]:
        raise NotEstimable(f"rank {rank} needs more than {2 * rank} distinct rows, got {len(view.rows)}")
    dimension = _dimension(view.distances, place)
    if not np.isfinite(dimension):
        raise NotEstimable("neighbours of different ranks have equal distances")
    return dimension


def dimension_over_scale(X: ArrayLike | Representation | Rows | Rdm, *, seed: Seed = 0) -> DimensionCurve:
    """Estimate the intrinsic dimension at growing scales, with standard errors, as a curve.

    Noise fills all directions at small scales, and curvature and edges affect large scales. The dimension is a property
    of the data only where the curve is flat. Errors come from random halves of the rows, because halves of a sample
    differ as two samples of half the size do. (The usual error from the likelihood treats overlapping neighbourhoods
    as independent. On uniform data, its 95 % intervals contained the dimension in 78 to 93 % of samples.)

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The representation, with at least 6 distinct rows and finite values. Rows must be independent; time series and
        repeated measurements lower the curve.
    seed : int, Generator or None
        Seed of the random halves.

    Returns
    -------
    DimensionCurve
        Dimension at each scale, with its standard error; `plot()` draws the curve.

    Raises
    ------
    NotEstimable
        If there are fewer than 6 distinct rows.

    Examples
    --------
    >>> import numpy as np
    >>> plane = np.random.default_rng(0).random((600, 2)) @ np.random.default_rng(1).random((2, 20))
    >>> found = dimension_over_scale(plane)
    >>> [round(d) for d in found.dimensions]
    [2, 2, 2, 2, 2, 2]
    """
    rows = rows_or_distances(X, min_rows=3)
    if not isinstance(rows, Rows):
        raise TypeError("X must be features, got distances between rows")
    rng = generator(seed)
    with single_threaded_blas():
        view = rows.view(NeighbourDistances)
        n = len(view.rows)
        if n < 6:
            raise NotEstimable(f"standard errors need at least 6 distinct rows, got {n}")
        ranks = view.powers_of_two_up_to(n // 2 - 1)
        halves = np.zeros((_N_SPLITS, n), dtype=bool)
        for half in halves:
            half[rng.permutation(n)[: n // 2]] = True
        tables = neighbour_distances(view.rows, ranks, halves)
    places = range(1, len(ranks))
    return DimensionCurve(
        ranks=tuple(int(rank) for rank in ranks[:-1]),
        dimensions=tuple(_dimension(tables[0], place) for place in places),
        errors=tuple(_error(tables[1:], halves, place) for place in places),
        distances=tuple(float(tables[0][:, place - 1 : place + 1].mean()) * view.unit for place in places),
        n_samples=n,
        n_repeated=view.n_repeated,
        n_splits=_N_SPLITS,
    )


def _dimension(distances: Matrix, place: int) -> float:
    """Dimension from the distances at one rank and at half of it; rows that lack either are left out."""
    return dimension_of_ratios(_log_ratios(distances, place), int(2 ** (place - 1)))


def _log_ratios(distances: Matrix, place: int) -> Vector:
    ratios = np.log(distances[:, place] / distances[:, place - 1])
    # Distances that differ only by rounding count as equal.
    return np.where(ratios > _EQUAL, ratios, 0.0)[np.isfinite(ratios)]


def _error(tables: Matrix, halves: Matrix, place: int) -> float:
    """Standard error from halves: their difference has four times the variance of the whole."""
    dimensions = [
        (_dimension(table[half], place), _dimension(table[~half], place))
        for table, half in zip(tables, halves, strict=True)
    ]
    with np.errstate(invalid="ignore"):
        return float(np.sqrt(np.mean(np.diff(dimensions, axis=1) ** 2)) / 2)
