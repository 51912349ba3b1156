"""Agreement of the nearest neighbours of each row, kernel alignment among them, and topology at all scales."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import sqrt
from typing import Any, Literal, cast

import numpy as np

from shesha.inputs import validation as check
from shesha.kernels.topology import heat_distance, total_lengths
from shesha.measures.registry import SampledRows, measure
from shesha.support.types import Index, Seed, Vector
from shesha.support.warnings import NotEstimable
from shesha.views import DistanceSubsets, HeatTrace, Neighbours
from shesha.views.representation import Standard

NEIGHBOURS = "neighbours"
_SELF_BY_NUMBER = "A row is excluded from its own neighbours, but its duplicates are not."


def _jaccard_of_rows(a: Neighbours, b: Neighbours, **_: Any) -> Vector:
    """Jaccard index between each row's two lists of neighbours."""
    common = np.count_nonzero(b.ranks_of_neighbours(a), axis=1)
    return cast(Vector, common / (2 * a.k - common))


def _rank_similarity_of_rows(a: Neighbours, b: Neighbours, **_: Any) -> Vector:
    """For each row, the agreement of the ranks of its common neighbours."""
    r, s = np.arange(1, a.k + 1), b.ranks_of_neighbours(a).astype(np.intp)
    agreement = np.where(s > 0, 2.0 / ((1 + np.abs(r - s)) * (r + s)), 0.0).sum(axis=1)
    harmonic = np.concatenate([[1.0], np.cumsum(1.0 / np.arange(1, a.k + 1))])
    return cast(Vector, agreement / harmonic[np.count_nonzero(s, axis=1)])


def _cosines_of_rows(a: Neighbours, b: Neighbours, *, similarities: bool = False, **_: Any) -> Vector:
    """For each row, the cosine between its distances to its neighbours in either representation."""
    check.boolean(similarities, "similarities")
    if similarities and (a.rows is None or b.rows is None):
        raise NotEstimable("cosine similarities need the features, got distances between rows")
    others = np.concatenate([a.nearest, b.nearest], axis=1)
    others.sort(axis=1)
    once = np.ones(others.shape)
    once[:, 1:] = others[:, 1:] != others[:, :-1]
    vectors = [side.distances_between(a.queries[:, None], others) for side in (a, b)]
    if similarities:
        vectors = [1.0 - vector for vector in vectors]
    x, y = (vector * once for vector in vectors)
    lengths = np.sqrt(np.einsum("ij,ij->i", x, x) * np.einsum("ij,ij->i", y, y))
    nowhere = np.flatnonzero(lengths <= np.finfo(float).tiny)
    if len(nowhere):
        rows = check.join_items(a.queries[nowhere])
        raise NotEstimable(f"rows that equal all their neighbours have no direction: rows {rows}")
    return cast(Vector, np.clip(np.einsum("ij,ij->i", x, y) / lengths, -1.0, 1.0))


def _share_of_rows(a: Neighbours, b: Neighbours, **_: Any) -> Vector:
    """For each row, the share of its neighbours that both representations have in common."""
    return cast(Vector, np.count_nonzero(b.ranks_of_neighbours(a), axis=1) / a.k)


def _returns_of_rows(a: Neighbours, b: Neighbours, **_: Any) -> Vector:
    """Whether each row is an X neighbour of at least one of its Y neighbours."""
    return cast(Vector, (a.ranks_between(b.nearest, a.queries[:, None]) > 0).any(axis=1) * 1.0)


