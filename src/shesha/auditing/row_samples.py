"""Draw a random sample of rows for scores that would need more memory for all rows."""

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
"""Key of a separate random stream, so that this sample does not change any other random draws."""
_SHARE = 64
"""Bytes budgeted per entry of a sampled row: the entry itself, distances to classes, and resamples."""


@dataclass(frozen=True)
class RowSample:
    """A sample of rows with their labels and exchange design."""

    rows: Rows
    labels: Array
    exchange: Exchange | None
    note: str

    @classmethod
    def draw(cls, rows: Rows, labels: Array, exchange: Exchange | None, seed: Seed) -> RowSample:
        """Draw as many rows as fit in memory, without replacement, and keep their original order."""
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
        """Add a note about the sample to an estimate."""
        return replace(estimate, warnings=(*estimate.warnings, self.note))
