"""The page of false positives: measures, scores of one representation, designs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import binom

from shesha.charts import PALETTE
from shesha.nulls import holm
from shesha_studies.framework.facts import Fact, rate
from shesha_studies.framework.page import Page, Picture
from shesha_studies.framework.pictures import figure
from shesha_studies.framework.rates import binomial_limits, rate_interval


def pool_rates(rows: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Add up batches: one line per value of `by`, with the rate and its exact 95 % limits (Clopper and Pearson).

    Batches without a run are omitted.
    """
    sums = rows[rows.runs > 0].groupby(list(by), sort=False)[["hits", "runs"]].sum().reset_index()
    limits = [rate_interval(hits, runs) for hits, runs in zip(sums.hits, sums.runs, strict=True)]
    rates = sums[list(by)].assign(rate=sums.hits / sums.runs)
    rates[["from", "to"]] = np.array(limits).reshape(-1, 2)
    return rates.assign(runs=sums.runs)


def outside(table: pd.DataFrame, level: float) -> pd.Series[bool]:
    """Return the lines whose limits do not contain the level."""
    return (table["from"] > level) | (table["to"] < level)


LEVEL = 0.05
SCALED = ("row scale about an offset", "depth of counts")
BY = ["score", "data", "design", "n"]
TOO_FREE = ("free", "blocks", "blocks of 8", "blocks of 25", "stretches of 8", "stretches of 25")
"""Designs that do not account for the dependence between the rows of these data."""


def make_page(rows: pd.DataFrame, published: pd.DataFrame | None) -> Page:
    """Tabulate rates with their limits for measures, scores and designs, and draw those of measures."""
    sections = {
        "measures": ("Measures", _measures_table),
        "scores": ("Scores of one representation", _rates_table),
        "groups": ("Groups of cells without an effect", _rates_table),
    }
    tables = tuple((title, tabulate(rows[rows.part == part])) for part, (title, tabulate) in sections.items())
    return Page("", tables, (_picture(_independent_rates(rows)),))


def _picture(measures: pd.DataFrame) -> Picture:
    """Draw each rate with its limits, over the range of rates that chance explains for this number of runs."""
    few = measures[measures.n == measures.n.min()]
    places = np.arange(len(few))[::-1]
    fig, (ax,) = figure(width=5.2, height=5.6)
    ax.axvspan(*binomial_limits(LEVEL, int(few.runs.median())), color="0.9", zorder=0, label="95 % of rates by chance")
    ax.axvline(LEVEL, color="0.5", linewidth=0.8, linestyle="--", label=f"level, {LEVEL:g}")
    ax.hlines(places, few["from"], few["to"], color=PALETTE[0], linewidth=1.2)
    ax.plot(few.rate, places, "o", markersize=3.5, color=PALETTE[0])
    ax.set_yticks(places, list(few.score), fontsize=6.5)
    ax.set(ylim=(-0.7, len(few) - 0.3), xlim=(0, None), title=f"{few.n.min()} independent rows")
    ax.set_xlabel("false positives at p <= 0.05, with 95 % limits")
    fig.legend(frameon=False, fontsize="small", loc="outside lower center", ncol=2)
    shows = "Rates of false positives of every measure with exact 95 % limits; the level is 5 %"
    return Picture("measures", fig, shows)


def _independent_rates(rows: pd.DataFrame) -> pd.DataFrame:
    """Pool all kinds of independent rows, in one line per measure and number of rows."""
    independent = (rows.part == "measures") & (rows.truth == "nothing") & (rows.data != "clusters of rows")
    return pool_rates(rows[independent], ["score", "n"])


