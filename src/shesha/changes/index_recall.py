"""Recall in an index: of new queries among old vectors, and of truncated or quantised vectors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from math import log, sqrt
from typing import TYPE_CHECKING, ClassVar, cast, get_args

import numpy as np
from numpy.typing import ArrayLike

from shesha.comparison.sampled_scores import Exact
from shesha.doubting import warn_of_pair_doubts, warn_of_row_doubts
from shesha.doubting.row_lengths import describe_lengths
from shesha.inputs import MissingRows, RowChoice, split_names, validation as check
from shesha.kernels.distances import find_undirected_rows
from shesha.kernels.mean_intervals import mean_interval
from shesha.kernels.neighbours import (
    RowBlocks,
    label_copies,
    name_copies,
    nearest_by_distance,
    nearest_by_product,
    nearest_to_queries,
    shared_entries,
)
from shesha.kernels.regression import decompose_folds, predict_held_out
from shesha.kernels.threads import single_threaded_blas
from shesha.measures.expected_time import MINUTE, search_seconds, seconds_here
from shesha.nulls.design_warnings import find_undeclared_dependence
from shesha.report import Part, Text
from shesha.results import sentence_parts as say
from shesha.results.diff import IndexAdvice, IndexChange, IndexMetric
from shesha.results.number import NAN, Number, NumberTable, table_of_numbers
from shesha.support import types as kinds
from shesha.support.device_arrays import smallest
from shesha.support.progress import best_answer, collect
from shesha.support.provenance import keep_statements, state, state_warning
from shesha.support.seeds import CONFIDENCE, number, spawn
from shesha.support.types import Array, Index, Labels, Mask, Matrix, Seed, Vector
from shesha.support.wording import agree, count, duration, join_names
from shesha.views import Representation, select_rows
from shesha.views.representation import RowSource

if TYPE_CHECKING:
    import pandas as pd


def deal_units(n: int, groups: Labels | None, n_folds: int, rng: np.random.Generator) -> Index:
    """Assign rows, or whole groups of rows, to folds at random."""
    if groups is None:
        return np.asarray(rng.permutation(n) % n_folds)
    return np.asarray((rng.permutation(int(groups.max()) + 1) % n_folds)[groups])


def recall_interval(values: Vector, confidence: float, groups: Labels | None) -> tuple[float, float]:
    """Return the interval of the mean recall over rows like these, or over groups of rows.

    If all values are 0 or all are 1, the interval ends where that result would have half the error probability.

    Examples
    --------
    >>> low, high = recall_interval(np.ones(40), 0.95, None)
    >>> round(low, 3), high
    (0.912, 1.0)
    """
    low, high = map(float, np.clip(mean_interval(values, groups, confidence), 0.0, 1.0))
    n_units = len(values) if groups is None else int(groups.max()) + 1
    reach = 1 - ((1 - confidence) / 2) ** (1 / n_units)
    if n_units > 1 and values.min() == values.max() in (0.0, 1.0):
        return (1 - reach, high) if values[0] else (low, reach)
    return low, high


FOLDS = 2
"""Number of folds. Maps find rows they were fitted to too easily, so each fold uses the other's map."""
MOST_CHANCE = 0.125
"""Largest recall by chance. With more, a search returns most rows, whatever the vectors are."""
ROWS_PER_FEATURE = 2
"""With fewer rows per feature, the half of them to which a map is fitted does not determine it."""
NEIGHBOURS = 10
AS_IT_IS, REENCODED, IN_HALVES = "as it is", "re-encodings", ", in halves"
_DEALING, _QUERYING = 41, 43
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


_SAME_ROW = 0.999


