"""Null groups of whole units, such as guides, drawn from the controls or from controls and group."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, pairwise, product
from math import comb, prod

import numpy as np
from numpy.typing import NDArray

from shesha.coherence.chunked_matrix import RowPieces
from shesha.coherence.control_pool import Pool, build_pool
from shesha.coherence.nearest_controls import MatchedPool
from shesha.coherence.null_group_sums import Tally, add_members
from shesha.coherence.row_roles import LARGE, Layout
from shesha.coherence.unit_pairs import PAIR, between_units
from shesha.kernels.threads import parallel
from shesha.support.types import Index, Mask, Vector

_NOWHERE: Index = np.empty(0, dtype=np.intp)


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

    def scores(self, n_draws: int, seed: tuple[int, ...]) -> NDArray[np.float64]:
        """Score all choices of units if there are at most `n_draws` of them, otherwise random choices."""
        ways = list(self._all_choices()) if self.n_choices <= n_draws else None

        def score_one(k: int) -> Vector:
            rng = np.random.default_rng([*seed, k])
            return self._score(self._random_choice(rng) if ways is None else ways[k], rng)

        n = n_draws if ways is None else len(ways)
        return np.stack(list(parallel(score_one, range(n)))) if n else np.empty((0, 4))

    def _all_choices(self) -> Iterator[list[Index]]:
        of_strata = ([np.array(units) for units in combinations(candidates, n)] for candidates, n in self.strata)
        for choice in product(*of_strata):
            if frozenset(np.concatenate(choice).tolist()) != self.own_units:
                yield list(choice)

    def _random_choice(self, rng: np.random.Generator) -> list[Index]:
        return [rng.choice(candidates, n, replace=False) for candidates, n in self.strata]

    def _score(self, choice: list[Index], rng: np.random.Generator) -> Vector:
        """Score the null group of some units, cut to the sizes of the group's units."""
        chosen: list[list[Index]] = []
        for units in choice:
            slots = self.sizes[len(chosen) : len(chosen) + len(units)]
            most = int(slots[0].sum())
            # Units with fewer rows than the group's largest unit take the places of its smaller units.
            order = sorted(rng.permutation(units), key=lambda unit: -min(self._n_rows(unit), most))
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

    def _n_rows(self, unit: int) -> int:
        return sum(map(len, self.places[unit]))

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
        scores[PAIR] = between_units(directions.sum(axis=0), (directions**2).sum(axis=1), counts)
        return scores


def draws_of_units(
    rows: RowPieces, layout: Layout, pools: list[Pool], matched: list[MatchedPool] | None, g: int, *, shuffled: bool
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
    return UnitDraws(pools, matched, places, sizes, strata, own_units)


def large_groups_by_units(layout: Layout) -> Mask:
    """Return which groups have more than a certain share of the number of control units."""
    assert layout.unit is not None
    pairs = np.unique(np.stack([layout.group, layout.unit]), axis=1)[0]
    n_units = np.bincount(pairs[pairs >= 0], minlength=layout.n_groups)
    return np.asarray(n_units > LARGE * (pairs == -1).sum())
