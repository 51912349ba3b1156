"""Alignment with the labels on all pairs of rows, or on random ones where all do not fit the memory."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shesha._memory import memory_budget
from shesha._progress import track
from shesha._random import spawn
from shesha._types import Index, Labels, Vector
from shesha.kernels import ranks, resampling
from shesha.kernels.distances import n_pairs
from shesha.kernels.ranks import Ordering
from shesha.stability import split_estimator
from shesha.stability.evidence import THINNING, Evidence, Request
from shesha.stability.copies import Pairs
from shesha.stability.split_estimator import bootstrap_pairs, resampled_scores
from shesha.views import Standard

NOTHING_TO_RANK = "all distances between rows, or all between labels, are equal"
_BYTES_PER_PAIR = 80
"""Distances, labels, sort keys and orders of both, and the rows of each pair."""
_PARTS = 20
"""Parts of the sampled pairs whose scores tell the error from sampling."""


def label_distances(codes: Labels) -> Vector:
    """1 for each pair of rows with different labels, 0 for the others, in condensed order."""
    n = len(codes)
    return np.concatenate([codes[i] != codes[i + 1 :] for i in range(n)]).astype(np.float64)


def estimate_alignment(request: Request) -> Evidence:
    """Estimate 'supervised_alignment' on all rows: all pairs of them, or as many random ones as the memory allows."""
    view: Standard = request.variant.look(request.source, request.options)
    n = view.n_rows
    if _BYTES_PER_PAIR * n_pairs(n) > memory_budget():
        return _from_pairs(view, request)
    thinned, pairs = bootstrap_pairs(n, request)
    outer = ranks.ordering(view.squared(), view.level, np.empty(n_pairs(n), dtype=np.uint64))
    if outer.variance == 0:
        return Evidence(float("nan"), null=_nothing(request), reason=NOTHING_TO_RANK)
    found = _evidence(outer, label_distances(request.labels.codes), thinned, pairs, request)
    null = [
        ranks.correlation(outer, _arranged(outer, label_distances(request.labels.codes[order])))
        for order in track(request.orders(), request.n_permutations, "matchings")
        if found.value == found.value
    ]
    return replace(found, null=np.array(null), notes=tuple(split_estimator.thinned_note(thinned)))


def _arranged(outer: Ordering, differ: Vector) -> Ordering:
    """The label distances in the order of the distances."""
    arranged = np.take(differ, outer.order)
    return ranks.ordering(arranged, 0.0, np.empty(len(arranged), dtype=np.uint64))


def _evidence(outer: Ordering, differ: Vector, thinned: Index | None, pairs: Pairs, request: Request) -> Evidence:
    inner = _arranged(outer, differ)
    if inner.variance == 0:
        return Evidence(float("nan"), reason=NOTHING_TO_RANK)
    value = ranks.correlation(outer, inner)
    if request.n_bootstrap == 0:
        return Evidence(value, n_pairs=len(differ))
    cells = resampling.cells_of(outer, inner)
    cells = cells if thinned is None else cells[thinned]
    return Evidence(
        value, resampled=resampled_scores([cells], pairs, request.n_rows, request, value), n_pairs=len(differ)
    )


def _from_pairs(view: Standard, request: Request) -> Evidence:
    """The same on random pairs, the same for value, interval and null."""
    rng = spawn(request.seed, THINNING)
    i = rng.integers(view.n_rows, size=split_estimator.DEFAULT_PAIRS)
    j = rng.integers(view.n_rows - 1, size=len(i))
    j += j >= i
    codes = request.labels.codes
    distances = view.squared_at(i, j)
    parts = [slice(at, None, _PARTS) for at in range(_PARTS)]
    by_part = [
        ranks.spearman(distances[part].copy(), (codes[i[part]] != codes[j[part]]).astype(np.float64), (view.level, 0.0))
        for part in parts
    ]
    outer = ranks.ordering(distances, view.level, np.empty(len(i), dtype=np.uint64))
    if outer.variance == 0:
        return Evidence(float("nan"), null=_nothing(request), reason=NOTHING_TO_RANK)
    found = _evidence(outer, (codes[i] != codes[j]).astype(np.float64), None, (i, j), request)
    null = []
    for order in track(request.orders(), request.n_permutations, "matchings"):
        shuffled = codes[order]
        null.append(ranks.correlation(outer, _arranged(outer, (shuffled[i] != shuffled[j]).astype(np.float64))))
    note = f"{len(i):,} random pairs of the {n_pairs(view.n_rows):,} were used: all do not fit the memory budget"
    return replace(
        found,
        null=np.array(null),
        pair_error=float(np.nanstd(by_part, ddof=1) / np.sqrt(_PARTS)),
        notes=(note,),
    )


def _nothing(request: Request) -> Vector:
    return np.full(request.n_permutations, np.nan)
