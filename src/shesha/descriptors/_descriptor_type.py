"""A descriptor with its declared and tested properties."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from shesha.kernels.threads import single_threaded_blas
from shesha.moments import SummedRepresentation
from shesha.views import Representation, Rows, rows_or_distances
from shesha.views.one_view_score import ViewScore

Data = ArrayLike | Representation | Rows | SummedRepresentation


@dataclass(frozen=True)
class Descriptor(ViewScore):
    """A number that describes one representation, with its declared properties, which tests verify."""

    @property
    def options(self) -> dict[str, Any]:
        """The options of the function and their defaults."""
        parameters = inspect.signature(self.function).parameters.values()
        return {
            parameter.name: parameter.default for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY
        }

    def check_data(self, X: Data) -> Rows:
        """Check the representation; values are checked when they are read."""
        rows = rows_or_distances(X, min_rows=2)
        if not isinstance(rows, Rows):
            raise TypeError(f"X must be features for {self.name}, got distances between rows")
        return rows

    def build(self, source: Rows | SummedRepresentation, **options: Any) -> float:
        """Compute the descriptor from checked data; raise NotEstimable with a reason if this is impossible."""
        with single_threaded_blas():
            return self.number(source.view(self.view), **options)
