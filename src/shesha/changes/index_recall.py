"""Recall of new queries in an index of old vectors, directly and after a map fitted to other rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import get_args

import numpy as np
from scipy.stats import t

from shesha.inputs import validation as check
from shesha.kernels.neighbours import nearest_by_distance, nearest_by_product
from shesha.kernels.regression import decompose_folds, predict_held_out
from shesha.kernels.threads import single_threaded_blas
from shesha.results.diff import IndexAdvice, IndexChange, IndexMetric, Recall
from shesha.support.device_arrays import smallest
from shesha.support.seeds import spawn
from shesha.support.types import Index, Labels, Matrix, Seed, Vector
from shesha.support.wording import count
from shesha.views import Representation


def deal_folds(n: int, groups: Labels | None, n_folds: int, rng: np.random.Generator) -> Index:
    """Assign rows, or whole groups of rows, to folds at random."""
    if groups is None:
        return np.asarray(rng.permutation(n) % n_folds)
    return np.asarray((rng.permutation(int(groups.max()) + 1) % n_folds)[groups])


def mean_interval(
    values: Vector, confidence: float, groups: Labels | None, *, bounds: tuple[float, float]
) -> tuple[float, float]:
    """Return the interval of the mean over rows like these, or over groups of rows.

    Rows of one group may depend on each other in any way. If all values are at a bound, the interval ends where that
    result would have half the error probability.

    Examples
    --------
    >>> low, high = mean_interval(np.ones(40), 0.95, None, bounds=(0.0, 1.0))
    >>> round(low, 3), high
    (0.912, 1.0)
    """
    mean, units = float(values.mean()), np.arange(len(values)) if groups is None else groups
    n_units = int(units.max()) + 1
    if n_units < 2:
        return float("nan"), float("nan")
    sums = np.bincount(units, values - mean) / len(values)
    error = float(np.sqrt(n_units / (n_units - 1) * (sums**2).sum()))
    half = float(t.ppf(0.5 + confidence / 2, n_units - 1)) * error
    low, high = max(bounds[0], mean - half), min(bounds[1], mean + half)
    reach = (bounds[1] - bounds[0]) * (1 - ((1 - confidence) / 2) ** (1 / n_units))
    if (values == bounds[1]).all():
        low = bounds[1] - reach
    if (values == bounds[0]).all():
        high = bounds[0] + reach
    return low, high


FOLDS = 2
"""Number of folds. Maps find rows they were fitted to too easily, so each fold uses the other's map."""
MOST_CHANCE = 0.125
"""Largest recall by chance. With more, a search returns most rows, whatever the vectors are."""
ROWS_PER_FEATURE = 2
"""With fewer rows per feature, the half of them to which a map is fitted does not determine it."""
NEIGHBOURS = 10
AS_IT_IS, REENCODED, IN_HALVES = "as it is", "re-encodings", ", in halves"
_DEALING = 41
_PANEL = 512


@dataclass(frozen=True)
class IndexTest:
    """How an index is tested: by which metric, with how many neighbours, and which loss is acceptable."""

    metric: IndexMetric
    k: int | None
    tolerance: float
    confidence: float
    groups: Labels | None = None
    """Group of each row. Folds and intervals keep groups whole; None if rows are independent."""
    seed: Seed = 0

    def __post_init__(self) -> None:
        """Check the metric."""
        check.choice(self.metric, get_args(IndexMetric), "index_metric")


