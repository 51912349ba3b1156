"""Rates that are counted in batches of runs: pooling, limits and pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from shesha.charts import PALETTE
from shesha.studies.rates import binomial_limits, rate_interval


def pool_rates(rows: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
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
    sums = rows.groupby(list(by), sort=False, dropna=False)[["hits", "runs"]].sum().reset_index()
    sums = sums[sums["runs"] > 0]
    limits = [rate_interval(int(line["hits"]), int(line["runs"])) for _, line in sums.iterrows()]
    rates = sums[list(by)].assign(rate=sums["hits"] / sums["runs"])
    rates[["from", "to"]] = np.array(limits).reshape(-1, 2)
    return rates.assign(runs=sums["runs"].astype(int)).reset_index(drop=True)


def outside(table: pd.DataFrame, level: float) -> pd.Series[bool]:
    """Return the lines whose limits do not contain the level."""
    return (table["from"] > level) | (table["to"] < level)


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
