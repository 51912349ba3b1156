"""The row-matching null for sampled pairs, for which every matching reads new rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shesha.kernels.sampled_feature_halves import WIDE_FEATURES
from shesha.kernels.threads import parallel
from shesha.nulls.restricted_permutations import Exchange
from shesha.stability.estimators.sampled_pairs import pairs_of_partition, rows_per_partition
from shesha.stability.nulls.feature_shuffle import ROTATIONS, rotate_given_axes, rotate_principal_axes, sampled_null
from shesha.stability.nulls.row_matching import partitions_per_matching
from shesha.stability.request import MATCHING, Request
from shesha.support import memory
from shesha.support.progress import track
from shesha.support.seeds import spawn
from shesha.support.types import Index, Vector
from shesha.views import SampledHalves
from shesha.views.feature_halves import Draw, restart_draw

NULL_PAIRS = 100_000
"""Number of pairs per matching; if the score uses more pairs, the null is wider, never narrower."""
NULL_ROWS = 4096
"""Most matched rows if data are narrow; if the score uses more rows, the null is wider, never narrower."""
_FEWEST_ROWS = 256
_NARROW_ROTATED = 512
"""Largest number of features for which the maximum number of rows is rotated."""

_BLOCKS = 1 << 23
"""Most bytes of rows that a thread gathers, together with their products."""
_STRATA = 32
"""Fewest strata among the matched rows for which strata are only chosen as a whole."""


def null(halves: SampledHalves, request: Request, rotations: Sequence[Draw]) -> Vector:
    """Correlate the first half of random pairs with the second half of the pairs matched to them.

    If features are rotated, the null that permutes each feature separately is used instead, with the score's rotations.
    """
    if not request.n_permutations:
        return np.empty(0)
    rng = spawn(request.seed, MATCHING)
    d, n_draws = halves.rows.shape[1], request.options["n_draws"]
    together = min(ROTATIONS, n_draws) if halves.rotated else partitions_per_matching(d, n_draws)
    chosen = _rows(request.exchange, rng, _most_rows(halves, request, n_draws / together))
    design = request.exchange.take(chosen)
    if halves.rotated:
        # With more pairs than the score uses, the null would be too narrow.
        n_pairs = min(request.pairs or NULL_PAIRS, NULL_PAIRS) // ROTATIONS
        rotations = rotations[:n_draws]
        rotate = rotate_given_axes if d <= WIDE_FEATURES else rotate_principal_axes
        return sampled_null(halves.rows.read(chosen), design, request, n_pairs, rotations, rotate)
    rows = halves.reader()(chosen)
    next_draw = halves.sampler(request.seed)
    draws = [next_draw() for _ in range(n_draws)]
    n_turns = -(-len(draws) // together)
    # With more pairs than the score uses, the null would be too narrow.
    per_draw = min(request.pairs or NULL_PAIRS, NULL_PAIRS) // together
    if request.pairs is not None:
        per_draw = max(per_draw, pairs_of_partition(request.pairs, len(draws)))
    orders = design.draws(request.n_permutations, rng)
    streams = rng.spawn(n_turns)

    def score(turn: int) -> Vector:
        batch = [draws[(turn * together + k) % len(draws)] for k in range(together)]
        matched = orders[turn::n_turns]
        scores = np.array(
            [halves.row_matching_correlations(rows, restart_draw(d), matched, per_draw, streams[turn]) for d in batch]
        )
        known = np.isfinite(scores)
        total = np.where(known, scores, 0.0).sum(axis=0)
        return np.where(known.any(axis=0), total / np.maximum(known.sum(axis=0), 1), np.nan)

    out = np.empty(len(orders))
    # Matchings use the partitions in turn, so that the null does not depend on a single partition. A thread needs
    # memory for both halves of the rows, and as much again while it computes them.
    at_once = max(1, int((memory.memory_budget() - rows.nbytes) // (2 * rows.nbytes + _BLOCKS)))
    turns = parallel(score, range(n_turns), at_once=at_once)
    for turn, scores in enumerate(track(turns, n_turns, "matchings")):
        out[turn::n_turns] = scores
    return out


def _most_rows(halves: SampledHalves, request: Request, n_sets: float) -> int:
    """Return the largest number of rows to match, which keeps wide data about as fast as narrow data.

    The cost of a matching is proportional to the number of features, and the cost of a rotation to its cube. If the
    score uses different rows in each partition, its variance is divided by the number of partitions; if more rows than
    returned here were matched, the null would have a smaller variance than the score.
    """
    n, d = halves.rows.shape
    share = (_NARROW_ROTATED / d) ** 3 if halves.rotated else WIDE_FEATURES / d
    most = min(NULL_ROWS, max(_FEWEST_ROWS, int(NULL_ROWS * share)))
    scored = rows_per_partition(n, d, halves.rotated) if request.pairs is None else n
    return most if scored == n else min(most, int(scored * np.sqrt(n_sets)))


def _rows(design: Exchange, rng: np.random.Generator, at_most: int) -> Index:
    """Choose which rows to match: random rows, whole groups, or a stretch of a series."""
    n = design.n_rows
    if n <= at_most:
        return np.arange(n)
    if design.shift or design.block_length:
        start = int(rng.integers(n - at_most + 1))
        return np.arange(start, start + at_most)
    units = _units(design, at_most)
    sizes = np.bincount(units)
    order = rng.permutation(len(sizes))
    wanted = order[: max(2, int(np.searchsorted(np.cumsum(sizes[order]), at_most, side="right")))]
    return np.flatnonzero(np.isin(units, wanted))


def _units(design: Exchange, at_most: int) -> Index:
    """Return each row's unit that is chosen as a whole: the row itself, its group, or a small stratum.

    If rows were chosen at random, few exchangeable rows of a small stratum would be left.
    """
    small = np.bincount(design.block).max() <= at_most // _STRATA
    return design.block if small else design.clusters