def index_change(
    layer: str, before: Representation, after: Representation, again: Sequence[Representation], test: IndexTest
) -> IndexChange:
    """Decide whether an index of old vectors can be kept for new queries.

    Every row is a query once. Its true neighbours are its nearest rows among the new vectors.

    Parameters
    ----------
    layer : str
        Name of the layer.
    before, after : Representation
        Old and new vectors of the same inputs.
    again : sequence of Representation
        Re-encodings by the unchanged model. As queries, they show which recall is attainable.
    test : IndexTest
        Options of the test.
    """
    old, new = (_vectors(side, test.metric) for side in (before, after))
    if test.groups is None:
        fold = spawn(test.seed, _DEALING).permutation(len(old)) % FOLDS
    else:
        fold = deal_folds(len(old), test.groups, FOLDS, spawn(test.seed, _DEALING))
    n_half = int(np.bincount(fold, minlength=FOLDS).min())
    search = _Search(test, fold, _count_neighbours(test.k, n_half, len(old)))
    with single_threaded_blas():
        encodings = [_vectors(encoding, test.metric) for encoding in again]
        recalls = [
            *_compare_directly(old, new, encodings, search),
            *_compare_directly(old, new, encodings, search.halves),
        ]
        maps = [
            search.halves.recall("orthogonal map", _orthogonal(new, old, fold), old, new),
            search.halves.recall("linear map", _linear(new, old, fold), old, new),
        ]
    direct, floor, direct_in_halves, floor_in_halves = recalls
    n_features = max(old.shape[1], new.shape[1])
    return _index_advice(layer, search, n_features, (direct, floor), (direct_in_halves, *maps, floor_in_halves))


def _compare_directly(old: Matrix, new: Matrix, encodings: Sequence[Matrix], search: _Search) -> tuple[Recall, Recall]:
    """Return the recall of unmapped queries, and the lowest recall of queries that the unchanged model re-encoded."""
    suffix = IN_HALVES if search.in_halves else ""
    if old.shape[1] == new.shape[1]:
        direct = search.recall(AS_IT_IS + suffix, new, old, new)
    else:
        reason = f"old vectors have {old.shape[1]:,} features, but new vectors have {new.shape[1]:,}"
        direct = Recall(name=AS_IT_IS + suffix, value=float("nan"), reason=reason)
    floors = [search.recall(REENCODED + suffix, rows, old, rows) for rows in encodings]
    if not floors:
        reason = "there are no re-encodings, so the recall of an unchanged model is assumed to be 1"
        floors = [Recall(name=REENCODED + suffix, value=float("nan"), reason=reason)]
    return direct, min(floors, key=lambda recall: recall.value)


def _vectors(side: Representation, metric: IndexMetric) -> Matrix:
    """Return the vectors in which inner products, or distances, rank neighbours as the index does."""
    return side.standard("cosine") if metric == "cosine" else np.asarray(side.rows, dtype=float)


def _count_neighbours(k: int | None, n_searched: int, n_rows: int) -> int:
    """Return the number of neighbours to search; by default 10, or fewer so that chance stays low."""
    most = int(MOST_CHANCE * (n_searched - 1))
    if most < 1:
        needed = FOLDS * (round(1 / MOST_CHANCE) + 1)
        raise ValueError(
            f"index must be False with fewer than {needed} rows, got {n_rows} rows: {n_searched} of them are searched, "
            "so a search finds true neighbours by chance"
        )
    if k is not None and k > most:
        raise ValueError(
            f"k must be at most {most} to test an index with {n_rows} rows, got {k}: of the {n_searched} rows that are "
            f"searched, chance alone finds {min(1.0, k / (n_searched - 1)):.0%} of the neighbours"
        )
    return min(NEIGHBOURS, most) if k is None else k


def _index_advice(
    layer: str, search: _Search, n_features: int, in_all: tuple[Recall, Recall], in_halves: tuple[Recall, ...]
) -> IndexChange:
    """Choose the cheapest option whose loss is acceptable even at the lower end of its recall interval."""
    test, n = search.test, len(search.fold)
    (direct, floor), (direct_in_halves, *maps, _) = in_all, in_halves
    best = max(maps, key=lambda recall: recall.value)
    # Recall falls with the number of searched rows. What a map gains within halves is added to the recall in all rows.
    shift = direct.value - direct_in_halves.value
    gained = best if shift != shift else _shifted(best, shift)
    attainable = _attainable(floor)
    ways: list[tuple[IndexAdvice, Recall]] = [("keep", direct), ("map", gained)]
    way = next((way for way in ways if attainable - way[1].low <= test.tolerance), None)
    reason = ""
    if way is None:
        if any(attainable - recall.high <= test.tolerance for _, recall in ways):
            reason = f"{count(n, 'row')} are too few to tell whether the loss is acceptable"
        elif n < ROWS_PER_FEATURE * n_features:
            reason = (
                f"{count(n, 'row')} are too few to test a map between {n_features:,} features (at least "
                f"{ROWS_PER_FEATURE * n_features:,})"
            )
    advice: IndexAdvice = "undecided" if reason else "re-embed" if way is None else way[0]
    loss = 0.0 if way is None else max(0.0, attainable - way[1].value)
    return IndexChange(
        *(layer, search.k, n, advice, loss, test.tolerance, best.name, (direct, *in_halves[:-1], floor)),
        metric=test.metric,
        chance=search.k / (n - 1),
        confidence=test.confidence,
        undecided=reason,
    )


