"""Rank correlations between columns of a table, whose rows may depend on one another."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shesha.results import sentence_parts as say
from shesha.results.number import NAN, Number
from shesha.support.wording import count

if TYPE_CHECKING:
    pass


@dataclass(frozen=True, kw_only=True)
class Correlation(Number):
    """Spearman's correlation between two columns of a table, or the partial one that controls for others."""

    first: str = ""
    second: str = ""
    covariates: tuple[str, ...] = ()
    """Columns whose ranks were regressed out of the ranks of both."""
    raw: Correlation | None = None
    """The correlation without control for the covariates, if it was computed as well."""
    unit: str = "row"
    """What is treated as independent, such as a session; resampled and permuted as a whole."""
    n_units: int = 0
    naive_p: float = NAN
    """p-value if the rows were independent."""
    chance_low: float = NAN
    """Lower end of the interval that contains the central 95 % of the null correlations."""
    chance_high: float = NAN

    def _further_lines(self) -> Iterable[str]:
        """Yield what was controlled for, the units, and the null interval."""
        if self.covariates:
            yield controls(self.covariates).removeprefix(", ")
        if self.n_units:
            naive = "" if self.naive_p != self.naive_p else f" (p = {self.naive_p:.2g} if these were independent)"
            rows = "" if self.n_rows == self.n_units else f", {count(self.n_rows, 'row')}"
            yield f"{count(self.n_units, self.unit)}{rows}{naive}"
        if self.chance_low == self.chance_low:
            yield f"95 % of the null correlations are between {self.chance_low:.2f} and {self.chance_high:.2f}"

    def _claim(self) -> str:
        rows = "" if self.n_rows == self.n_units else f" ({count(self.n_rows, 'row')})"
        subject = f"Spearman's correlation between {self.first} and {self.second}{controls(self.covariates)}"
        return say.statement(self, subject, f"{count(self.n_units, self.unit)}{rows}")


def controls(covariates: Sequence[str]) -> str:
    """Return which columns are controlled for, as a clause."""
    return f", controlling for {' and '.join(covariates)}" if covariates else ""
