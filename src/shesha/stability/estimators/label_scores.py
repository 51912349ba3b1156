"""Estimators of scores that need labels, with resampled rows and shuffled labels."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shesha.kernels import class_statistics, shuffled_class_statistics
from shesha.kernels.discriminant_overlaps import in_units_of_spread, overlaps
from shesha.stability.class_labels import Classes
from shesha.stability.nulls import label_permutations
from shesha.stability.request import RESAMPLING, Evidence, Request
from shesha.support.progress import track
from shesha.support.seeds import generator, spawn
from shesha.support.types import Index, Matrix, Vector
from shesha.support.warnings import NotEstimable
from shesha.views import Plain, Rdm, Rows

Statistic = Callable[[Matrix, Classes], float]
Resampled = Callable[[Matrix, list[Index], Matrix], Vector]
UnderShuffles = Callable[[Matrix, Index, int], Vector]


def estimate_variance_ratio(request: Request) -> Evidence:
    """Estimate 'variance_ratio'."""
    return _estimate_by_counts(
        request,
        lambda X, y: class_statistics.class_variance_share(X, y.codes),
        class_statistics.class_variance_shares,
        shuffled_class_statistics.class_variance_shares,
        "all rows are equal",
    )


def estimate_zscore(request: Request) -> Evidence:
    """Estimate 'zscore_separation'."""
    return _estimate_by_counts(
        request,
        lambda X, y: class_statistics.mean_separation(X, y.members),
        class_statistics.mean_separations,
        shuffled_class_statistics.mean_separations,
        "no class has two members that differ from the other rows",
    )


def _estimate_by_counts(
    request: Request, statistic: Statistic, resampled: Resampled, under_shuffles: UnderShuffles, reason: str
) -> Evidence:
    """Score the data, then all resamples of the rows together and all shuffles of the labels together."""
    X = _rows(request)
    value = statistic(X, request.labels)
    if np.isnan(value):
        return Evidence(value, null=np.full(request.n_permutations, np.nan), reason=reason)
    scores = np.empty(0)
    if request.n_bootstrap:
        rng = spawn(request.seed, RESAMPLING)
        counts = np.empty((len(X), request.n_bootstrap))
        for draw in range(request.n_bootstrap):
            counts[:, draw] = np.bincount(request.resample_rows(rng), minlength=len(X))
        scores = resampled(X, request.labels.present, counts)
    codes = label_permutations.shuffle_labels(request, always_all=True).codes
    null = under_shuffles(X, codes, request.labels.n_classes) if len(codes) else np.empty(0)
    return Evidence(value, resampled=scores, null=null)


def estimate_lda(request: Request) -> Evidence:
    """Estimate 'lda_stability'."""
    return _estimate_overlaps(request, lambda X: X)


def estimate_lda_subspace(request: Request) -> Evidence:
    """Estimate 'lda_subspace_stability'."""
    return _estimate_overlaps(request, in_units_of_spread)


def _estimate_overlaps(request: Request, scale: Callable[[Matrix], Matrix]) -> Evidence:
    n_draws, share = request.options["n_draws"], request.options["subsample_frac"]
    return estimate_by_resampling(
        request,
        lambda X, y, rng: overlaps(scale(X), y.codes, n_draws, share, rng),
        "all class means are equal",
    )


def estimate_by_resampling(
    request: Request, scores: Callable[[Matrix, Classes, np.random.Generator], Vector], reason: str
) -> Evidence:
    """Score the data, then the resamples of the rows and the shuffles of the labels one by one."""
    X, y = _rows(request), request.labels
    draws = scores(X, y, generator(request.seed))
    if np.isnan(draws).all():
        return Evidence(float("nan"), draws, null=np.full(request.n_permutations, np.nan), reason=reason)
    rng = spawn(request.seed, RESAMPLING)
    resampled = []
    for _ in track(range(request.n_bootstrap), request.n_bootstrap, "resamples"):
        rows = request.resample_rows(rng)
        resampled.append(mean_score(scores(X[rows], y.take(rows), rng)))
    null = [
        mean_score(scores(X, y.take(order), generator(request.seed)))
        for order in track(request.orders(), request.n_permutations, "matchings")
    ]
    return Evidence(
        mean_score(draws),
        draws,
        resampled=np.array(resampled),
        redrawn=True,
        null=np.array(null),
    )


def estimate_one_by_one(request: Request) -> Evidence:
    """Estimate any score by calling its function for the data, for resampled rows and for shuffled labels."""
    variant, y = request.variant, request.classes
    options = {**request.options, **({"seed": request.seed} if "seed" in variant.options else {})}

    def score(rows: Index | None, labels: Classes | None) -> float:
        source = request.source if rows is None else _take_rows(request.source, rows)
        try:
            return variant.score(source, labels, options)
        except NotEstimable:
            if rows is None and labels is y:
                raise
            return float("nan")

    try:
        value = score(None, y)
    except NotEstimable as why:
        return Evidence(float("nan"), null=np.full(request.n_permutations, np.nan), reason=str(why))
    rng = spawn(request.seed, RESAMPLING)
    resampled = []
    for _ in track(range(request.n_bootstrap), request.n_bootstrap, "resamples"):
        rows = request.resample_rows(rng)
        resampled.append(score(rows, None if y is None else y.take(rows)))
    null = [score(None, y.take(order)) for order in request.orders()] if y is not None else []
    return Evidence(value, resampled=np.array(resampled), null=np.array(null))


def _take_rows(source: Rows | Rdm, rows: Index) -> Rows | Rdm:
    return source.take(rows) if isinstance(source, Rows) else source.take_rows(rows)


def _rows(request: Request) -> Matrix:
    view: Plain = request.variant.look(request.source, request.options)
    return view.rows


def mean_score(scores: Vector) -> float:
    """Return the mean of the scores that are not NaN; NaN if all are."""
    return float("nan") if np.isnan(scores).all() else float(np.nanmean(scores))
