"""Random rows in place of all rows, for scores that need more rows than fit in memory."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from shesha.nulls.restricted_permutations import Exchange
from shesha.results import Estimate
from shesha.support import memory
from shesha.support.seeds import spawn
from shesha.support.types import Array, Seed
from shesha.views import Rows

_PURPOSE = 7
"""Key of a separate stream of random numbers, so that other draws do not change."""
_SHARE = 64
"""Bytes of the budget per value of a sampled row: for the row, its distances from classes, and resamples."""


@dataclass(frozen=True)
class RowSample:
    """Some rows with their labels and their design."""

    rows: Rows
    labels: Array
    exchange: Exchange | None
    note: str

    @classmethod
    def draw(cls, rows: Rows, labels: Array, exchange: Exchange | None, seed: Seed) -> RowSample:
        """Draw as many rows as fit the memory, without repetition, in their order."""
        n, d = rows.shape
        size = min(n, max(4, memory.memory_budget() // (_SHARE * d)))
        chosen = np.sort(spawn(seed, _PURPOSE).choice(n, size, replace=False))
        return cls(
            rows.take(chosen),
            labels[chosen],
            None if exchange is None else exchange.take(chosen),
            f"{size:,} of {n:,} rows, drawn at random, were used, because not all rows fit the memory budget. Value, "
            "interval and chance level refer to this number of rows; the interval includes the sampling error",
        )

    def describe(self, estimate: Estimate) -> Estimate:
        """Add a note on the sample to an estimate."""
        return replace(estimate, warnings=(*estimate.warnings, self.note))
