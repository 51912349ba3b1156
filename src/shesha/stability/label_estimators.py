"""Estimates of the supervised scores: the value on all rows, and its distribution over resampled rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from shesha import _validate as check
from shesha._progress import track
from shesha._random import generator, spawn
from shesha.kernels import ranks, resampling
from shesha.kernels.distances import condensed, n_pairs, rounding_level
from shesha.stability import discriminant, label_conditioned, supervised
from shesha.stability.evidence import Evidence, Request
from shesha.stability.feature import directed
from shesha.stability.separation import separation_ratios
from shesha.stability.split_estimator import resampled_scores

Matrix = NDArray[np.float64]
Codes = NDArray[np.intp]
Statistic = Callable[[Matrix, Codes, np.random.Generator], NDArray[np.float64]]


def estimate_alignment(request: Request) -> Evidence:
    """Estimate 'supervised_alignment' on all rows."""
    X, codes = _input(request)
    metric = request.options["metric"]
    rows = supervised.centred_rows(X, metric)
    distances = condensed(rows, metric, squared=True)
    outer = ranks.ordering(distances, rounding_level(rows, metric), np.empty(len(distances), dtype=np.uint64))
    arranged = np.take(supervised.label_distances(codes), outer.order)
    inner = ranks.ordering(arranged, 0.0, np.empty(len(arranged), dtype=np.uint64))
    if outer.variance == 0 or inner.variance == 0:
        return Evidence(float("nan"), reason="all distances between rows, or all between labels, are equal")
    value = ranks.correlation(outer, inner)
    if request.n_bootstrap == 0:
        return Evidence(value, n_pairs=n_pairs(len(rows)))
    cells, pairs = [resampling.cells_of(outer, inner)], np.triu_indices(len(rows), k=1)
    resampled = resampled_scores(cells, pairs, len(rows), request, value)
    return Evidence(value, resampled=resampled, n_pairs=n_pairs(len(rows)))


def estimate_separation(request: Request) -> Evidence:
    """Estimate 'class_separation_ratio': all rows at once, not subsamples; a resample is a vector of row counts."""
    X, codes = _input(request)
    metric = request.options["metric"]
    counts = np.ones((len(X), 1))
    if request.n_bootstrap:
        counts = np.hstack([counts, resampling.row_counts(len(X), request.n_bootstrap, spawn(request.seed, 1))])
    ratios = separation_ratios(directed(X, metric), codes, metric, counts)
    if np.isnan(ratios[0]):
        return Evidence(float("nan"), reason="no class has two different members")
    bounds = (0.0, float("inf"))
    return Evidence(float(ratios[0]), resampled=ratios[1:], n_pairs=n_pairs(len(X)), bounds=bounds)


def estimate_variance_ratio(request: Request) -> Evidence:
    """Estimate 'variance_ratio'."""
    return _by_resampling(
        request, lambda X, codes, _: np.array([supervised.between_share(X, codes)]), (0.0, 1.0), "all rows are equal"
    )


def estimate_zscore(request: Request) -> Evidence:
    """Estimate 'zscore_separation'."""
    return _by_resampling(
        request,
        lambda X, codes, _: np.array([supervised.separation_score(X, codes, request.n_classes)]),
        (-1.0, 1.0),
        "no class has two members that differ from the other rows",
    )


def estimate_lda(request: Request) -> Evidence:
    """Estimate 'lda_stability' or 'lda_subspace_stability'."""
    n_draws, share = request.options["n_draws"], request.options["subsample_frac"]
    return _by_resampling(
        request,
        lambda X, codes, rng: discriminant.overlaps(X, codes, n_draws, share, rng),
        (0.0, 1.0),
        "all class means coincide",
    )


def estimate_label_conditioned(request: Request) -> Evidence:
    """Estimate 'label_conditioned_split'."""
    n_draws, metric = request.options["n_draws"], request.options["metric"]

    def scores(X: Matrix, codes: Codes, rng: np.random.Generator) -> NDArray[np.float64]:
        if np.bincount(codes, minlength=request.n_classes).min() < 2:
            return np.array([np.nan])
        return label_conditioned.centroid_agreements(X, codes, n_draws, metric, rng)

    return _by_resampling(request, scores, (-1.0, 1.0), "the centroids have equal distances, or a class has one row")


def _input(request: Request) -> tuple[Matrix, Codes]:
    assert request.codes is not None
    return check.finite(request.X), request.codes


def _by_resampling(request: Request, statistic: Statistic, bounds: tuple[float, float], reason: str) -> Evidence:
    """Score the data and resamples of the rows within each class, so that no class is ever lost."""
    X, codes = _input(request)
    draws = statistic(X, codes, generator(request.seed))
    if np.isnan(draws).all():
        return Evidence(float("nan"), draws, reason=reason, bounds=bounds)
    rng = spawn(request.seed, 1)
    members = [np.flatnonzero(codes == label) for label in range(request.n_classes)]
    resampled = []
    for _ in track(range(request.n_bootstrap), request.n_bootstrap, "resamples"):
        rows = np.concatenate([rng.choice(own, len(own)) for own in members])
        scores = statistic(X[rows], codes[rows], rng)
        resampled.append(np.nan if np.isnan(scores).all() else np.nanmean(scores))
    return Evidence(
        float(np.nanmean(draws)), draws if len(draws) > 1 else np.empty(0), np.array(resampled), bounds=bounds
    )
