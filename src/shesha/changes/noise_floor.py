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
"""Noise relative to each feature's standard deviation; half precision adds 0.9 % to MiniLM's last layer."""
DRAWS = 3
REENCODED, RERUN, SIMULATED = "re-encodings", "further runs", "simulated noise"
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
        return " and ".join(parts) or f"simulated noise of {SHARE:.0%} in every feature"

    def count(self) -> int:
        """Return the number of pairs that differ only by noise."""
        runs = len(self.also) + 1
        return len(self.again) + runs * (runs - 1) // 2 if self.again or self.also else DRAWS

    def pairs(
        self, name: str, before: Representation, after: Representation
    ) -> tuple[tuple[str, tuple[Representation, Representation]], ...]:
        """Return the pairs of encodings of one layer that differ only by noise, each with its kind of noise."""
        if not (self.again or self.also):
            # A side in half precision has rounding errors of its own, which grow with a common offset.
            rounding = max(before.precision, after.precision) / 2
            draws = (np.random.default_rng([_NOISE, draw]) for draw in range(DRAWS))
            return tuple((SIMULATED, (before, add_noise(before, rng, rounding=rounding))) for rng in draws)
        runs = combinations([after, *(side[name] for side in self.also)], 2)
        return (
            *((REENCODED, (before, side[name])) for side in self.again),
            *((RERUN, pair) for pair in runs),
        )


def add_noise(
    one: Representation, rng: np.random.Generator, share: float = SHARE, rounding: float = 0.0
) -> Representation:
    """Return the representation plus Gaussian noise, scaled by the standard deviation of each feature.

    A common offset of the rows enters only the rounding error, relative to each number. Noise that is proportional to
    the offset would hide a change of everything else.
    """
    rows = one.to_numpy.rows
    spread = np.hypot(share * rows.std(axis=0), rounding * np.abs(rows))
    return Representation(rows + spread * rng.standard_normal(rows.shape), one.precision)