def _cut_dimensions(
    layer: str, before: Representation, after: Representation, again: Sequence[Representation]
) -> list[Representation]:
    """Return the new and old vectors and re-encodings of the old, without dimensions that only zeros were added to.

    If the new vectors are the first dimensions of the old ones, only these are kept.
    """
    width = min(before.shape[1], after.shape[1])
    for side, others in (("new", after), ("old", before)):
        if others.shape[1] > width and not others.to_numpy.rows[:, width:].any():
            n_zero = others.shape[1] - width
            state_warning(f"{layer}: the last {n_zero:,} dimensions of the {side} vectors are 0 and were left out")
            return [_first_columns(one, width) for one in (after, before, *again)]
    if after.shape[1] < before.shape[1]:
        first, new = before.to_numpy.rows[:, :width], after.to_numpy.rows
        products = np.einsum("ij,ij->i", first, new)
        if (products > _SAME_ROW * np.linalg.norm(first, axis=1) * np.linalg.norm(new, axis=1)).all():
            state_warning(
                f"{layer}: the new vectors are the first {width:,} of {before.shape[1]:,} dimensions, as of Matryoshka "
                "embeddings, so the old vectors were cut to these; cut those of your index"
            )
            return [after, *(_first_columns(one, width) for one in (before, *again))]
    return [after, before, *again]


def _first_columns(side: Representation, width: int) -> Representation:
    return Representation(side.to_numpy.rows[:, :width], side.precision) if side.shape[1] > width else side


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
    after, before, *again = _cut_dimensions(layer, before, after, again)
    old, new = (_vectors(side, test.metric) for side in (before, after))
    fold = deal_units(len(old), test.groups, FOLDS, spawn(test.seed, _DEALING))
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


def _compare_directly(old: Matrix, new: Matrix, encodings: Sequence[Matrix], search: _Search) -> tuple[Number, Number]:
    """Return the recall of unmapped queries, and the lowest recall of queries that the unchanged model re-encoded."""
    suffix = IN_HALVES if search.in_halves else ""
    if old.shape[1] == new.shape[1]:
        direct = search.recall(AS_IT_IS + suffix, new, old, new)
    else:
        reason = f"old vectors have {old.shape[1]:,} features, but new vectors have {new.shape[1]:,}"
        direct = Number(name=AS_IT_IS + suffix, value=float("nan"), reason=reason)
    floors = [search.recall(REENCODED + suffix, rows, old, rows) for rows in encodings]
    if not floors:
        reason = "there are no re-encodings, so the recall of an unchanged model is assumed to be 1"
        floors = [Number(name=REENCODED + suffix, value=float("nan"), reason=reason)]
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
    layer: str, search: _Search, n_features: int, in_all: tuple[Number, Number], in_halves: tuple[Number, ...]
) -> IndexChange:
    """Choose the cheapest option whose loss is acceptable even at the lower end of its recall interval."""
    test, n = search.test, len(search.fold)
    (direct, floor), (direct_in_halves, *maps, _) = in_all, in_halves
    best = max(maps, key=lambda recall: recall.value)
    # The share of missed neighbours grows with the number of searched rows. That of a map is its share within halves
    # times the growth without a map, which says little if nearly all are missed; small shares grow by about the root.
    missed = 1 - direct_in_halves.value
    growth = (1 - direct.value) / missed if missed > 0 else 1.0
    gained = _scale_misses(best, max(growth, sqrt(FOLDS))) if growth == growth else best
    attainable = floor.value if floor.value == floor.value else 1.0
    ways: list[tuple[IndexAdvice, Number]] = [("keep", direct), ("map", gained)]
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
        layer,
        search.k,
        n_rows=n,
        advice=advice,
        loss=loss,
        tolerance=test.tolerance,
        best_map=best.name,
        recalls=(direct, *in_halves[:-1], floor),
        metric=test.metric,
        chance=search.k / (n - 1),
        confidence=test.confidence,
        undecided=reason,
    )


