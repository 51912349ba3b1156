"""Estimates of the two split scores: exact in blocks, or from sampled pairs of rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from shesha import _validate as check
from shesha._memory import memory_budget
from shesha._progress import track
from shesha._random import generator, spawn
from shesha.kernels import halves as halves_kernel
from shesha.kernels import ranks, resampling, sampled
from shesha.kernels.distances import Metric, n_pairs, rounding_level, undirected_rows
from shesha.kernels.halves import Closeness
from shesha.kernels.precision import length_unit
from shesha.kernels.threads import parallel, single_threaded_blas
from shesha.stability.evidence import Evidence, Request
from shesha.stability.feature import directed, frame_of, no_direction, rotation_metric, rows_of

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]
Draw = NDArray[np.intp] | np.random.Generator
Part = TypeVar("Part")

DEFAULT_PAIRS = 1_000_000
"""Pairs sampled when all do not fit the memory budget: an error of at most 0.002, whatever the number of rows."""
BOOTSTRAP_PAIRS = 1_000_000
"""More pairs than this are thinned for the interval, which widens it by a few percent at most."""
MAX_DRAWS = 3000
_FIRST_ROWS = 256
_SMALLEST, _LARGEST = 1e-200, 1e200
"""Squared lengths between which products of rows stay within the range of double precision."""
FEWEST_PAIRS = 1000
"""Pairs that a partition needs at least: a rank correlation of fewer is biased."""
_BATCH = 10
_CONSTANT = "all distances are equal within a half of the features, in every draw"


def estimate_split(variant: str, request: Request) -> Evidence:
    """Estimate 'feature_split' or 'basis_averaged_split'."""
    n = len(request.X)
    pairs = request.pairs
    if pairs is None and exact_bytes(n, request.options["n_draws"]) > memory_budget():
        pairs = DEFAULT_PAIRS
    return _exact(variant, request) if pairs is None else _from_pairs(variant, request, min(pairs, 50 * n_pairs(n)))


def exact_bytes(n: int, n_draws: int) -> int:
    """Memory that the exact estimate takes: distances of two halves, work memory and cells."""
    dense = 8 * (6 * n * n) if n <= halves_kernel.DENSE_ROWS else 0
    return dense + 8 * 12 * n_pairs(n) + 4 * n_draws * min(n_pairs(n), BOOTSTRAP_PAIRS)


def draw_sampler(variant: str, n_features: int, rng: np.random.Generator) -> Callable[[], Draw]:
    """Return what draws the next partition, in the order of the documented functions."""
    if variant == "feature_split":
        return lambda: rng.permutation(n_features)
    return lambda: rng.spawn(1)[0]


def draw_plan(variant: str, n_features: int, draw: Any) -> sampled.Masks | sampled.Planes:
    """Return the halves of a draw in the form that sampled pairs need."""
    return sampled.Masks.of([draw]) if variant == "feature_split" else sampled.Planes.of(n_features, [draw])


@dataclass(frozen=True)
class _Scored:
    score: float
    cells: NDArray[np.int32] | None
    dropped: int


def _exact(variant: str, request: Request) -> Evidence:
    metric: Metric = request.options["metric"]
    rows = rows_of(variant, directed(check.finite(request.X), metric), metric)
    with single_threaded_blas():
        halves = halves_kernel.halves(rows, inner_metric(variant, metric), frame_of(variant, rows))
    thinned, pairs = _bootstrap_pairs(len(rows), request)
    level = rounding_level(rows, metric)

    def score(draw: Draw) -> _Scored:
        return halves.visit(draw, lambda closeness: _score(closeness, level, thinned, wanted=request.n_bootstrap > 0))

    next_draw = draw_sampler(variant, rows.shape[1], generator(request.seed))
    found = draw_until(lambda draws: list(parallel(score, draws)), next_draw, request, _exact_scores)
    scores = _exact_scores(found)
    if np.isnan(scores).all():
        return Evidence(float("nan"), scores, reason=_CONSTANT, n_pairs=n_pairs(len(rows)))
    cells = [one.cells for one in found if one.cells is not None and one.score == one.score]
    value = float(np.nanmean(scores))
    return Evidence(
        value,
        scores,
        resampled=resampled_scores(cells, pairs, len(rows), request, value),
        n_pairs=n_pairs(len(rows)),
        pairs_dropped=sum(one.dropped for one in found),
        notes=(*_draw_notes(scores, request), *_thinned_note(thinned)),
    )


def _score(closeness: Closeness, level: float, thinned: NDArray[np.intp] | None, *, wanted: bool) -> _Scored:
    first, second, defined = closeness.first, closeness.second, closeness.defined()
    kept = None if defined is None else np.flatnonzero(defined)
    if kept is not None:
        first, second = first[kept], second[kept]
    n = len(first)
    if n < 2:
        return _Scored(float("nan"), None, len(closeness.first) - n)
    outer = ranks.ordering(first, level, closeness.scratch[:n].view(np.uint64))
    arranged = np.take(second, outer.order)
    inner = ranks.ordering(arranged, level, second.view(np.uint64))
    if outer.variance == 0 or inner.variance == 0:
        return _Scored(float("nan"), None, len(closeness.first) - n)
    cells = resampling.cells_of(outer, inner) if wanted else None
    if cells is not None and kept is not None:
        every = np.full(len(closeness.first), resampling.UNDEFINED, dtype=np.int32)
        every[kept] = cells
        cells = every
    if cells is not None and thinned is not None:
        cells = cells[thinned]
    return _Scored(ranks.correlation(outer, inner), cells, len(closeness.first) - n)


def draw_until(
    score: Callable[[list[Draw]], list[Part]],
    next_draw: Callable[[], Draw],
    request: Request,
    scores_of: Callable[[list[Part]], Vector],
) -> list[Part]:
    """Score the asked number of draws, then more until their standard error is small enough."""
    wanted = request.options["n_draws"]
    found: list[Part] = []
    starts = range(0, wanted, _BATCH)
    for start in track(starts, len(starts), "partitions"):
        found += score([next_draw() for _ in range(min(_BATCH, wanted - start))])
    while request.target_se is not None:
        scores = scores_of(found)
        if len(scores) >= MAX_DRAWS or monte_carlo_error(scores) <= request.target_se:
            break
        found += score([next_draw() for _ in range(_BATCH)])
    return found


def monte_carlo_error(scores: Vector) -> float:
    """Standard error of the mean over draws; NaN with fewer than two."""
    scores = scores[np.isfinite(scores)]
    return float(scores.std(ddof=1) / np.sqrt(len(scores))) if len(scores) > 1 else float("nan")


def _bootstrap_pairs(
    n: int, request: Request
) -> tuple[NDArray[np.intp] | None, tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Choose the pairs that carry the interval: all (None), or a random set of positions among them."""
    if request.n_bootstrap == 0:
        return None, (np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp))
    i, j = np.triu_indices(n, k=1)
    if len(i) <= BOOTSTRAP_PAIRS:
        return None, (i, j)
    kept = np.sort(spawn(request.seed, 2).choice(len(i), BOOTSTRAP_PAIRS, replace=False))
    return kept, (i[kept], j[kept])


