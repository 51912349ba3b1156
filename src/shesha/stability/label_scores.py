"""Estimators of scores that need labels, with resampled rows and permuted labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from shesha.kernels import feature_halves, ranks
from shesha.kernels.class_statistics import class_sums, in_units_of_spread, overlaps, sums_of_pairs
from shesha.kernels.condensed_matrices import row_start
from shesha.kernels.distances import PANEL, n_pairs
from shesha.kernels.sorting import Ordering, order_values
from shesha.stability import row_matching, split_scores
from shesha.stability.registry import RESAMPLING, SHUFFLING, THINNING, Classes, Request, ScoreDraws, mean_score
from shesha.stability.row_matching import Pairs, uses_all_pairs
from shesha.stability.split_scores import bootstrap_pairs, score_resamples
from shesha.support.memory import memory_budget, require
from shesha.support.progress import track
from shesha.support.seeds import generator, spawn
from shesha.support.types import Index, Labels, Matrix, Vector
from shesha.support.warnings import NotEstimable
from shesha.views import Plain, Standard

ALL_ROWS = 4096
"""Most rows whose labels are all shuffled if the cost of a score grows quickly with the number of rows."""
NULL_ROWS = 2048
"""Number of rows whose labels are shuffled if there are more than ALL_ROWS. The null is then wider, never narrower."""
_FEWEST = 2


@dataclass(frozen=True)
class Shuffled:
    """The shuffled labels of all rows or of a subset of rows."""

    rows: Index | None
    """Numbers of the rows in the subset; None for all rows."""
    classes: Classes
    """The true labels of these rows."""
    codes: Index
    """The shuffled labels, with one line for each shuffle."""

    @property
    def notes(self) -> tuple[str, ...]:
        """A note if the null uses fewer rows than the value; otherwise empty."""
        if self.rows is None or not len(self.codes):
            return ()
        return (f"the null uses the labels of {len(self.rows):,} random rows, so the null is wider than with all rows",)


def shuffle_labels(request: Request, *, always_all: bool = False) -> Shuffled:
    """Shuffle the labels of all rows, or of a subset if there are many rows."""
    y = request.labels
    enough = always_all or request.n_rows <= ALL_ROWS or not request.n_permutations
    rows = None if enough else _some(request, NULL_ROWS)
    if rows is not None:
        y = y.take(rows)
        request = replace(request, classes=y, design=request.exchange.take(rows))
    codes = np.array([y.codes[order] for order in request.orders()], dtype=np.intp)
    return Shuffled(rows, y, codes.reshape(-1, len(y.codes)))


def _some(request: Request, most: int) -> Index | None:
    """Choose random rows, whole groups or a stretch; None if a class would keep hardly any rows."""
    rng, design, codes = spawn(request.seed, SHUFFLING), request.exchange, request.labels.codes
    n = design.n_rows
    if design.shift or design.block_length:
        start = int(rng.integers(n - most + 1))
        rows = np.arange(start, start + most)
    else:
        sizes = np.bincount(design.clusters)
        order = rng.permutation(len(sizes))
        n_groups = max(2, int(np.searchsorted(np.cumsum(sizes[order]), most, side="right")))
        rows = np.flatnonzero(np.isin(design.clusters, order[:n_groups]))
    here, all_of = np.bincount(codes[rows]), np.bincount(codes)
    here = np.pad(here, (0, len(all_of) - len(here)))
    return rows if (here >= np.minimum(all_of, _FEWEST)).all() else None


def estimate_by_counts(
    request: Request,
    *,
    value: Callable[[Matrix, Classes], float],
    resampled: Callable[[Matrix, list[Index], Matrix], Vector],
    shuffled: Callable[[Matrix, Index, int], Vector],
    reason: str,
) -> ScoreDraws:
    """Score the data, then all resamples of the rows together and all shuffles of the labels together."""
    X, y = _rows(request), request.labels
    score = value(X, y)
    if np.isnan(score):
        return ScoreDraws(score, null=request.empty_null, reason=reason)
    resamples = np.empty(0)
    if request.n_bootstrap:
        rng = spawn(request.seed, RESAMPLING)
        counts = np.empty((len(X), request.n_bootstrap))
        for draw in range(request.n_bootstrap):
            counts[:, draw] = np.bincount(request.resample_rows(rng), minlength=len(X))
        resamples = resampled(X, y.present, counts)
    codes = shuffle_labels(request, always_all=True).codes
    return ScoreDraws(score, resampled=resamples, null=shuffled(X, codes, y.n_classes) if len(codes) else np.empty(0))


def estimate_overlaps(request: Request, *, scaled: bool) -> ScoreDraws:
    """Estimate the overlap of discriminant subspaces, then that of resampled rows and shuffled labels one by one."""
    X, y = _rows(request), request.labels
    n_draws, share = request.options["n_draws"], request.options["subsample_frac"]

    def scores(rows: Matrix, classes: Classes, rng: np.random.Generator) -> Vector:
        return overlaps(in_units_of_spread(rows) if scaled else rows, classes.codes, n_draws, share, rng)

    draws = scores(X, y, generator(request.seed))
    if np.isnan(draws).all():
        return ScoreDraws(float("nan"), draws, null=request.empty_null, reason="all class means are equal")
    rng = spawn(request.seed, RESAMPLING)
    resampled = []
    for _ in track(range(request.n_bootstrap), request.n_bootstrap, "resamples"):
        rows = request.resample_rows(rng)
        resampled.append(mean_score(scores(X[rows], y.take(rows), rng)))
    null = [
        mean_score(scores(X, y.take(order), generator(request.seed)))
        for order in track(request.orders(), request.n_permutations, "matchings")
    ]
    return ScoreDraws(mean_score(draws), draws, resampled=np.array(resampled), redrawn=True, null=np.array(null))


def estimate_one_by_one(request: Request) -> ScoreDraws:
    """Estimate any score by calling its function for the data, for resampled rows and for shuffled labels."""
    variant, y = request.variant, request.classes
    options = {**request.options, **({"seed": request.seed} if "seed" in variant.options else {})}

    def score(rows: Index | None, labels: Classes | None) -> float:
        source = request.source if rows is None else request.source.take_rows(rows)
        try:
            return variant.score(source, labels, options)
        except NotEstimable:
            if rows is None and labels is y:
                raise
            return float("nan")

    try:
        value = score(None, y)
    except NotEstimable as why:
        return ScoreDraws(float("nan"), null=request.empty_null, reason=str(why))
    rng = spawn(request.seed, RESAMPLING)
    resampled = []
    for _ in track(range(request.n_bootstrap), request.n_bootstrap, "resamples"):
        rows = request.resample_rows(rng)
        resampled.append(score(rows, None if y is None else y.take(rows)))
    null = [score(None, y.take(order)) for order in request.orders()] if y is not None else []
    return ScoreDraws(value, resampled=np.array(resampled), null=np.array(null))


def _rows(request: Request) -> Matrix:
    view: Plain = request.variant.look(request.source, request.options)
    return view.rows


NOTHING_TO_RANK = "all distances between rows are equal, or all labels are equal or all different"
_BYTES_PER_PAIR = 80
"""Bytes that each pair of rows needs for distances, labels, the sort keys and orders of both, and row numbers."""
_FEWEST_PAIRS = 10_000
"""Smallest number of pairs that are drawn, however small the memory budget is."""
_PARTS = 20
"""Number of parts into which sampled pairs are divided in order to estimate the sampling error."""


def label_distances(codes: Labels) -> Vector:
    """Return 1 for each pair of rows with different labels and 0 for each other pair, in condensed order."""
    n = len(codes)
    return np.concatenate([codes[i] != codes[i + 1 :] for i in range(n)]).astype(np.float64)


def estimate_alignment(request: Request) -> ScoreDraws:
    """Estimate 'supervised_alignment' from all pairs of rows, or from random pairs if there are many."""
    view: Standard = request.variant.look(request.source, request.options)
    n = view.n_rows
    if not uses_all_pairs(n, request.pairs) or _BYTES_PER_PAIR * n_pairs(n) > memory_budget():
        return _from_pairs(view, request)
    thinned, pairs = bootstrap_pairs(n, request)
    outer = _order_distances(view)
    if outer.variance == 0:
        return ScoreDraws(float("nan"), null=request.empty_null, reason=NOTHING_TO_RANK)
    evidence = _evidence(outer, label_distances(request.labels.codes), thinned, pairs, request)
    if evidence.value != evidence.value:
        return replace(evidence, null=request.empty_null)
    labels = shuffle_labels(request)
    notes = (*split_scores.thinning_note(thinned), *labels.notes)
    return replace(evidence, null=_null(view, outer, labels), notes=notes)


def _null(view: Standard, outer: Ordering, labels: Shuffled) -> Vector:
    """Score shuffled labels through the sums of ranks over the pairs of rows with equal labels."""
    n_shuffles, n = labels.codes.shape
    if not n_shuffles:
        return np.empty(0)
    if labels.rows is not None:
        outer = _order_distances(view.permute(labels.rows))
    unit = outer.unit_ranks()

    def panel(start: int) -> Matrix:
        block = np.zeros((min(PANEL, n - start), n - start))
        for row, line in enumerate(block, start):
            line[row - start + 1 :] = unit[row_start(row, n) : row_start(row + 1, n)]
        return block

    sizes = np.bincount(labels.classes.codes)
    return _correlations(
        class_sums(panel, PANEL, labels.codes, labels.classes.n_classes), float((sizes * (sizes - 1)).sum()) / 2, unit
    )


def _correlations(of_alike: Vector, n_alike: Vector | float, unit: Vector) -> Vector:
    """Return rank correlations with label differences from sums of unit ranks over equally labelled pairs."""
    n = len(unit)
    with np.errstate(invalid="ignore", divide="ignore"):
        correlations = (unit.sum() * n_alike / n - of_alike) / np.sqrt(n_alike * (1 - n_alike / n))
    return np.asarray(np.where(np.isfinite(correlations), correlations, np.nan))


def _order_distances(view: Standard) -> Ordering:
    return order_values(view.squared(), view.level, np.empty(n_pairs(view.n_rows), dtype=np.uint64))


def _evidence(outer: Ordering, differ: Vector, thinned: Index | None, pairs: Pairs, request: Request) -> ScoreDraws:
    inner = order_values(np.take(differ, outer.order), 0.0, np.empty(len(differ), dtype=np.uint64))
    if inner.variance == 0:
        return ScoreDraws(float("nan"), reason=NOTHING_TO_RANK)
    value = ranks.correlation(outer, inner)
    if request.n_bootstrap == 0:
        return ScoreDraws(value, n_pairs=len(differ))
    cells = feature_halves.rank_cells(outer, inner)
    cells = cells if thinned is None else cells[thinned]
    return ScoreDraws(
        value, resampled=score_resamples([cells], pairs, request.n_rows, request, value), n_pairs=len(differ)
    )


def _from_pairs(view: Standard, request: Request) -> ScoreDraws:
    """Estimate from random pairs, which the value, the interval and the null all use."""
    rng = spawn(request.seed, THINNING)
    affordable = max(_FEWEST_PAIRS, memory_budget() // _BYTES_PER_PAIR)
    wanted = min(request.pairs or min(row_matching.DEFAULT_PAIRS, affordable), n_pairs(view.n_rows))
    require(_BYTES_PER_PAIR * wanted, f"{wanted:,} pairs of rows", "request fewer pairs, or leave out pairs=")
    i = rng.integers(view.n_rows, size=wanted)
    j = rng.integers(view.n_rows - 1, size=len(i))
    j += j >= i
    codes = request.labels.codes
    distances = view.squared_distances_between(i, j)
    parts = [slice(start, None, _PARTS) for start in range(_PARTS)]
    by_part = [
        ranks.spearman(distances[part].copy(), (codes[i[part]] != codes[j[part]]).astype(np.float64), (view.level, 0.0))
        for part in parts
    ]
    outer = order_values(distances, view.level, np.empty(len(i), dtype=np.uint64))
    if outer.variance == 0:
        return ScoreDraws(float("nan"), null=request.empty_null, reason=NOTHING_TO_RANK)
    evidence = _evidence(outer, (codes[i] != codes[j]).astype(np.float64), None, (i, j), request)
    shuffled = shuffle_labels(request, always_all=True).codes
    unit = outer.unit_ranks()
    null = _correlations(*sums_of_pairs(unit, i, j, shuffled), unit) if len(shuffled) else np.empty(0)
    note = f"{len(i):,} random pairs of {n_pairs(view.n_rows):,} were used"
    return replace(
        evidence,
        null=null,
        pair_error=float(np.nanstd(by_part, ddof=1) / np.sqrt(_PARTS)),
        notes=(note,),
    )
