"""Find the rows that moved most, by the share of their neighbours that they lost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from shesha.changes.layer_sources import Sides
from shesha.drift.canary_check import row_movement
from shesha.inputs import labels_in_order
from shesha.inputs import validation as check
from shesha.kernels.distances import Metric, find_undirected_rows
from shesha.results.diff import MovedRow
from shesha.support import provenance
from shesha.support.seeds import spawn
from shesha.support.types import Array, Index, Seed, Vector
from shesha.views import Neighbours, Representation

_FEWEST = 10
_INDEXED = 5000
"""Maximum number of rows in the test of an index; from more, a random sample is drawn."""
_ROW_SAMPLING = 31
_NEIGHBOURS = 10
OUTPUT = "embedding"
"""Name of the layer with a sentence encoder's own output."""


def pair_of_names(names: tuple[str, str]) -> tuple[str, str]:
    """Return the names of the two sides as text, after checking that there are two."""
    if not isinstance(names, tuple | list) or len(names) != 2:
        raise ValueError(f"names must be two names, got {names!r}")
    return str(names[0]), str(names[1])


def count_neighbours(k: int | None, n_rows: int) -> int:
    """Return the number of neighbours to use: by default 10, or a third of the rows if that is less."""
    if k is None:
        return min(_NEIGHBOURS, max(1, (n_rows - 1) // 3))
    if check.count(k, "k") >= n_rows:
        raise ValueError(f"k must be below the number of rows, {n_rows}, got {k}")
    return k


def require_usable_rows(sides: Sides) -> Index:
    """Return all rows; refuse rows without a direction in some layer, which are usually failures, and too few rows."""
    for side, layers in (("before", sides.before), ("after", sides.after)):
        for layer, source in layers.items():
            zero = find_undirected_rows(source.to_numpy.rows, "cosine")
            if len(zero):
                raise ValueError(
                    check.zero_rows(f"{side}[{layer!r}]", zero, sides.n_rows, next(iter(sides.names), None))
                )
    zero = np.unique(np.concatenate([find_undirected_rows(source.to_numpy.rows, "cosine") for source in sides.every()]))
    if len(zero):
        raise ValueError(check.zero_rows("again and also", zero, sides.n_rows))
    if sides.n_rows < _FEWEST:
        raise ValueError(f"before and after must have at least {_FEWEST} rows, got {sides.n_rows}")
    return np.arange(sides.n_rows)


def draw_rows(rows: Index, most: int | None, seed: Seed) -> Index:
    """Draw at most a given number of random rows, kept in their order; None means all."""
    if most is None or len(rows) <= check.count(most, "max_rows", minimum=_FEWEST):
        return rows
    return np.sort(spawn(seed, _ROW_SAMPLING).choice(rows, most, replace=False))


def name_rows(rows: Index, sides: Sides, texts: Sequence[str] | None) -> list[str]:
    """Return a name for each row: its text, its row name, or its number."""
    if texts is not None:
        if len(texts) != sides.n_rows:
            raise ValueError(f"texts must have one text for each of the {sides.n_rows:,} rows, got {len(texts):,}")
        return [texts[row] for row in rows]
    if sides.names:
        return [str(sides.names[0].values[row]) for row in rows]
    return [f"row {row}" for row in rows]


def label_rows(rows: Index, labels: Array | None) -> list[str]:
    """Return the labels of the rows as text, or empty strings if there are no labels."""
    return [""] * len(rows) if labels is None else [str(labels[row]) for row in rows]


def per_row(sides: Sides, **given: Any) -> dict[str, Array]:
    """Return the arguments that were passed, checked for one entry per row and aligned with the rows."""
    there = {name: values for name, values in given.items() if values is not None}
    columns = {}
    for name, values in labels_in_order(sides.names, there).items():
        array = check.dense(values, name)
        if array.shape != (sides.n_rows,):
            raise ValueError(
                f"{name} must have one label for each of the {sides.n_rows:,} rows, got shape {array.shape}"
            )
        columns[name] = array
    return columns


def indexed_layer(sides: Sides) -> str:
    """Return the layer that an index contains: the output of a sentence encoder, or else the last layer."""
    name = OUTPUT if OUTPUT in sides.others else list(sides.others)[-1]
    if len(sides.others) > 1:
        provenance.state(f"index tested on {name}")
    return name


def indexed_vectors(
    name: str, sides: Sides, rows: Index, seed: Seed
) -> tuple[Index, Representation, Representation, list[Representation]]:
    """Return some rows, and the vectors that an index contains: a layer before, after and re-encoded."""
    chosen = draw_rows(rows, _INDEXED, seed)
    before, after, *again = (
        side[name].to_numpy.take_rows(chosen) for side in (sides.before, sides.after, *sides.again)
    )
    return chosen, before, after, again


METRIC: Metric = "cosine"


def neighbours_lost(before: Representation, after: Representation, k: int, metric: Metric = METRIC) -> Vector:
    """Return, for each row, the share of its k nearest rows that are no longer among its k nearest.

    Examples
    --------
    >>> X = Representation.build(np.random.default_rng(0).standard_normal((20, 4)))
    >>> float(neighbours_lost(X, X, 3).max())
    0.0
    """
    return _share_lost(*(_nearest(side, k, metric) for side in (before, after)))


def _nearest(side: Representation, k: int, metric: Metric = METRIC) -> Index:
    """Return the k nearest rows of each row; the copy of all rows that the search needs is freed."""
    return Neighbours.build(side, k=k, metric=metric).lists


def _share_lost(lists: Index, others: Index) -> Vector:
    """Return the share of each row of a list that is not in the same row of the other."""
    both = np.sort(np.hstack([lists, others]), axis=1)
    n_kept = np.count_nonzero(both[:, 1:] == both[:, :-1], axis=1)
    share: Vector = 1.0 - np.asarray(n_kept, dtype=float) / lists.shape[1]
    return share


def moved_rows(
    before: Representation,
    after: Representation,
    unchanged: Iterable[tuple[Representation, Representation]],
    losses: Vector,
    rows: Index,
    names: Sequence[str],
    labels: Sequence[str],
    *,
    k: int,
    most: int,
) -> tuple[MovedRow, ...]:
    """Return the rows that lost most neighbours; ties are sorted by the distance that rows moved.

    Parameters
    ----------
    before, after : Representation
        The examined rows.
    unchanged : iterable of pairs
        Pairs of encodings of the same rows that differ only by noise.
    losses : array
        Share of the neighbours that each examined row lost.
    rows : array
        Positions of the examined rows in the input.
    names, labels : sequence of str
        Names and labels of the examined rows.
    k, most : int
        Number of neighbours of each row, and maximum number of rows to return.
    """
    nearest = _nearest(before, k)

    def lost(pair: tuple[Representation, Representation]) -> Vector:
        first, other = pair
        return _share_lost(nearest if first is before else _nearest(first, k), _nearest(other, k))

    noise = reduce(np.fmax, map(lost, unchanged))
    movement = row_movement(before, after)
    before.drop_views(keep=Neighbours)
    order = np.lexsort((-np.nan_to_num(movement), -losses))[:most]
    return tuple(
        MovedRow(
            *(int(rows[i]), names[i], float(losses[i]), float(movement[i]), float(noise[i])),
            label=labels[i],
        )
        for i in order.tolist()
        if losses[i] > 0
    )


def losses_by_class(losses: Vector, labels: Sequence[str]) -> dict[str, float]:
    """Return the mean share of neighbours that the rows of each class lost, largest first.

    The result is empty for fewer than 2 or more than 30 classes.
    """
    names, codes = np.unique(np.asarray(labels), return_inverse=True)
    if not 2 <= len(names) <= 30:
        return {}
    means = np.bincount(codes, losses) / np.bincount(codes)
    return {str(names[i]): float(means[i]) for i in np.argsort(-means, kind="stable").tolist()}
