"""Networks ranked by stability and by scores of transfer, on every target, and with the width held fixed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import mannwhitneyu

from shesha_studies.stability_correlations._bootstrap_correlations import round_as_stored

_DRAWS = 999
TARGETS = ("clothes", "photographs", "digits")
STABILITIES = {
    "stability": "feature split",
    "centred": "feature split, centred",
    "equal": "feature split of 64 features",
    "averaged": "basis-averaged",
}
TRANSFERS = {"logme": "LogME", "accuracy": "accuracy of a linear probe", "leep": "LEEP", "variance": "variance ratio"}


class Rank(NamedTuple):
    """A rank correlation with its p-value from permuted networks; permuted within widths if ranks are."""

    value: float
    p: float

    def __str__(self) -> str:
        """Return both, as in the tables of the page."""
        return f"{self.value:+.2f} (p {self.p:.3f})"


@dataclass(frozen=True)
class Findings:
    """One line per network, and the statistics computed from them."""

    rows: pd.DataFrame

    @classmethod
    def build(cls, rows: pd.DataFrame) -> Findings:
        """Name the families."""
        return cls(round_as_stored(rows).assign(family=rows.objective + " " + rows["shape"]))

    def rank_correlation(self, first: str, second: str, *, same_width: bool = False) -> Rank:
        """Correlate two columns over networks, or their ranks within widths."""
        table = self.rows.dropna(subset=[first, second])
        groups = table.width.to_numpy() if same_width else np.zeros(len(table))
        ranks = (table.groupby(groups)[name].rank() for name in (first, second))
        x, y = (np.asarray(rank - rank.groupby(groups).transform("mean"), dtype=np.float64) for rank in ranks)
        return shuffled_correlation(x, y, groups)

    def mean_score(self, name: str, *, widest: bool = False) -> float:
        """Mean of a score over networks, or over the widest ones, and over targets."""
        rows = self.rows[self.rows.width == self.rows.width.max()] if widest else self.rows
        return float(rows[[f"{name} {target}" for target in TARGETS]].mean().mean())

    def with_width(self, name: str) -> list[float]:
        """Rank correlation of a score with the number of features, one per target."""
        width = self.rows.width.astype(float)
        return [float(self.rows[f"{name} {target}"].corr(width, method="spearman")) for target in TARGETS]

    @cached_property
    def trade(self) -> dict[tuple[str, str, str, bool], Rank]:
        """Correlations of stability with transfer, by (stability, transfer, target, same width)."""
        return {
            (stability, transfer, target, same): self.rank_correlation(
                f"{stability} {target}", f"{transfer} {target}", same_width=same
            )
            for stability in STABILITIES
            for transfer in TRANSFERS
            for target in TARGETS
            for same in (False, True)
        }

    def compared(self, target: str, column: str, one: str, others: tuple[str, ...]) -> tuple[float, float]:
        """Return the difference between the means of two groups of networks, and p of a Mann-Whitney test."""
        values = self.rows[f"stability {target}"]
        first, second = values[self.rows[column] == one], values[self.rows[column].isin(others)]
        if first.empty or second.empty:
            return float("nan"), float("nan")
        return first.mean() - second.mean(), float(mannwhitneyu(first, second).pvalue)


def shuffled_correlation(x: np.ndarray, y: np.ndarray, groups: np.ndarray) -> Rank:
    """Pearson's correlation of ranks, with a p-value from permutations of networks within groups."""
    if len(x) < 4 or not x.any() or not y.any():
        return Rank(float("nan"), float("nan"))
    rng = np.random.default_rng(320)
    by_group = np.argsort(groups, kind="stable")
    drawn = np.empty(_DRAWS)
    for draw in range(_DRAWS):
        # Both index arrays sort by group, so values are permuted only within groups.
        shuffled = np.empty_like(y)
        shuffled[by_group] = y[np.lexsort((rng.random(len(x)), groups))]
        drawn[draw] = _cosine(x, shuffled)
    value = _cosine(x, y)
    return Rank(value, float((1 + (np.abs(drawn) >= abs(value) - 1e-12).sum()) / (_DRAWS + 1)))


def _cosine(x: np.ndarray, y: np.ndarray) -> float:
    return float(x @ y / np.sqrt((x @ x) * (y @ y)))
