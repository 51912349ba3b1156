"""Whether voxels are in another order than their coordinates, as if one is in Fortran order and the other is not."""

from __future__ import annotations

from typing import Any

import numpy as np

from shesha.kernels.rounding_and_scaling import z_scores
from shesha.support.provenance import state_warning
from shesha.support.types import Index, Matrix

_MOST_PLACES, _FEWEST, _MOST_PAIRS = 20, 50, 4_000
"""Most places of the box per voxel, fewest voxels, and most pairs of neighbours whose correlations are averaged."""
_SMOOTH, _MUCH_LESS = 0.1, 0.75
"""Smallest mean correlation of neighbours in the other order beyond that of any voxels, and largest ratio to it of that
in the given order. Where values are smooth along one axis only, both orders agree with them alike."""
_DECIMALS, _N_SDS = 6, 5.0
"""Decimals of coordinates, and standard errors by which neighbours must be alike."""


def state_other_voxel_order(responses: Matrix, coordinates: Any) -> None:
    """Warn if columns that are next to one another in space are less alike than in the other order of the grid."""
    if (places := _grid_places(coordinates, responses.shape[1])) is None:
        return
    columns = z_scores(responses)
    rng = np.random.default_rng(0)
    by_chance = _mean_correlation(columns, rng.integers(places.shape[0], size=(_MOST_PAIRS, 2)))
    given = _mean_correlation(columns, _neighbours(places, rng)) - by_chance
    noise = 1 / np.sqrt((len(responses) - 1) * len(places))
    # The last key of `lexsort` is the axis whose place changes most slowly.
    orders = {"Fortran order (first axis fastest)": places.T, "C order (last axis fastest)": places.T[::-1]}
    for name, keys in orders.items():
        order = np.lexsort(keys)
        other = _mean_correlation(columns, _neighbours(places[order], rng)) - by_chance
        if other >= max(_SMOOTH, _N_SDS * noise) and given <= _MUCH_LESS * other:
            state_warning(
                f"features that are next to one another by their coordinates have a mean correlation of "
                f"{given + by_chance:.2f}, but of {other + by_chance:.2f} if X lists these places in {name}, so "
                "the features of X seem to be in another order than the coordinates. Pass the coordinates in the order "
                "of X",
                questions_input=True,
            )
            return


def _grid_places(coordinates: Any, n_features: int) -> Index | None:
    """Return the place of each feature in the grid of all coordinates; None if these are no grid."""
    if coordinates is None or len(coordinates) != n_features or n_features < _FEWEST or coordinates.shape[1] < 2:
        return None
    axes = [np.unique(axis.round(_DECIMALS), return_inverse=True) for axis in np.asarray(coordinates, dtype=float).T]
    sizes = [len(values) for values, _ in axes]
    places = np.stack([codes.ravel() for _, codes in axes], axis=1)
    if np.prod(np.array(sizes, dtype=float)) > _MOST_PLACES * n_features or len(np.unique(places, axis=0)) < n_features:
        return None
    return places


def _neighbours(places: Index, rng: np.random.Generator) -> Index:
    """Return pairs of features that are next to one another along an axis, at most some of them."""
    grid = np.full(places.max(axis=0) + 1, -1)
    grid[tuple(places.T)] = np.arange(len(places))
    pairs = []
    for axis in range(grid.ndim):
        first, second = (np.take(grid, np.arange(k, grid.shape[axis] - 1 + k), axis=axis).ravel() for k in (0, 1))
        both = (first >= 0) & (second >= 0)
        pairs.append(np.stack([first[both], second[both]], axis=1))
    found = np.concatenate(pairs)
    return found if len(found) <= _MOST_PAIRS else found[rng.choice(len(found), _MOST_PAIRS, replace=False)]


def _mean_correlation(columns: Matrix, pairs: Index) -> float:
    """Return the mean correlation of pairs of columns, without those that do not vary; 0 without pairs."""
    first, second = columns[:, pairs[:, 0]], columns[:, pairs[:, 1]]
    varied = first.any(axis=0) & second.any(axis=0) & (pairs[:, 0] != pairs[:, 1])
    return float((first * second).mean(axis=0)[varied].mean()) if varied.any() else 0.0
