"""Find classes that moved apart or closer together, tested against shuffled labels."""

from __future__ import annotations

import numpy as np

from shesha.inputs import validation as check
from shesha.kernels.condensed_matrices import square
from shesha.kernels.distances import Metric, condensed_distances
from shesha.nulls.corrections import benjamini_hochberg
from shesha.nulls.permutations import Design, draw_permutations
from shesha.results.changes.kind_of_change import ClassChange
from shesha.support.types import Array, Index, Labels, Matrix, Seed
from shesha.views import Representation

_MOST_CLASSES = 30
_LEAST_ROWS = 5
"""Minimum number of rows that a class must have to be compared."""
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
    """Return the change in distance for each pair of classes and within each class, sorted by p-value.

    Distances are divided by the mean distance between all rows, so a change of scale alone has no effect.

    Parameters
    ----------
    before, after : Representation
        The same rows before and after the change.
    codes : array of shape (n_rows,)
        Class of each row, as a code.
    classes : list of str
        Names of the classes, in the order of the codes.
    design : dict
        Exchange design, which restricts how labels are permuted.
    seed : int, Generator or None
        Seed of the permutations.
    """
    old, new = (_relative_distances(side) for side in (before, after))
    orders, _ = draw_permutations(len(codes), PERMUTATIONS, 0.05, design=design, seed=seed)
    moved = new - old
    first, second = np.triu_indices(len(classes))
    change = class_means(moved, codes)[first, second]
    null = np.array([class_means(moved, codes[order])[first, second] for order in orders])
    # The tolerance prevents rounding errors from counting as a change.
    reached = np.abs(null) >= np.abs(change) - 1e-12
    p = (1 + reached.sum(axis=0)) / (1 + len(orders))
    corrected = benjamini_hochberg(p)
    starts, ends = (class_means(distances, codes)[first, second] for distances in (old, new))
    changes = [
        ClassChange(classes[a], classes[b], *map(float, numbers))
        for a, b, *numbers in zip(first, second, starts, ends, p, corrected, strict=True)
    ]
    return tuple(sorted(changes, key=lambda change: (change.p_adjusted, -abs(change.change))))


def _relative_distances(side: Representation) -> Matrix:
    rows = side.standard(METRIC)
    condensed = condensed_distances(rows, METRIC)
    distances: Matrix = square(condensed / condensed.mean(), len(rows))
    return distances


def class_means(distances: Matrix, codes: Labels) -> Matrix:
    """Return the mean distance between each two classes and within each, without self-distances.

    Examples
    --------
    >>> class_means(np.array([[0.0, 1.0, 3.0], [1.0, 0.0, 5.0], [3.0, 5.0, 0.0]]), np.array([0, 0, 1]))[0]
    array([1., 4.])
    """
    member = np.eye(int(codes.max()) + 1)[codes]
    sizes = member.sum(axis=0)
    pairs = np.outer(sizes, sizes) - np.diag(sizes)
    sums: Matrix = member.T @ distances @ member
    means: Matrix = sums / np.maximum(pairs, 1.0)
    return means


def comparable_classes(labels: Array, rows: Index) -> tuple[Index, Labels, list[str]] | None:
    """Return the rows in large enough classes, their codes, and the class names; None if not 2 to 30."""
    codes, names, large = _large_classes(labels, rows)
    if not 2 <= len(large) <= _MOST_CLASSES:
        return None
    chosen = np.flatnonzero(np.isin(codes, large))
    dense_codes: Labels = np.unique(codes[chosen], return_inverse=True)[1]
    return chosen, dense_codes, [str(names[code]) for code in large]


def note_of_classes(known: dict[str, Array], rows: Index) -> list[str]:
    """Return a note on why classes are not compared, or nothing if they are or if there are no labels."""
    if known.get("labels") is None:
        return []
    n_classes = len(_large_classes(known["labels"], rows)[2])
    if 2 <= n_classes <= _MOST_CLASSES:
        return []
    if n_classes > _MOST_CLASSES:
        return [
            f"Classes were not compared: the labels have {n_classes} classes of at least {_LEAST_ROWS} rows, more "
            f"than the limit of {_MOST_CLASSES}. Pass coarser labels."
        ]
    return [
        f"Classes were not compared: at least 2 must have {_LEAST_ROWS} rows or more, got {n_classes}. If the labels "
        "are numbers, divide them into classes first."
    ]


def _large_classes(labels: Array, rows: Index) -> tuple[Labels, Array, Index]:
    """Return the class code of each row, the class names, and the codes of large enough classes."""
    codes, names = check.labels(labels[rows], len(rows), "labels", min_classes=1)
    return codes, names, np.flatnonzero(np.bincount(codes) >= _LEAST_ROWS)
