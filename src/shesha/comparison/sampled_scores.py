"""Choose the measures that are estimated from a sample, and estimate them with their sampling error."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import comb, sqrt
from typing import Any, Literal

import numpy as np
from scipy.stats import t

from shesha.comparison import engine
from shesha.comparison.engine import add_note, failure, make_score, missing_score, score_not_reached
from shesha.comparison.moment_scores import compare_moments, jackknife_parts
from shesha.inputs import validation as check
from shesha.kernels.distances import (
    PANEL,
    Metric,
    n_pairs,
    pair_distances,
    panel,
    standard_rows,
)
from shesha.kernels.pairs import draw_tuples
from shesha.kernels.rounding_and_scaling import length_unit
from shesha.kernels.threads import parallel, single_threaded_blas
from shesha.measures import Measure, choose, takes_moments
from shesha.measures.expected_time import MINUTE, exact_seconds, seconds_here, sum_seconds
from shesha.measures.registry import PairSample, SampledPairs, SampledRows
from shesha.moments import Moments
from shesha.results import Comparison, Score
from shesha.support import memory, progress
from shesha.support.progress import track
from shesha.support.seeds import CONFIDENCE, number, spawn
from shesha.support.types import Index, Matrix, Seed, Vector
from shesha.support.warnings import NotEstimable
from shesha.views import Representation, standardise
from shesha.views.neighbours import QueryNeighbours
from shesha.views.representation import RowSource, is_stored

_HELD = 1 << 22
"""Maximum number of entries of sampled rows that are in memory at a time."""
_SHARE = 4
"""One over this number is the share of the memory budget for standardised rows, or for pieces of rows."""
_COPIES = 4
"""Number of copies of a piece of rows that exist while its row pairs are gathered."""
_DENSE = 16
"""If all row pairs are fewer than this multiple of the drawn ones, products of all rows are computed."""


def tuple_distances(source: RowSource, tuples: Index, metric: Metric) -> Matrix:
    """Return the distances between the rows of each tuple, one column per pair of its members."""
    places = list(combinations(range(tuples.shape[1]), 2))
    out = np.empty((len(tuples), len(places)))
    # Removing the medians of Euclidean rows takes two more copies.
    copies = 3 if metric == "euclidean" else 1
    fits = 8 * copies * source.n_rows * source.n_features * _SHARE <= memory.memory_budget()
    if fits and not source.is_stored and tuples.size >= source.n_rows:
        rows, unit = _standardised_rows(source, metric)
        find = _panel_distances if _DENSE * len(tuples) > n_pairs(source.n_rows) else pair_distances
        for column, (i, j) in enumerate(places):
            out[:, column] = _multiply(find(rows, tuples[:, i], tuples[:, j], metric), unit)
        return out
    return _read_in_pieces(source, tuples, metric, places, out)


def _multiply(distances: Vector, unit: float) -> Vector:
    with np.errstate(over="ignore"):
        out = distances * unit
    if not np.isfinite(out).all():
        raise NotEstimable("distances between rows exceed the largest number")
    return out


def _standardised_rows(source: RowSource, metric: Metric) -> tuple[Matrix, float]:
    """Read and standardise all rows, piecewise if the metric allows; also return their unit of length."""
    numbers = np.arange(source.n_rows)
    if metric == "euclidean":
        rows = source.read(numbers)
        return standard_rows(rows, metric), length_unit(rows)
    rows = np.empty((source.n_rows, source.n_features))
    for start in range(0, source.n_rows, PANEL):
        panel_rows = numbers[start : start + PANEL]
        rows[panel_rows] = standardise(source.read(panel_rows), metric, numbers=panel_rows)
    return rows, 1.0


def _panel_distances(rows: Matrix, i: Index, j: Index, metric: Metric) -> Vector:
    """Return distances of pairs, from panels of distances between a few rows and all later rows."""
    first, second = np.minimum(i, j), np.maximum(i, j)
    order = np.argsort(first, kind="stable")
    starts = np.arange(0, len(rows), PANEL)
    cuts = np.searchsorted(first[order], np.append(starts, len(rows)))
    out = np.empty(len(i))

    def fill(number: int) -> None:
        pairs_of_panel = order[cuts[number] : cuts[number + 1]]
        start = int(starts[number])
        out[pairs_of_panel] = panel(rows, metric, start)[first[pairs_of_panel] - start, second[pairs_of_panel] - start]

    for _ in parallel(fill, range(len(starts))):
        pass
    return np.sqrt(out) if metric == "euclidean" else out


def _read_in_pieces(
    source: RowSource, tuples: Index, metric: Metric, places: list[tuple[int, int]], out: Matrix
) -> Matrix:
    """Compute distances for some tuples at a time, reading only the rows that they contain."""
    budget = memory.memory_budget()
    piece_bytes = max(_HELD, budget // 64) if source.is_stored else _HELD
    piece_bytes = max(1, min(piece_bytes, budget // (8 * _COPIES * _SHARE)))
    step = max(1, piece_bytes // (tuples.shape[1] * source.n_features))

    def fill(start: int) -> None:
        piece = slice(start, start + step)
        numbers, positions = np.unique(tuples[piece], return_inverse=True)
        rows = source.read(numbers)
        unit = length_unit(rows) if metric == "euclidean" else 1.0
        rows = rows / unit if metric == "euclidean" else standardise(rows, metric, numbers=numbers)
        positions = positions.reshape(-1, tuples.shape[1])
        for column, (i, j) in enumerate(places):
            out[piece, column] = _multiply(pair_distances(rows, positions[:, i], positions[:, j], metric), unit)

    at_once = 1 if source.is_stored else max(1, budget // (8 * _COPIES * _SHARE * piece_bytes))
    for _ in parallel(fill, range(0, len(tuples), step), at_once=at_once):
        pass
    return out


_QUERIES, _FIRST_QUERIES = 1_000, 500
"""Default number of query rows, and the number used for a first estimate of the error."""
_QUERY_ENTRIES = 1 << 39
"""Maximum number of default queries times rows times features, because each query searches all rows."""
_PAIRS, _FIRST_PAIRS = 1_000_000, 20_000
_PAIR_ENTRIES = 1 << 28
"""Maximum number of default pairs times features, because reading wide rows takes longer than the error justifies."""
_MOST_PAIRS = 50_000_000
_FEWER = "request fewer pairs or a larger error"
_IN_MEMORY = 1 << 22
"""Largest number of rows for which queries are sampled by shuffling all row numbers."""


Exact = bool | Literal["auto"]


@dataclass(frozen=True)
class Sampling:
    """The size of a sample of rows or pairs, fixed or chosen to reach a target error."""

    queries: int | None = None
    pairs: int | None = None
    error: float | None = None
    confidence: float = CONFIDENCE
    seed: Seed = 0
    exact: Exact = "auto"
    """Whether to compute exact values: always, never where a sample can answer, or if they take at most a minute."""

    @classmethod
    def build(
        cls,
        queries: Any = None,
        pairs: Any = None,
        error: Any = None,
        confidence: float = CONFIDENCE,
        seed: Seed = 0,
        exact: Exact = "auto",
    ) -> Sampling:
        """Check the options and return the sampling."""
        check.choice(exact, ("auto", True, False), "exact")
        if queries is not None:
            queries = check.count(queries, "queries", minimum=2)
        if pairs is not None:
            pairs = check.count(pairs, "pairs", minimum=100)
        if error is not None:
            error = check.positive(error, "error")
        sampling = cls(queries, pairs, error, confidence, seed=seed, exact=exact)
        if exact is True and sampling.option_names:
            raise ValueError(f"exact must be 'auto' or False with {sampling.option_names[0]}, got True")
        return sampling

    @property
    def option_names(self) -> list[str]:
        """Names of the options that request a sample."""
        names = [name for name in ("queries", "pairs", "error") if getattr(self, name) is not None]
        return names + ["exact=False"] * (self.exact is False)

    def takes(self, measure: Measure) -> bool:
        """Return whether the requested sample allows this measure to be estimated."""
        if self.exact is False:
            return reason_against(measure) == ""
        if isinstance(measure.sample, SampledRows):
            return self.queries is not None or self.error is not None
        return reason_against(measure) == "" and (self.pairs is not None or self.error is not None)


def reason_against(measure: Measure) -> str:
    """Return the reason why a measure cannot be estimated from a sample; empty if it can."""
    if measure.sample is None:
        return "cannot be estimated from sampled rows or pairs"
    return "" if isinstance(measure.sample, SampledRows) else measure.sample.lacks(measure.parameters)


def _require_equal_lengths(X: RowSource, Y: RowSource) -> None:
    if X.n_rows != Y.n_rows:
        raise ValueError(f"{Y.name} must have as many rows as {X.name} ({X.n_rows}), got {Y.n_rows}")


def sampled_scores(measures: Sequence[Measure], X: RowSource, Y: RowSource, sampling: Sampling) -> Iterator[Score]:
    """Yield the score of each measure, estimated from query rows or from pairs of rows."""
    _require_equal_lengths(X, Y)
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
        make_score(measure, estimate.value, seconds),
        notes=(precision_note,),
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
                size = self._default_queries() if self.sampling.queries is None else self.sampling.queries
            else:
                size = max(drawn, _FIRST_QUERIES if self.sampling.queries is None else self.sampling.queries)
            self._rows.append(self._draw(drawn, min(size, self.n - drawn)))
        return self._rows[batch]

    def _default_queries(self) -> int:
        width = max(side.n_features for side in self.sides)
        return max(_FIRST_QUERIES // 5, min(_QUERIES, _QUERY_ENTRIES // (self.n * width)))

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
    size = sampling.pairs or (
        _default_pairs(max(X.n_features, Y.n_features)) if sampling.error is None else _FIRST_PAIRS
    )
    while True:
        size = min(-(-size // each), every) * each
        memory.require(32 * plan.size * (size // each), f"{size // each:,} tuples of rows", _FEWER)
        tuples, share = draw_tuples(n, size // each, plan.size, rng)
        first, second = (tuple_distances(side, tuples, metric) for side in (X, Y))
        sample = PairSample.build(first, second, n, metric)
        value, influence = plan.estimate(sample, measure.parameters)
        m = len(influence)
        error = sqrt(max(0.0, 1 - share) * float(influence @ influence)) / m
        goal = sampling.error
        if goal is None or not error > goal or share == 1 or size >= _MOST_PAIRS:
            break
        # The sample is a tenth larger than estimated, so that the target error is almost always reached.
        size = min(int(1.1 * size * (error / goal) ** 2) + each, max(_MOST_PAIRS, sampling.pairs or 0))
    what = f"{m:,} of {every:,} {'pairs' if plan.size == 2 else 'triples'} of rows"
    return _Estimate(value, error, m, what, 0.0)


def _default_pairs(width: int) -> int:
    return max(_FIRST_PAIRS // 2, min(_PAIRS, memory.memory_budget() // 256, _PAIR_ENTRIES // width))


_NAMED = 8
"""Maximum number of alternative measures that the error message names."""


def require_one_that_fits(X: Any, Y: Any, measures: Sequence[Measure]) -> None:
    """Refuse matrices for which every requested measure would exceed the memory budget.

    Raises
    ------
    MemoryBudgetError
        If no requested measure fits. The message states how much memory is needed and names measures that would fit.
    """
    shapes = matrix_shape(X), matrix_shape(Y)
    if not none_fits(X, Y, measures) or shapes[0] is None or shapes[1] is None:
        return
    needs, budget = bytes_needed(measures, shapes[0], shapes[1]), memory.memory_budget()
    fitting = [name for name, need in bytes_needed(choose("all"), shapes[0], shapes[1]).items() if need <= budget]
    others = ", ".join(fitting[:_NAMED]) + (" and others" if len(fitting) > _NAMED else "")
    streamed = ", or compare shesha.Moments.of(X, Y)" if any(map(takes_moments, measures)) else ""
    sizes = " and ".join(f"{n:,} x {d:,}" for n, d in (shapes[0], shapes[1]))
    these = f"these measures fit: {others}; or " if fitting else ""
    raise memory.MemoryBudgetError(
        f"{', '.join(needs)} of {sizes} must fit the memory budget of {memory.format_bytes(budget)}, got "
        f"{memory.format_bytes(min(needs.values()))}: {these}pass fewer rows, or raise SHESHA_MEMORY{streamed}"
    )


def none_fits(X: Any, Y: Any, measures: Sequence[Measure]) -> bool:
    """Return whether every requested measure would exceed the memory budget, judged by shapes alone."""
    shapes = matrix_shape(X), matrix_shape(Y)
    if shapes[0] is None or shapes[1] is None or not measures:
        return False
    return min(bytes_needed(measures, shapes[0], shapes[1]).values()) > memory.memory_budget()


def matrix_shape(X: Any) -> tuple[int, int] | None:
    """Return the shape of a matrix, or None if it is unknown without reading the data."""
    shape = getattr(X, "shape", None)
    if not isinstance(shape, tuple) or len(shape) != 2:
        return None
    return (int(shape[0]), int(shape[1])) if all(isinstance(length, int) and length > 0 for length in shape) else None


def bytes_needed(measures: Sequence[Measure], a: tuple[int, int], b: tuple[int, int]) -> dict[str, int]:
    """Return the memory that the views of each measure need."""
    sides = [Representation(np.broadcast_to(np.float64(0), shape), 0.0) for shape in (a, b)]
    needs: dict[str, int] = {}
    for group in engine.group_by_view(measures, {measure.name: [] for measure in measures}, sides):
        views = [group.view_bytes(*sides), group.view_bytes(*sides[::-1])]
        need = sum(view_bytes for view_bytes, _ in views) + max(working for _, working in views)
        needs |= {measure.name: need for measure in group.measures}
    return needs


_FEWEST_PAIRS = 1_000_000
"""Number of row pairs above which measures that exceed the memory are estimated, not left out."""


def list_requested_options(options: Mapping[str, Any]) -> list[str]:
    """Return the names of the options that are used."""
    return [name for name, value in options.items() if value is not None and value is not False]


def require_plain(sample_options: Sequence[str], others: Mapping[str, Any]) -> None:
    """Refuse a sample together with options that need all rows at once."""
    if sample_options and (used := list_requested_options(others)):
        raise ValueError(f"{sample_options[0]} must be left out with {used[0]}, got both")


def exceeds_memory(X: Any, Y: Any, others: Mapping[str, Any]) -> bool:
    """Return whether to read the rows in pieces, because they are in a file or fill the memory budget.

    The options in `others` need all rows at once. For stored arrays, such options raise an error; for arrays in memory,
    they prevent reading in pieces.
    """
    if is_stored(X) or is_stored(Y):
        require_plain(["rows of a stored array"], others)
        return True
    if (
        list_requested_options(others)
        or not isinstance(X, np.ndarray)
        or not isinstance(Y, np.ndarray)
        or X.ndim != 2
        or Y.ndim != 2
    ):
        return False
    return 8 * (X.size + Y.size) > memory.memory_budget()


def to_sample(
    chosen: Sequence[Measure], X: Any, Y: Any, sampling: Sampling, others: Mapping[str, Any]
) -> tuple[list[Measure], float]:
    """Return the measures to estimate from a sample, and the seconds that their exact values would take here.

    A measure is estimated on request, if its exact value would exceed the memory, or if the exact values of all
    measures would take more than a minute on a typical machine. The options in `others` need all rows. The time is 0 if
    memory is short, because the exact value can then not be computed.
    """
    requested = [measure for measure in chosen if sampling.takes(measure)]
    shapes = matrix_shape(X), matrix_shape(Y)
    small = shapes[0] is None or shapes[1] is None or n_pairs(shapes[0][0]) <= _FEWEST_PAIRS
    uncalibrated = {name: value for name, value in others.items() if name != "calibrate"}
    if sampling.exact is True or list_requested_options(uncalibrated) or small:
        return requested, 0.0
    assert shapes[0] is not None and shapes[1] is not None
    needs, budget = bytes_needed(chosen, shapes[0], shapes[1]), memory.memory_budget()
    large = [measure for measure in chosen if needs[measure.name] > budget and not reason_against(measure)]
    widths = shapes[0][1], shapes[1][1]
    costs = {
        measure.name: exact_seconds(measure, shapes[0][0], widths)
        for measure in chosen
        if not reason_against(measure) and measure not in large and measure not in requested
    }
    # A score that fits is calibrated, however long this takes, because samples have no chance level here.
    slow = (
        _longest_unseen_gap(costs, MINUTE) if sampling.exact == "auto" and not list_requested_options(others) else set()
    )
    estimated = [m for m in chosen if m in requested or m in large or m.name in slow]
    return estimated, seconds_here(sum(costs[name] for name in slow)) if slow else 0.0


def _longest_unseen_gap(costs: Mapping[str, float], limit: float) -> set[str]:
    """Return the names of the longest tasks, as many as must be left out to finish the others within the limit."""
    left_out: set[str] = set()
    for name in sorted(costs, key=lambda name: -costs[name]):
        if sum(costs.values()) - sum(costs[other] for other in left_out) <= limit:
            break
        left_out.add(name)
    return left_out


def sample_pair(
    measures: Sequence[Measure],
    sides: Sequence[Representation],
    names: tuple[str, str],
    sampling: Sampling,
    *,
    calibrate: bool,
) -> tuple[dict[str, Score], bool]:
    """Return the scores of these measures from a sample of rows in memory, and whether Ctrl-C interrupted this.

    With `calibrate`, a note says that they lack a chance level.
    """
    if any(len(side.shape) != 2 for side in sides):
        reason = "a sample needs two matrices of features, got distances, tokens or feature maps"
        return {measure.name: missing_score(measure, reason) for measure in measures}, False
    sources = [RowSource(side, name) for side, name in zip(sides, names, strict=True)]
    scores, interrupted = _collect(measures, sources[0], sources[1], sampling)
    return {score.name: add_note(score, _NO_CHANCE) if calibrate else score for score in scores}, interrupted


def _collect(measures: Sequence[Measure], X: RowSource, Y: RowSource, sampling: Sampling) -> tuple[list[Score], bool]:
    """Return the estimated scores, and whether Ctrl-C interrupted this."""
    scores = sampled_scores(measures, X, Y, sampling)
    return progress.collect(scores, len(measures), "sampling", describe=engine.describe_scores)


def compare_stored(
    X: Any,
    Y: Any,
    names: tuple[str, str],
    chosen: Sequence[Measure],
    sampling: Sampling,
    chance: Mapping[str, Any],
    sum_all: Callable[[], Moments] | None = None,
) -> Comparison:
    """Compare two matrices whose rows are read in pieces.

    Measures that depend only on sums over rows are computed exactly if this takes up to 20 seconds, and otherwise from
    a sample of the rows, with chance levels if `chance` requests them (as for `compare_moments`). Other measures are
    estimated from a sample, or their score states why this is impossible. `sum_all` sums all rows, if that is done.
    """
    first, second = (RowSource(side, name) for side, name in zip((X, Y), names, strict=True))
    if sampling.exact is True:
        # With all rows as queries, measures of neighbours are exact.
        sampling = replace(sampling, queries=first.n_rows)
    summed = [measure for measure in chosen if takes_moments(measure)]
    estimated = [measure for measure in chosen if measure not in summed and not reason_against(measure)]
    scores = {measure.name: missing_score(measure, f"{reason_against(measure)}{_UNFIT}") for measure in chosen}
    interrupted, exchanged, moments = False, "", None
    try:
        if summed:
            rows = rows_to_sum(first, second, summed, sampling)
            if rows is not None:
                moments = _sum_rows(first, second, rows)
            else:
                moments = Moments.of(X, Y, names=names) if sum_all is None else sum_all()
            options = {**chance, "confidence": sampling.confidence, "seed": sampling.seed}
            known = compare_moments(moments, summed, **options, with_intervals=chance["calibrate"] or rows is not None)
            n_parts = len(jackknife_parts(moments.parts()))
            for score in known.scores:
                scores[score.name] = _describe_sum(score, first.n_rows, rows, n_parts, sampling)
            exchanged, interrupted = known.exchanged, known.interrupted
    except KeyboardInterrupt:
        if moments is None and sum_all is not None:
            # The sums so far are saved, so that the same command resumes.
            raise
        interrupted = True
    if not interrupted:
        sampled, interrupted = _collect(estimated, first, second, sampling)
        for score in sampled:
            scores[score.name] = add_note(score, _NO_CHANCE) if chance["calibrate"] else score
    if interrupted:
        done = {name for name, score in scores.items() if score.has_value}
        missing = [measure for measure in (*summed, *estimated) if measure.name not in done]
        scores |= {measure.name: score_not_reached(measure) for measure in missing}
    shapes = (first.n_rows, first.n_features), (second.n_rows, second.n_features)
    table = tuple(scores[measure.name] for measure in chosen)
    return Comparison(
        *names,
        shapes=shapes,
        scores=table,
        seed=number(sampling.seed),
        interrupted=interrupted,
        exchanged=exchanged,
        alpha=chance["alpha"],
        confidence=sampling.confidence,
    )


_ROWS_SUMMED, _FEWEST_SUMMED = 100_000, 2_000
"""Most and fewest rows whose sums stand for those of all rows."""
_SUMS_SHARE = 1 / 3
"""Share of a minute that sums over all rows may take, because samples for the other measures follow."""


def rows_to_sum(X: RowSource, Y: RowSource, measures: Sequence[Measure], sampling: Sampling) -> Index | None:
    """Return the rows to sum in place of all rows, which would take too long; None to sum all of them.

    Only unbiased measures have the same expected value for fewer rows.
    """
    seconds = sum_seconds(X.n_rows, (X.n_features, Y.n_features))
    n_chosen = min(_ROWS_SUMMED, int(X.n_rows * _SUMS_SHARE * MINUTE / seconds))
    is_unbiased = all(dict(measure.view_key[1]).get("unbiased") for measure in measures)
    if sampling.exact is True or seconds <= _SUMS_SHARE * MINUTE or n_chosen < _FEWEST_SUMMED or not is_unbiased:
        return None
    return np.sort(spawn(sampling.seed, 2).choice(X.n_rows, n_chosen, replace=False, shuffle=False))


def _sum_rows(X: RowSource, Y: RowSource, rows: Index) -> Moments:
    """Return the sums over some rows, read in the order of the files."""
    _require_equal_lengths(X, Y)
    moments = Moments((X.name, Y.name))
    step = max(1, _HELD // max(X.n_features, Y.n_features))
    for start in track(range(0, len(rows), step), -(-len(rows) // step), "chunks of sampled rows"):
        piece = rows[start : start + step]
        moments.update(X.read(piece), Y.read(piece))
    return moments


def _describe_sum(score: Score, n_rows: int, rows: Index | None, n_parts: int, sampling: Sampling) -> Score:
    """Say from which rows a score was computed; the interval over sampled rows is that of the sampling error."""
    if not score.has_value or rows is None:
        return add_note(score, _ONE_PASS) if score.has_value else score
    # One end may be cut at a bound of the measure.
    half = max(score.high - score.value, score.value - score.low)
    error = half / float(t.ppf(0.5 + sampling.confidence / 2, n_parts - 1))
    note = (
        f"estimated from {len(rows):,} of {n_rows:,} rows: standard error {error:.2g}, "
        f"{100 * sampling.confidence:g} % interval {score.low:.4g} to {score.high:.4g}; --exact (exact=True) uses all"
    )
    return replace(add_note(score, note), sampling_error=error, sampling_low=score.low, sampling_high=score.high)


_UNFIT = ", and the rows do not fit in memory: use fewer rows"
_ONE_PASS = "exact, from all rows in one pass"
_NO_CHANCE = "no chance level, because the value is estimated from a sample"
