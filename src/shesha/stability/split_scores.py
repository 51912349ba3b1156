"""Estimators of the two split scores, with interval and null, in one pass over the partitions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar, cast

import numpy as np

from shesha.kernels import feature_halves, sampled_feature_halves
from shesha.kernels.distances import n_pairs
from shesha.kernels.feature_halves import Partition
from shesha.kernels.threads import parallel
from shesha.nulls.restricted_permutations import Exchange
from shesha.stability import row_matching
from shesha.stability.registry import THINNING, Request, ScoreDraws
from shesha.stability.row_matching import (
    Matchings,
    Pairs,
    count_group_pairs_once,
    needs_new_halves,
    null_of_new_halves,
    plan_sample,
    rows_per_partition,
    uses_all_pairs,
)
from shesha.support.memory import memory_budget
from shesha.support.progress import track
from shesha.support.seeds import spawn
from shesha.support.types import Index, Vector
from shesha.views import Rows, SampledHalves, SplitHalves
from shesha.views.features import CONSTANT, Draw

ALONE = "the interval leaves out the error over partitions, which cannot be estimated from a single partition"
NOTHING_TO_RESAMPLE = "there is no interval, because no block has two units (rows, groups or stretches) to resample"


@dataclass(frozen=True)
class Interval:
    """Limits of an interval, with the standard errors from which they were computed."""

    low: float
    high: float
    row_error: float
    partition_error: float
    n_resamples: int
    notes: tuple[str, ...] = ()


def combine_errors(evidence: ScoreDraws, design: Exchange, bounds: tuple[float, float], confidence: float) -> Interval:
    """Combine independent sources of error: the squared margins of the interval are added."""
    from scipy.special import ndtri, stdtrit

    level, nan = 0.5 + confidence / 2, float("nan")
    part, row_error = partition_error(evidence), _row_error(evidence)
    units, free = _units(design)
    known = evidence.resampled[np.isfinite(evidence.resampled)]
    n_resamples = len(known) if len(known) > 1 else 0
    if not free:
        return Interval(nan, nan, nan, part, n_resamples=n_resamples, notes=(NOTHING_TO_RESAMPLE,))
    # Resamples of few units vary too little, so the margins are widened as for Student's t.
    wider = float(np.sqrt(units / free) * stdtrit(free, level) / ndtri(level))
    of_rows = wider * (_quantile_margins(known, level) if n_resamples else np.full(2, row_error * ndtri(level)))
    others = (evidence.pair_error * float(ndtri(level))) ** 2
    n_draws = int(np.isfinite(evidence.draws).sum())
    if n_draws > 1 and not evidence.redrawn:
        others += (float(stdtrit(n_draws - 1, level)) * part) ** 2
    below, above = np.sqrt(of_rows**2 + others)
    low, high = np.clip([evidence.value - below, evidence.value + above], *bounds)
    notes = (ALONE,) if n_draws == 1 and not evidence.redrawn and low == low else ()
    return Interval(float(low), float(high), row_error, part, n_resamples=n_resamples, notes=notes)


def partition_error(found: ScoreDraws) -> float:
    """Return the standard error due to partitions alone, without what the sampled pairs contribute."""
    if not len(found.draws):
        return 0.0
    return float(np.sqrt(np.maximum(0.0, monte_carlo_error(found.draws) ** 2 - found.pair_error**2)))


def monte_carlo_error(scores: Vector) -> float:
    """Return the standard error of the mean over draws; NaN if there are fewer than two."""
    scores = scores[np.isfinite(scores)]
    return float(scores.std(ddof=1) / np.sqrt(len(scores))) if len(scores) > 1 else float("nan")


def _row_error(evidence: ScoreDraws) -> float:
    """Return the standard error due to rows alone."""
    known = evidence.resampled[np.isfinite(evidence.resampled)]
    if len(known) < 2:
        # The analytic error includes the error due to sampled pairs.
        return float(np.sqrt(np.maximum(0.0, evidence.analytic_error**2 - evidence.pair_error**2)))
    spread = float(known.std(ddof=1))
    part = partition_error(evidence) if evidence.redrawn else 0.0
    return float(np.sqrt(max(0.0, spread**2 - part**2))) if part == part else spread


def _quantile_margins(resampled: Vector, level: float) -> Vector:
    """Return how far quantiles are from the mean, which repeated rows shift without changing the spread."""
    return np.asarray(np.abs(np.quantile(resampled, [1 - level, level]) - resampled.mean()))


def _units(design: Exchange) -> tuple[int, int]:
    """Return how many rows, groups or stretches are resampled, and their degrees of freedom within blocks."""
    units = int(design.clusters.max()) + 1
    return units, units - 1 - int(np.count_nonzero(np.diff(np.sort(design.block))))


BOOTSTRAP_PAIRS = 1_000_000
"""Most pairs that the interval uses. If there are more, a random subset makes it at most a few percent wider."""
MAX_DRAWS = 3000
_COPIES = 64
"""Bytes for each value of the few rows of a partition, which are copied about eight times."""
_BATCH = 10


def estimate_split(request: Request) -> ScoreDraws:
    """Estimate 'feature_split' or 'basis_averaged_split' from all pairs of rows or from a sample of them.

    If there are more than `DEFAULT_PAIRS` pairs, they are sampled, because the cost of using all grows with the square
    of the number of rows. The sampling error is small compared with the errors due to rows and partitions.
    """
    n = request.n_rows
    if uses_all_pairs(n, request.pairs) and exact_bytes(n, request.options["n_draws"]) <= memory_budget():
        return _exact(replace(request, pairs=None))
    return _from_pairs(request)


def exact_bytes(n: int, n_draws: int) -> int:
    """Return the bytes that the exact estimate needs for distances in two halves and for working memory."""
    dense = 8 * (6 * n * n) if n <= feature_halves.DENSE_ROWS else 0
    return dense + 8 * 12 * n_pairs(n) + 4 * n_draws * min(n_pairs(n), BOOTSTRAP_PAIRS)


@dataclass(frozen=True)
class _Found:
    """The results for one partition."""

    score: float
    cells: feature_halves.Cells | None
    matched: Vector | None
    n_dropped: int


def _exact(request: Request) -> ScoreDraws:
    halves: SplitHalves = request.variant.look(request.source, request.options)
    n = halves.n_rows
    thinned, pairs = bootstrap_pairs(n, request)
    next_draw = halves.sampler(request.seed)
    # If the seed is a generator, partitions must be drawn before anything else to equal those of the documented
    # functions.
    draws: list[Draw] = [next_draw() for _ in range(request.options["n_draws"])]
    scored = tuple(draws)
    matchings = None if needs_new_halves(request) else Matchings.build(request, halves.n_features)

    def take(index: int, partition: Partition) -> _Found:
        cells = partition.cells(thinned) if request.n_bootstrap else None
        matched = None if matchings is None else matchings.products(index, partition)
        return _Found(partition.correlation, cells, matched, partition.n_dropped)

    def take_all(start: int, count: int) -> list[_Found]:
        draws.extend(next_draw() for _ in range(start + count - len(draws)))
        return halves.visit(draws[start : start + count], lambda index, partition: take(start + index, partition))

    parts = draw_until(take_all, request)
    scores = np.array([part.score for part in parts])
    if np.isnan(scores).all():
        return ScoreDraws(float("nan"), scores, null=request.empty_null, reason=CONSTANT, n_pairs=n_pairs(n))
    value = float(np.nanmean(scores))
    cells = [part.cells for part in parts if part.cells is not None]
    if matchings is None:
        null = null_of_new_halves(request, scored)
    else:
        null = matchings.null([part.matched for part in parts], lambda index, use: halves.visit([draws[index]], use)[0])
    return ScoreDraws(
        value,
        scores,
        resampled=score_resamples(cells, pairs, n, request, value),
        null=null,
        n_pairs=n_pairs(n),
        pairs_dropped=sum(part.n_dropped for part in parts),
        notes=(*_draw_notes(scores, request), *thinning_note(thinned)),
    )


Part = TypeVar("Part", _Found, sampled_feature_halves.SampledScore)


def draw_until(score: Callable[[int, int], list[Part]], request: Request) -> list[Part]:
    """Score the requested number of partitions, then more until the standard error is small enough.

    `score(start, count)` scores `count` partitions, starting with the one numbered `start`.
    """
    wanted = request.options["n_draws"]
    parts: list[Part] = []
    starts = range(0, wanted, _BATCH)
    for start in track(starts, len(starts), "partitions"):
        parts += score(start, min(_BATCH, wanted - start))
    while request.target_se is not None:
        if len(parts) >= MAX_DRAWS or monte_carlo_error(np.array([part.score for part in parts])) <= request.target_se:
            break
        parts += score(len(parts), _BATCH)
    return parts


def bootstrap_pairs(n: int, request: Request) -> tuple[Index | None, Pairs]:
    """Return the positions of the pairs that the interval uses (None for all pairs), and their rows."""
    if request.n_bootstrap == 0:
        return None, (np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp))
    i, j = np.triu_indices(n, k=1)
    if len(i) <= BOOTSTRAP_PAIRS:
        return None, (i, j)
    kept = np.sort(spawn(request.seed, THINNING).choice(len(i), BOOTSTRAP_PAIRS, replace=False))
    return kept, (i[kept], j[kept])


def score_resamples(
    cells: Sequence[feature_halves.Cells], pairs: Pairs, n_rows: int, request: Request, value: float
) -> Vector:
    """Return scores of resampled rows: the exact value plus the deviations of their coarse scores."""
    if not cells or request.n_bootstrap == 0:
        return np.empty(0)
    # The first column holds the original rows, whose score must be as coarse as those of the resamples.
    pairs, counts = count_group_pairs_once(
        request.design, pairs, np.hstack([np.ones((n_rows, 1)), request.resamples()])
    )
    groups = feature_halves.bootstrap_correlations(cells, counts, pairs)
    scores = np.concatenate([table.mean(axis=0) for _, table in track(groups, counts.shape[1] // 16 + 1, "resamples")])
    return np.asarray(value + scores[1:] - scores[0])


def _from_pairs(request: Request) -> ScoreDraws:
    """Score each partition from random pairs."""
    rotated, n = bool(request.variant.view_options.get("rotated")), request.n_rows
    halves = SampledHalves(cast(Rows, request.source), request.options["metric"], rotated)
    next_draw = halves.sampler(request.seed)
    n_chosen = rows_per_partition(n, request.n_features, rotated)
    sample = plan_sample(n, request.pairs, request.options["n_draws"], n_chosen, spawn(request.seed, THINNING))
    n_scored = 0
    draws: list[Draw] = []
    # The few rows of a partition are copied several times in each thread.
    at_once = max(1, memory_budget() // (_COPIES * n_chosen * request.n_features)) if n_chosen < n else None

    def score(task: tuple[Draw, Callable[[], Pairs]]) -> tuple[sampled_feature_halves.SampledScore, int]:
        pairs = task[1]()
        return halves.score(task[0], pairs), len(pairs[0])

    def score_all(_: int, count: int) -> list[sampled_feature_halves.SampledScore]:
        nonlocal n_scored
        draws.extend(next_draw() for _ in range(count))
        results = list(parallel(score, list(zip(draws[-count:], sample.drawn(count), strict=True)), at_once=at_once))
        n_scored += sum(size for _, size in results)
        return [part for part, _ in results]

    parts = draw_until(score_all, request)
    scores = np.array([part.score for part in parts])
    if request.covariates is None:
        null = row_matching.null(halves, request, draws)
    else:
        null = null_of_new_halves(request, draws[: request.options["n_draws"]])
    n_used = sample.distinct or n_scored
    if np.isnan(scores).all():
        return ScoreDraws(float("nan"), scores, null=null, reason=CONSTANT, n_pairs=n_used)
    i, j, effect = (
        np.concatenate([getattr(part, name) for part in parts if part.score == part.score])
        for name in ("i", "j", "influence")
    )
    # The parts are deleted because their pairs would otherwise be in memory twice.
    del parts
    clusters, drawn = request.exchange.clusters, i * n + j if sample.distinct else None
    pair_error, row_error = sampled_feature_halves.standard_errors(
        effect, clusters[i], clusters[j], drawn, sample.share
    )
    few = not sample.distinct and n_chosen < n
    among = f" (in each partition of {n_chosen:,} random rows)" if few else ""
    return ScoreDraws(
        float(np.nanmean(scores)),
        scores,
        null=null,
        analytic_error=row_error,
        pair_error=pair_error,
        n_pairs=n_used,
        pairs_dropped=n_scored - len(i),
        notes=(
            f"{n_used:,} random pairs of {n_pairs(n):,}{among} were used; the interval is analytic (dyadic-robust)",
            *_draw_notes(scores, request),
        ),
    )


def _draw_notes(scores: Vector, request: Request) -> list[str]:
    notes = []
    lost = int(np.isnan(scores).sum())
    if lost:
        notes.append(
            f"{lost} of {len(scores)} partitions were left out, because all distances within a half were equal"
        )
    error = monte_carlo_error(scores)
    if request.target_se is not None and not error <= request.target_se:
        notes.append(
            f"the target error {request.target_se:g} was not reached; with {len(scores)} partitions, the error is "
            f"{error:.2g}"
        )
    return notes


def thinning_note(thinned: Index | None) -> list[str]:
    """Return a note if the interval uses fewer pairs than the value does."""
    return [] if thinned is None else [f"the value uses all pairs; the interval uses {len(thinned):,} random pairs"]
