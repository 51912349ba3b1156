"""Seeded random projections of wide layers, so that the sums for many pairs of layers fit in memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shesha.inputs import validation as check
from shesha.support.device_arrays import convert_like, doubles, is_numpy, stays
from shesha.support.seeds import draw_seed
from shesha.support.types import Matrix, Seed

FEWEST_DIRECTIONS = 32
"""Smallest number of directions. The error is estimated by leaving out groups of directions."""


@dataclass(frozen=True)
class RandomProjection:
    """Random normal directions, drawn separately for each model; inner products are right on average."""

    n_directions: int
    seed: int
    _matrices: dict[tuple[int, int], Matrix] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def build(cls, project: int | None, seed: Seed) -> RandomProjection | None:
        """Check the requested number of directions, and draw the seed; None means no projection."""
        if project is None:
            return None
        return cls(check.count(project, "project", minimum=FEWEST_DIRECTIONS), draw_seed(seed))

    def applies(self, width: int) -> bool:
        """Whether a layer has more features than there are directions."""
        return width > self.n_directions

    def width(self, width: int) -> int:
        """Number of columns that a layer of this width has after projection."""
        return min(width, self.n_directions)

    def project(self, rows: Any, model: int) -> Any:
        """Project the rows of a layer of the first (0) or second (1) model; narrow layers are returned as is."""
        if not self.applies(int(rows.shape[1])):
            return rows
        directions = self._directions(model, int(rows.shape[1]))
        if hasattr(rows, "toarray"):
            return np.asarray(rows @ directions)
        if is_numpy(rows) or not stays(rows):
            return np.asarray(rows, dtype=np.float64) @ directions
        return doubles(rows) @ convert_like(directions, rows)

    def _directions(self, model: int, width: int) -> Matrix:
        """Return the directions shared by all layers of this width in one model."""
        if (model, width) not in self._matrices:
            rng = np.random.default_rng([self.seed, model, width])
            drawn = rng.standard_normal((width, self.n_directions)) / np.sqrt(self.n_directions)
            self._matrices[model, width] = drawn
        return self._matrices[model, width]
