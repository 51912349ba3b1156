"""Intrinsic dimension over scale: a curve with its errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shesha.report import columns
from shesha.results import sentence_parts as say
from shesha.results.base import Result
from shesha.results.citation_sources import add_source
from shesha.results.paper_sentences import claim
from shesha.support.plurals import count

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_BEWARE = (
    "Estimators of intrinsic dimension do not agree with one another, and each depends on the number of rows and on "
    "the scale. A single number is therefore not a property of the data. Compare curves of this one estimator, with "
    "equal numbers of rows, and use the parts in which they are flat."
)


@dataclass(frozen=True)
class DimensionCurve(Result):
    """Intrinsic dimension at growing distances between rows, by Gride."""

    ALIGNED = (("ranks", "dimensions", "errors", "distances"),)

    ranks: tuple[int, ...]
    """Rank of the nearer of the two compared neighbours; the farther neighbour has twice this rank."""
    dimensions: tuple[float, ...]
    errors: tuple[float, ...]
    """Standard errors over samples of rows, estimated from random halves of the rows."""
    distances: tuple[float, ...]
    """Mean distance to the two neighbours, which defines the scale."""
    n_samples: int
    """Number of distinct rows."""
    n_repeated: int
    """Number of rows left out because they repeat another row."""
    n_splits: int

    @property
    def headline(self) -> str:
        """The dimension at the smallest scale and at the largest."""
        first, last = self.dimensions[0], self.dimensions[-1]
        return (
            f"The dimension is {first:.2f} at the smallest scale and {last:.2f} at the largest "
            f"({len(self.ranks)} scales)."
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per scale."""
        import pandas as pd

        return pd.DataFrame(
            {"rank": self.ranks, "distance": self.distances, "dimension": self.dimensions, "error": self.errors}
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the dimension against the distance, with a band of two standard errors.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on. Default: axes of a new figure.

        Returns
        -------
        matplotlib Axes
            The axes with the curve.
        """
        from shesha.charts import curves

        labels = ("mean distance between neighbours", "intrinsic dimension")
        ax = curves(self.distances, {"estimate, with two standard errors": self.dimensions}, labels=labels, ax=ax)
        dimensions, errors = np.array(self.dimensions), np.array(self.errors)
        ax.fill_between(self.distances, dimensions - 2 * errors, dimensions + 2 * errors, alpha=0.2, linewidth=0)
        ax.set_xscale("log")
        ax.set_ylim(bottom=0)
        return ax

    def __str__(self) -> str:
        """Print one line per scale, and the limits of the interpretation."""
        rows = [["neighbours", "distance", "dimension", "std. error"]]
        for rank, distance, value, error in zip(self.ranks, self.distances, self.dimensions, self.errors, strict=True):
            rows.append([f"{rank} and {2 * rank}", f"{distance:.4g}", f"{value:.2f}", f"{error:.2f}"])
        left_out = f" ({count(self.n_repeated, 'repeated row')} left out)" if self.n_repeated else ""
        head = f"Intrinsic dimension over scale, {self.n_samples:,} rows{left_out}"
        return "\n".join([head, *(f"  {line}" for line in columns(rows, "<>>>")), _BEWARE])


@claim.register
def _claim(result: DimensionCurve) -> str:
    lines = zip(result.dimensions, result.errors, result.ranks, strict=True)
    scales = [f"{value:.2f} +- {error:.2f} at neighbours {rank} and {2 * rank}" for value, error, rank in lines]
    return (
        f"{add_source('intrinsic_dimension', 'Intrinsic dimension')} by Gride over "
        f"{result.n_samples:,} rows was {say.join_clauses(scales, 'more scales')} (errors from "
        f"{say.count(result.n_splits, 'random halving')})"
    )