def resampled_scores(
    cells: list[NDArray[np.int32]],
    pairs: tuple[NDArray[np.intp], NDArray[np.intp]],
    n_rows: int,
    request: Request,
    value: float,
) -> Vector:
    """Scores of resampled rows; coarse ranks shift all alike, so deviations are added to the exact value."""
    if not cells or request.n_bootstrap == 0:
        return np.empty(0)
    counts = resampling.row_counts(n_rows, request.n_bootstrap, spawn(request.seed, 1))
    origin = float(next(resampling.resampled_correlations(cells, np.ones((n_rows, 1)), pairs))[1].mean())
    groups = resampling.resampled_correlations(cells, counts, pairs)
    scores = np.concatenate(
        [table.mean(axis=0) for _, table in track(groups, request.n_bootstrap // 16 + 1, "resamples")]
    )
    return np.asarray(value + scores - origin)


def _from_pairs(variant: str, request: Request, n_sampled: int) -> Evidence:
    """Share the pairs out among the partitions: each scores fresh ones, which is the best use of a number of pairs."""
    metric: Metric = request.options["metric"]
    shape = (request.X.shape[0], request.X.shape[1])
    rows, inner = reader(request.X, metric, variant), inner_metric(variant, metric)
    per_draw = max(FEWEST_PAIRS, -(-n_sampled // request.options["n_draws"]))
    next_draw, rng = draw_sampler(variant, shape[1], generator(request.seed)), spawn(request.seed, 2)

    def score(task: tuple[Draw, np.random.Generator]) -> sampled.SampledScore:
        plan = draw_plan(variant, shape[1], task[0])
        return sampled.score(rows, shape[1], sampled.draw_pairs(shape[0], per_draw, task[1]), inner, plan)

    def score_all(draws: list[Draw]) -> list[sampled.SampledScore]:
        return list(parallel(score, list(zip(draws, rng.spawn(len(draws)), strict=True))))

    parts = draw_until(score_all, next_draw, request, lambda found: np.array([part.score for part in found]))
    scores = np.array([part.score for part in parts])
    defined = [part for part in parts if part.score == part.score]
    if not defined:
        return Evidence(float("nan"), scores, reason=_CONSTANT, n_pairs=per_draw * len(parts))
    i, j, influence = (np.concatenate([getattr(part, name) for part in defined]) for name in ("i", "j", "influence"))
    pair_error, row_error = sampled.standard_errors(influence, i, j)
    n_used = per_draw * len(parts)
    note = f"{n_used:,} random pairs of the {n_pairs(shape[0]):,} were used; the interval is analytic (dyadic-robust)"
    return Evidence(
        float(np.nanmean(scores)),
        scores,
        analytic_error=row_error,
        pair_error=pair_error,
        n_pairs=n_used,
        pairs_dropped=n_used - len(i),
        notes=(note, *_draw_notes(scores, request)),
    )


def reader(X: NDArray[Any], metric: Metric, variant: str) -> sampled.Rows:
    """Return what reads rows as they are needed: X may lie on disk."""
    centre = metric == "correlation" and variant != "feature_split"
    # Squares of distances must stay within range, and the first rows show the scale.
    first = np.asarray(X[:_FIRST_ROWS], dtype=np.float64)
    unit = length_unit(first) if metric == "euclidean" and np.isfinite(first).all() else 1.0

    def read(ids: NDArray[np.intp]) -> Matrix:
        rows = np.asarray(X[ids], dtype=np.float64)
        if unit != 1.0:
            rows = rows / unit
        # One pass: a sum is finite only if all its terms are, and zero lengths are looked into.
        with np.errstate(over="ignore"):
            lengths = np.einsum("ij,ij->i", rows, rows)
        if not np.isfinite(lengths).all():
            bad = ids[~np.isfinite(rows).all(axis=1)]
            if len(bad):
                raise ValueError(f"X must be finite, got NaN or infinity in rows {check.listed(np.unique(bad))}")
        suspect = np.flatnonzero(lengths == 0) if metric == "cosine" else np.arange(len(rows))
        undirected = suspect[undirected_rows(rows[suspect], metric)] if len(suspect) else suspect
        if len(undirected):
            raise no_direction("X", metric, np.unique(ids[undirected]))
        extreme = ~((lengths > _SMALLEST) & (lengths < _LARGEST))
        if metric != "euclidean" and extreme.any():
            # Directions do not depend on the scale, but squares of such numbers leave the range.
            rows[extreme] /= np.abs(rows[extreme]).max(axis=1, keepdims=True)
        if centre:
            rows -= rows.mean(axis=1, keepdims=True)
        return rows

    return read


def inner_metric(variant: str, metric: Metric) -> Metric:
    """The metric within halves: rows that were rotated after centring are compared by cosine."""
    return metric if variant == "feature_split" else rotation_metric(metric)


def _exact_scores(found: list[_Scored]) -> Vector:
    return np.array([one.score for one in found])


def _draw_notes(scores: Vector, request: Request) -> list[str]:
    notes = []
    lost = int(np.isnan(scores).sum())
    if lost:
        notes.append(f"{lost} of {len(scores)} partitions were left out: all distances of a half were equal")
    error = monte_carlo_error(scores)
    if request.target_se is not None and not error <= request.target_se:
        notes.append(
            f"the target error {request.target_se:g} was not reached with {len(scores)} partitions: it is {error:.2g}"
        )
    return notes


def _thinned_note(thinned: NDArray[np.intp] | None) -> list[str]:
    return [] if thinned is None else [f"the interval rests on {len(thinned):,} random pairs; the value on all"]
