"""Classes that moved apart or closer, compared with shuffled labels."""

from __future__ import annotations

import numpy as np

from shesha.kernels.distances import Metric, condensed_distances
from shesha.kernels.symmetric_matrices import square
from shesha.nulls.corrections import benjamini_hochberg
from shesha.nulls.permutations import Design, draw_permutations
from shesha.results.changes.kind_of_change import ClassChange
from shesha.support.types import Labels, Matrix, Seed
from shesha.views import Representation

PERMUTATIONS = 999
METRIC: Metric = "cosine"


def class_changes(
    before: Representation,
    after: Representation,
    codes: Labels,
    classes: list[str],
    *,
    design: Design,
    seed: Seed,
) -> tuple[ClassChange, ...]:
    """Return every pair of classes, and every class with itself, sorted by p-value.

    Distances are those over the mean distance between all rows, so that a common scale moves nobody.

    Parameters
    ----------
    before, after : Representation
    codes : array of shape (n_rows,)
        The class of each row.
    classes : list of str
        Names of the classes.
    design : dict
        Which rows may exchange their labels.
    seed : int, Generator or None
        For the shuffles.
    """
    old, new = (_relative_distances(side) for side in (before, after))
    orders, _ = draw_permutations(len(codes), PERMUTATIONS, 0.05, design=design, seed=seed)
    moved = new - old
    first, second = np.triu_indices(len(classes))
    change = class_means(moved, codes)[first, second]
    null = np.array([class_means(moved, codes[order])[first, second] for order in orders])
    # What rounding makes of no change is no evidence.
    reached = np.abs(null) >= np.abs(change) - 1e-12
    p = (1 + reached.sum(axis=0)) / (1 + len(orders))
    corrected = benjamini_hochberg(p)
    starts, ends = (class_means(one, codes)[first, second] for one in (old, new))
    found = [
        ClassChange(classes[a], classes[b], *map(float, numbers))
        for a, b, *numbers in zip(first, second, starts, ends, p, corrected, strict=True)
    ]
    return tuple(sorted(found, key=lambda one: (one.p_adjusted, -abs(one.change))))


def _relative_distances(side: Representation) -> Matrix:
    rows = side.standard(METRIC)
    condensed = condensed_distances(rows, METRIC)
    found: Matrix = square(condensed / condensed.mean(), len(rows))
    return found


def class_means(distances: Matrix, codes: Labels) -> Matrix:
    """Return the mean distance between the rows of every two classes, without pairs of a row and itself.

    Examples
    --------
    >>> class_means(np.array([[0.0, 1.0, 3.0], [1.0, 0.0, 5.0], [3.0, 5.0, 0.0]]), np.array([0, 0, 1]))[0]
    array([1., 4.])
    """
    member = np.eye(int(codes.max()) + 1)[codes]
    sizes = member.sum(axis=0)
    pairs = np.outer(sizes, sizes) - np.diag(sizes)
    sums: Matrix = member.T @ distances @ member
    found: Matrix = sums / np.maximum(pairs, 1.0)
    return found
