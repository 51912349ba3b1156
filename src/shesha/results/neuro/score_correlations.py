"""The result of correlating the scores of brain areas with another variable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shesha.report import page_width, wrap
from shesha.results.base import Result

if TYPE_CHECKING:
    pass


@dataclass(frozen=True)
class Association(Result):
    """Rank correlation between two columns of a table of sessions whose lines are clustered."""

    first: str
    second: str
    covariates: tuple[str, ...]
    """Columns that are controlled for."""
    value: float
    low: float
    high: float
    p_value: float
    """p-value from Student's t with as many units as there are clusters; `naive_p` treats lines as independent."""
    naive_p: float
    n: int
    n_clusters: int
    clusters: str
    confidence: float

    def _text(self) -> str:
        """Return a text with the correlation and its interval."""
        controls = f", controlling for {' and '.join(self.covariates)}" if self.covariates else ""
        text = (
            f"{self.first} and {self.second}{controls}: rho = {self.value:+.3f} [{self.low:+.2f}, {self.high:+.2f}], p "
            f"= {self.p_value:.2g} over {self.n_clusters} {self.clusters}s ({self.n} lines; p = {self.naive_p:.2g} if "
            "they were independent)"
        )
        return "\n".join(wrap(text, page_width()))
