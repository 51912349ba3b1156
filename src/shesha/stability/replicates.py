"""Stability across matched replicates: the same rows, measured or modelled twice."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shesha import _validate as check
from shesha.kernels import ranks
from shesha.kernels.distances import METRICS, Metric, pair_distances, rounding_level
from shesha.stability.drift import METHODS, Method, similarity_of_rows
from shesha.stability.feature import directed


def replicate_stability(
    X_a: ArrayLike, X_b: ArrayLike, *, metric: Metric = "cosine", method: Method = "spearman"
) -> float:
    """Correlation between the distances of two replicates of the same rows.

    Row i of both is the same input, measured twice or encoded by two fits. Every distance is
    compared with the distance of the same pair, so the estimand is identifiable: the share of the
    geometry that survives the replication.

    Parameters
    ----------
    X_a : array of shape (n_samples, n_features_a)
        At least 4 rows, finite.
    X_b : array of shape (n_samples, n_features_b)
        The replicate.
    metric : {'cosine', 'correlation', 'euclidean'}
        Distance between rows.
    method : {'spearman', 'pearson'}
        Correlation between the two sets of distances.

    Returns
    -------
    float
        In [-1, 1]; NaN, with a warning, if all distances of one replicate are equal.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> signal = rng.standard_normal((80, 10))
    >>> noisy = [signal + 0.3 * rng.standard_normal((80, 10)) for _ in range(2)]
    >>> round(replicate_stability(*noisy), 2)
    0.84
    """
    check.choice(metric, METRICS, "metric")
    check.choice(method, METHODS, "method")
    a, b = check.paired(X_a, X_b, ("X_a", "X_b"))
    return similarity_of_rows(directed(a, metric, "X_a"), directed(b, metric, "X_b"), method, metric)


def anchor_profile_stability(
    X_a: ArrayLike,
    X_b: ArrayLike,
    anchor_ids: Sequence[int] | NDArray[np.integer],
    probe_ids: Sequence[int] | NDArray[np.integer] | None = None,
    *,
    metric: Metric = "cosine",
    method: Method = "spearman",
) -> float:
    """Do fixed anchor rows see the other rows at the same distances in both replicates?

    Each anchor's distances to the probe rows are correlated between the two replicates; the score
    is the mean over anchors. It needs n_anchors * n_probes distances, not n_samples**2.

    Parameters
    ----------
    X_a, X_b : arrays of shape (n_samples, n_features_a) and (n_samples, n_features_b)
        Two replicates of the same rows, finite.
    anchor_ids : sequence of int
        Rows that serve as anchors.
    probe_ids : sequence of int, optional
        Rows whose distance to the anchors is compared, at least 3; default: all that are no anchors.
    metric, method
        As for `replicate_stability`.

    Returns
    -------
    float
        In [-1, 1]. Anchors with equal distances to all probes are left out; NaN, with a warning,
        if none remains.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((50, 8))
    >>> anchor_profile_stability(X, 2 * X, anchor_ids=[0, 1, 2])
    1.0
    """
    check.choice(metric, METRICS, "metric")
    check.choice(method, METHODS, "method")
    a, b = check.paired(X_a, X_b, ("X_a", "X_b"))
    anchors = check.row_ids(anchor_ids, len(a), "anchor_ids")
    probes = (
        np.setdiff1d(np.arange(len(a)), anchors) if probe_ids is None else check.row_ids(probe_ids, len(a), "probe_ids")
    )
    if len(probes) < 3:
        raise ValueError(f"probe_ids must name at least 3 rows, got {len(probes)}")
    both = np.intersect1d(anchors, probes)
    if len(both):
        raise ValueError(f"probe_ids must name other rows than anchor_ids, got {check.listed(both)} in both")
    scores = np.array(
        _profile_correlations(directed(a, metric, "X_a"), directed(b, metric, "X_b"), anchors, probes, metric, method)
    )
    if np.isnan(scores).all():
        return check.not_estimable("every anchor has equal distances to all probes")
    return float(np.nanmean(scores))


def _profile_correlations(
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    anchors: NDArray[np.intp],
    probes: NDArray[np.intp],
    metric: Metric,
    method: Method,
) -> list[float]:
    correlate = ranks.spearman if method == "spearman" else ranks.pearson
    tolerance = rounding_level(a, metric), rounding_level(b, metric)
    squared = method == "spearman"
    scores = []
    for anchor in anchors:
        i = np.full(len(probes), anchor)
        first = pair_distances(a, i, probes, metric, squared=squared)
        second = pair_distances(b, i, probes, metric, squared=squared)
        scores.append(correlate(first, second, tolerance))
    return scores
