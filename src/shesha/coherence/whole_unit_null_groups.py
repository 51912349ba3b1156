"""Null groups of whole units, such as guides, drawn from the controls or from controls and group."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from shesha.coherence.chunked_matrix import RowPieces
from shesha.coherence.control_pool import Pool, build_pool
from shesha.coherence.null_group_sums import members
from shesha.coherence.row_roles import LARGE, Layout
from shesha.kernels.threads import parallel
from shesha.support.types import Index, Mask, Vector

Chosen = tuple[list[Index], list[Index]]
"""Rows of a null group in each pool, and the rows that are excluded from its controls."""
Scorer = Callable[[list[Index], list[Index]], Vector]


@dataclass(frozen=True)
class UnitDraws:
    """For each block, the sizes of the group's units (largest first) and the units that may replace them."""

    pools: list[Pool]
    sizes: list[Index]
    places: list[list[Index]]
    """For each block, the rows of each unit, as indices in the pool of this block."""
    group_units: list[frozenset[int]]
    """For each block, the indices of the group's own units, if labels are shuffled."""
    reason: str = ""

    @property
    def may_draw_own_units(self) -> bool:
        """Whether the group's own units may be drawn."""
        return any(self.group_units)

    def scores(self, of_controls: Scorer, n_draws: int, seed: tuple[int, ...]) -> tuple[NDArray[np.float64], str]:
        """Score all choices of units if there are at most `n_draws` of them, otherwise random choices."""
        if self.reason:
            return np.empty((0, 4)), self.reason
        ways = self._unit_choices(n_draws)
        score = self._score_among_others if self.may_draw_own_units else of_controls

        def score_one(k: int) -> Vector:
            rng = np.random.default_rng([*seed, k])
            return score(*self._draw(rng, None if ways is None else ways[k]))

        return np.stack(list(parallel(score_one, range(n_draws if ways is None else len(ways))))), ""

    def _score_among_others(self, chosen: list[Index], excluded: list[Index]) -> Vector:
        # After the group's shift is removed, M units have only (M - 2) / (M - 1) of their variance left.
        m = [len(unit_rows) for unit_rows in self.places]
        return members(
            self.pools, chosen, excluded, corrected=False, stretches=[np.sqrt((n - 1) / max(n - 2, 1)) for n in m]
        )

    def _unit_choices(self, n_draws: int) -> list[Index] | None:
        """Return all choices of units except the observed one, if there is one block and few choices."""
        n, n_units = len(self.sizes[0]), len(self.places[0])
        if len(self.pools) > 1 or comb(n_units, n) > n_draws + self.may_draw_own_units:
            return None
        return [np.array(units) for units in combinations(range(n_units), n) if frozenset(units) != self.group_units[0]]

    def _draw(self, rng: np.random.Generator, units: Index | None) -> Chosen:
        chosen, excluded = [], []
        for sizes, places in zip(self.sizes, self.places, strict=True):
            picked = rng.choice(len(places), len(sizes), replace=False) if units is None else units
            rows = [places[u] for u in rng.permutation(picked)]
            # Units with fewer rows than the group's largest unit take the places of its smaller units.
            rows.sort(key=lambda unit_rows: -min(len(unit_rows), int(sizes[0])))
            cut = [
                rng.choice(unit_rows, min(n, len(unit_rows)), replace=False)
                for unit_rows, n in zip(rows, sizes, strict=True)
            ]
            chosen.append(np.concatenate([np.empty(0, dtype=np.intp), *cut]))
            excluded.append(np.concatenate([np.empty(0, dtype=np.intp), *rows]))
        return chosen, excluded


def draws_of_units(rows: RowPieces, layout: Layout, pools: list[Pool], g: int, *, shuffled: bool) -> UnitDraws:
    """Find the units that may replace a group's units, to be cut to the same sizes.

    Parameters
    ----------
    rows : RowPieces
    layout : Layout
    pools : list of Pool
        Controls of each block.
    g : int
        Code of the group.
    shuffled : bool
        Whether to also draw from the group itself, after its mean shift is removed.
    """
    assert layout.unit is not None
    sizes: list[Index] = []
    places: list[list[Index]] = []
    own_units: list[frozenset[int]] = []
    for block, controls in enumerate(pools):
        units = layout.unit[(layout.group == g) & (layout.block == block)]
        names, counts = np.unique(units, return_counts=True)
        n_units = len(np.unique(layout.unit[controls.numbers]))
        if len(names) and len(names) >= n_units:
            reason = f"the controls must have more units than the group ({len(names)}), got {n_units}"
            return UnitDraws(pools, [], [], [], reason)
        if shuffled and len(names):
            pools = [*pools[:block], _pooled_units(rows, layout, g, block), *pools[block + 1 :]]
        unit = layout.unit[pools[block].numbers]
        codes = np.unique(unit)
        sizes.append(np.sort(counts)[::-1])
        places.append([np.flatnonzero(unit == code) for code in codes])
        own_units.append(frozenset(np.flatnonzero(np.isin(codes, names)).tolist()))
    return UnitDraws(pools, sizes, places, own_units)


def _pooled_units(rows: RowPieces, layout: Layout, g: int, block: int) -> Pool:
    """Return the rows of controls and group, after the group is shifted to the mean of the controls."""
    numbers = np.flatnonzero(np.isin(layout.group, (-1, g)) & (layout.block == block))
    both = build_pool(rows, numbers, int((layout.group[numbers] == g).sum()))
    return both.remove_shift(layout.group[both.numbers] == g)


def large_groups_by_units(layout: Layout) -> Mask:
    """Return which groups have, in a block, more than a certain share of the number of control units."""
    assert layout.unit is not None
    is_large = np.zeros(layout.n_groups, dtype=bool)
    for block in range(layout.n_blocks):
        here = layout.block == block
        group = np.unique(np.stack([layout.group[here], layout.unit[here]]), axis=1)[0]
        n_units = np.bincount(group[group >= 0], minlength=layout.n_groups)
        is_large |= n_units > LARGE * (group == -1).sum()
    return is_large
