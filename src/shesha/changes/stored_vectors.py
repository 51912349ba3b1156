"""Retrieval from an index that stores truncated or quantised vectors, compared with the full vectors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, cast, get_args

import numpy as np
from numpy.typing import ArrayLike

from shesha.changes.index_recall import mean_interval
from shesha.inputs import validation as check
from shesha.kernels.neighbours import nearest_by_distance, nearest_by_product
from shesha.kernels.threads import single_threaded_blas
from shesha.results import sentence_parts as say
from shesha.results.diff import IndexMetric
from shesha.results.number import NAN, Number, NumberTable
from shesha.results.paper_sentences import claim
from shesha.support import argument_types as kinds
from shesha.support.provenance import keep_statements
from shesha.support.types import Index, Matrix, Vector
from shesha.support.wording import count

if TYPE_CHECKING:
    import pandas as pd

_PERSISTENCE = 0.9
"""Weight of each rank relative to the rank before it in rank-biased overlap."""


@dataclass(frozen=True, kw_only=True)
class StoredVectors(Number):
    """Recall of the nearest full vectors by one way of storing vectors."""

    rank_biased_overlap: float = NAN
    """Agreement of the ranked lists of neighbours, in which first places count most; 1 for equal lists."""
    of_queries: tuple[float, ...] = ()
    """Recall of each query, in the order of the rows."""


@dataclass(frozen=True, kw_only=True)
class StoredVectorsTable(NumberTable):
    """Recall of the nearest full vectors by several ways of storing vectors."""

    numbers: tuple[StoredVectors, ...]
    k: int
    metric: str

    WHAT: ClassVar[str] = "ways of storing vectors"
    NAMES: ClassVar[tuple[str, ...]] = ("rank_biased_overlap",)

    @property
    def headline(self) -> str:
        """The recall of each way."""
        parts = [f"{each.name} {each.value:.1%} ({each.low:.1%} to {each.high:.1%})" for each in self.numbers]
        return f"Share of the {self.k} nearest full vectors that are found ({self.metric}): {'; '.join(parts)}."

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
        rows = np.argsort(recall, kind="stable")[: check.count(n, "n")]
        return pd.DataFrame({"row": rows, "recall": recall[rows]})


@claim.register
def _claim(result: StoredVectorsTable) -> str:
    clauses = [
        f"{each.name} {say.format_number(each.value)}{say.interval(each.low, each.high, each.confidence)}, rank-biased "
        f"overlap {say.format_number(each.rank_biased_overlap)}"
        for each in result.numbers
    ]
    return (
        f"The share of the {result.k} nearest vectors by {result.metric} that were found among "
        f"{result.numbers[0].n_rows:,} stored vectors was {say.join_clauses(clauses)} (chance "
        f"{say.format_number(result.numbers[0].chance)})"
    )


@keep_statements
def stored_vectors(
    X: ArrayLike,
    ways: Iterable[str | int] | Mapping[str, ArrayLike] = ("float16", "int8", "binary"),
    *,
    k: int = 10,
    index_metric: IndexMetric = "cosine",
    groups: ArrayLike | None = None,
    confidence: float = 0.95,
) -> StoredVectorsTable:
    """Measure how well truncated or quantised vectors find the neighbours that the full vectors have.

    Every row is a query that searches all other rows. Queries and index store their vectors in the same way.

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
        Confidence level of the intervals, which cover other queries like these.

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
    vectors = check.require_squarable(check.matrix(X, "X"))
    metric = cast(IndexMetric, check.choice(index_metric, get_args(IndexMetric), "index_metric"))
    k = check.count(k, "k")
    if k > len(vectors) - 1:
        raise ValueError(f"k must be at most the number of other rows ({len(vectors) - 1}), got {k}")
    check.fraction(confidence, "confidence", closed=False)
    codes = None if groups is None else check.labels(groups, len(vectors), "groups")[0]
    stored = _stored(vectors, ways)
    numbers = []
    with single_threaded_blas():
        truth = _nearest(vectors, k, metric)
        for name, other in stored.items():
            found = _nearest(other, k, metric)
            shared = _shared_counts(truth, found)
            recall, overlap = shared[:, -1] / k, _rank_biased_overlap(shared)
            low, high = mean_interval(recall, confidence, codes, bounds=(0.0, 1.0))
            one = StoredVectors(
                name=name,
                value=float(recall.mean()),
                low=low,
                high=high,
                confidence=confidence,
                chance=k / (len(vectors) - 1),
                best=1.0,
                n_rows=len(vectors),
                rank_biased_overlap=float(overlap.mean()),
                of_queries=tuple(recall.tolist()),
            )
            numbers.append(one)
    return StoredVectorsTable(numbers=tuple(numbers), k=k, metric=metric)


def _stored(vectors: Matrix, ways: Iterable[str | int] | Mapping[str, ArrayLike]) -> dict[str, Matrix]:
    """Return the vectors as each way stores them."""
    if isinstance(ways, Mapping):
        given = {str(name): check.require_squarable(check.matrix(other, str(name))) for name, other in ways.items()}
        for name, other in given.items():
            if len(other) != len(vectors):
                raise ValueError(f"{name} must have the {len(vectors)} rows of X, got {len(other)}")
        return _require_some(given)
    if isinstance(ways, str | int):
        raise TypeError(f"ways must be a sequence of names and numbers, got {ways!r}")
    stored = {}
    for way in kinds.iterable(ways, "ways", "names and numbers"):
        if isinstance(way, str):
            quantise = _WAYS[check.choice(way, tuple(_WAYS), "ways")]
            stored[way] = quantise(vectors)
        else:
            n = check.count(way, "ways")
            if n > vectors.shape[1]:
                raise ValueError(f"ways must be at most the {vectors.shape[1]} dimensions of X, got {n}")
            stored[count(n, "dimension")] = vectors[:, :n]
    return _require_some(stored)


def _require_some(stored: dict[str, Matrix]) -> dict[str, Matrix]:
    if not stored:
        raise ValueError("ways must have at least one way of storing vectors, got none")
    return stored


def _as_int8(vectors: Matrix) -> Matrix:
    """Round every dimension to 256 levels, as scalar quantisation of vector indexes does."""
    low, width = vectors.min(axis=0), np.ptp(vectors, axis=0)
    step = np.where(width > 0, width, 1.0) / 255
    return np.asarray(low + step * np.round((vectors - low) / step))


def _as_float16(vectors: Matrix) -> Matrix:
    with np.errstate(over="ignore"):
        halves = vectors.astype(np.float16)
    if np.isinf(halves).any():
        raise ValueError("ways must not have 'float16' if X has values beyond 65,504, got such values")
    return halves.astype(np.float64)


_WAYS: dict[str, Any] = {
    "float16": _as_float16,
    "int8": _as_int8,
    # The squared distance of signs is four times their Hamming distance, and their length is constant.
    "binary": lambda vectors: np.where(vectors > 0, 1.0, -1.0),
}


def _nearest(vectors: Matrix, k: int, metric: IndexMetric) -> Index:
    """Return the k nearest other rows of each row, nearest first."""
    if metric == "l2":
        return nearest_by_distance(vectors, k).lists
    if metric == "cosine":
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not lengths.all():
            raise ValueError("X must have no zero rows for the cosine, got some, before or after truncation")
        vectors = vectors / lengths
    return nearest_by_product(vectors, k).lists


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
