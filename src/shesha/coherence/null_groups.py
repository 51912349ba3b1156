"""Draw null groups for each group, and score them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from shesha.coherence.chunked_matrix import RowPieces
from shesha.coherence.control_pool import Pool, build_pool
from shesha.coherence.group_scores import Evidence
from shesha.coherence.nearest_controls import MatchedPool, score_null_group
from shesha.coherence.null_group_sums import members, windows
from shesha.coherence.row_roles import FEWEST_CONTROLS, LARGE, Layout
from shesha.coherence.whole_unit_null_groups import draws_of_units, large_groups_by_units
from shesha.kernels.threads import parallel
from shesha.support import progress
from shesha.support.types import Index, Mask, Vector


@dataclass(frozen=True)
class NullGroupScores:
    """Scores of null groups: mean cosine, pairwise cosine, magnitude, and magnitude relative to its noise."""

    scores: tuple[NDArray[np.float64], ...]
    """For each group, an array of shape (n_draws, 4), which is empty if no null group can be drawn."""
    reasons: tuple[str, ...]
    """For each group, the reason why it has no null groups, or an empty string if it has some."""
    exchanged: str
    shuffled: tuple[bool, ...] = ()
    """For each group, whether labels were shuffled because null groups would leave too few controls."""


Chosen = tuple[list[Index], list[Index]]
"""Rows of a null group in each pool, and the rows that are excluded from its controls."""
Scorer = Callable[[list[Index], list[Index]], Vector]


def score_null_groups(
    rows: RowPieces, layout: Layout, observed: Evidence, *, null: str, k: int | None, n_draws: int, seed: int
) -> NullGroupScores:
    """Draw null groups of the same sizes as the real groups, and score them in the same way.

    Parameters
    ----------
    rows : RowPieces
    layout : Layout
    observed : Evidence
        Scores of the groups, with the sums over their units.
    null : {"controls", "pooled"}
        Whether to draw null groups from the controls, or from the controls and the group together (shuffled labels).
    k : int or None
        Number of nearest controls whose mean is the reference of a row, or None for all controls.
    n_draws, seed : int
    """
    if layout.is_paired:
        return _collect(layout, lambda g: _flip_signs_of_units(observed, g, n_draws, seed), "signs of units")
    if layout.unit is not None:
        return _unit_groups(rows, layout, null=null, k=k, n_draws=n_draws, seed=seed)
    if null == "pooled":
        return _collect(layout, lambda g: _pooled_groups(rows, layout, g, n_draws, seed), "rows of controls and group")
    pools = _control_pools(rows, layout)
    if k is None:
        return _window_groups(rows, layout, pools, n_draws, seed)
    score = _scorer(pools, k, layout)
    return _collect(layout, lambda g: _row_groups(layout, pools, score, g, n_draws, seed), "controls")


def _control_pools(rows: RowPieces, layout: Layout) -> list[Pool]:
    controls, sizes = layout.controls, layout.part_sizes()
    block = layout.block[controls]
    return [build_pool(rows, controls[block == b], int(sizes[:, b].max())) for b in range(layout.n_blocks)]


def _flip_signs_of_units(observed: Evidence, g: int, n_draws: int, seed: int) -> tuple[NDArray[np.float64], str]:
    assert observed.units is not None
    if len(observed.units.of_group(g)) < 2:
        return np.empty((0, 4)), "its rows are of one unit (value of groups) only, and pairs within a unit do not count"
    return observed.units.sign_flips(g, float(observed.squares[g]), int(observed.n[g]), n_draws, seed), ""


def _unit_groups(
    rows: RowPieces, layout: Layout, *, null: str, k: int | None, n_draws: int, seed: int
) -> NullGroupScores:
    """Draw null groups of whole units: of controls, or, for large groups, of controls and group."""
    pools = _control_pools(rows, layout)
    matched = None if k is None else _matched_pools(pools, k, layout)
    large = np.ones(layout.n_groups, dtype=bool) if null == "pooled" else large_groups_by_units(layout)
    large &= k is None

    def score_group(g: int) -> tuple[NDArray[np.float64], str]:
        draws = draws_of_units(rows, layout, pools, matched, g, shuffled=bool(large[g]))
        return (np.empty((0, 4)), draws) if isinstance(draws, str) else (draws.scores(n_draws, (seed, g)), "")

    exchanged = "units of controls and group" if null == "pooled" else "units of controls"
    return _collect(layout, score_group, exchanged, None if null == "pooled" else large)


def _too_many(sizes: Index, pools: list[Pool]) -> str:
    """Return why no null group of this size can be drawn from the controls; empty if one can be."""
    for n, controls in zip(sizes, pools, strict=True):
        if n > len(controls) - FEWEST_CONTROLS:
            return (
                f"{len(controls)} controls are too few to draw null groups of {n} rows; use null='pooled', which draws "
                "from controls and group together"
            )
    return ""


def _window_groups(rows: RowPieces, layout: Layout, pools: list[Pool], n_draws: int, seed: int) -> NullGroupScores:
    sizes = layout.part_sizes()
    large = _large_groups(layout)
    none = np.empty((0, 4))
    scores = [
        _pooled_groups(rows, layout, g, n_draws, seed)[0] if is_large else none for g, is_large in enumerate(large)
    ]
    drawn = np.flatnonzero(~large)
    if len(drawn):
        all_choices = [_all_groups(pools[0], int(sizes[g, 0]), n_draws) if len(pools) == 1 else None for g in drawn]
        draws = np.stack(list(_draws(lambda rng: windows(pools, sizes[drawn], rng), n_draws, seed)))
        for place, g in enumerate(drawn):
            every = all_choices[place]
            scores[g] = draws[:, place] if every is None else np.stack([members(pools, *chosen) for chosen in every])
    return NullGroupScores(tuple(scores), ("",) * len(sizes), "controls", tuple(large.tolist()))


def _large_groups(layout: Layout) -> Mask:
    """Return which groups have so many rows in a block that null groups would leave too few controls.

    The correction for fewer reference rows changes the variance of a null group's shift, but not the mix of rows in it.
    In tests at 5 % with controls of several kinds, groups half as large as the controls were significant in 7 % of
    runs, and groups nearly as large as the controls in 12 %.
    """
    counts = np.bincount(layout.block[layout.controls], minlength=layout.n_blocks)
    return np.asarray((layout.part_sizes() > LARGE * counts).any(axis=1))


def _draws(score: Callable[[np.random.Generator], Vector], n_draws: int, seed: int) -> Iterator[NDArray[np.float64]]:
    """Score each draw with its own random generator, so that results do not depend on threads."""
    scores = parallel(lambda k: score(np.random.default_rng([seed, k])), range(n_draws))
    return progress.track(scores, n_draws, "draws")


def _collect(
    layout: Layout,
    score_group: Callable[[int], tuple[NDArray[np.float64], str]],
    exchanged: str,
    large: Mask | None = None,
) -> NullGroupScores:
    results = list(progress.track(map(score_group, range(layout.n_groups)), layout.n_groups, "groups"))
    scores, reasons = zip(*results, strict=True)
    return NullGroupScores(scores, reasons, exchanged, () if large is None else tuple(large.tolist()))


def _matched_pools(pools: list[Pool], k: int, layout: Layout) -> list[MatchedPool]:
    largest = layout.part_sizes().max(axis=0)
    return [MatchedPool.build(pool, k, int(n)) for pool, n in zip(pools, largest, strict=True)]


def _scorer(pools: list[Pool], k: int, layout: Layout) -> Scorer:
    matched = _matched_pools(pools, k, layout)
    return lambda chosen, excluded: score_null_group(matched, chosen, excluded)


def _score_draws(
    draw: Callable[[np.random.Generator], Chosen], score: Scorer, n_draws: int, seed: tuple[int, ...]
) -> NDArray[np.float64]:
    scores = parallel(lambda k: score(*draw(np.random.default_rng([*seed, k]))), range(n_draws))
    return np.stack(list(scores))


def _row_groups(
    layout: Layout, pools: list[Pool], score: Scorer, g: int, n_draws: int, seed: int
) -> tuple[NDArray[np.float64], str]:
    """Draw and score null groups of single rows."""
    sizes = layout.part_sizes()[g]
    reason = _too_many(sizes, pools)
    if reason:
        return np.empty((0, 4)), reason

    def draw(rng: np.random.Generator) -> Chosen:
        chosen = [rng.choice(len(pool), n, replace=False) for pool, n in zip(pools, sizes, strict=True)]
        return chosen, chosen

    return _score_draws(draw, score, n_draws, (seed, g)), ""


def _pooled_groups(rows: RowPieces, layout: Layout, g: int, n_draws: int, seed: int) -> tuple[NDArray[np.float64], str]:
    """Draw null groups from controls and group together, which is exact if the group has no effect."""
    sizes = layout.part_sizes()[g]
    used = [b for b in range(layout.n_blocks) if sizes[b]]
    numbers = [np.flatnonzero(np.isin(layout.group, (-1, g)) & (layout.block == b)) for b in used]
    pools = [build_pool(rows, row_numbers, int(sizes[b])) for row_numbers, b in zip(numbers, used, strict=True)]
    wanted_sizes = [int(sizes[b]) for b in used]
    every = _all_groups(pools[0], wanted_sizes[0], n_draws) if len(pools) == 1 else None
    if every is not None:
        members_of_group = np.flatnonzero(np.isin(pools[0].numbers, np.flatnonzero(layout.group == g)))
        others = [chosen for chosen in every if not np.array_equal(chosen[0][0], members_of_group)]
        return np.stack([members(pools, *chosen, corrected=False) for chosen in others]), ""

    def draw(rng: np.random.Generator) -> Chosen:
        chosen = [rng.choice(len(pool), n, replace=False) for pool, n in zip(pools, wanted_sizes, strict=True)]
        return chosen, chosen

    return _score_draws(
        draw, lambda chosen, excluded: members(pools, chosen, excluded, corrected=False), n_draws, (seed, g)
    ), ""


def _all_groups(pool: Pool, n: int, n_draws: int) -> list[Chosen] | None:
    """Return all null groups of n rows from a pool, if there are no more than requested."""
    if comb(len(pool), n) > n_draws + 1:
        return None
    subsets = [np.array(chosen) for chosen in combinations(range(len(pool)), n)]
    return [([chosen], [chosen]) for chosen in subsets]
