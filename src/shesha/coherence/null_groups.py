"""Null groups of rows or of whole units, drawn for each group and scored; shifts from the nearest controls."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations, pairwise, product
from math import comb, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shesha.coherence.chunked_matrix import RowPieces
from shesha.coherence.controls import FEWEST_CONTROLS, LARGE, GroupLayout, Pool, build_pool
from shesha.coherence.group_scores import (
    PAIR,
    GroupEvidence,
    Tally,
    add_members,
    mean_cosine_over_units,
    members,
    unit_signs,
    windows,
)
from shesha.kernels.threads import parallel
from shesha.results.number import INTERRUPTED
from shesha.support import progress
from shesha.support.device_arrays import smallest
from shesha.support.types import Index, Mask, Matrix, Vector

_PANEL = 1 << 22
"""Maximum number of distances that are computed at a time."""


def nearest_controls(rows: Matrix, controls: Matrix, k: int) -> Index:
    """Return the indices of the k controls nearest to each row, nearest first: (n, k)."""
    squared = np.einsum("ij,ij->i", controls, controls)
    step = max(1, _PANEL // len(controls))

    def search_panel(start: int) -> Index:
        near = (rows[start : start + step] * -2.0) @ controls.T
        near += squared
        nearest: Index = smallest(near, k) if k < len(controls) else np.tile(np.arange(k), (len(near), 1))
        order = np.argsort(np.take_along_axis(near, nearest, axis=1), axis=1, kind="stable")
        return np.take_along_axis(nearest, order, axis=1)

    return np.concatenate(list(parallel(search_panel, range(0, len(rows), step))))


def nearest_control_shifts(rows: Matrix, controls: Matrix, k: int) -> Matrix:
    """Return each row minus the mean of its k nearest controls."""
    near = nearest_controls(rows, controls, min(k, len(controls)))
    return rows - _means(controls, near)


def _means(controls: Matrix, near: Index) -> Matrix:
    out = np.empty((len(near), controls.shape[1]))
    step = max(1, _PANEL // (near.shape[1] * controls.shape[1]))
    for start in range(0, len(near), step):
        out[start : start + step] = controls[near[start : start + step]].mean(axis=1)
    return out


@dataclass(frozen=True)
class MatchedPool:
    """Controls with their nearest other controls, enough that k remain when a null group is removed."""

    pool: Pool
    near: Index
    """Indices of the nearest other controls, nearest first: (n, more than k)."""
    k: int
    means: Matrix
    """For each control, the mean of its k nearest other controls."""

    @classmethod
    def build(cls, pool: Pool, k: int, largest: int) -> MatchedPool:
        """Find the neighbours, assuming that null groups of up to `largest` rows will be removed."""
        n, k = len(pool), min(k, len(pool) - 1)
        share = min(0.95, largest / n)
        # The number of neighbours outside a random group is binomial; a margin of six standard deviations ensures that
        # k remain.
        width = (k + 6 * np.sqrt(k * share)) / (1 - share) + 6
        near = nearest_controls(pool.rows, pool.rows, min(n, int(width) + 1))
        # A control must not be its own neighbour. It is found as the nearest one, unless other controls are copies of
        # it.
        place = np.argmax(near == np.arange(n)[:, None], axis=1)
        there = near[np.arange(n), place] == np.arange(n)
        keep = np.ones(near.shape, dtype=bool)
        keep[np.arange(n), np.where(there, place, near.shape[1] - 1)] = False
        near = near[keep].reshape(n, -1)
        return cls(pool, near, k, _means(pool.rows, near[:, :k]))

    def shifts(self, chosen: Index, excluded: Index) -> Matrix:
        """Return the shifts of the chosen rows from their nearest controls outside `excluded`."""
        out = np.zeros(len(self.pool), dtype=bool)
        out[excluded] = True
        near = self.near[chosen]
        free = ~out[near]
        is_nearest = free & (np.cumsum(free, axis=1) <= self.k)
        count = is_nearest.sum(axis=1)
        shifts = self.pool.rows[chosen] - self.means[chosen]
        # Only those few neighbours that change are added to the sum or subtracted from it.
        first = np.zeros_like(is_nearest)
        first[:, : self.k] = True
        change = is_nearest.astype(np.int8) - first.astype(np.int8)
        row, place = np.nonzero(change)
        if len(row):
            from scipy.sparse import csr_array

            moves = csr_array((change[row, place].astype(float), (row, near[row, place])), (len(chosen), len(out)))
            changed = np.unique(row)
            sums = self.means[chosen[changed]] * self.k + (moves @ self.pool.rows)[changed]
            shifts[changed] = self.pool.rows[chosen[changed]] - sums / np.maximum(count[changed], 1)[:, None]
        return shifts


def score_null_group(pools: list[MatchedPool], chosen: list[Index]) -> Vector:
    """Score one null group by its shifts from nearest controls; the arguments are those of `members`."""
    tally = Tally.empty(pools[0].pool.rows.shape[1])
    for pool, rows in zip(pools, chosen, strict=True):
        if len(rows):
            tally.add_shifts(pool.shifts(rows, rows))
    return tally.scores()


@dataclass(frozen=True)
class Draws:
    """The null groups to score: those with the numbers `start` to `stop` of at most `most`, for some of the groups."""

    start: int
    stop: int
    most: int
    seed: int
    groups: Mask

    @property
    def numbers(self) -> range:
        """The numbers of the null groups."""
        return range(self.start, self.stop)

    def part(self, choices: Any) -> Any:
        """Return all choices the first time, and none later."""
        return choices if self.start == 0 else choices[:0]


@dataclass(frozen=True)
class UnitDraws:
    """The units of a group, and the units that may replace them."""

    pools: list[Pool]
    matched: list[MatchedPool] | None
    """Pools in which each row has its own nearest controls, or None if rows start from the mean of the controls."""
    places: list[list[Index]]
    """For each candidate unit and block, its rows, as indices in the pool of this block."""
    sizes: list[Index]
    """For each unit of the group, the number of its rows in each block. Units of the same stratum follow one another,
    the largest first."""
    strata: list[tuple[Index, int]]
    """Candidates of each stratum, and how many of them a null group has. Units in different blocks do not replace one
    another, unless units occur in several blocks."""
    own_units: frozenset[int]
    """The group's own units among the candidates; empty if only controls are drawn."""

    @property
    def n_choices(self) -> int:
        """Number of different choices of units, except the observed one."""
        return prod(comb(len(units), n) for units, n in self.strata) - bool(self.own_units)

    def scores(self, draws: Draws, g: int) -> NDArray[np.float64]:
        """Score all choices of units if there are at most `draws.most` of them, otherwise random choices."""
        is_complete = self.n_choices <= draws.most
        # All choices are scored in the first stage.
        ways = list(self._all_choices()) if is_complete and draws.start == 0 else []

        def score_one(k: int) -> Vector:
            rng = np.random.default_rng([draws.seed, g, k])
            if is_complete:
                return self._score(ways[k], rng)
            return self._score([rng.choice(units, n, replace=False) for units, n in self.strata], rng)

        numbers = range(len(ways)) if is_complete else draws.numbers
        return np.stack(list(parallel(score_one, numbers))) if numbers else np.empty((0, 4))

    def _all_choices(self) -> Iterator[list[Index]]:
        of_strata = ([np.array(units) for units in combinations(candidates, n)] for candidates, n in self.strata)
        for choice in product(*of_strata):
            if frozenset(np.concatenate(choice).tolist()) != self.own_units:
                yield list(choice)

    def _score(self, choice: list[Index], rng: np.random.Generator) -> Vector:
        """Score the null group of some units, cut to the sizes of the group's units."""
        chosen: list[list[Index]] = []
        for units in choice:
            slots = self.sizes[len(chosen) : len(chosen) + len(units)]
            most = int(slots[0].sum())
            # Units with fewer rows than the group's largest unit take the places of its smaller units.
            order = sorted(rng.permutation(units), key=lambda unit: -min(sum(map(len, self.places[unit])), most))
            chosen += [
                [
                    rng.choice(rows, min(n, len(rows)), replace=False)
                    for n, rows in zip(slot, self.places[unit], strict=True)
                ]
                for slot, unit in zip(slots, order, strict=True)
            ]
        used = np.concatenate(choice)
        excluded = [np.concatenate([self.places[unit][block] for unit in used]) for block in range(len(self.pools))]
        return self._score_rows(chosen, excluded)

    def _score_rows(self, chosen: list[list[Index]], excluded: list[Index]) -> Vector:
        """Score rows, by unit and block, relative to the rows that are not excluded."""
        d = self.pools[0].rows.shape[1]
        tally, directions, counts = Tally.empty(d), np.zeros((len(chosen), d)), np.zeros(len(chosen))
        for block, pool in enumerate(self.pools):
            rows = np.concatenate([of_unit[block] for of_unit in chosen])
            if not len(rows):
                continue
            if len(excluded[block]) >= len(pool):
                return np.full(4, np.nan)
            ends = np.cumsum([len(of_unit[block]) for of_unit in chosen])
            if self.matched is None:
                reference, inverse = add_members(tally, pool, rows, excluded[block], corrected=not self.own_units)
                shifts = pool.rows[rows] - reference
            else:
                shifts = self.matched[block].shifts(rows, excluded[block])
                inverse = tally.add_shifts(shifts)
            for unit, (start, end) in enumerate(pairwise([0, *ends])):
                directions[unit] += inverse[start:end] @ shifts[start:end]
                counts[unit] += (inverse[start:end] > 0).sum()
        scores = tally.scores()
        scores[PAIR] = mean_cosine_over_units(directions.sum(axis=0), (directions**2).sum(axis=1), counts)
        return scores