@measure(
    "Jaccard",
    view=Neighbours,
    closer="higher",
    bounds=(0, 1),
    symmetric=True,
    invariant=("orthogonal", "scaling"),
    family=NEIGHBOURS,
    cost="n^2 d",
    formula="mean_i |N_X(i) & N_Y(i)| / |N_X(i) | N_Y(i)|",
    reference="Wang et al. 2022; Klabunde et al. 2024",
    caveats=("Unrelated data score about k / (2 n), not 0.", _SELF_BY_NUMBER),
    self_value=1.0,
    groups=("ReSi",),
    anywhere=True,
    sample=SampledRows(_jaccard_of_rows),
)
def jaccard(a: Neighbours, b: Neighbours, *, k: int = 10, metric: Standard = "cosine") -> float:
    """Mean over rows of the Jaccard index between the two sets of k nearest neighbours.

    Parameters
    ----------
    k : int
        Number of neighbours, below the number of rows.
    metric : {'cosine', 'correlation', 'euclidean', 'dot'}
        Distance or similarity that determines the nearest rows.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((50, 8))
    >>> jaccard(X, 3 * X[:, ::-1])
    1.0
    """
    return float(_jaccard_of_rows(a, b).mean())


@measure(
    "RankSim",
    view=Neighbours,
    closer="higher",
    bounds=(0, 1),
    symmetric=True,
    invariant=("orthogonal", "scaling"),
    family=NEIGHBOURS,
    cost="n^2 d",
    formula="mean_i sum_j 2 / ((1 + |r - r'|)(r + r')) / sum_{m <= c_i} 1/m over the c_i common neighbours j",
    reference="Wang et al. 2022; Klabunde et al. 2024",
    caveats=("Unrelated data score above 0.", _SELF_BY_NUMBER),
    self_value=1.0,
    groups=("ReSi",),
    anywhere=True,
    sample=SampledRows(_rank_similarity_of_rows),
)
def rank_similarity(a: Neighbours, b: Neighbours, *, k: int = 10, metric: Standard = "cosine") -> float:
    """Agreement of the ranks of common neighbours, with more weight on the nearest ones.

    Rows without common neighbours score 0.

    Parameters
    ----------
    k, metric
        As for `jaccard`.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((50, 8))
    >>> round(rank_similarity(X, 3 * X[:, ::-1]), 6)
    1.0
    """
    return float(_rank_similarity_of_rows(a, b).mean())


@measure(
    "2nd-Cos",
    view=Neighbours,
    closer="higher",
    bounds=(0, 1),
    symmetric=True,
    invariant=("orthogonal", "scaling"),
    family=NEIGHBOURS,
    cost="n^2 d",
    formula="mean_i cos(d_X(i, U_i), d_Y(i, U_i)), U_i = N_X(i) | N_Y(i), d the cosine distances",
    reference="Hamilton et al. 2016a; Klabunde et al. 2024",
    caveats=("All distances are positive, so even unrelated data score high. Calibrate the score.", _SELF_BY_NUMBER),
    self_value=1.0,
    groups=("ReSi",),
    anywhere=True,
    sample=SampledRows(_cosines_of_rows),
)
def second_order_cosine(a: Neighbours, b: Neighbours, *, k: int = 10, similarities: bool = False) -> float:
    """Mean cosine between a row's two vectors of distances to its neighbours in either representation.

    Parameters
    ----------
    k : int
        Number of neighbours, below the number of rows.
    similarities : bool
        Whether to compare cosine similarities, as in the text of the survey, instead of cosine distances, as in the
        code of the benchmark.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((50, 8))
    >>> round(second_order_cosine(X, 3 * X[:, ::-1]), 6)
    1.0
    """
    return float(_cosines_of_rows(a, b, similarities=similarities).mean())


