"""E-distances between groups of rows, with p-values from permutations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from shesha.report import Part, texts
from shesha.results.base import Result, reaches_level
from shesha.results.number import Number, frame_of_numbers, numeral, table_of_numbers
from shesha.support.draw_counts import undecided
from shesha.support.wording import agree_with_share, count

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, kw_only=True)
class EDistance(Number):
    """The E-distance between two groups of rows.

    `value` is its unbiased form, without the distance of each row from itself; it is 0 on average if the groups do not
    differ. Its p-value is the share of random divisions of the rows (or units) with a value that is at least as large,
    corrected for the number of pairs (Benjamini and Hochberg).
    """

    first: str
    second: str
    n_first: int
    n_second: int
    e_distance: float
    """Twice the mean squared distance between rows of both groups, minus the mean squared distances within each."""


@dataclass(frozen=True, kw_only=True)
class EDistances(Result):
    """E-distances between pairs of groups."""

    pairs: tuple[EDistance, ...]
    excluded: dict[str, str]
    """Groups that were not compared, each with the reason."""
    n_draws: int
    alpha: float = 0.05
    seed: int | None = None

    def __iter__(self) -> Iterator[EDistance]:
        """Iterate over the pairs."""
        return iter(self.pairs)

    @property
    def significant(self) -> tuple[EDistance, ...]:
        """The pairs that differ at the level alpha, after the correction, the most distant first."""
        found = [pair for pair in self.pairs if reaches_level(pair.corrected_p_value, self.alpha)]
        return tuple(sorted(found, key=lambda pair: -pair.value))

    @property
    def headline(self) -> str:
        """How many pairs of groups differ."""
        n = len(self.significant)
        few = undecided(
            [pair.p_value for pair in self.pairs],
            [pair.corrected_p_value for pair in self.pairs],
            self.n_draws,
            self.alpha,
        )
        return (
            f"{n} of {count(len(self.pairs), 'pair')} {agree_with_share(n, len(self.pairs), 'differs', 'differ')} by "
            f"the E-distance (p_adj <= "
            f"{self.alpha:g}){f'; this {few}' if few else ''}."
        )

    def _frame(self, *, full: bool) -> pd.DataFrame:
        """Return a table with one row per pair, the most distant first."""
        pairs = sorted(self.pairs, key=lambda pair: -pair.value)
        return frame_of_numbers(pairs, "first", "second", "n_first", "n_second", "e_distance", full=full)

    def to_matrix(self) -> pd.DataFrame:
        """Return the E-distances as a symmetric table of groups by groups, with NaN for pairs not compared."""
        frame = self.to_frame()
        table = frame.pivot_table(index="first", columns="second", values="e_distance")
        names = sorted({*frame["first"], *frame["second"]})
        table = table.reindex(index=names, columns=names)
        table = table.combine_first(table.T)
        for name in names:
            table.loc[name, name] = 0.0
        return table.rename_axis(index=None, columns=None)

    def _numbers(self) -> tuple[Part, ...]:
        """Return one row per pair, the most distant first, and the groups that were not compared."""
        pairs = sorted(self.pairs, key=lambda pair: -pair.value)
        rows = [replace(pair, name=f"{pair.first}, {pair.second}") for pair in pairs]
        table = table_of_numbers(rows, "E-distances", "pair", {"E-distance": [numeral(p.e_distance) for p in pairs]})
        left_out = "; ".join(f"{name} ({why})" for name, why in self.excluded.items())
        return (*table, *texts([f"Not compared: {left_out}." if left_out else ""]))