def draws_of_units(
    rows: RowPieces,
    layout: GroupLayout,
    pools: list[Pool],
    matched: list[MatchedPool] | None,
    g: int,
    *,
    shuffled: bool,
) -> UnitDraws | str:
    """Find the units that may replace a group's units, or return the reason why there are none.

    Parameters
    ----------
    rows : RowPieces
    layout : Layout
    pools : list of Pool
        Controls of each block.
    matched : list of MatchedPool or None
        The same with nearest neighbours.
    g : int
        Code of the group.
    shuffled : bool
        Whether to draw from the group's own units as well.
    """
    assert layout.unit is not None
    members = np.flatnonzero(layout.group == g)
    own = np.unique(layout.unit[members])
    if len(own) < 2:
        return "its rows are of one unit (value of groups) only, and pairs within a unit do not count"
    if shuffled:
        numbers = [np.flatnonzero(np.isin(layout.group, (-1, g)) & (layout.block == b)) for b in range(layout.n_blocks)]
        pools = [build_pool(rows, of_block, len(of_block)) for of_block in numbers]
    units = np.unique(np.concatenate([layout.unit[pool.numbers] for pool in pools]))
    n_needed, n_free = len(own) + (not shuffled), len(units)
    if n_free < n_needed:
        return f"the controls must have more units (values of groups) than the group ({len(own)}), got {n_free}"
    places = [[np.flatnonzero(layout.unit[pool.numbers] == unit) for pool in pools] for unit in units]
    counts = np.stack(
        [np.bincount(layout.block[members[layout.unit[members] == u]], minlength=layout.n_blocks) for u in own]
    )
    occupied = np.array([[len(block) > 0 for block in of_unit] for of_unit in places])
    one_block = bool(((occupied.sum(axis=1) == 1).all()) and ((counts > 0).sum(axis=1) == 1).all())
    home, own_home = (
        (occupied.argmax(axis=1), counts.argmax(axis=1))
        if one_block
        else (np.zeros(n_free, int), np.zeros(len(own), int))
    )
    strata, sizes = [], []
    for stratum in np.unique(own_home):
        candidates = np.flatnonzero(home == stratum)
        slots = counts[own_home == stratum]
        if len(candidates) < len(slots) + (not shuffled):
            return f"a block has too few units (values of groups) of controls, {len(candidates)}"
        strata.append((candidates, len(slots)))
        sizes += list(slots[np.argsort(-slots.sum(axis=1), kind="stable")])
    own_units = frozenset(np.flatnonzero(np.isin(units, own)).tolist()) if shuffled else frozenset()
    return UnitDraws(pools, matched, places, sizes, strata=strata, own_units=own_units)