@measure(
    "mutual kNN",
    view=Neighbours,
    closer="higher",
    bounds=(0, 1),
    symmetric=True,
    invariant=("orthogonal", "scaling"),
    family=NEIGHBOURS,
    cost="n^2 d",
    formula="mean_i |N_X(i) & N_Y(i)| / k",
    reference="Huh et al. 2024",
    caveats=(
        "Unrelated data score k / (n - 1) on average, not 0.",
        "A common offset makes cosines uninformative: subtract the column means first, or use `metric='euclidean'`.",
        "With `metric='dot'`, as in the public code, long rows are neighbours of all rows. Unrelated data then score "
        "high if the same rows are long in both.",
        _SELF_BY_NUMBER,
    ),
    self_value=1.0,
    anywhere=True,
    expected=lambda a, b: a.nearest.shape[1] / (len(a.nearest) - 1),
    sample=SampledRows(_share_of_rows),
)
def mutual_knn(a: Neighbours, b: Neighbours, *, k: int = 10, metric: Standard = "cosine") -> float:
    """Mean share of each row's k nearest neighbours that the two representations have in common.

    Parameters
    ----------
    k : int
        Number of neighbours, below the number of rows.
    metric : {'cosine', 'correlation', 'euclidean', 'dot'}
        Distance or similarity that determines the nearest rows. The paper takes the rows at the smallest distance, and
        public pipelines divide rows by their lengths before they take the largest inner products, which are then
        cosines. 'dot' is the public code (`mutual_knn` of the platonic-rep repository) applied to the rows as they are.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((50, 8))
    >>> mutual_knn(X, 3 * X[:, ::-1])
    1.0
    """
    return np.count_nonzero(b.ranks_of_neighbours(a)) / a.nearest.size


@measure(
    "cycle kNN",
    view=Neighbours,
    closer="higher",
    bounds=(0, 1),
    symmetric=False,
    invariant=("orthogonal", "scaling"),
    family=NEIGHBOURS,
    cost="n^2 d",
    formula="mean_i [i is in N_X(j) for some j in N_Y(i)]",
    reference="Huh et al. 2024",
    caveats=(
        "Unrelated data score about 1 - exp(-k^2 / n), and less with inner products of few features.",
        "With n below about k^2 / 2, nearly every row shares a neighbour by chance. Many permutations then have the "
        "same score, and calibration is very conservative (0 to 1 % false positives at 5 %): use a smaller k.",
        "A representation scores below 1 when compared with itself.",
    ),
    anywhere=True,
    sample=SampledRows(_returns_of_rows),
)
def cycle_knn(a: Neighbours, b: Neighbours, *, k: int = 10, metric: Standard = "dot") -> float:
    """Share of rows that are a neighbour in X of at least one of their neighbours in Y.

    Parameters
    ----------
    k : int
        Number of neighbours, below the number of rows.
    metric : {'dot', 'cosine', 'correlation', 'euclidean'}
        Distance or similarity that determines the nearest rows. Use 'cosine' if rows have different lengths; 'dot' is
        the public code.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((50, 8))
    >>> cycle_knn(X, X, k=3, metric="euclidean")
    0.82
    """
    return float(_returns_of_rows(a, b).mean())


@dataclass(frozen=True)
class _Edges:
    """A sparse square matrix, with the entry `values[e]` at row `rows[e]` and column `columns[e]`."""

    n: int
    rows: Index
    columns: Index
    values: Vector

    def off_diagonal(self) -> _Edges:
        kept = self.rows != self.columns
        return _Edges(self.n, self.rows[kept], self.columns[kept], self.values[kept])

    def margins(self) -> tuple[Vector, Vector]:
        return _sums(self.rows, self.values, self.n), _sums(self.columns, self.values, self.n)

    def total(self) -> float:
        return float(np.add.reduce(self.values))


def _sums(places: Index, values: Vector, n: int) -> Vector:
    return cast(Vector, np.bincount(places, values, n))


def _edges(side: Neighbours) -> _Edges:
    rows = np.repeat(np.arange(side.n_rows), side.k)
    return _Edges(side.n_rows, rows, side.nearest.ravel(), side.products().ravel())


def _size(multiply: Callable[[_Edges, _Edges], float], side: Neighbours) -> float:
    edges = _edges(side)
    return multiply(edges, edges)


