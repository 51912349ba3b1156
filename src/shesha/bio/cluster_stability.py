"""Stability of clusters: cells are subsampled and clustered again, and compared with data without clusters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shesha.bio.cell_design import doubts_about_cells, labels, require_anndata, warn_of_counts
from shesha.doubting import association
from shesha.inputs import validation as check
from shesha.io import from_anndata
from shesha.nulls.null_summary import number_against_null, p_of_draws, summarise
from shesha.report import Part, Text
from shesha.results import sentence_parts as say
from shesha.results.number import TIE, Number, NumberTable
from shesha.support import provenance, types as kinds
from shesha.support.progress import track
from shesha.support.sampling_units import is_batch_name, is_unit_name, unit_labels
from shesha.support.seeds import ALPHA, CONFIDENCE, draw_seed, draws_needed, number
from shesha.support.types import Array, Index, Labels, Matrix, Seed, Vector
from shesha.support.wording import agree_with_share, count, natural_key

if TYPE_CHECKING:
    from anndata import AnnData

Clustering = Callable[[Matrix], ArrayLike]
"""Function of a matrix (cells, features) that returns one label per cell."""
_NEIGHBOURS = 15


@dataclass(frozen=True, kw_only=True)
class Cluster(Number):
    """Stability of one cluster: its mean Jaccard index with the most similar cluster of each subsample."""

    n_cells: int = 0


@dataclass(frozen=True, kw_only=True)
class ClusterStability(NumberTable):
    """Stability of clusters when cells are subsampled and clustered again, compared with data without clusters."""

    numbers: tuple[Cluster, ...]
    """The clusters. Chance level and threshold are those of clusters found in cells that have none."""
    agreement: Number
    """Adjusted Rand index between the clusters and those of the subsamples, averaged over subsamples."""
    n_cells: int
    n_subsamples: int
    share: float
    """Share of the cells in each subsample."""
    clustering: str
    """How cells were clustered again."""

    WHAT: ClassVar[str] = "clusters"
    VALUE: ClassVar[str] = "Jaccard index"
    NAMES: ClassVar[tuple[str, ...]] = ("n_cells",)

    @property
    def headline(self) -> str:
        """How many clusters are more stable than those of cells without clusters."""
        n, alpha = len(self.significant), self.agreement.alpha
        more = f"{agree_with_share(n, len(self), 'is', 'are')} more stable than clusters found in data that have none"
        advice = "" if n else " Do not interpret them, or try a lower resolution."
        return f"{n} of {count(len(self), 'cluster')} {more} ({alpha:g}, corrected for their number).{advice}"

    def _numbers(self) -> tuple[Part, ...]:
        """Return one row per cluster, and the agreement of all clusters."""
        cells = f"{say.format_share(self.share)} of {count(self.n_cells, 'cell')}"
        how = f"{count(self.n_subsamples, 'subsample')} of {cells}, clustered again by {self.clustering}."
        return (*super()._numbers(), Text(f"{self.agreement.line()}."), Text(how))

    def _claim(self) -> str:
        drawn = f"{self.agreement.n_draws:,} draws from the Gaussian, p corrected by the maximum over clusters"
        return say.listing(
            self.headline,
            map(say.clause, sorted(self.numbers, key=lambda each: (each.deciding_p_value, -each.value))),
            f"Jaccard index; {count(self.n_subsamples, 'subsample')} clustered again by {self.clustering}; chance is "
            "that of clusters of cells drawn from a single Gaussian",
            say.clause(self.agreement, "adjusted Rand index"),
            drawn,
            others="clusters",
        )


@provenance.keep_statements
def cluster_stability(
    adata: AnnData,
    groupby: str = "leiden",
    *,
    cluster: Clustering | float | None = None,
    obsm: str | None = "recorded",
    n_neighbors: int | None = None,
    n_subsamples: int = 10,
    share: float = 0.8,
    n_draws: int = 39,
    max_cells: int = 3_000,
    alpha: float = ALPHA,
    seed: Seed = 0,
) -> ClusterStability:
    """Test which clusters of cells are more stable than clusters found in data that have none.

    A clustering algorithm divides any data, even noise. Here, subsamples of the cells are clustered again, and each
    cluster is compared with the most similar new cluster by the Jaccard index (Hennig 2007). The same is done with
    cells drawn from a single Gaussian with the mean and covariance of the cells; a draw that is not divided counts as
    0. A cluster is significant if it is more stable than the most stable cluster of nearly all of these draws. If a
    resolution is so high that it divides a group, the parts are not significant.

    Parameters
    ----------
    adata : AnnData
    groupby : str
        Column of ``adata.obs`` with the clusters. Cells without a label are left out and counted. If there is no column
        'leiden', the cells are clustered first.
    cluster : callable or float, optional
        How to cluster: a function that takes a matrix (cells, features) and returns one label per cell, or a resolution
        for the Leiden algorithm of scanpy. It must be the method that made the clusters. Default: Leiden with the
        resolution that ``adata.uns[groupby]`` records, or 1 if it records none and `groupby` contains 'leiden' or
        'louvain'.
    obsm : str, optional
        Key of ``adata.obsm`` with the matrix that is clustered; None for ``adata.X``. Default for Leiden: the matrix
        (and number of components) that ``adata.uns["neighbors"]`` records. Otherwise: X_pca.
    n_neighbors : int, optional
        Number of neighbours for Leiden. Default: the number that ``adata.uns["neighbors"]`` records, or 15.
    n_subsamples : int
        Number of subsamples of the cells, and of each draw.
    share : float
        Share of the cells in each subsample, in (0, 1).
    n_draws : int
        Number of draws from the Gaussian, at least 1 / alpha - 1.
    max_cells : int
        If there are more cells, this number is chosen at random and counted. Clustering is the slow part: there are
        (n_draws + 1) (n_subsamples + 1) of them.
    alpha : float
        Significance level of the corrected p-values.
    seed : int, Generator or None

    Returns
    -------
    ClusterStability
        One line per cluster, with an interval for the mean over other subsamples of these cells. It assumes no
        distribution, so it is wide with few subsamples: ten values of 1 give 0.69 to 1. The p-value of a cluster is the
        mean share of clusters of a draw that are at least as stable, and its corrected p-value is the share of draws
        whose most stable cluster is at least as stable. `agreement` is the adjusted Rand index over all clusters.

    References
    ----------
    Hennig 2007, "Cluster-wise assessment of cluster stability". Gaffke 2005, "Three test statistics for a nonparametric
    one-sided hypothesis on the mean of a nonnegative variable", for the intervals. Compare Grabski, Street and Irizarry
    2023 (sc-SHC), who test each split of a tree against a single Gaussian.

    Notes
    -----
    Stability is not proof of separate types: a curved trajectory without gaps, or one group with heavy tails, is also
    divided more reproducibly than a Gaussian. Do not use the test on clusters of the same cells to support a later
    comparison of these clusters.

    Examples
    --------
    >>> import anndata, numpy as np, pandas as pd
    >>> from scipy.cluster.vq import kmeans2
    >>> def three_means(matrix):
    ...     return kmeans2(matrix, 3, minit="++", seed=0)[1]
    >>> rng = np.random.default_rng(0)
    >>> pca = rng.standard_normal((150, 4)) + 6 * np.eye(3, 4)[np.arange(150) % 3]
    >>> obs = pd.DataFrame({"group": three_means(pca).astype(str)}, index=np.arange(150).astype(str))
    >>> adata = anndata.AnnData(obs=obs, obsm={"X_pca": pca})
    >>> found = cluster_stability(adata, "group", cluster=three_means)
    >>> found.headline
    '3 of 3 clusters are more stable than clusters found in data that have none (0.05, corrected for their number).'
    """
    require_anndata(adata)
    kinds.label(groupby, "groupby")
    check.fraction(alpha, "alpha", closed=False)
    check.fraction(share, "share", closed=False)
    n_subsamples = check.count(n_subsamples, "n_subsamples", minimum=2)
    max_cells, n_draws = check.count(max_cells, "max_cells", minimum=20), check.count(n_draws, "n_draws")
    if n_draws < (fewest := draws_needed(1, alpha)):
        raise ValueError(f"n_draws must be at least {fewest}, because fewer cannot reach p = {alpha:g}, got {n_draws}")
    method, text = _method(adata, groupby, cluster, n_neighbors)
    X = _clustered_matrix(adata, obsm, not callable(cluster))
    base = draw_seed(seed)
    names = _cluster_labels(adata, groupby, method, X)
    known = np.flatnonzero([name is not None for name in names])
    if len(known) < len(names):
        provenance.state(f"{len(names) - len(known):,} of {count(len(names), 'cell')} without a cluster left out")
    if len(known) > max_cells:
        provenance.state(f"{max_cells:,} of {len(known):,} cells, chosen at random")
        known = np.sort(np.random.default_rng([base, 1]).choice(known, max_cells, replace=False))
    clusters = sorted(set(names[known]), key=natural_key)
    if len(clusters) < 2:
        raise ValueError(f"groupby must have at least 2 clusters, got {len(clusters)}; raise the resolution")
    X, codes = X[known], np.array([clusters.index(name) for name in names[known]])
    _state_batches(adata.obs, groupby, known, codes)
    if (size := round(share * len(X))) < 2:
        raise ValueError(f"share must leave at least 2 of the {len(X)} cells in a subsample, got {share:g}")
    observed = _Again(X, codes, method, size, n=n_subsamples, rng=np.random.default_rng([base, 2]))
    own = _codes(method(X), len(X))
    found = _Again(X, own, method, size, n=n_subsamples, rng=np.random.default_rng([base, 2]))
    n_own = int(own.max()) + 1
    others = max(n_own, len(clusters)) >= 2 * min(n_own, len(clusters))
    if others or found.rand.mean() - observed.rand.mean() > _OTHER:
        provenance.state_warning(
            f"{text} finds {count(n_own, 'cluster')} in these cells, which agree with those of {groupby!r} only to "
            f"{_compare(codes, own, len(clusters))[1]:.2f} (adjusted Rand index), so the test says nothing about "
            f"{groupby!r}. Pass the method that made them as cluster="
        )
    draws = []
    for draw in track(range(n_draws), n_draws, "draws from the Gaussian"):
        rng = np.random.default_rng([base, 3, draw])
        cells = _gaussian(X, rng)
        draws.append(_Again(cells, _codes(method(cells), len(cells)), method, size, n=n_subsamples, rng=rng))
    shared: dict[str, Any] = {"alpha": alpha, "best": 1.0, "n_rows": len(X), "seed": number(seed)}
    gaussian = "cells of one Gaussian"
    agreement: Number = number_against_null(
        "adjusted Rand index",
        float(observed.rand.mean()),
        np.array([draw.rand.mean() for draw in draws]),
        exchanged=gaussian,
        **_interval(observed.rand),
        **shared,
    )
    maxima = np.array([draw.stability.max() for draw in draws])
    typical = np.concatenate([draw.stability for draw in draws])
    numbers = []
    for code, name in enumerate(clusters):
        value = float(observed.stability[code])
        decision = summarise(value, maxima, "higher", alpha, 1.0)
        shares = [float((draw.stability >= value - TIE).mean()) for draw in draws]
        numbers.append(
            Cluster(
                name=name,
                value=value,
                chance=float(typical.mean()),
                chance_sd=float(typical.std()),
                threshold=decision.threshold,
                calibrated=decision.calibrated,
                p_value=p_of_draws(sum(shares), n_draws),
                corrected_p_value=decision.p_value,
                n_draws=n_draws,
                exchanged=gaussian,
                n_cells=int((codes == code).sum()),
                **_interval(observed.jaccard[:, code]),
                **shared,
            )
        )
    return ClusterStability(
        numbers=tuple(numbers),
        agreement=agreement,
        n_cells=len(X),
        n_subsamples=n_subsamples,
        share=share,
        clustering=text,
    )


def _state_batches(obs: Any, groupby: str, known: Index, codes: Labels) -> None:
    """Warn in the result if clusters coincide with a column that is named like batches or sampling units."""
    found = {}
    for name in (name for name in map(str, obs) if name != groupby and (is_batch_name(name) or is_unit_name(name))):
        units = unit_labels(np.asarray(obs[name], dtype=object)[known])
        if units is not None and None not in set(units.tolist()):
            found[name] = association(codes, units.astype(str))[0]
    if found and (strength := max(found.values())) > _SAME:
        name = max(found, key=lambda each: found[each])
        provenance.state_warning(
            f"the clusters coincide with the column {name!r} of obs (association {strength:.2f}), so they may be "
            "batches rather than kinds of cells, however stable they are. Correct the embedding for them, and cluster "
            "again"
        )


_SAME = 0.8
"""Association of clusters and batches above which clusters are hardly more than batches."""
_OTHER = 0.2
"""How much better the method must find its own clusters again than the given ones, for these to be others."""


class _Again:
    """Clusters of subsamples, compared with the clusters of all cells; 0 if all cells are one cluster."""

    def __init__(
        self, X: Matrix, codes: Labels, method: Clustering, size: int, n: int, rng: np.random.Generator
    ) -> None:
        n_clusters = int(codes.max()) + 1
        # Cells that were not divided have no cluster that could be stable.
        pairs = [(np.zeros(1), 0.0)] * n if n_clusters == 1 else []
        while len(pairs) < n:
            kept = np.sort(rng.choice(len(X), size, replace=False))
            pairs.append(_compare(codes[kept], _codes(method(X[kept]), size), n_clusters))
        self.jaccard = np.array([jaccard for jaccard, _ in pairs])
        """Of shape (n_subsamples, n_clusters); NaN for clusters without cells in a subsample."""
        self.rand = np.array([rand for _, rand in pairs])
        counts = (~np.isnan(self.jaccard)).sum(axis=0)
        self.stability: Vector = np.nansum(self.jaccard, axis=0) / np.maximum(counts, 1)


def _compare(codes: Labels, new: Labels, n_clusters: int) -> tuple[Vector, float]:
    """Return the largest Jaccard index of each cluster with a new cluster, and the adjusted Rand index."""
    table = np.zeros((n_clusters, int(new.max()) + 1))
    np.add.at(table, (codes, new), 1)
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    union = rows[:, None] + columns - table
    best = np.where(rows > 0, (table / np.where(union > 0, union, 1)).max(axis=1), np.nan)
    pairs, first, second = (float((sizes * (sizes - 1) / 2).sum()) for sizes in (table, rows, columns))
    expected = first * second / (len(codes) * (len(codes) - 1) / 2)
    room = (first + second) / 2 - expected
    return best, (pairs - expected) / room if room > 0 else 1.0


def _codes(found: ArrayLike, n: int) -> Labels:
    """Return the labels of a clustering as codes from 0."""
    given = np.asarray(found)
    if given.shape != (n,):
        raise ValueError(f"cluster must return one label for each of the {n} cells, got shape {given.shape}")
    return np.unique(given.astype(str), return_inverse=True)[1].astype(np.intp)


def _gaussian(X: Matrix, rng: np.random.Generator) -> Matrix:
    """Draw as many cells from a Gaussian with the mean and covariance of the cells."""
    _, sizes, axes = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    drawn = rng.standard_normal((len(X), len(sizes))) * (sizes / np.sqrt(len(X) - 1))
    return np.asarray(drawn @ axes + X.mean(axis=0))


def _interval(values: Vector) -> dict[str, Any]:
    """Return a confidence interval of the mean over subsamples, for any distribution from 0 to 1 (Gaffke 2005).

    Most subsamples find a stable cluster again and a few lose it, so Student's intervals are often a single point, and
    contained the mean in 47 % of simulations.
    """
    known = values[~np.isnan(values)]
    if len(known) < 2:
        return {}
    weights = np.random.default_rng(0).dirichlet(np.ones(len(known) + 1), size=4_000)
    # One more value, the worst or the best possible, stands for subsamples that were not drawn.
    low, high = (weights @ np.append(known, bound) for bound in (0.0, 1.0))
    tail = (1 - CONFIDENCE) / 2
    return {
        "low": float(np.quantile(low, tail)),
        "high": min(1.0, float(np.quantile(high, 1 - tail))),
        "confidence": CONFIDENCE,
    }


def _clustered_matrix(adata: Any, obsm: str | None, by_graph: bool) -> Matrix:
    """Return the matrix that is clustered, by default the one from which scanpy found neighbours, and state which."""
    n_columns = None
    if isinstance(obsm, str) and obsm == "recorded":
        named, n_columns = (_recorded(adata, "neighbors", name) if by_graph else None for name in ("use_rep", "n_pcs"))
        # Without components, scanpy finds neighbours in X.
        obsm = ("X" if n_columns == 0 else "X_pca") if named is None else str(named)
        obsm = None if obsm == "X" else obsm
    X = check.matrix(from_anndata(adata, obsm=obsm).values, "adata")
    source = "X" if obsm is None else f"obsm[{obsm!r}]"
    if obsm is not None and n_columns is not None and 0 < int(n_columns) < X.shape[1]:
        X, source = X[:, : int(n_columns)], f"the first {int(n_columns)} columns of {source}"
    provenance.state(f"clusters of {source}")
    if obsm is None:
        warn_of_counts(X, source)
    for note in doubts_about_cells("", source, X, np.empty(0), np.arange(len(X))):
        provenance.state_warning(note)
    return X


def _cluster_labels(adata: Any, groupby: str, method: Clustering, X: Matrix) -> NDArray[Any]:
    """Return the cluster of each cell as text; None for cells without one."""
    if not isinstance(groupby, str) or groupby != "leiden" or groupby in adata.obs:
        return labels(adata, groupby, "groupby")
    provenance.state("cells clustered by Leiden, because there is no column 'leiden'")
    return np.asarray(method(X)).astype(str).astype(object)


def _method(
    adata: Any, groupby: str, cluster: Clustering | float | None, n_neighbors: int | None
) -> tuple[Clustering, str]:
    """Return the function that clusters, and its description."""
    if callable(cluster):
        if n_neighbors is not None:
            raise ValueError(f"n_neighbors must be None if cluster is a function, got {n_neighbors}")
        return cluster, getattr(cluster, "__name__", "the given function")
    if n_neighbors is None:
        n_neighbors = int(_recorded(adata, "neighbors", "n_neighbors") or _NEIGHBOURS)
    if cluster is None:
        cluster = _recorded_resolution(adata, groupby)
    resolution = check.positive(cluster, "cluster")
    neighbours = check.count(n_neighbors, "n_neighbors", minimum=2)
    try:
        scanpy = import_module("scanpy")
        import_module("igraph")
    except ImportError as error:
        raise ImportError('Leiden needs scanpy and igraph: pip install "scanpy[leiden]", or pass cluster=') from error

    def leiden(matrix: Matrix) -> Array:
        import anndata

        cells = anndata.AnnData(np.asarray(matrix, dtype=np.float32))
        scanpy.pp.neighbors(cells, n_neighbors=neighbours, use_rep="X")
        scanpy.tl.leiden(cells, resolution=resolution, flavor="igraph", n_iterations=2, directed=False)
        return np.asarray(cells.obs["leiden"].to_numpy())

    return leiden, f"Leiden (resolution {resolution:g}, {neighbours} neighbours)"


def _recorded_resolution(adata: Any, groupby: str) -> float:
    """Return the resolution that scanpy recorded, or 1 for a column named after Leiden; others need `cluster`."""
    recorded = _recorded(adata, groupby, "resolution")
    if recorded is not None:
        return float(recorded)
    if not any(name in str(groupby).lower() for name in ("leiden", "louvain")):
        raise ValueError(
            "cluster must be the function that made the clusters, or a resolution of Leiden, if adata.uns records none "
            f"for {groupby!r}, got None"
        )
    if groupby in adata.obs:
        provenance.state_warning(f"adata.uns records no resolution for {groupby!r}, so cells are clustered at 1")
    return 1.0


def _recorded(adata: Any, key: str, name: str) -> Any:
    """Return a parameter that scanpy recorded, or None."""
    parameters: Any = getattr(adata, "uns", {})
    for part in (key, "params", name):
        parameters = parameters.get(part) if hasattr(parameters, "get") else None
    # Files store numbers as arrays.
    return None if parameters is None else np.ravel(parameters)[0]
