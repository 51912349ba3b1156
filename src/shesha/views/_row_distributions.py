"""Views that do not depend on the order of the rows: spectrum and random projections."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shesha.inputs import validation as check
from shesha.kernels.spectrum import centred_variances
from shesha.support.seeds import generator
from shesha.support.types import Index, Matrix, Seed, Vector
from shesha.support.warnings import NotEstimable
from shesha.views._features import Features
from shesha.views.representation import Representation, View


@dataclass(frozen=True)
class Spectrum(View):
    """Squared singular values of the centred rows, largest first, as shares of their sum."""

    variances: Vector

    @classmethod
    def build(cls, source: Representation) -> Spectrum:
        """Compute the spectrum."""
        variances = centred_variances(source.rows)
        if not variances.any():
            raise NotEstimable("all rows are equal")
        return cls(variances)

    @classmethod
    def memory(cls, n: int, d: int, **options: Any) -> tuple[int, int]:
        """The features, and a square of the shorter side."""
        return 24 * n * d, 16 * n * d + 24 * min(n, d) ** 2

    def permute(self, order: Index) -> Spectrum:
        """The order of the rows does not matter."""
        return self


@dataclass(frozen=True)
class Projections(View):
    """The rows projected on random unit directions, each projection sorted."""

    values: Matrix
    """One line per direction."""
    n_features: int

    @classmethod
    def build(cls, source: Representation, *, n_projections: int = 100, seed: Seed = None) -> Projections:
        """Draw the directions from the seed and the number of features alone."""
        count = check.count(n_projections, "n_projections")
        features = source.view(Features)
        d = features.rows.shape[1]
        directions = generator(seed).standard_normal((d, count))
        directions /= np.linalg.norm(directions, axis=0)
        values = (features.rows @ directions).T * features.unit
        return cls(np.sort(values, axis=1), d)

    def permute(self, order: Index) -> Projections:
        """The order of the rows does not matter."""
        return self
