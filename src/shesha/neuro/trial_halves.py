"""Two halves of the trials: odd and even, drawn at random, or made of blocks."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Literal, get_args

import numpy as np

from shesha.inputs import validation as check
from shesha.support.seeds import generator
from shesha.support.types import Index, Mask, Seed

How = Literal["odd-even", "random", "blocks"]
HOWS: tuple[How, ...] = get_args(How)


@dataclass(frozen=True, eq=False)
class Halves:
    """Divisions of the trials into two halves, as units of trials and the units in the first half."""

    how: How
    unit: Index
    """Code for the unit to which each trial belongs."""
    first: Mask
    """Whether each unit is in the first half, of shape (n_splits, n_units)."""
    text: str

    @property
    def masks(self) -> Mask:
        """Whether each trial is in the first half, of shape (n_splits, n_trials)."""
        masks: Mask = self.first[:, self.unit]
        return masks

    @classmethod
    def build(cls, n_trials: int, how: How, n_splits: int, n_blocks: int, seed: Seed) -> Halves:
        """Check the options, and divide the trials."""
        check.choice(how, HOWS, "how")
        n_splits = check.count(n_splits, "n_splits")
        n_blocks = check.count(n_blocks, "n_blocks", minimum=2)
        n_trials = check.count(n_trials, "n_trials")
        if n_trials < 4:
            raise ValueError(f"n_trials must be at least 4, got {n_trials}")
        if how == "odd-even":
            return cls(how, np.arange(n_trials) % 2, np.array([[True, False]]), "odd and even trials")
        if how == "random":
            first = _random_halves(n_trials, n_splits, generator(seed))
            return cls(how, np.arange(n_trials), first, f"random halves, {n_splits} times")
        if n_blocks > n_trials:
            raise ValueError(f"n_blocks must be at most the number of trials ({n_trials}), got {n_blocks}")
        first = _halves_of_blocks(n_blocks, n_splits, generator(seed))
        text = "first and second half of the session" if n_blocks == 2 else f"halves of {n_blocks} blocks"
        return cls(how, np.arange(n_trials) * n_blocks // n_trials, first, text)


def _random_halves(n_trials: int, n_splits: int, rng: np.random.Generator) -> Mask:
    first = np.zeros((n_splits, n_trials), dtype=bool)
    for line in first:
        line[rng.permutation(n_trials)[: (n_trials + 1) // 2]] = True
    return first


def _halves_of_blocks(n_blocks: int, n_splits: int, rng: np.random.Generator) -> Mask:
    """Choose half of the blocks, in all ways or at random; block 0 is fixed if their number is even."""
    size = n_blocks // 2
    # With an even number of blocks, every split would occur twice unless the first block were fixed.
    fixed = n_blocks % 2 == 0
    n_ways = comb(n_blocks - fixed, size - fixed)
    rest = np.arange(int(fixed), n_blocks)
    if n_ways <= n_splits:
        chosen = [list(subset) for subset in combinations(rest.tolist(), size - fixed)]
    else:
        chosen = [rng.permutation(rest)[: size - fixed].tolist() for _ in range(n_splits)]
    first = np.zeros((len(chosen), n_blocks), dtype=bool)
    for line, blocks in zip(first, chosen, strict=True):
        line[[0, *blocks] if fixed else blocks] = True
    return first
