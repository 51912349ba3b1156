"""Networks ranked by stability and by scores of transfer, on every target, and with the width held fixed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from scipy.stats import mannwhitneyu

from shesha_studies.stability_correlations._bootstrap_correlations import round_as_stored

_DRAWS = 999
TARGETS = ("clothes", "photographs", "digits")
STABILITIES = ("stability", "centred", "equal", "averaged")
TRANSFERS = ("logme", "accuracy", "leep", "variance")
TITLES = {
    "stability": "feature split",
    "centred": "feature split, centred",
    "equal": "feature split of 64 features",
    "averaged": "basis-averaged",
    "logme": "LogME",
    "published logme": "LogME as published",
    "few logme": "LogME, 200 rows",
    "few published logme": "LogME as published, 200 rows",
    "repeated logme": "LogME as published, rows drawn five times",
    "repeated stability": "feature split, rows drawn five times",
    "accuracy": "accuracy of a linear probe",
    "leep": "LEEP",
    "variance": "variance ratio",
    "shuffled": "features shuffled",
}


@dataclass(frozen=True)
class Rank:
    """A rank correlation with its p-value from permuted networks; permuted within widths if ranks are."""

    value: float
    p: float
    n: int


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

    def compared(self, target: str, column: str, one: str, others: tuple[str, ...]) -> dict[str, float]:
        """Compare two groups of networks by their means and a Mann-Whitney test."""
        values = self.rows[f"stability {target}"]
        first, second = values[self.rows[column] == one], values[self.rows[column].isin(others)]
        if not len(first) or not len(second):
            return {"first": float("nan"), "second": float("nan"), "difference": float("nan"), "p": float("nan")}
        p = float(mannwhitneyu(first, second).pvalue)
        return {"first": first.mean(), "second": second.mean(), "difference": first.mean() - second.mean(), "p": p}


def shuffled_correlation(x: np.ndarray, y: np.ndarray, groups: np.ndarray) -> Rank:
    """Pearson's correlation of ranks, with a p-value from permutations of networks within groups."""
    if len(x) < 4 or not x.any() or not y.any():
        return Rank(float("nan"), float("nan"), len(x))
    rng = np.random.default_rng(320)
    value = _cosine(x, y)
    drawn = np.empty(_DRAWS)
    for draw in range(_DRAWS):
        keys = rng.random(len(x))
        # Both index arrays sort by group, so values are permuted only within groups.
        shuffled = np.empty_like(y)
        shuffled[np.argsort(groups, kind="stable")] = y[np.lexsort((keys, groups))]
        drawn[draw] = _cosine(x, shuffled)
    return Rank(value, float((1 + (np.abs(drawn) >= abs(value) - 1e-12).sum()) / (_DRAWS + 1)), len(x))


def _cosine(x: np.ndarray, y: np.ndarray) -> float:
    return float(x @ y / np.sqrt((x @ x) * (y @ y)))
