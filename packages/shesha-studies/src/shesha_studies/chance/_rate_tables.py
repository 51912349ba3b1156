"""Rates counted in batches of runs: pooled, with their limits, and drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from shesha.charts import PALETTE
from shesha.studies.rates import binomial_limits

if TYPE_CHECKING:
    import pandas as pd


def pool_rates(rows: pd.DataFrame, by: Sequence[str], hits: str = "hits", runs: str = "runs") -> pd.DataFrame:
    """Add up batches: one line per value of `by`, with the rate and its exact 95 % limits (Clopper and Pearson).

    Lines without a run are left out.

    Examples
    --------
    >>> import pandas as pd
    >>> batches = pd.DataFrame({"score": ["CKA", "CKA", "RTD"], "hits": [1, 0, 0], "runs": [10, 10, 0]})
    >>> pool_rates(batches, ["score"]).round(3)
      score  rate  from     to  runs
    0   CKA  0.05  0.001  0.249    20
    """
    found = rows.groupby(list(by), sort=False, dropna=False)[[hits, runs]].sum().reset_index()
    found = found[found[runs] > 0]
    ends = [exact_limits(int(line[hits]), int(line[runs])) for _, line in found.iterrows()]
    made = found[list(by)].assign(rate=found[hits] / found[runs])
    made[["from", "to"]] = np.array(ends).reshape(-1, 2)
    return made.assign(runs=found[runs].astype(int)).reset_index(drop=True)


def exact_limits(hits: int, runs: int, coverage: float = 0.95) -> tuple[float, float]:
    """Between these lies the true rate, by Clopper and Pearson.

    Examples
    --------
    >>> low, high = exact_limits(0, 20)
    >>> low, round(high, 3)
    (0.0, 0.168)
    """
    from scipy.stats import binomtest

    ends = binomtest(hits, runs).proportion_ci(coverage, "exact")
    return float(ends.low), float(ends.high)


def outside(table: pd.DataFrame, level: float) -> pd.Series[bool]:
    """Lines whose limits do not hold the level."""
    return (table["from"] > level) | (table["to"] < level)


def in_words(rate: float, runs: int, hits: int | None = None) -> str:
    """Return "5 % (3 to 9)", of the rate and its limits.

    Examples
    --------
    >>> in_words(0.05, 200)
    '5 % (2 to 9)'
    """
    low, high = exact_limits(round(rate * runs) if hits is None else hits, runs)
    return f"{100 * rate:.0f} % ({100 * low:.0f} to {100 * high:.0f})"


def dots(ax: Any, table: pd.DataFrame, label: Sequence[str], level: float) -> None:
    """Draw each line's rate with its limits, over the band in which rates of so many runs lie by chance."""
    places = np.arange(len(table))[::-1]
    low, high = binomial_limits(level, int(table.runs.median()))
    ax.axvspan(low, high, color="0.9", zorder=0)
    ax.axvline(level, color="0.5", linewidth=0.8, linestyle="--")
    ax.hlines(places, table["from"], table["to"], color=PALETTE[0], linewidth=1.2)
    ax.plot(table.rate, places, "o", markersize=3.5, color=PALETTE[0])
    ax.set_yticks(places, list(label), fontsize=6.5)
    ax.set_ylim(-0.7, len(table) - 0.3)
