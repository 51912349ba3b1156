"""Doubts about a rare cluster: a few rows far from all others that determine a score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shesha.doubting._registry import doubt
from shesha.doubting.subject import Subject
from shesha.results import Doubt
from shesha.support.types import Index, Matrix
from shesha.support.warnings import NotEstimable

_HALF = 0.5
"""Share of a score above which a cluster determines it."""
_LEAST_SCORE = 0.1
"""Scores below this raise no doubt, because there is nothing to explain."""
_MOVED = 0.2
"""Change of CKA above which a cluster is reported."""
_RARE = 0.2
"""Share of the rows up to which clusters are rare."""
_FEWEST_OTHERS = 12
_ADVICE = (
    "If the cluster is real (a rare cell type, a rare class), keep it, pass it as labels, and report the "
    "score with and without it. If it is technical (doublets, a failed batch), leave it out. Do not "
    "control for row scale, which would remove a real cluster"
)


@dataclass(frozen=True)
class Carried:
    """The share of a score that a rare cluster explains."""

    score: str
    whole: float
    without: float
    effect: float


@doubt("rare cluster")
def rare_cluster(subject: Subject) -> Doubt | None:
    """A small cluster of rows determines the score, or most of what linear measures compare."""
    rare = rare_rows(subject.clusters[0])
    if not rare.any():
        return None
    found = [_of_split(subject, subject.places[~rare]), _of_products(subject.sample, rare)]
    return _named(subject, rare, [one for one in found if one is not None])


@doubt("rare cluster", of="pair", cheap=True)
def shared_rare_cluster(subject: Subject) -> Doubt | None:
    """A small cluster of rows makes two representations similar."""
    rare = np.logical_and(*(rare_rows(one) for one in subject.clusters))
    if not rare.any():
        return None
    grams = [centred_gram(side) for side in subject.samples]
    whole, without = (linear_cka(grams, np.flatnonzero(kept)) for kept in (rare | True, ~rare))
    carried = Carried("CKA", whole, without, min(1.0, abs(whole - without)))
    return _named(subject, rare, [carried] if carried.effect >= _MOVED else [])


def rare_rows(labels: Index) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Rows outside the largest cluster, if they are few; otherwise none."""
    outside = labels != np.bincount(labels).argmax()
    few = outside.mean() <= _RARE and (~outside).sum() >= _FEWEST_OTHERS
    return np.asarray(outside & few)


def centred_gram(rows: Matrix) -> Matrix:
    """Inner products of centred rows."""
    centred = rows - rows.mean(axis=0)
    return np.asarray(centred @ centred.T)


def linear_cka(grams: Sequence[Matrix], kept: Index) -> float:
    """Linear CKA of some of the rows, from the inner products of all."""
    first, second = (_centre(gram[np.ix_(kept, kept)]) for gram in grams)
    length = float(np.linalg.norm(first) * np.linalg.norm(second))
    return float(np.sum(first * second)) / length if length > 0 else 0.0


def _centre(gram: Matrix) -> Matrix:
    """Inner products of some rows, centred on their own mean."""
    means = gram.mean(axis=0)
    gram -= means
    gram -= (means - means.mean())[:, None]
    return gram


def _of_split(subject: Subject, others: Index) -> Carried | None:
    headline = subject.headline
    if headline.value < _LEAST_SCORE:
        return None
    try:
        without = subject.split(subject.read(0, others)).value
    except NotEstimable:
        without = 0.0
    effect = headline.value - max(0.0, without)
    return Carried(headline.name, headline.value, without, effect) if effect >= _HALF * headline.value else None


def _of_products(sample: Matrix, rare: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Carried | None:
    """Similarity of the covariance of all rows and that of the others."""
    every, others = sample - sample.mean(axis=0), sample[~rare] - sample[~rare].mean(axis=0)
    lengths = [float(np.linalg.norm(one @ one.T)) for one in (every, others)]
    alike = float(np.linalg.norm(every @ others.T)) ** 2 / max(lengths[0] * lengths[1], 1e-300)
    return Carried("similarity to the covariance of the others", alike, 1.0, 1 - alike) if alike <= _HALF else None


def _named(subject: Subject, rare: np.ndarray[tuple[int], np.dtype[np.bool_]], found: list[Carried]) -> Doubt | None:
    if not found:
        return None
    most = max(found, key=lambda one: one.effect)
    rows = subject.caller_rows(subject.places[rare])
    return of_cluster(most.score, rows, most.whole, most.without, most.effect)


def of_cluster(measure: str, rows: tuple[int, ...], whole: float, without: float, effect: float) -> Doubt:
    """The doubt that a rare cluster determines a score."""
    text = (
        f"{len(rows):,} of the checked rows form a cluster apart from all others; with it {measure} is "
        f"{whole:.2f}, without it {without:.2f}"
    )
    return Doubt("rare cluster", min(1.0, effect), None, text, _ADVICE, rows)
