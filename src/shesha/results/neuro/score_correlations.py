"""Result of correlating scores of brain areas with another variable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shesha.report import page_width, wrap
from shesha.results.base import Result

if TYPE_CHECKING:
    pass


@dataclass(frozen=True)
class Association(Result):
    """Rank correlation of two columns of a table of sessions with clustered lines."""

    first: str
    second: str
    covariates: tuple[str, ...]
    """Columns that are controlled for."""
    value: float
    low: float
    high: float
    p_value: float
    """p-value from Student's t over clusters; `naive_p` is the p-value for independent lines."""
    naive_p: float
    n: int
    n_clusters: int
    clusters: str
    confidence: float

    def __str__(self) -> str:
        """Print the correlation with its interval."""
        controls = f", controlling for {' and '.join(self.covariates)}" if self.covariates else ""
        text = (
            f"{self.first} and {self.second}{controls}: rho = {self.value:+.3f} [{self.low:+.2f}, {self.high:+.2f}], p "
            f"= {self.p_value:.2g} over {self.n_clusters} {self.clusters}s ({self.n} lines; p = {self.naive_p:.2g} if "
            "they were independent)"
        )
        return "\n".join(wrap(text, page_width()))
