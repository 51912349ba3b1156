"""Projections of the rows onto random directions, sorted so that the order of the rows is lost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shesha.inputs import validation as check
from shesha.support.seeds import generator
from shesha.support.types import Index, Matrix, Seed
from shesha.views._features import Features
from shesha.views.representation import Representation, View


@dataclass(frozen=True)
class Projections(View):
    """The rows projected onto random unit directions, with each projection sorted."""

    values: Matrix
    """Sorted projections, with one line per direction."""
    n_features: int

    @classmethod
    def build(cls, source: Representation, *, n_projections: int = 100, seed: Seed = None) -> Projections:
        """Draw the directions from the seed and the number of features, so that they are the same for all."""
        count = check.count(n_projections, "n_projections")
        features = source.view(Features)
        d = features.rows.shape[1]
        directions = generator(seed).standard_normal((d, count))
        directions /= np.linalg.norm(directions, axis=0)
        values = (features.rows @ directions).T * features.unit
        return cls(np.sort(values, axis=1), d)

    def permute(self, order: Index) -> Projections:
        """Return this view, because the order of the rows does not matter."""
        return self