def _scale_misses(recall: Number, factor: float) -> Number:
    value, low, high = (1 - factor * (1 - share) for share in (recall.value, recall.low, recall.high))
    return replace(recall, value=value, low=low, high=high)


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

    def recall(self, way: str, queries: Matrix, vectors: Matrix, target: Matrix) -> Number:
        """Count the true neighbours that the queries find among the vectors."""
        each, both_sides = np.empty((2, len(queries)))
        parts = self.fold if self.in_halves else np.zeros_like(self.fold)
        for part in range(int(parts.max()) + 1):
            rows = np.flatnonzero(parts == part)
            near = nearest_by_distance if self.test.metric == "l2" else nearest_by_product
            nearest, copies = near(target[rows], self.k), label_copies(vectors[rows], target[rows])
            found = nearest_vectors(queries[rows], vectors[rows], self.k, self.test.metric)
            # A vector as near as the last true neighbour, as is common among codes of bits, is no loss.
            truth = nearest.lists if nearest.ties is None else nearest.ties.prefer(found, nearest.lists)
            hits = shared_entries(name_copies(truth, copies), name_copies(found, copies))
            each[rows] = hits.mean(axis=1)
            both_sides[rows] = each[rows] + _effect_in_index(truth, hits)
        low, high = recall_interval(both_sides, self.test.confidence, self.test.groups)
        return Number(name=way, value=float(each.mean()), low=low, high=high)


def nearest_vectors(queries: Matrix, vectors: Matrix, k: int, metric: IndexMetric = "ip") -> Index:
    """Return the k vectors nearest to each query, in any order, among those of other rows."""
    n = len(queries)
    lists = np.empty((n, k), dtype=np.intp)
    squares = np.einsum("ij,ij->i", vectors, vectors) if metric == "l2" else None
    for start in range(0, n, _PANEL):
        panel = np.arange(start, min(start + _PANEL, n))
        distances = -(queries[panel] @ vectors.T)
        if squares is not None:
            distances = 2 * distances + squares
        distances[np.arange(len(panel)), panel] = np.inf
        lists[panel] = smallest(distances, k)
    return lists


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


_PERSISTENCE = 0.9
"""Weight of each rank relative to the rank before it in rank-biased overlap."""
_COPIES = 0.05
"""Share of copies among the nearest vectors from which a warning says so."""
_WORST = 3
"""Number of queries that the report names for each way."""


@dataclass(frozen=True, kw_only=True)
class StoredVectors(Number):
    """Recall of the nearest full vectors by one way of storing vectors."""

    rank_biased_overlap: float = NAN
    """Agreement of the ranked lists of neighbours, in which first places count most; 1 for equal lists."""
    of_queries: tuple[float, ...] = ()
    """Recall of each query, in the order of the rows (`queries` of the table, if only some are queries)."""


@dataclass(frozen=True, kw_only=True)
class StoredVectorsTable(NumberTable):
    """Recall of the nearest full vectors by several ways of storing vectors."""

    numbers: tuple[StoredVectors, ...]
    k: int
    metric: str
    rows: tuple[str, ...] = ()
    """Names of the rows; empty if they have none."""
    queries: tuple[int, ...] = ()
    """Numbers of the rows that are queries; empty if all are."""
    interrupted: bool = False
    seed: int | None = None
    exact_seconds: float = 0.0
    """About how many seconds the search with all rows as queries takes on this machine; 0 if all are queries."""

    WHAT: ClassVar[str] = "ways of storing vectors"
    VALUE: ClassVar[str] = "recall"
    NAMES: ClassVar[tuple[str, ...]] = ("rank_biased_overlap",)

    @property
    def headline(self) -> str:
        """The recall of each way."""
        parts = [f"{each.name} {each.value:.1%} ({each.low:.1%} to {each.high:.1%})" for each in self.numbers]
        n_rows = self.numbers[0].n_rows
        time = f"; `--exact` (`exact=True`) takes about {duration(self.exact_seconds)}" if self.exact_seconds else ""
        some = f" Estimated from {len(self.queries):,} of {n_rows:,} rows as queries, which search all rows{time}."
        return (
            f"Share of the {self.k} nearest full vectors that are found ({self.metric}): {'; '.join(parts)}."
            f"{some * bool(self.queries)}"
        )

    def worst_queries(self, name: str, n: int = 10) -> pd.DataFrame:
        """Return the queries that find the fewest of their neighbours, with their recall.

        Parameters
        ----------
        name : str
            Way of storing vectors.
        n : int
        """
        import pandas as pd

        recall = np.array(cast(StoredVectors, self[name]).of_queries)
        worst = np.argsort(recall, kind="stable")[: check.count(n, "n")]
        rows = np.array(self.queries)[worst] if self.queries else worst
        named = len(self.rows) > rows.max(initial=0)
        return pd.DataFrame({"row": np.array(self.rows)[rows] if named else rows, "recall": recall[worst]})

    def _numbers(self) -> tuple[Part, ...]:
        """Return one row per way, and the queries that lose most."""
        overlap = {"rank-biased overlap": [each.rank_biased_overlap for each in self.numbers]}
        worst = {each.name: self.worst_queries(each.name, _WORST) for each in self.numbers}
        lines = [
            f"{name}: {', '.join(f'{row} ({recall:.0%})' for _, row, recall in found.itertuples())}"
            for name, found in worst.items()
        ]
        queries = Text(f"Rows that find the fewest of their neighbours, as queries: {'; '.join(lines)}.")
        return (*table_of_numbers(self.numbers, self.WHAT, "row", overlap), queries)

    def _claim(self) -> str:
        overlap = [f", rank-biased overlap {say.format_number(each.rank_biased_overlap)}" for each in self.numbers]
        return say.listing(
            f"Share of the {self.k} nearest vectors by {self.metric} that are found among {self.numbers[0].n_rows:,} "
            "stored vectors",
            [f"{say.clause(each)}{text}" for each, text in zip(self.numbers, overlap, strict=True)],
        )


