"""Find the rows that moved most, and map rows to two dimensions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from shesha.changes.layer_sources import Sides, matrix_rows
from shesha.doubting import warn_of_pair_doubts, warn_of_row_doubts
from shesha.drift.canary_check import row_movement
from shesha.inputs import MissingRows, Names, RowChoice, labels_in_order, validation as check
from shesha.kernels.distances import METRICS, Metric
from shesha.kernels.neighbours import shared_entries
from shesha.kernels.spectrum import principal_plane, trustworthiness, turn_onto
from shesha.results.diff import MovedRow
from shesha.results.row_map import RowMap
from shesha.support import types as kinds
from shesha.support.provenance import keep_statements
from shesha.support.seeds import number, spawn
from shesha.support.types import Array, Index, Matrix, Seed, Vector
from shesha.support.warnings import NotEstimable
from shesha.views import Neighbours, Representation, Rows, align_rows, select_rows

_FEWEST_ROWS = 10
_MOVED = 50
"""Maximum number of rows that are listed as moved."""
_MOVED_ROW_SAMPLING = 31
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
    k = check.count(k, "k")
    if k >= n_rows:
        raise ValueError(f"k must be below the number of rows, {n_rows}, got {k}")
    return k


def require_usable_rows(sides: Sides) -> Index:
    """Return all rows; refuse rows without a direction in some layer, which are usually failures, and too few rows."""
    for side, layers in (("before", sides.before), ("after", sides.after)):
        for layer, source in layers.items():
            zero = source.rows_without_direction("cosine")
            if len(zero):
                raise ValueError(
                    check.zero_rows(f"{side}[{layer!r}]", zero, sides.n_rows, next(iter(sides.names), None))
                )
    others = [
        source.rows_without_direction("cosine") for side in (*sides.again, *sides.also) for source in side.values()
    ]
    zero = np.unique(np.concatenate([np.empty(0, dtype=np.intp), *others]))
    if len(zero):
        raise ValueError(check.zero_rows("again and also", zero, sides.n_rows))
    if sides.n_rows < _FEWEST_ROWS:
        raise ValueError(f"before and after must have at least {_FEWEST_ROWS} rows, got {sides.n_rows}")
    return np.arange(sides.n_rows)


def draw_rows(rows: Index, most: int | None, seed: Seed) -> Index:
    """Draw at most a given number of random rows, kept in their order; None means all."""
    if most is None or len(rows) <= check.count(most, "max_rows", minimum=_FEWEST_ROWS):
        return rows
    return np.sort(spawn(seed, _MOVED_ROW_SAMPLING).choice(rows, most, replace=False))


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
    return np.asarray(1.0 - shared_entries(lists, others).mean(axis=1))


def moved_rows(
    before: Representation,
    after: Representation,
    unchanged: Iterable[tuple[Representation, Representation]],
    rows: Index,
    names: Sequence[str],
    labels: Sequence[str],
    k: int,
) -> tuple[tuple[MovedRow, ...], dict[str, float]]:
    """Return the rows that lost most of their k neighbours, and the share of neighbours that each class lost.

    Rows that lost equally many are sorted by the distance that they moved. `rows`, `names` and `labels` are the
    positions, names and labels of the examined rows; `unchanged` are encodings that differ only by noise.
    """
    try:
        losses = neighbours_lost(before, after, k)
    except NotEstimable:
        # If all rows are equal, no row has nearest neighbours; the layer's result states this reason.
        return (), {}
    nearest = _nearest(before, k)

    def lost(pair: tuple[Representation, Representation]) -> Vector:
        first, other = pair
        return _share_lost(nearest if first is before else _nearest(first, k), _nearest(other, k))

    noise = reduce(np.fmax, map(lost, unchanged))
    movement = row_movement(before, after)
    before.drop_views(keep=Neighbours)
    order = np.lexsort((-np.nan_to_num(movement), -losses))[:_MOVED]
    moved = tuple(
        MovedRow(
            int(rows[i]),
            names[i],
            neighbours_lost=float(losses[i]),
            movement=float(movement[i]),
            noise=float(noise[i]),
            label=labels[i],
        )
        for i in order.tolist()
        if losses[i] > 0
    )
    return moved, losses_by_class(losses, labels)


def losses_by_class(losses: Vector, labels: Sequence[str]) -> dict[str, float]:
    """Return the mean share of neighbours that the rows of each class lost, largest first.

    The result is empty for fewer than 2 or more than 30 classes.
    """
    names, codes = np.unique(np.asarray(labels), return_inverse=True)
    if not 2 <= len(names) <= 30:
        return {}
    means = np.bincount(codes, losses) / np.bincount(codes)
    return {str(names[i]): float(means[i]) for i in np.argsort(-means, kind="stable").tolist()}


MOST_ROWS = 20_000
_FEWEST = 4
_TRUST_ROWS = 1000
"""Maximum number of rows over which trustworthiness is averaged; from more, a random sample is drawn."""
_ROW_SAMPLING, _TRUST_SAMPLING = 37, 41
_CLASSES = 12
"""Number of distinct numeric labels up to which each has a colour; more are binned into ranges."""
_BINS = 8


@keep_statements
def explore(
    X: Any,
    Y: Any = None,
    labels: ArrayLike | None = None,
    *,
    names: tuple[str, str] = ("X", "Y"),
    row_names: Sequence[object] | None = None,
    metric: Metric = "cosine",
    k: int | None = None,
    max_rows: int = MOST_ROWS,
    rows: RowChoice = "same",
    missing: MissingRows = "refuse",
    seed: Seed = 0,
) -> RowMap:
    """Make an interactive map of the rows of one representation, or of two side by side.

    ``explore(X, Y).save_html("map.html")`` writes one page that needs no network. Pointing at a row shows its name and
    marks it in both maps. For the rows that moved most, a line joins their two positions. Colours show labels.

    Each map shows the first two principal axes of the rows (scaled to unit length for 'cosine'). The second map is
    rotated, reflected and scaled onto the first (orthogonal Procrustes). Two dimensions show only part of a geometry,
    so the page reports the map's trustworthiness and the share of the squared distances that it preserves.

    Parameters
    ----------
    X : array of shape (n_rows, n_features)
        The representation.
    Y : array of shape (n_rows, n_features), optional
        Another representation of the same rows. If both have row names, rows are matched by name.
    labels : array of shape (n_rows,), optional
        Label of each row, shown as a colour. Numbers with many values are shown as ranges.
    names : pair of str
        Names of the representations.
    row_names : sequence, optional
        Names of the rows, such as their texts. Default: the row names of X, or row numbers if it has none.
    metric : {'cosine', 'correlation', 'euclidean'}
        Distance between rows that the map shows.
    k : int, optional
        Number of nearest neighbours to compare. Default: 10, or a third of the rows if there are fewer than 31.
    max_rows : int
        Maximum number of rows to show. If there are more, a random sample is shown.
    rows, missing
        As for `compare`.
    seed : int, Generator or None
        Seed of the random sample of rows.

    Returns
    -------
    RowMap
        ``.coordinates``, ``.held``, ``.trustworthiness``, ``.neighbours_lost``; `save_html`, `plot`, `to_frame`.

    References
    ----------
    Venna and Kaski (2001), Neighborhood preservation in nonlinear projection methods.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((40, 3))
    >>> found = explore(X, X[:, ::-1], metric="euclidean")
    >>> sum(found.neighbours_lost)
    0.0
    >>> bool(np.allclose(found.coordinates["X"], found.coordinates["Y"]))
    True
    """
    check.choice(metric, METRICS, "metric")
    called = pair_of_names(names)
    sides = {called[0]: X} if Y is None else dict(zip(called, (X, Y), strict=True))
    along: dict[str, Any] = {"labels": labels, "row_names": row_names}
    sides, along = select_rows(sides, along, rows=rows, missing=missing, metric=metric)
    labels, row_names = along["labels"], along["row_names"]
    built = {name: matrix_rows(side, name) for name, side in sides.items()}
    n_rows = len(next(iter(built.values())))
    for name, side in built.items():
        if len(side) != n_rows:
            raise ValueError(f"{name} must have the {n_rows:,} rows of {called[0]}, got {len(side):,}")
        side.require_finite()
    known = tuple(side.names for side in built.values() if side.names is not None)
    colours = labels_of_rows(_align_labels(labels, known, n_rows)) if labels is not None else ()
    built = align_rows(built)
    if len(built) == 2:
        # The map shows copies; directions do not depend on lengths.
        warn_of_pair_doubts(built, but=("copies", *["few rows", "row lengths"] * (metric != "euclidean")))
    else:
        warn_of_row_doubts(built[called[0]], called[0], metric, but=("few rows",) * (metric != "euclidean"))
    return map_rows(
        built,
        _names_of_rows(row_names, known, n_rows),
        colours,
        metric=metric,
        k=k,
        max_rows=check.count(max_rows, "max_rows", minimum=_FEWEST),
        seed=seed,
    )


def map_rows(
    sides: Mapping[str, Rows],
    names: Sequence[str],
    labels: Sequence[str],
    *,
    metric: Metric = METRIC,
    k: int | None = None,
    max_rows: int = MOST_ROWS,
    seed: Seed = 0,
) -> RowMap:
    """Return the map of one or two representations whose rows are already aligned.

    Parameters
    ----------
    sides : mapping of Rows
        One or two representations, by name.
    names, labels : sequence of str
        Name and label of each row; `labels` may be empty.
    metric, k, max_rows, seed
        As for `explore`.
    """
    rows, notes = _choose_rows(list(sides.values()), metric, max_rows, seed)
    chosen = {name: side.take_rows(rows).whole for name, side in sides.items()}
    n_neighbours = count_neighbours(k, len(rows))
    queries = trust_rows(len(rows), seed)
    places: dict[str, Matrix] = {}
    explained, trust = {}, {}
    for name, side in chosen.items():
        # `standard` would rescale the rows for Euclidean distances, but the map keeps their original unit.
        standard = side.rows if metric == "euclidean" else side.standard(metric)
        plane, shares = principal_plane(standard)
        places[name] = turn_onto(plane, next(iter(places.values()))) if places else plane
        explained[name] = float(shares.sum())
        trust[name] = trustworthiness(standard, plane, min(n_neighbours, (len(rows) - 1) // 2), queries)
    return RowMap(
        coordinates={name: tuple((float(x), float(y)) for x, y in plane) for name, plane in places.items()},
        row_names=tuple(names[row] for row in rows),
        labels=tuple(labels[row] for row in rows) if labels else (),
        rows=tuple(map(int, rows)),
        held=explained,
        trustworthiness=trust,
        neighbours_lost=_lost_neighbours(list(chosen.values()), n_neighbours, metric),
        k=n_neighbours,
        metric=metric,
        n_rows=len(names),
        notes=tuple(notes),
        seed=number(seed),
    )


def _choose_rows(sides: Sequence[Rows], metric: Metric, most: int, seed: Seed) -> tuple[Index, list[str]]:
    """Return the rows to show, which have a direction on every side, or a random sample of many such rows."""
    usable = np.ones(len(sides[0]), dtype=bool)
    for side in sides:
        usable[side.rows_without_direction(metric)] = False
    rows, notes = np.flatnonzero(usable), []
    if len(rows) < _FEWEST:
        raise ValueError(f"X must have at least {_FEWEST} rows with a direction, got {len(rows)}")
    if len(rows) < len(usable):
        notes.append(f"Left out: {len(usable) - len(rows):,} of {len(usable):,} rows without a direction ({metric}).")
    if len(rows) > most:
        notes.append(f"The map shows {most:,} of {len(rows):,} rows, drawn at random.")
        rows = np.sort(spawn(seed, _ROW_SAMPLING).choice(rows, most, replace=False))
    return rows, notes


def trust_rows(n_rows: int, seed: Seed) -> Index:
    """Return the rows over which trustworthiness is averaged."""
    if n_rows <= _TRUST_ROWS:
        return np.arange(n_rows)
    return np.sort(spawn(seed, _TRUST_SAMPLING).choice(n_rows, _TRUST_ROWS, replace=False))


def _lost_neighbours(sides: Sequence[Representation], k: int, metric: Metric) -> tuple[float, ...]:
    """Return the share of neighbours that each row lost; empty for one side, or if all rows are equal."""
    if len(sides) == 1:
        return ()
    before, after = sides
    try:
        return tuple(map(float, neighbours_lost(before, after, k, metric)))
    except NotEstimable:
        return ()


def _names_of_rows(names: Sequence[object] | None, known: Sequence[Names], n_rows: int) -> list[str]:
    if names is None:
        return [str(value) for value in known[0].values] if known else [f"row {row}" for row in range(n_rows)]
    texts = [str(name) for name in kinds.iterable(names, "row_names", "names")]
    if len(texts) != n_rows:
        raise ValueError(f"row_names must have one name for each of the {n_rows:,} rows, got {len(texts):,}")
    return texts


def _align_labels(labels: ArrayLike, known: Sequence[Names], n_rows: int) -> Any:
    """Return one label per row, in the order of the rows."""
    ordered = labels_in_order(known, {"labels": labels})["labels"]
    check.labels(ordered, n_rows, "labels", min_classes=1)
    return ordered


def labels_of_rows(labels: ArrayLike) -> list[str]:
    """Return labels as text; numbers with many distinct values are binned into ranges of similar size.

    Examples
    --------
    >>> labels_of_rows([1, 2, 1])
    ['1', '2', '1']
    >>> labels_of_rows(np.arange(100.0))[:2]
    ['0 to 12.38', '0 to 12.38']
    """
    codes, names = check.labels(labels, len(np.asarray(labels)), "labels", min_classes=1)
    if names.dtype.kind not in "iuf" or len(names) <= _CLASSES:
        return [str(names[code]) for code in codes]
    values = names[codes]
    ends = np.unique(np.quantile(values, np.linspace(0, 1, _BINS + 1)))
    bins = np.clip(np.searchsorted(ends, values, side="right") - 1, 0, len(ends) - 2)
    return [f"{ends[i]:.4g} to {ends[i + 1]:.4g}" for i in bins]
