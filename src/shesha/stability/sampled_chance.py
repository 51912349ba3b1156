"""The null of a split score from sampled pairs: every matching reads fresh blocks of rows."""

from __future__ import annotations

from typing import cast

import numpy as np

from shesha._progress import track
from shesha._random import spawn
from shesha._types import Vector
from shesha.kernels.threads import parallel
from shesha.stability.evidence import MATCHING, Request
from shesha.stability.matchings import partitions_per_matching
from shesha.views._sampled_halves import FEWEST_PAIRS, SampledHalves
from shesha.views._split_halves import Draw

NULL_PAIRS = 100_000
"""Pairs per matching when all do not fit the memory budget: each matching reads them anew."""


def null(halves: SampledHalves, request: Request) -> Vector:
    """Correlate the first half of random pairs with the second half of the pairs that they are matched with."""
    if not request.n_permutations:
        return np.empty(0)
    design, d = request.exchange, halves.rows.shape[1]
    next_draw = halves.sampler(request.seed)
    draws = [next_draw() for _ in range(request.options["n_draws"])]
    together = partitions_per_matching(d, len(draws))
    per_draw = max(FEWEST_PAIRS, (request.pairs or NULL_PAIRS) // together)

    def score(task: tuple[int, np.random.Generator]) -> float:
        turn, rng = task
        partners = design.draw(rng)
        chosen = [draws[(turn * together + k) % len(draws)] for k in range(together)]
        scores = [halves.matched(_restarted(draw), partners, per_draw, rng) for draw in chosen]
        return float(np.nanmean(scores)) if np.isfinite(scores).any() else float("nan")

    tasks = list(enumerate(spawn(request.seed, MATCHING).spawn(request.n_permutations)))
    return np.array(list(track(parallel(score, tasks), len(tasks), "matchings")))


def _restarted(draw: Draw) -> Draw:
    """Return a generator in its first state: a rotation serves many matchings."""
    if not isinstance(draw, np.random.Generator):
        return draw
    return np.random.default_rng(cast("np.random.SeedSequence", draw.bit_generator.seed_seq))
