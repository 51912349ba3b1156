"""Estimate scores from sampled rows or pairs of rows, with their sampling error."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import comb, sqrt
from typing import Any

import numpy as np
from scipy.stats import t

from shesha.comparison.engine import failure, make_score, missing_score
from shesha.comparison.sampled_pair_and_triplet_distances import tuple_distances
from shesha.inputs import validation as check
from shesha.kernels.distances import Metric, n_pairs
from shesha.kernels.pairs import distinct_pairs, draw_pairs
from shesha.kernels.rounding_and_scaling import ROUNDING
from shesha.kernels.threads import single_threaded_blas
from shesha.measures import Measure
from shesha.measures.sampled_estimates import PairSample, SampledPairs, SampledRows
from shesha.results import Score
from shesha.support import memory
from shesha.support.seeds import spawn
from shesha.support.types import Index, Seed, Vector
from shesha.support.warnings import NotEstimable
from shesha.views.neighbours import QueryNeighbours
from shesha.views.row_source import RowSource

_QUERIES, _FIRST_QUERIES = 1_000, 500
"""Default number of query rows, and the number used for a first estimate of the error."""
_PAIRS, _FIRST_PAIRS = 1_000_000, 20_000
_MOST_PAIRS = 50_000_000
_DISTINCT = 100
"""If all pairs are at least this many times more than the drawn pairs, repeated draws are rare."""
_IN_MEMORY = 1 << 22
"""Largest number of rows for which queries are sampled by shuffling all row numbers."""


@dataclass(frozen=True)
class Sampling:
    """The size of a sample of rows or pairs, fixed or chosen to reach a target error."""

    queries: int | None = None
    pairs: int | None = None
    error: float | None = None
    confidence: float = 0.95
    seed: Seed = 0

    @classmethod
    def build(
        cls, queries: Any = None, pairs: Any = None, error: Any = None, confidence: float = 0.95, seed: Seed = 0
    ) -> Sampling:
        """Check the options and return the sampling."""
        if queries is not None:
            queries = check.count(queries, "queries", minimum=2)
        if pairs is not None:
            pairs = check.count(pairs, "pairs", minimum=100)
        if error is not None:
            error = check.positive(error, "error")
        return cls(queries, pairs, error, confidence, seed)

    @property
    def option_names(self) -> list[str]:
        """Names of the options that are set."""
        return [name for name in ("queries", "pairs", "error") if getattr(self, name) is not None]

    def takes(self, measure: Measure) -> bool:
        """Return whether the requested sample allows this measure to be estimated."""
        if isinstance(measure.sample, SampledRows):
            return self.queries is not None or self.error is not None
        return reason_against(measure) == "" and (self.pairs is not None or self.error is not None)


def reason_against(measure: Measure) -> str:
    """Return the reason why a measure cannot be estimated from a sample; empty if it can."""
    if measure.sample is None:
        return "cannot be estimated from sampled rows or pairs"
    return "" if isinstance(measure.sample, SampledRows) else measure.sample.lacks(measure.parameters)


def sampled_scores(measures: Sequence[Measure], X: RowSource, Y: RowSource, sampling: Sampling) -> Iterator[Score]:
    """Yield the score of each measure, estimated from query rows or from pairs of rows."""
    if X.n_rows != Y.n_rows:
        raise ValueError(f"{Y.name} must have as many rows as {X.name} ({X.n_rows}), got {Y.n_rows}")
    batches = _Queries(X, Y, sampling)
    for measure in measures:
        start = time.perf_counter()
        try:
            with single_threaded_blas():
                estimate = _estimate(measure, X, Y, batches, sampling)
        except NotEstimable as reason:
            yield missing_score(measure, str(reason))
        except (ValueError, MemoryError):
            raise
        except Exception as error:  # One measure's failure must not stop the others.
            yield missing_score(measure, failure(error))
        else:
            yield _score(measure, estimate, sampling, time.perf_counter() - start)


def _estimate(measure: Measure, X: RowSource, Y: RowSource, queries: _Queries, sampling: Sampling) -> _Estimate:
    reason, plan = reason_against(measure), measure.sample
    if reason or plan is None:
        raise NotEstimable(reason)
    return (
        _estimate_from_queries(measure, plan, queries)
        if isinstance(plan, SampledRows)
        else _estimate_from_pairs(measure, plan, X, Y, sampling)
    )


@dataclass(frozen=True)
class _Estimate:
    """A value estimated from a sample, its standard error, and a description of the sample."""

    value: float
    error: float
    n_drawn: int
    what: str
    spread: float
    """If all draws are equal, how far the exact value may be from the estimate; otherwise 0."""


def _score(measure: Measure, estimate: _Estimate, sampling: Sampling, seconds: float) -> Score:
    half = max(float(t.ppf(0.5 + sampling.confidence / 2, estimate.n_drawn - 1)) * estimate.error, estimate.spread)
    low, high = max(estimate.value - half, measure.bounds[0]), min(estimate.value + half, measure.bounds[1])
    precision_note = (
        f"estimated from {estimate.what}: Monte Carlo standard error {estimate.error:.2g}, "
        f"{100 * sampling.confidence:g} % "
    )
    precision_note += f"interval {low:.4g} to {high:.4g}"
    if sampling.error is not None and estimate.error > sampling.error:
        precision_note += (
            f"; the requested error of {sampling.error:g} was not reached: pass more than {_MOST_PAIRS:,} pairs="
        )
    return replace(
        make_score(measure, estimate.value, seconds, ""),
        note=precision_note,
        sampling_error=estimate.error,
        sampling_low=low,
        sampling_high=high,
    )


class _Queries:
    """Batches of query rows with their neighbours on both sides; each batch doubles the number of queries."""

    def __init__(self, X: RowSource, Y: RowSource, sampling: Sampling) -> None:
        self.sides, self.sampling, self.n = (X, Y), sampling, X.n_rows
        self._made: dict[Any, tuple[QueryNeighbours, QueryNeighbours]] = {}
        self._rows: list[Index] = []
        self._rng = spawn(sampling.seed, 0)
        self._order = self._rng.permutation(self.n) if self.n <= _IN_MEMORY else None

    def views(self, options: Mapping[str, Any], batch: int) -> tuple[QueryNeighbours, QueryNeighbours]:
        """Return the neighbours of one batch of queries on both sides."""
        chosen = {name: options[name] for name in ("k", "metric")}
        key = batch, *sorted(chosen.items())
        if key not in self._made:
            first, second = (QueryNeighbours.from_queries(side, self._batch(batch), **chosen) for side in self.sides)
            self._made[key] = first, second
        return self._made[key]

    def _batch(self, batch: int) -> Index:
        while len(self._rows) <= batch:
            drawn = sum(map(len, self._rows))
            if self.sampling.error is None:
                size = _QUERIES if self.sampling.queries is None else self.sampling.queries
            else:
                size = max(drawn, _FIRST_QUERIES if self.sampling.queries is None else self.sampling.queries)
            self._rows.append(self._draw(drawn, min(size, self.n - drawn)))
        return self._rows[batch]

    def _draw(self, drawn: int, size: int) -> Index:
        if self._order is not None:
            return self._order[drawn : drawn + size]
        known, rows = np.concatenate([np.empty(0, dtype=np.intp), *self._rows]), np.empty(0, dtype=np.intp)
        while len(rows) < size:
            fresh = np.setdiff1d(self._rng.integers(self.n, size=2 * size), known)
            rows = np.unique(np.concatenate([rows, self._rng.permutation(fresh)[: size - len(rows)]]))
        return self._rng.permutation(rows)


def _estimate_from_queries(measure: Measure, plan: SampledRows, queries: _Queries) -> _Estimate:
    """Return the mean over query rows, drawing more until the error is small enough."""
    options, n, batches = dict(measure.view_key[1]), queries.n, list[Vector]()
    while True:
        batches.append(plan.terms(*queries.views(options, len(batches)), **measure.parameters))
        terms = np.concatenate(batches)
        q = len(terms)
        deviation = float(terms.std(ddof=1))
        error = deviation / sqrt(q) * sqrt(1 - q / n)
        if q == n or queries.sampling.error is None or (error <= queries.sampling.error and deviation > 0):
            break
    what = f"{q:,} of {n:,} rows as queries, each compared with all rows"
    # If all sampled terms are equal, this is the largest share of deviating terms that the sample could have missed at
    # this confidence level.
    rare = 1 - (1 - queries.sampling.confidence) ** (1 / q) if deviation == 0 and q < n else 0.0
    return _Estimate(float(terms.mean()), error, q, what, rare)


def _estimate_from_pairs(
    measure: Measure, plan: SampledPairs, X: RowSource, Y: RowSource, sampling: Sampling
) -> _Estimate:
    """Estimate a measure from random pairs or triples, drawing more until the error is small enough."""
    n, rng = X.n_rows, spawn(sampling.seed, 1)
    metric: Metric = plan.metric or measure.parameters["metric"]
    every, each = comb(n, plan.size), comb(plan.size, 2)
    size = sampling.pairs or (_default_pairs() if sampling.error is None else _FIRST_PAIRS)
    while True:
        size = min(-(-size // each), every) * each
        tuples, share = _draw_tuples(n, size // each, plan.size, rng)
        sides = [tuple_distances(side, tuples, metric) for side in (X, Y)]
        tolerances = tuple(ROUNDING * (float(np.median(side)) if metric == "euclidean" else 1.0) for side in sides)
        sample = PairSample(sides[0], sides[1], n, (tolerances[0], tolerances[1]))
        value, influence = plan.estimate(sample, measure.parameters)
        m = len(influence)
        error = sqrt(max(0.0, 1 - share) * float(influence @ influence)) / m
        goal = sampling.error
        if goal is None or error <= goal or share == 1 or size >= _MOST_PAIRS:
            break
        # The sample is a tenth larger than estimated, so that the target error is almost always reached.
        size = min(int(1.1 * size * (error / goal) ** 2) + each, max(_MOST_PAIRS, sampling.pairs or 0))
    what = f"{m:,} of {every:,} {'pairs' if plan.size == 2 else 'triples'} of rows"
    return _Estimate(value, error, m, what, 0.0)


def _default_pairs() -> int:
    return max(_FIRST_PAIRS // 2, min(_PAIRS, memory.memory_budget() // 256))


def _draw_tuples(n: int, size: int, width: int, rng: np.random.Generator) -> tuple[Index, float]:
    """Draw tuples of distinct rows; also return the share of all tuples drawn, or 0 if tuples may repeat."""
    memory.require(32 * width * size, f"{size:,} tuples of rows", "request fewer pairs or a larger error")
    if width == 2 and _DISTINCT * size > n_pairs(n):
        return np.stack(distinct_pairs(n, size, rng), axis=1), size / n_pairs(n)
    i, j = draw_pairs(n, size, rng)
    if width == 2:
        return np.stack([i, j], axis=1), 0.0
    k = rng.integers(n - 2, size=size)
    k += k >= np.minimum(i, j)
    k += k >= np.maximum(i, j)
    return np.stack([i, j, k], axis=1), 0.0
