"""Agreement of the nearest neighbours of each row."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from shesha.inputs import validation as check
from shesha.measures.registry import measure
from shesha.measures.sampled_estimates import SampledRows
from shesha.support.types import Vector
from shesha.support.warnings import NotEstimable
from shesha.views import Neighbours
from shesha.views.representation import Standard

FAMILY = "neighbours"
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
    family=FAMILY,
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
    family=FAMILY,
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
    family=FAMILY,
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
    family=FAMILY,
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
    family=FAMILY,
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
