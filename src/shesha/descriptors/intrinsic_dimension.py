"""Intrinsic dimension at one scale, from distances to neighbours."""

from __future__ import annotations

import numpy as np

from shesha.descriptors._registry import descriptor
from shesha.inputs import validation as check
from shesha.kernels.intrinsic_dimension import dimension_of_ratios
from shesha.support.types import Matrix, Vector
from shesha.support.warnings import NotEstimable
from shesha.views import NeighbourDistances

_RANKS = (1, 2, 4, 8, 16, 32)
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
    """Intrinsic dimension from each row's distances to its neighbours of rank r and 2 r.

    Rank 1 gives the two-nearest-neighbour estimator (2NN), which describes the smallest scale, including the noise at
    this scale. Larger ranks describe larger scales. Repeated rows count once. Run time grows as n^2 d.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The representation, with at least 3 distinct rows and finite values.
    rank : {1, 2, 4, 8, 16, 32}
        Rank r of the nearer neighbour. The data must have more than 2 r distinct rows.

    Returns
    -------
    float
        Dimension, greater than 0. NaN, with a warning, if all rows are equal or if the two neighbours of each row are
        equally far away.

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
    dimension = dimension_at_rank(view.distances, place)
    if not np.isfinite(dimension):
        raise NotEstimable("neighbours of different ranks have equal distances")
    return dimension


def dimension_at_rank(distances: Matrix, place: int) -> float:
    """Return the dimension from distances at one rank and half of it, without rows that lack either."""
    return dimension_of_ratios(_log_ratios(distances, place), int(2 ** (place - 1)))


def _log_ratios(distances: Matrix, place: int) -> Vector:
    ratios = np.log(distances[:, place] / distances[:, place - 1])
    # Distances that differ only by rounding count as equal.
    return np.where(ratios > _EQUAL, ratios, 0.0)[np.isfinite(ratios)]
