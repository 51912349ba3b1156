"""The noise floor of a change: re-encodings, or Gaussian noise of 1 % if there are none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from shesha.changes.layer_sources import Side
from shesha.support.plurals import count
from shesha.views import Representation

SHARE = 0.01
"""Noise relative to each row's standard deviation; half precision adds 0.9 % to MiniLM's last layer."""
DRAWS = 3
_NOISE = 21


@dataclass(frozen=True)
class NoiseFloor:
    """Encodings that differ only by noise.

    Attributes
    ----------
    again : sequence of mappings of layers
        Further encodings of the same inputs by the unchanged model.
    also : sequence of mappings of layers
        Encodings by further runs of the same change, such as trainings with other seeds.
    """

    again: Sequence[Side]
    also: Sequence[Side]

    @property
    def source(self) -> str:
        """Description of where the noise floor comes from."""
        parts = []
        if self.again:
            parts.append(f"{count(len(self.again), 're-encoding')}")
        if self.also:
            n = len(self.also) + 1
            parts.append(f"{n} runs of the same change, compared with each other")
        return " and ".join(parts) or "noise of 1 % in every row"

    def count(self) -> int:
        """Return the number of pairs that differ only by noise."""
        runs = len(self.also) + 1
        return len(self.again) + runs * (runs - 1) // 2 if self.again or self.also else DRAWS

    def pairs(
        self, name: str, before: Representation, after: Representation
    ) -> tuple[tuple[Representation, Representation], ...]:
        """Return the pairs of encodings of one layer that differ only by noise, with rows in the same order."""
        if not (self.again or self.also):
            return tuple((before, add_noise(before, np.random.default_rng([_NOISE, draw]))) for draw in range(DRAWS))
        runs = [after, *(side[name] for side in self.also)]
        return (*((before, side[name]) for side in self.again), *combinations(runs, 2))


def add_noise(one: Representation, rng: np.random.Generator, share: float = SHARE) -> Representation:
    """Return the representation plus Gaussian noise, scaled by each row's standard deviation."""
    rows = one.to_numpy.rows
    spread = rows.std(axis=1, keepdims=True)
    return Representation(rows + share * spread * rng.standard_normal(rows.shape), one.precision)
