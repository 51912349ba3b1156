"""How the units of two representations match one to one, compared with chance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shesha.report import Part, Table, Text
from shesha.results.base import draws_axes, reaches_level
from shesha.results.number import Number, numeral, numeral_of_p
from shesha.support.draw_counts import undecided
from shesha.support.wording import agree

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_SHOWN = 10


@dataclass(frozen=True, kw_only=True)
class UnitMatching(Number):
    """Matched units of two representations, best match first, and how many matches are above chance."""

    ALIGNED = (("first", "second", "correlations", "p_values", "corrected_p_values"),)

    value: float
    """Sum of the correlations between matched units, divided by the number of units in the narrower representation."""
    first: tuple[int, ...]
    """Columns of X that were matched, sorted by decreasing correlation."""
    second: tuple[int, ...]
    """Columns of Y that are matched with those in `first`."""
    correlations: tuple[float, ...]
    p_values: tuple[float, ...]
    """p-value of each match: when rows are permuted, the share of units with similar activity whose correlation is at
    least as large."""
    corrected_p_values: tuple[float, ...]
    """p-values corrected for the number of units (Benjamini and Hochberg)."""
    widths: tuple[int, int]
    n_candidates: int
    n_needed: int = 0
    """Number of permutations that a single match among all units needs to be significant after correction."""

    @property
    def headline(self) -> str:
        """How many units have a match above chance, or that the permutations are too few to decide."""
        narrower, rate = min(self.widths), f"false discovery rate {100 * self.alpha:g} %"
        if self.undecided:
            return f"Whether any of {narrower:,} units has a match above chance ({rate}) {self.undecided}."
        verb = agree(self.n_matched, "has", "have")
        return f"{self.n_matched:,} of {narrower:,} units {verb} a match above chance ({rate})."

    @property
    def undecided(self) -> str:
        """Why no match could be significant: too few permutations for the number of units; empty if one could."""
        # A chance level is that of many units, so fewer permutations are needed than for tests with draws of their own.
        if self.n_draws >= self.n_needed:
            return ""
        text = undecided(self.p_values, self.corrected_p_values, 0, self.alpha)
        return text and f"cannot be decided with {self.n_draws:,} permutations: at least {self.n_needed:,}"

    @property
    def n_matched(self) -> int:
        """Number of matches above chance, at a false discovery rate of at most alpha."""
        return sum(reaches_level(p, self.alpha) for p in self.corrected_p_values)

    def _frame(self, *, full: bool) -> pd.DataFrame:
        """Return one row per matched pair of units."""
        import pandas as pd

        names = ("first", "second", "value", "p_value", "corrected_p_value")
        values = (self.first, self.second, self.correlations, self.p_values, self.corrected_p_values)
        return pd.DataFrame(dict(zip(names, values, strict=True)))

    @draws_axes
    def plot(self, ax: Axes | None = None, *, title: str | None = None) -> Axes:
        """Draw the null distribution with the observed value and the threshold."""
        from shesha.charts import null_distribution

        label = "mean correlation of matched units"
        return null_distribution(self.null, self.value, self.threshold, label=label, ax=ax)

    def _numbers(self) -> tuple[Part, ...]:
        """Return the score, and the matched pairs, best first."""
        columns = {
            "correlation": [numeral(value) for value in self.correlations],
            "corrected p": [numeral_of_p(p) for p in self.corrected_p_values],
        }
        names = [f"{i}, {j}" for i, j in zip(self.first, self.second, strict=True)]
        mean = (
            f"Mean correlation {numeral(self.value)}, chance {numeral(self.chance)} +- {self.chance_sd:.2g}, "
            f"p = {self.p_value:.3g} ({self.n_draws} permutations, {self.exchanged})."
        )
        return (Text(mean), Table.of(names, columns, "Matched units (column of X, column of Y)", "pair"))