def large_groups_by_units(layout: GroupLayout) -> Mask:
    """Return which groups have more than a certain share of the number of control units."""
    assert layout.unit is not None
    pairs = np.unique(np.stack([layout.group, layout.unit]), axis=1)[0]
    n_units = np.bincount(pairs[pairs >= 0], minlength=layout.n_groups)
    return np.asarray(n_units > LARGE * (pairs == -1).sum())


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
    interrupted: bool = False
    """Whether Ctrl-C ended the draws early."""

    def extend(self, more: NullGroupScores) -> NullGroupScores:
        """Append further null groups."""
        scores = tuple(map(np.concatenate, zip(self.scores, more.scores, strict=True)))
        return replace(self, scores=scores, interrupted=more.interrupted)


_FEWEST_DRAWS = 19
"""Number of draws from which an answer is returned after Ctrl-C: p-values can be as small as 0.05."""
Chosen = list[Index]
"""Rows of a null group in each pool."""
Scorer = Callable[[Chosen], Vector]


def score_null_groups(
    rows: RowPieces, layout: GroupLayout, observed: GroupEvidence, *, null: str, k: int | None, draws: Draws
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
    draws : Draws
    """
    if layout.is_paired:
        return _collect(draws, lambda g: _flip_signs_of_units(observed, g, draws), "signs of units")
    if layout.unit is not None:
        return _unit_groups(rows, layout, draws, null=null, k=k)
    if null == "pooled":
        return _collect(draws, lambda g: _draw_pooled_groups(rows, layout, g, draws), "rows of controls and group")
    pools = _control_pools(rows, layout)
    if k is None:
        return _window_groups(rows, layout, pools, draws)
    matched, sizes = _build_matched_pools(pools, k, layout), layout.part_sizes()

    def score_group(g: int) -> tuple[NDArray[np.float64], str]:
        if reason := _too_many(sizes[g], pools):
            return np.empty((0, 4)), reason
        return _score_draws(pools, sizes[g], lambda chosen: score_null_group(matched, chosen), g, draws), ""

    return _collect(draws, score_group, "controls")


def _control_pools(rows: RowPieces, layout: GroupLayout) -> list[Pool]:
    controls, sizes = layout.controls, layout.part_sizes()
    block = layout.block[controls]
    return [build_pool(rows, controls[block == b], int(sizes[:, b].max())) for b in range(layout.n_blocks)]


def _flip_signs_of_units(observed: GroupEvidence, g: int, draws: Draws) -> tuple[NDArray[np.float64], str]:
    assert observed.units is not None
    if len(observed.units.units_in_group(g)) < 2:
        return np.empty((0, 4)), "its rows are of one unit (value of groups) only, and pairs within a unit do not count"
    signs = unit_signs(len(observed.units.units_in_group(g)), draws.most, np.random.default_rng([draws.seed, g]))
    signs = signs[draws.start : draws.stop] if len(signs) == draws.most else draws.part(signs)
    return observed.units.sign_flips(g, float(observed.squares[g]), int(observed.n[g]), signs), ""


def _unit_groups(rows: RowPieces, layout: GroupLayout, draws: Draws, *, null: str, k: int | None) -> NullGroupScores:
    """Draw null groups of whole units: of controls, or, for large groups, of controls and group."""
    pools = _control_pools(rows, layout)
    matched = None if k is None else _build_matched_pools(pools, k, layout)
    large = np.ones(layout.n_groups, dtype=bool) if null == "pooled" else large_groups_by_units(layout)
    large &= k is None

    def score_group(g: int) -> tuple[NDArray[np.float64], str]:
        units = draws_of_units(rows, layout, pools, matched, g, shuffled=bool(large[g]))
        return (np.empty((0, 4)), units) if isinstance(units, str) else (units.scores(draws, g), "")

    exchanged = "units of controls and group" if null == "pooled" else "units of controls"
    return _collect(draws, score_group, exchanged, None if null == "pooled" else large)


def _too_many(sizes: Index, pools: list[Pool]) -> str:
    """Return why no null group of this size can be drawn from the controls; empty if one can be."""
    for n, controls in zip(sizes, pools, strict=True):
        if n > len(controls) - FEWEST_CONTROLS:
            return (
                f"{len(controls)} controls are too few to draw null groups of {n} rows; use null='pooled', which draws "
                "from controls and group together"
            )
    return ""


def _window_groups(rows: RowPieces, layout: GroupLayout, pools: list[Pool], draws: Draws) -> NullGroupScores:
    sizes = layout.part_sizes()
    large = _large_groups(layout)
    none, interrupted = np.empty((0, 4)), False
    scores = [
        _draw_pooled_groups(rows, layout, g, draws)[0] if is_large and draws.groups[g] else none
        for g, is_large in enumerate(large)
    ]
    drawn = np.flatnonzero(~large)
    active = draws.groups[drawn]
    if active.any():
        found, interrupted = _draws(lambda rng: windows(pools, sizes[drawn], rng, active), draws)
        for place, g in enumerate(drawn[active]):
            every = _all_groups(pools[0], int(sizes[g, 0]), draws.most) if len(pools) == 1 else None
            scores[g] = found[:, place] if every is None else _score_all(every, pools, draws)
    return NullGroupScores(tuple(scores), ("",) * len(sizes), "controls", tuple(large.tolist()), interrupted)


def _score_all(every: list[Chosen], pools: list[Pool], draws: Draws, *, corrected: bool = True) -> NDArray[np.float64]:
    """Score all choices of rows."""
    scores = [members(pools, chosen, corrected=corrected) for chosen in draws.part(every)]
    return np.stack(scores) if scores else np.empty((0, 4))


def _large_groups(layout: GroupLayout) -> Mask:
    """Return which groups have so many rows in a block that null groups would leave too few controls.

    The correction for fewer reference rows changes the variance of a null group's shift, but not the mix of rows in it.
    In tests at 5 % with controls of several kinds, groups half as large as the controls were significant in 7 % of
    runs, and groups nearly as large as the controls in 12 %.
    """
    counts = np.bincount(layout.block[layout.controls], minlength=layout.n_blocks)
    return np.asarray((layout.part_sizes() > LARGE * counts).any(axis=1))


def _draws(score: Callable[[np.random.Generator], Matrix], draws: Draws) -> tuple[NDArray[np.float64], bool]:
    """Score each draw with its own random generator, so that results do not depend on threads.

    After Ctrl-C, the draws so far are returned, if their p-values can be significant, and True.
    """
    scores = parallel(lambda k: score(np.random.default_rng([draws.seed, k])), draws.numbers)
    fewest = max(0, _FEWEST_DRAWS - draws.start)
    found, interrupted = progress.collect(scores, len(draws.numbers), "draws", fewest=fewest)
    return np.stack(found) if found else np.empty((0, int(draws.groups.sum()), 4)), interrupted


def _collect(
    draws: Draws,
    score_group: Callable[[int], tuple[NDArray[np.float64], str]],
    exchanged: str,
    large: Mask | None = None,
) -> NullGroupScores:
    nothing = np.empty((0, 4)), ""
    tasks = (score_group(g) if active else nothing for g, active in enumerate(draws.groups.tolist()))
    results, interrupted = progress.collect(tasks, len(draws.groups), "groups", fewest=1)
    results += [(nothing[0], INTERRUPTED)] * (len(draws.groups) - len(results))
    scores, reasons = zip(*results, strict=True)
    return NullGroupScores(scores, reasons, exchanged, () if large is None else tuple(large.tolist()), interrupted)


def _build_matched_pools(pools: list[Pool], k: int, layout: GroupLayout) -> list[MatchedPool]:
    largest = layout.part_sizes().max(axis=0)
    return [MatchedPool.build(pool, k, int(n)) for pool, n in zip(pools, largest, strict=True)]


def _score_draws(pools: list[Pool], sizes: Index, score: Scorer, g: int, draws: Draws) -> NDArray[np.float64]:
    """Draw and score null groups of single rows."""

    def score_one(k: int) -> Vector:
        rng = np.random.default_rng([draws.seed, g, k])
        return score([rng.choice(len(pool), n, replace=False) for pool, n in zip(pools, sizes, strict=True)])

    return np.stack(list(parallel(score_one, draws.numbers)))


def _draw_pooled_groups(rows: RowPieces, layout: GroupLayout, g: int, draws: Draws) -> tuple[NDArray[np.float64], str]:
    """Draw null groups from controls and group together, which is exact if the group has no effect."""
    sizes = layout.part_sizes()[g]
    used = [b for b in range(layout.n_blocks) if sizes[b]]
    numbers = [np.flatnonzero(np.isin(layout.group, (-1, g)) & (layout.block == b)) for b in used]
    pools = [build_pool(rows, row_numbers, int(sizes[b])) for row_numbers, b in zip(numbers, used, strict=True)]
    every = _all_groups(pools[0], int(sizes[used[0]]), draws.most) if len(pools) == 1 else None
    if every is not None:
        members_of_group = np.flatnonzero(np.isin(pools[0].numbers, np.flatnonzero(layout.group == g)))
        others = [chosen for chosen in every if not np.array_equal(chosen[0], members_of_group)]
        return _score_all(others, pools, draws, corrected=False), ""

    return _score_draws(pools, sizes[used], lambda chosen: members(pools, chosen, corrected=False), g, draws), ""


def _all_groups(pool: Pool, n: int, n_draws: int) -> list[Chosen] | None:
    """Return all null groups of n rows from a pool, if there are no more than requested."""
    if comb(len(pool), n) > n_draws + 1:
        return None
    return [[np.array(chosen)] for chosen in combinations(range(len(pool)), n)]