def _shared(a: Neighbours, b: Neighbours) -> tuple[_Edges, _Edges]:
    """Restrict both matrices to the edges that they have in common."""
    n, ranks = a.n_rows, b.ranks_of_neighbours(a).T.ravel()
    # Searching booleans is several times faster than searching numbers.
    places = (ranks != 0).nonzero()[0]
    rows, columns = places % n, a.rank_major_lists.ravel()[places]
    of_a = a.products_with_rank(rows, places // n + 1)
    of_b = b.products_with_rank(rows, ranks[places].astype(np.intp))
    return _Edges(n, rows, columns, of_a), _Edges(n, rows, columns, of_b)


def _frobenius(a: _Edges, b: _Edges) -> float:
    """<H A H, H B H> for two matrices with the same edges, computed from their sums."""
    (rows_a, columns_a), (rows_b, columns_b) = a.margins(), b.margins()
    margins = (rows_a.dot(rows_b) + columns_a.dot(columns_b)) / a.n
    return float(a.values.dot(b.values) - margins + a.total() * b.total() / a.n**2)


def _trace(a: _Edges, b: _Edges) -> float:
    """tr(A H B H), which equals `_frobenius` only for symmetric matrices; neighbour masks are asymmetric."""
    (rows_a, columns_a), (rows_b, columns_b) = a.margins(), b.margins()
    margins = (columns_a.dot(rows_b) + columns_b.dot(rows_a)) / a.n
    return float(_transpose_product(a, b) - margins + a.total() * b.total() / a.n**2)


def _u_statistic(a: _Edges, b: _Edges) -> float:
    """U-statistic (Song et al. 2012) that leaves out the diagonal and replaces the trace."""
    n, a, b = a.n, a.off_diagonal(), b.off_diagonal()
    shared = a.margins()[1].dot(b.margins()[0])
    total = a.total() * b.total() / ((n - 1) * (n - 2))
    return float(_transpose_product(a, b) + total - 2 * shared / (n - 2))


def _transpose_product(a: _Edges, b: _Edges) -> float:
    """tr(A B): sum over (i, j) of the products of entry (i, j) of A with entry (j, i) of B."""
    codes = [a.rows * a.n + a.columns, b.columns * b.n + b.rows]
    _, at_a, at_b = np.intersect1d(codes[0], codes[1], assume_unique=True, return_indices=True)
    return float(a.values[at_a].dot(b.values[at_b]))


Product = Literal["frobenius", "trace", "unbiased"]
_PRODUCTS = {"frobenius": _frobenius, "trace": _trace, "unbiased": _u_statistic}


@measure(
    "CKNNA",
    view=Neighbours,
    closer="higher",
    bounds=(-1, 1),
    symmetric=True,
    invariant=("orthogonal", "scaling", "translation"),
    family=NEIGHBOURS,
    cost="n^2 d",
    formula="<H(A.K_X)H, H(A.K_Y)H> / (||H(M_X.K_X)H|| ||H(M_Y.K_Y)H||), M the neighbour masks, A = M_X.M_Y",
    reference="Huh et al. 2024",
    caveats=(
        "Unrelated data do not score 0 on average. Calibrate the score.",
        "Rows with large norms have more influence, as neighbours and as weights.",
    ),
    self_value=1.0,
    needs_features=True,
    view_options={"metric": "dot"},
    anywhere=True,
)
def cknna(
    a: Neighbours,
    b: Neighbours,
    *,
    k: int = 10,
    center: bool = True,
    include_self: bool = False,
    product: Product = "frobenius",
) -> float:
    """CKA of the inner products between rows that are neighbours in both representations.

    The calibration study's code differs from its definition in three ways, each of which is an option. It does not
    centre the columns, so that a common offset makes the score 0. It counts each row among its own neighbours. It
    computes tr(K H L H), which is an inner product only for symmetric matrices. `center=False, include_self=True,
    product="trace"` gives the value of that code. `center=False, product="unbiased"` gives the value of Huh et al.

    Parameters
    ----------
    k : int
        Number of neighbours (the rows with the largest inner products), below the number of rows.
    center : bool
        Whether to subtract column means first.
    include_self : bool
        Whether a row can be its own neighbour.
    product : {'frobenius', 'trace', 'unbiased'}
        Product of the masked matrices: inner product, trace of the matrix product, or U-statistic.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((50, 8))
    >>> round(cknna(X, 3 * X[:, ::-1] + 1), 6)
    1.0
    """
    check.choice(product, tuple(_PRODUCTS), "product")
    multiply = _PRODUCTS[product]
    sizes = [side.invariant(product, partial(_size, multiply)) for side in (a, b)]
    if not (sizes[0] > 0 and sizes[1] > 0):
        raise NotEstimable("the inner products of neighbours have no positive variance")
    return min(1.0, max(-1.0, multiply(*_shared(a, b)) / sqrt(sizes[0] * sizes[1])))


TOPOLOGY = "topology"


@measure(
    "IMD",
    view=HeatTrace,
    closer="lower",
    bounds=(0, np.inf),
    symmetric=True,
    invariant=("orthogonal", "scaling", "translation"),
    family=TOPOLOGY,
    cost="n^2 d",
    formula="1e6 max_t exp(-2 (t + 1/t)) |h_X(t) - h_Y(t)|, h(t) = mean_i exp(-t lambda_i) of the k-NN graph Laplacian",
    reference="Tsitsulin et al. 2020",
    caveats=("Rows need not correspond: two independent samples of one distribution are close.",),
    paired=False,
    self_value=0.0,
    groups=("ReSi",),
    anywhere=True,
)
def imd(a: HeatTrace, b: HeatTrace, *, k: int = 5) -> float:
    """Difference between the heat traces of the nearest-neighbour graphs, times a million as published.

    The published code estimates the trace from random vectors, and gives about 1.7 for two equal inputs. This function
    is exact (with an error below 1e-9 for large inputs).

    Parameters
    ----------
    k : int
        Number of (Euclidean) neighbours to which each row is joined in the graph.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((50, 8))
    >>> imd(X, 3 * X[:, ::-1])
    0.0
    """
    return heat_distance(a.trace, b.trace)


@measure(
    "RTD",
    view=DistanceSubsets,
    closer="lower",
    bounds=(0, np.inf),
    symmetric=True,
    invariant=("orthogonal", "scaling", "translation"),
    family=TOPOLOGY,
    cost="more",
    formula="mean length of the H1 bars of [[0, r_X], [r_X, min(r_X, r_Y)]] and of X, Y swapped, over subsets of rows",
    reference="Barannikov et al. 2022",
    caveats=(
        "Each comparison takes seconds.",
        "The value grows with the size of the subsets: compare only equal sizes.",
    ),
    self_value=0.0,
    groups=("ReSi",),
)
def rtd(
    a: DistanceSubsets, b: DistanceSubsets, *, n_subsets: int = 10, subset_size: int = 500, seed: Seed = None
) -> float:
    """Representation topology divergence: differences in clusters and loops, over all scales.

    For a subset of m rows, the published code computes the barcode of 2 m points. This function obtains the same
    lengths from m points (see `shesha.kernels.topology`).

    Parameters
    ----------
    n_subsets, subset_size : int
        Number and size of the random subsets. If there are at most `subset_size` rows, a single subset contains all of
        them.
    seed : int, Generator or None
        Seed for the subsets, which contain the same rows on both sides.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((30, 4))
    >>> round(rtd(X, 3 * X[:, ::-1] + 1), 6)
    0.0
    """
    totals = []
    for subset in range(len(a.subsets)):
        x, y = a.quantile_scaled_distances(subset), b.quantile_scaled_distances(subset)
        totals.append(np.mean(total_lengths(x, y)))
    return float(np.mean(totals))