def _shifted(recall: Recall, shift: float) -> Recall:
    return replace(recall, value=recall.value + shift, low=recall.low + shift, high=recall.high + shift)


def _attainable(floor: Recall) -> float:
    return floor.value if floor.value == floor.value else 1.0


@dataclass(frozen=True)
class _Search:
    """A search in all rows, or within each half, whose rows the map was not fitted to."""

    test: IndexTest
    fold: Index
    k: int
    in_halves: bool = False

    @property
    def halves(self) -> _Search:
        """The same search within each half."""
        return replace(self, in_halves=True)

    def recall(self, way: str, queries: Matrix, vectors: Matrix, target: Matrix) -> Recall:
        """Count the true neighbours that the queries find among the vectors."""
        each = np.empty(len(queries))
        parts = self.fold if self.in_halves else np.zeros_like(self.fold)
        for part in range(int(parts.max()) + 1):
            rows = np.flatnonzero(parts == part)
            near = nearest_by_distance if self.test.metric == "l2" else nearest_by_product
            truth = near(target[rows], self.k).lists
            each[rows] = recall_of_each(queries[rows], vectors[rows], truth, self.test.metric)
        mean = float(each.mean())
        low, high = mean_interval(each, self.test.confidence, self.test.groups, bounds=(0.0, 1.0))
        return Recall(name=way, value=mean, low=low, high=high)


def recall_of_each(queries: Matrix, vectors: Matrix, truth: Index, metric: IndexMetric = "ip") -> Vector:
    """Return the share of each query's true neighbours that are among its nearest vectors in other rows.

    Examples
    --------
    >>> X = np.eye(4) + 0.1
    >>> recall_of_each(X, X, np.array([[1], [0], [0], [0]])).shape
    (4,)
    """
    n, k = truth.shape
    recalls = np.empty(n)
    squares = np.einsum("ij,ij->i", vectors, vectors) if metric == "l2" else None
    for start in range(0, n, _PANEL):
        panel = np.arange(start, min(start + _PANEL, n))
        distances = -(queries[panel] @ vectors.T)
        if squares is not None:
            distances = 2 * distances + squares
        distances[np.arange(len(panel)), panel] = np.inf
        near = np.asarray(smallest(distances, k))
        recalls[panel] = [np.isin(truth[row], near[i]).mean() for i, row in enumerate(panel.tolist())]
    return recalls


def _orthogonal(new: Matrix, old: Matrix, fold: Index) -> Matrix:
    """Rotate and scale the queries of each fold by the map that best fits the rows outside it (Schönemann 1966)."""
    mapped = np.empty((len(new), old.shape[1]))
    for k in range(FOLDS):
        out = fold == k
        u, values, right = np.linalg.svd(new[~out].T @ old[~out], full_matrices=False)
        # The scale matters for Euclidean distances only, where old vectors differ in length.
        scale = values.sum() / max(float(np.vdot(new[~out], new[~out])), np.finfo(float).tiny)
        mapped[out] = scale * (new[out] @ (u @ right))
    return mapped


def _linear(new: Matrix, old: Matrix, fold: Index) -> Matrix:
    """Predict the old vectors for each fold's queries by ridge regression fitted to the rows outside it."""
    mean = old.mean(axis=0)
    rows, targets = new - new.mean(axis=0), old - mean
    mapped: Matrix = predict_held_out(rows, decompose_folds(rows, fold, FOLDS), targets) + mean
    return mapped