@keep_statements
def stored_vectors(
    X: ArrayLike,
    ways: Iterable[str | int] | Mapping[str, ArrayLike] = ("float16", "int8", "binary"),
    *,
    k: int = 10,
    index_metric: IndexMetric = "cosine",
    groups: ArrayLike | None = None,
    confidence: float = CONFIDENCE,
    rows: RowChoice = "same",
    missing: MissingRows = "refuse",
    exact: Exact = "auto",
    seed: Seed = 0,
) -> StoredVectorsTable:
    """Measure how well truncated or quantised vectors find the neighbours that the full vectors have.

    Every row is a query that searches all other rows, unless this takes more than a minute. Queries and index store
    their vectors in the same way.

    Parameters
    ----------
    X : array of shape (n_rows, n_dimensions)
        Full vectors.
    ways : iterable of str or int, or mapping of str to array
        'float16'; 'int8' (256 levels between the smallest and the largest value of each dimension); 'binary' (signs);
        or a number of dimensions to keep, from the first, as for Matryoshka embeddings. A mapping contains vectors that
        you stored yourself, of the same rows.
    k : int
        Number of neighbours.
    index_metric : {'cosine', 'ip', 'l2'}
        Metric of the index: cosine, inner product or Euclidean distance. Signs are compared by Hamming distance under
        any of them.
    groups : array of shape (n_rows,), optional
        Groups of queries that are not independent, such as documents, for the intervals.
    confidence : float
        Confidence level of the intervals, which cover other vectors like these, as queries and in the index.
    rows, missing
        As for `compare`.
    exact : bool or 'auto'
        Whether every row is a query (True), or random rows are (False). 'auto': random rows if all would take more than
        a minute. Each query searches all other rows in any case.
    seed : int, Generator or None
        Seed of the random queries.

    Returns
    -------
    StoredVectorsTable
        One line per way: recall with its interval, and rank-biased overlap (Webber, Moffat and Zobel 2010) with
        persistence 0.9. `worst_queries(name)` lists the queries that lose most. Chance is k / (n_rows - 1).

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((200, 64)) * np.geomspace(3, 0.3, 64)
    >>> stored_vectors(X, [32, 8, "binary"]).to_frame()[["name", "value", "rank_biased_overlap"]].round(2)
                name  value  rank_biased_overlap
    0  32 dimensions   0.89                 0.87
    1   8 dimensions   0.44                 0.37
    2         binary   0.21                 0.17
    """
    own = ways if isinstance(ways, Mapping) else {}
    # An array may be called X as well.
    names_of_ways = {f"ways[{name!r}]" if name == "X" else str(name): str(name) for name in own}
    given = dict(zip(names_of_ways, own.values(), strict=True))
    sides, along = select_rows({"X": X, **given}, {"groups": groups}, rows=rows, missing=missing, align=True)
    known = split_names(sides["X"], "X")[1]
    names = () if known is None or known.counts_rows else tuple(map(str, known.values))
    arrays: dict[str, Array] = {name: check.raw_matrix(side, name) for name, side in sides.items()}
    n, width = arrays["X"].shape
    metric = check.choice(index_metric, get_args(IndexMetric), "index_metric")
    k = check.count(k, "k")
    if k > n - 1:
        raise ValueError(f"k must be at most the number of other rows ({n - 1}), got {k}")
    check.fraction(confidence, "confidence", closed=False)
    codes = None if groups is None else check.labels(along["groups"], n, "groups")[0]
    encoders = _require_some(dict.fromkeys(given, _unchanged) if own else _encoders(ways, RowSource(arrays["X"])))
    for name in given:
        if len(arrays[name]) != n:
            raise ValueError(f"{name} must have the {n} rows of X, got {len(arrays[name])}")
    queries = _draw_queries(n, width * (1 + len(encoders)), exact, seed)
    if queries is None and metric == "cosine":
        for name, array in arrays.items():
            if len(zero := find_undirected_rows(array, "cosine")):
                raise ValueError(check.zero_rows(names_of_ways.get(name, name), zero, n, known))
    if queries is None:
        arrays = {name: check.require_squarable(check.matrix(array, name)) for name, array in arrays.items()}
    if metric != "cosine" and _spread_of_lengths(arrays["X"]) < _ONE_LENGTH:
        others = [names_of_ways[name] for name in given if _spread_of_lengths(arrays[name]) > _OTHER_LENGTHS]
        if others or (not own and any("dimension" in name for name in encoders)):
            whose = f"those of {join_names(others)}" if others else "their first dimensions"
            state_warning(
                f"vectors have one length, but {whose} have not, which changes these neighbours; divide stored vectors "
                "by their lengths, as index_metric='cosine' (--index-metric cosine) does"
            )
    compared = given if metric != "cosine" else ()
    unit = [names_of_ways[name] for name in compared if _spread_of_lengths(arrays[name]) < _ONE_LENGTH]
    if unit and _spread_of_lengths(arrays["X"]) > _OTHER_LENGTHS:
        state_warning(
            f"the rows of {join_names(unit)} have one length, but those of the full vectors have not, which "
            "changes these neighbours; divide the full vectors by their lengths as well, or compare by the cosine"
        )
    for name in given if metric == "cosine" else ():
        _state_lengths(arrays["X"], arrays[name], names_of_ways[name], queries)
    if queries is None and (share := _copies_share(arrays["X"], k)) >= _COPIES:
        state_warning(
            f"{share:.0%} of the {k} nearest vectors are copies of the query, which any way of storing finds; leave "
            "out repeated rows to measure the others"
        )
    elif "binary" in encoders and not own and (n_fixed := _count_fixed_signs(arrays["X"])) >= _FIXED * width:
        state_warning(
            f"{n_fixed:,} of {width:,} features have one sign in all checked vectors, so their bits are the same for "
            "all; subtract the mean or median of each feature before 'binary'"
        )
    elif sets := _describe_sets(arrays["X"], k, metric):
        state_warning(sets if groups is not None else f"{sets}, and pass groups= (--groups) for an interval over sets")
    if groups is None and queries is None and (signs := find_undeclared_dependence([arrays["X"]])):
        state_warning(f"intervals may be too narrow: {signs}")

    if queries is None:
        but = _ANGLES if metric == "cosine" else _ANGLES[1:]
        if not any(warn_of_pair_doubts({"X": arrays["X"], name: arrays[name]}, but=but) for name in given):
            warn_of_row_doubts(arrays["X"], but=but)

    @cache
    def rough() -> str:
        """Describe the recall among a few rows, which takes less than a second."""
        some = np.unique(np.linspace(0, n - 1, _ROUGH_ROWS).astype(np.intp))
        few = {name: RowSource(array).read(some) for name, array in arrays.items()}
        near = partial(_nearest, queries=None, k=min(k, len(some) - 1), metric=metric)
        whole = near(few["X"], _unchanged)
        found = {name: near(few[name if own else "X"], encode) for name, encode in encoders.items()}
        shares = [f"{name} {shared_entries(whole, lists).mean():.1%}" for name, lists in found.items()]
        return f"among {len(some):,} of the rows: {', '.join(shares)}"

    def recall_of(name: str) -> StoredVectors:
        found = name_copies(_nearest(arrays[name if own else "X"], encoders[name], queries, k, metric), copies)
        named = name_copies(truth, copies)
        shared = _shared_counts(named, found)
        recall, overlap = shared[:, -1] / k, _rank_biased_overlap(shared)
        hits = shared_entries(named, found)
        both_sides = recall + (_effect_in_index(truth, hits) if queries is None else 0.0)
        of_queries = codes if codes is None or queries is None else np.unique(codes[queries], return_inverse=True)[1]
        low, high = recall_interval(both_sides, confidence, of_queries)
        return StoredVectors(
            name=names_of_ways.get(name, name),
            value=float(recall.mean()),
            low=low,
            high=high,
            confidence=confidence,
            chance=k / (n - 1),
            best=1.0,
            n_rows=n,
            rank_biased_overlap=float(overlap.mean()),
            of_queries=tuple(recall.tolist()),
        )

    with best_answer(rough):
        truth = _nearest(arrays["X"], _unchanged, queries, k, metric)
        copies = label_copies(arrays["X"]) if queries is None else None
        numbers, interrupted = collect(
            map(recall_of, encoders), len(encoders), "ways of storing vectors", fewest=1, describe=_describe_ways
        )
    if own and (lost := [each.name for each in numbers if each.low <= each.chance]):
        state_warning(
            f"{join_names(lost)} {agree(len(lost), 'finds', 'find')} no more neighbours than chance, as if rows were "
            "in another order; check that row i of both sides is the same input",
            questions_input=True,
        )
    table = StoredVectorsTable(numbers=tuple(numbers), k=k, metric=metric, rows=names, interrupted=interrupted)
    if queries is not None:
        seconds = seconds_here(search_seconds(n, n, width * (1 + len(encoders))))
        table = replace(table, queries=tuple(queries.tolist()), exact_seconds=seconds)
    return replace(table, seed=number(seed), notes=(_INTERRUPTED,) * interrupted)


