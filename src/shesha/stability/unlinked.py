"""The null of a basis-averaged score: the values of each feature permuted among the rows, on their own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from shesha._progress import track
from shesha._random import spawn
from shesha._types import Matrix, Vector
from shesha._warnings import NotEstimable
from shesha.kernels.distances import Metric, n_pairs, undirected_rows
from shesha.kernels.matched import matched_correlations
from shesha.kernels.partitions import Partition
from shesha.kernels.precision import length_unit
from shesha.kernels.sampled import Planes
from shesha.kernels.threads import parallel
from shesha.nulls.exchange import Exchange
from shesha.stability.evidence import ROTATING, Request
from shesha.stability.matchings import Matchings
from shesha.views import Representation, Rows, SplitHalves
from shesha.views._split_halves import metric_within

ROTATIONS = 3
"""Rotations that a draw is averaged over. One statistic, of fewer rotations: it spreads a little more than the score,
never less. The spread that rotations leave is small beside that of the features' values."""
PAIRS = 100_000
"""Pairs of rows per rotation beyond which random ones are used: the null is a little wider then, never narrower."""


@dataclass(frozen=True)
class UnlinkedFeatures:
    """Draws of the data in which nothing links the features, scored as the data are.

    A random rotation mixes all features, so that both halves see those of large variance: halves of independent
    features of unequal scale agree (0.7 and more), and matching their rows would call that a structure. Permuting each
    feature keeps its scale, tails and zeros, and breaks every relation between features.
    """

    request: Request

    @property
    def nothing(self) -> Vector:
        """The null where no partition has a score."""
        return np.full(self.request.n_permutations, np.nan)

    def products(self, at: int, found: Partition) -> None:
        """Nothing: no draw uses a partition of the data."""

    def null(self, products: object, visit: object) -> Vector:
        """Score each draw on rotations of its own."""
        request = self.request
        if not request.n_permutations:
            return np.empty(0)
        assert isinstance(request.source, Rows)
        rows, metric = request.source.whole.rows, request.options["metric"]
        n_rotations = _n_rotations(request)
        design = request.exchange
        if n_pairs(len(rows)) > PAIRS:
            return sampled_null(rows, design, request, PAIRS)
        return np.array([_score(unlinked(rows, design, rng), metric, n_rotations, rng) for rng in _draws(request)])


def unlinked(rows: Matrix, design: Exchange, rng: np.random.Generator) -> Matrix:
    """Return the rows with the values of each feature permuted by a draw of their own.

    Parameters
    ----------
    rows : array of shape (n_rows, n_features)
    design : Exchange
        Which rows may take each other's place.
    rng : Generator
    """
    return np.stack([column[design.draw(rng)] for column in rows.T], axis=1)


def _score(rows: Matrix, metric: Metric, n_rotations: int, rng: np.random.Generator) -> float:
    """Average the correlation of the halves over rotations; rows that a draw leaves without direction are left out."""
    directed = np.setdiff1d(np.arange(len(rows)), undirected_rows(rows, metric))
    source = Representation(np.ascontiguousarray(rows[directed]), np.finfo(float).eps)
    try:
        halves = SplitHalves.of(source, metric=metric, rotated=True)
    except NotEstimable:
        return float("nan")
    next_draw = halves.sampler(rng)
    return _mean(halves.visit([next_draw() for _ in range(n_rotations)], lambda _, one: one.correlation))


def sampled_null(rows: Matrix, design: Exchange, request: Request, at_least: int) -> Vector:
    """Return the same null of some rows, from random pairs of them.

    Parameters
    ----------
    rows : array of shape (n_rows, n_features)
        As given, finite.
    design : Exchange
        Of these rows.
    request : Request
    at_least : int
        Pairs of rows for each rotation.
    """
    metric, scaled = request.options["metric"], rows / length_unit(rows)
    as_given = [np.arange(len(rows))]

    def score(rng: np.random.Generator) -> float:
        drawn = unlinked(scaled, design, rng)
        if metric == "correlation":
            drawn -= drawn.mean(axis=1, keepdims=True)
        within = metric_within(metric, rotated=True)
        planes = [Planes.of(drawn.shape[1], [one]) for one in rng.spawn(_n_rotations(request))]
        return _mean([matched_correlations(drawn, at_least, within, one, as_given, rng)[0] for one in planes])

    return np.array(list(parallel(score, list(_draws(request)))))


def _draws(request: Request) -> Iterator[np.random.Generator]:
    streams = spawn(request.seed, ROTATING).spawn(request.n_permutations)
    yield from track(streams, len(streams), "draws")


def _n_rotations(request: Request) -> int:
    return min(ROTATIONS, int(request.options["n_draws"]))


def _mean(scores: Sequence[float]) -> float:
    return float("nan") if np.isnan(scores).all() else float(np.nanmean(scores))


def null_of(request: Request, n_features: int) -> Matchings | UnlinkedFeatures:
    """Return what a split score is held against: unlinked features where a rotation mixes them, else matched rows."""
    if request.variant.view_options.get("rotated"):
        return UnlinkedFeatures(request)
    return Matchings.of(request, n_features)
