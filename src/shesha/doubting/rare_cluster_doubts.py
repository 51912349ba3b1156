"""Doubts about a rare cluster: a few rows, far from all others, that determine a score."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shesha.doubting._registry import doubt
from shesha.doubting.cka_without_rows import linear_cka
from shesha.doubting.doubt_input import Subject
from shesha.results import Doubt
from shesha.support.types import Index, Matrix
from shesha.support.warnings import NotEstimable

_HALF = 0.5
"""Smallest share of a score that a cluster must explain to be reported."""
_LEAST_SCORE = 0.1
"""Smallest score for which a doubt is raised."""
_MOVED = 0.2
"""A cluster is reported if CKA changes by at least this much when it is left out."""
_RARE = 0.2
"""Largest share of the rows that a rare cluster may contain."""
_FEWEST_OTHERS = 12
_ADVICE = (
    "If the cluster is real (a rare cell type, a rare class), keep it, pass it as labels, and report the "
    "score with and without it. If it is technical (doublets, a failed batch), leave it out. Do not "
    "control for row scale, which would remove a real cluster"
)


@dataclass(frozen=True)
class ClusterShare:
    """How much of a score a rare cluster explains."""

    score: str
    whole: float
    without: float
    effect: float


@doubt("rare cluster")
def rare_cluster(subject: Subject) -> Doubt | None:
    """Check whether a few rows that lie together determine the score, or the covariance of all rows."""
    rare = rare_rows(subject.clusters(0))
    if not rare.any():
        return None
    results = [_split_similarity(subject, subject.places[~rare]), _covariance_similarity(subject.sample, rare)]
    return _name_cluster(subject, rare, [result for result in results if result is not None])


@doubt("rare cluster", of="pair", cheap=True)
def shared_rare_cluster(subject: Subject) -> Doubt | None:
    """Check whether a few rows that lie together make two representations similar."""
    rare = rare_rows(subject.clusters(0))
    if rare.any():
        rare &= rare_rows(subject.clusters(1))
    if not rare.any():
        return None
    grams = [subject.products(side, subject.places) for side in range(2)]
    full_score, without = (linear_cka(grams, np.flatnonzero(row_mask)) for row_mask in (rare | True, ~rare))
    carried = ClusterShare("CKA", full_score, without, min(1.0, abs(full_score - without)))
    return _name_cluster(subject, rare, [carried] if carried.effect >= _MOVED else [])


def rare_rows(labels: Index) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return which rows lie outside the largest cluster, if these are few; otherwise none."""
    outside = labels != np.bincount(labels).argmax()
    few = outside.mean() <= _RARE and (~outside).sum() >= _FEWEST_OTHERS
    return np.asarray(outside & few)


def _split_similarity(subject: Subject, others: Index) -> ClusterShare | None:
    headline = subject.headline
    if headline.value < _LEAST_SCORE:
        return None
    try:
        without = subject.split(subject.read(0, others)).value
    except NotEstimable:
        without = 0.0
    effect = headline.value - max(0.0, without)
    return ClusterShare(headline.name, headline.value, without, effect) if effect >= _HALF * headline.value else None


def _covariance_similarity(sample: Matrix, rare: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> ClusterShare | None:
    """Return how similar the covariance of all rows is to that of the rows outside the cluster."""
    every, others = sample - sample.mean(axis=0), sample[~rare] - sample[~rare].mean(axis=0)
    lengths = [float(np.linalg.norm(matrix @ matrix.T)) for matrix in (every, others)]
    similarity = float(np.linalg.norm(every @ others.T)) ** 2 / max(lengths[0] * lengths[1], 1e-300)
    return (
        ClusterShare("the similarity to the covariance of the other rows", similarity, 1.0, 1 - similarity)
        if similarity <= _HALF
        else None
    )


def _name_cluster(
    subject: Subject, rare: np.ndarray[tuple[int], np.dtype[np.bool_]], results: list[ClusterShare]
) -> Doubt | None:
    if not results:
        return None
    most = max(results, key=lambda result: result.effect)
    rows = subject.caller_rows(subject.places[rare])
    return cluster_doubt(most.score, rows, most.whole, most.without, most.effect)


def cluster_doubt(measure: str, rows: tuple[int, ...], whole: float, without: float, effect: float) -> Doubt:
    """Return the doubt that a rare cluster determines a score."""
    text = (
        f"{len(rows):,} of the checked rows form a cluster far from all other rows. With the cluster, {measure} is "
        f"{whole:.2f}; without it, {without:.2f}"
    )
    return Doubt("rare cluster", min(1.0, effect), None, text, _ADVICE, rows)