def _false_positives(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rate of each line, and whether it exceeds the level after correction for the number of lines."""
    table = pool_rates(rows[rows.truth == "nothing"], BY)
    hits = (table.rate * table.runs).round()
    return table.assign(above=holm(binom.sf(hits - 1, table.runs, LEVEL)) <= 0.05)


def _cells(table: pd.DataFrame) -> list[str]:
    """Format a rate with its limits and its number of runs."""
    return [
        f"{100 * line.rate:.1f} % ({100 * line['from']:.0f} to {100 * line['to']:.0f}) of {line.runs}"
        for _, line in table.iterrows()
    ]


def _measures_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Tabulate one line per measure; the columns are kinds of rows, and power."""
    is_signal, is_clustered = rows.truth != "nothing", rows.data == "clusters of rows"
    kinds = np.select(
        [is_signal, is_clustered], ["power, 64 rows", "clusters, " + rows.design], rows.n.astype(str) + " rows"
    )
    rates = pool_rates(rows.assign(kind=kinds), ["score", "kind"])
    wide = rates.assign(cell=_cells(rates)).pivot(index="score", columns="kind", values="cell").fillna("-")
    wide = wide.loc[rows.score.unique(), list(dict.fromkeys(kinds))]
    return wide.rename_axis(index="measure", columns=None).reset_index()


def _rates_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Tabulate false positives and, if measured, power."""
    lines, power = _false_positives(rows), pool_rates(rows[rows.truth != "nothing"], BY)
    cells = [f"**{cell}**" if above else cell for cell, above in zip(_cells(lines), lines.above, strict=True)]
    table = lines[BY].assign(**{"false positives": cells})
    table = table.merge(power[BY].assign(power=_cells(power)), "left", BY).fillna({"power": "-"})
    return table.rename(columns={"n": "rows"})


def make_facts(rows: pd.DataFrame, published: pd.DataFrame | None) -> dict[str, Any]:
    """Rates of independent rows, of dependent rows with and without a design, of scores, and of doubts."""
    nothing, measures = rows[rows.truth == "nothing"], _independent_rates(rows)
    clusters, scaled = nothing[nothing.data == "clusters of rows"], nothing[nothing.data.isin(SCALED)]
    independent = nothing[(nothing.part == "measures") & (nothing.data != "clusters of rows")]
    scores, designs, groups = (_false_positives(rows[rows.part == part]) for part in ("scores", "designs", "groups"))
    declared, free = designs[~designs.design.isin(TOO_FREE)], designs[designs.design == "free"]
    unscaled = scores[(scores.design == "-") & ~scores.data.isin(SCALED)]
    doubts = pool_rates(rows[rows.part == "doubts"], ["truth", "data"])
    wrong = doubts[doubts.truth == "nothing"].nlargest(1, "rate")
    right = doubts[doubts.truth == "signal"].nsmallest(1, "rate")
    return {
        "level": LEVEL,
        "independent": _pooled(independent),
        "pairs": independent.runs.sum(),
        "measures": len(measures),
        "measures off": outside(measures, LEVEL).sum(),
        **{f"clusters, {key}": _pooled(clusters[clusters.design == key]).value for key in ("free", "blocks")},
        **{f"scale, {key}": _pooled(scaled[scaled.design == key]).value for key in ("-", "row scale")},
        "designs": len(declared),
        "designs above": declared.above.sum(),
        "designs above in words": "; ".join(_rates_by_rows(declared[declared.above])),
        "free, lowest": free.rate.min(),
        "free, highest": free.rate.max(),
        "scores": len(unscaled),
        "scores above": unscaled.above.sum(),
        "groups, lowest": groups.rate.min(),
        "groups, highest": groups.rate.max(),
        "wrong doubts": wrong.rate.max(),
        "wrong doubts in words": ", ".join(wrong.data),
        "right doubts": right.rate.max(),
        "right doubts in words": ", ".join(right.data),
    }


def _pooled(rows: pd.DataFrame) -> Fact:
    return rate(int(rows.hits.sum()), int(rows.runs.sum()))


def _rates_by_rows(lines: pd.DataFrame) -> list[str]:
    """Name each score, kind of data and design once, with its rate for each number of rows."""
    return [
        f"{str(score).split('(')[0]} on data of the kind '{data}' with `{design}`, "
        + ", ".join(f"{100 * row.rate:.0f} % of runs with {row.n} rows" for _, row in df.sort_values("n").iterrows())
        for (score, data, design), df in lines.groupby(["score", "data", "design"], sort=False)
    ]
