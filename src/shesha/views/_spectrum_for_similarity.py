"""The spectrum of the centred rows, which does not depend on the order of the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shesha.kernels.spectrum import centred_variances
from shesha.support.types import Index, Vector
from shesha.support.warnings import NotEstimable
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
        """Memory for the features, and for a square matrix whose size is the smaller dimension."""
        return 24 * n * d, 16 * n * d + 24 * min(n, d) ** 2

    def permute(self, order: Index) -> Spectrum:
        """Return this view, because the order of the rows does not matter."""
        return self