_FIXED = 0.5
"""Smallest share of features of one sign that is stated for signs as a way of storing."""


def _count_fixed_signs(vectors: Array) -> int:
    """Return how many features have one sign in all of some vectors."""
    some = RowSource(vectors).read(np.arange(min(len(vectors), _QUERIES))) > 0
    return int((some == some[0]).all(axis=0).sum())


def _copies_share(vectors: Array, k: int) -> float:
    """Return which share of the k nearest vectors, on average, are equal to the query."""
    rows = [row.tobytes() for row in np.ascontiguousarray(vectors)]
    counts = Counter(rows)
    return float(np.mean([min(counts[row] - 1, k) for row in rows])) / k


_MOST_IN_SET, _APART, _ROWS_IN_SETS = 64, 3.0, 0.5
"""Largest set that is looked for, how many times farther other vectors are, and share of vectors in sets that is
stated."""
_LOOKED_UP, _SAME = 256, 1e-6
"""Number of vectors whose set is looked for, and distance, as a share of the largest, that counts as none."""


def _describe_sets(vectors: Array, k: int, metric: IndexMetric) -> str:
    """Describe sets of vectors, such as versions of each document, that hold most of the k nearest; empty if none."""
    most = min(_MOST_IN_SET, (len(vectors) - 1) // 3)
    fewest = (k + 1) // 2
    if most <= fewest:
        return ""
    queries = np.sort(np.random.default_rng(0).choice(len(vectors), min(len(vectors), _LOOKED_UP), replace=False))
    source, lists = RowSource(vectors), _nearest(vectors, _unchanged, queries, most, metric)
    distances = np.empty(lists.shape)
    for place, (query, near) in enumerate(zip(queries, lists, strict=True)):
        rows = np.asarray(source.read(np.append(near, query)), dtype=np.float64)
        if metric == "cosine":
            rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        distances[place] = np.sort(np.linalg.norm(rows[:-1] - rows[-1], axis=1))
    far = distances.max(initial=0.0)
    if not 0 < far < np.inf:
        return ""
    gaps = np.diff(np.log(np.maximum(distances / far, _SAME)), axis=1)[:, fewest - 1 :]
    in_sets = gaps.max(axis=1) >= log(_APART)
    if np.mean(in_sets) < _ROWS_IN_SETS:
        return ""
    size = int(np.median(gaps[in_sets].argmax(axis=1))) + fewest + 1
    return (
        f"{np.mean(in_sets):.0%} of {len(queries):,} checked vectors lie in sets of about {size} that are at least "
        f"{_APART:.0f} times nearer to each other than to others, such as versions of one document, so the {k} nearest "
        "are mostly of one set; keep one vector of each set to measure how other documents are found"
    )


_ANGLES = ("few rows", "offset", "rare cluster", "copies", "row lengths", "raw counts", "rounded values")
"""Doubts that hardly change neighbours by angle, or that the answer states itself."""
_ONE_LENGTH, _OTHER_LENGTHS = 1e-3, 0.1
"""Largest difference between lengths, as a share of them, that half precision causes."""
_INTERRUPTED = "Interrupted: the remaining ways of storing vectors were not searched."
_ROUGH_ROWS = 2_000
"""Rows that answer if Ctrl-C comes before the first way of storing vectors is searched."""
_QUERIES, _FEWEST_QUERIES = 1_000, 100
"""Most and fewest rows that search all others, if all would take more than a minute."""


def _draw_queries(n: int, width: int, exact: Exact, seed: Seed) -> Index | None:
    """Return random rows whose searches take ten seconds; None if all rows may search, in at most a minute."""
    if exact is True or (exact == "auto" and search_seconds(n, n, width) <= MINUTE):
        return None
    size = int(MINUTE / 6 / search_seconds(1, n, width))
    size = min(n, _QUERIES, max(_FEWEST_QUERIES, size))
    return np.sort(spawn(seed, _QUERYING).choice(n, size, replace=False))


def _spread_of_lengths(X: Array) -> float:
    lengths = np.linalg.norm(RowSource(X).read(np.arange(min(len(X), _QUERIES))), axis=1)
    return float(np.ptp(lengths) / (lengths.max() or 1.0))


def _state_lengths(vectors: Array, other: Array, name: str, queries: Index | None) -> None:
    """State how lengths of stored vectors differ, which the cosine does not show."""
    if vectors.shape[1] != other.shape[1]:
        return
    rows = [side if queries is None else RowSource(side).read(queries) for side in (vectors, other)]
    lengths = describe_lengths(rows[0], rows[1], paired=True)
    # Rows that are all rescaled by one factor have the same neighbours under any metric.
    if lengths and not lengths.startswith("all rows"):
        state(f"{name}: {lengths}, which cosine similarity does not show")


def _describe_ways(numbers: Sequence[StoredVectors]) -> str:
    return ", ".join(f"{one.name} {one.value:.1%}" for one in numbers)


Encoder = Callable[[Matrix], Matrix]


def _unchanged(vectors: Matrix) -> Matrix:
    return vectors


def _encoders(ways: Iterable[str | int], source: RowSource) -> dict[str, Encoder]:
    """Return how each way stores some of the vectors."""
    if isinstance(ways, str | int):
        raise TypeError(f"ways must be a sequence of names and numbers, got {ways!r}")
    encoders: dict[str, Encoder] = {}
    for way in kinds.iterable(ways, "ways", "names and numbers"):
        if isinstance(way, str):
            encoders[way] = _WAYS[check.choice(way, tuple(_WAYS), "ways")](source)
        else:
            n = check.count(way, "ways")
            if n > source.n_features:
                raise ValueError(f"ways must be at most the {source.n_features} dimensions of X, got {n}")
            encoders[count(n, "dimension")] = partial(_keep, n)
    return encoders


def _require_some(encoders: dict[str, Encoder]) -> dict[str, Encoder]:
    if not encoders:
        raise ValueError("ways must have at least one way of storing vectors, got none")
    return encoders


def _keep(n: int, vectors: Matrix) -> Matrix:
    return vectors[:, :n]


def _to_int8(source: RowSource) -> Encoder:
    """Return a function that rounds every dimension to 256 levels, as scalar quantisation of vector indexes does."""
    ends = [(block.min(axis=0), block.max(axis=0)) for _, block in source.blocks()]
    low = np.min([end for end, _ in ends], axis=0)
    width = np.max([end for _, end in ends], axis=0) - low
    step = np.where(width > 0, width, 1.0) / 255
    return lambda vectors: np.asarray(low + step * np.round((vectors - low) / step))


def _to_float16(vectors: Matrix) -> Matrix:
    with np.errstate(over="ignore"):
        halves = vectors.astype(np.float16)
    if np.isinf(halves).any():
        raise ValueError("ways must not have 'float16' if X has values beyond 65,504, got such values")
    return halves.astype(np.float64)


_WAYS: dict[str, Callable[[RowSource], Encoder]] = {
    "float16": lambda source: _to_float16,
    "int8": _to_int8,
    # The squared distance of signs is four times their Hamming distance, and their length is constant.
    "binary": lambda source: lambda vectors: np.where(vectors > 0, 1.0, -1.0),
}


def _nearest(array: Array, encode: Encoder, queries: Index | None, k: int, metric: IndexMetric) -> Index:
    """Return the k nearest other rows of each query, or of each row without queries, nearest first."""

    def vectors(rows: Matrix) -> Matrix:
        encoded = encode(rows)
        if metric != "cosine":
            return encoded
        lengths = np.linalg.norm(encoded, axis=1, keepdims=True)
        if not lengths.all():
            raise ValueError("X must have no zero rows for the cosine, got some, before or after truncation")
        return np.asarray(encoded / lengths)

    if queries is None:
        near = nearest_by_distance if metric == "l2" else nearest_by_product
        with single_threaded_blas():
            return near(vectors(array), k).lists
    source = RowSource(array)
    among = RowBlocks(
        source.n_rows,
        lambda numbers: vectors(source.read(numbers)),
        source.starts,
        lambda start: vectors(source.block(start)),
    )
    return nearest_to_queries(among, queries, k, "distance" if metric == "l2" else "product")


def _effect_in_index(truth: Index, hits: Mask) -> Vector:
    """Return how much each row raises the recall of others as one of their neighbours; the sum is 0.

    Queries share the rows that they search. Intervals for independent queries contained the mean in 75 to 92 % of
    runs.
    """
    n, k = truth.shape
    return np.asarray(np.bincount(truth.ravel(), (hits - hits.mean()).ravel(), minlength=n) / k)


def _shared_counts(truth: Index, found: Index) -> Matrix:
    """Return how many entries the first d places of both lists share, for d = 1 to k."""
    k = truth.shape[1]
    # Two equal entries at places i and j are shared from place max(i, j) on.
    i, j = np.nonzero(np.ones((k, k)))
    equal = truth[:, i] == found[:, j]
    place = np.maximum(i, j)
    shared = np.zeros((len(truth), k))
    for depth in range(k):
        shared[:, depth] = equal[:, place <= depth].sum(axis=1)
    return shared


def _rank_biased_overlap(shared: Matrix) -> Vector:
    """Return the extrapolated rank-biased overlap of each pair of lists."""
    k = shared.shape[1]
    depth = np.arange(1, k + 1)
    weights = (1 - _PERSISTENCE) / _PERSISTENCE * _PERSISTENCE**depth
    agreement = shared / depth
    return np.asarray(agreement @ weights + agreement[:, -1] * _PERSISTENCE**k)
