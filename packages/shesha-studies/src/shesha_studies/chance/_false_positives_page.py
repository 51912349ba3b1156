"""The page of false positives: measures, scores of one representation, designs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import binom

from shesha.charts import PALETTE
from shesha.nulls import holm
from shesha.studies.facts import Facts, as_facts, rate
from shesha.studies.page import Page, Picture
from shesha.studies.pictures import figure
from shesha.studies.rates import binomial_limits, rate_interval


def pool_rates(rows: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Add up batches: one line per value of `by`, with the rate and its exact 95 % limits (Clopper and Pearson).

    Lines without a run are omitted.

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
    """Draw each line's rate with its limits, over the range of rates that chance explains for this number of runs."""
    places = np.arange(len(table))[::-1]
    low, high = binomial_limits(level, int(table.runs.median()))
    ax.axvspan(low, high, color="0.9", zorder=0)
    ax.axvline(level, color="0.5", linewidth=0.8, linestyle="--")
    ax.hlines(places, table["from"], table["to"], color=PALETTE[0], linewidth=1.2)
    ax.plot(table.rate, places, "o", markersize=3.5, color=PALETTE[0])
    ax.set_yticks(places, list(label), fontsize=6.5)
    ax.set_ylim(-0.7, len(table) - 0.3)


SCALED = ("row scale about an offset", "depth of counts")
BY = ["score", "data", "design", "n"]
TOO_FREE = ("free", "blocks", "blocks of 8", "blocks of 25", "stretches of 8", "stretches of 25")
"""Designs that do not account for the dependence between the rows of these data."""


def make_page(rows: pd.DataFrame, level: float) -> Page:
    """Make the page of all batches."""
    nothing, signal = rows[rows.truth == "nothing"], rows[rows.truth != "nothing"]
    measures = _measures(nothing[nothing.part == "measures"])
    scores, designs, groups = (_lines(nothing[nothing.part == part], level) for part in ("scores", "designs", "groups"))
    tables = (
        ("Measures", _measures_table(rows[rows.part == "measures"])),
        ("Scores of one representation", _readable(scores, signal[signal.part == "scores"])),
        ("Rows that depend on one another", _readable(designs, signal[signal.part == "designs"])),
        ("Groups of cells without an effect", _readable(groups, signal[:0])),
        ("Doubts", _doubts_table(rows[rows.part == "doubts"])),
    )
    return Page(
        "",
        tables,
        (_picture(measures, level),),
    )


def _measures(nothing: pd.DataFrame) -> pd.DataFrame:
    """Pool all kinds of independent rows, in one line per measure and number of rows."""
    return pool_rates(nothing[nothing.data != "clusters of rows"], ["score", "n"])


def _lines(nothing: pd.DataFrame, level: float) -> pd.DataFrame:
    """Return the rate of each line, and whether it exceeds the level after correction for the number of lines."""
    table = pool_rates(nothing, BY)
    hits = (table.rate * table.runs).round()
    return table.assign(above=holm(binom.sf(hits - 1, table.runs, level)) <= 0.05)


def _measures_table(rows: pd.DataFrame) -> pd.DataFrame:
    nothing, signal = rows[rows.truth == "nothing"], rows[rows.truth != "nothing"]
    clustered = nothing[nothing.data == "clusters of rows"]
    columns = {
        f"{n} rows": pool_rates(nothing[(nothing.n == n) & (nothing.data != "clusters of rows")], ["score"])
        for n in sorted(nothing.n.unique())
    }
    columns |= {
        f"clusters, {kind}": pool_rates(clustered[clustered.design == kind], ["score"]) for kind in ("blocks", "free")
    }
    columns["power, 64 rows"] = pool_rates(signal, ["score"])
    frame = pd.DataFrame({"measure": rows.score.unique()})
    for name, table in columns.items():
        frame[name] = frame.measure.map(dict(zip(table.score, _cells(table), strict=True))).fillna("-")
    return frame


def _cells(table: pd.DataFrame) -> list[str]:
    """Format a rate with its limits and its number of runs."""
    return [
        f"{100 * line.rate:.1f} % ({100 * line['from']:.0f} to {100 * line['to']:.0f}) of {line.runs}"
        for _, line in table.iterrows()
    ]


def _readable(lines: pd.DataFrame, signal: pd.DataFrame) -> pd.DataFrame:
    """Tabulate false positives and, if measured, power."""
    table = lines[BY].rename(columns={"n": "rows"})
    table["false positives"] = [
        f"**{cell}**" if above else cell for cell, above in zip(_cells(lines), lines.above, strict=True)
    ]
    power = pool_rates(signal, BY)
    known = dict(zip(power[BY].itertuples(index=False, name=None), _cells(power), strict=True))
    table["power"] = [known.get(key, "-") for key in lines[BY].itertuples(index=False, name=None)]
    return table


def make_facts(rows: pd.DataFrame, level: float) -> Facts:
    """Rates of independent rows, of dependent rows with and without a design, of scores, and of doubts."""
    nothing = rows[rows.truth == "nothing"]
    tested = nothing[nothing.part != "doubts"]
    measure_rows = tested[(tested.part == "measures") & (tested.data != "clusters of rows")]
    clustered, scaled = tested[tested.data == "clusters of rows"], tested[tested.data.isin(SCALED)]
    scores, designs = (_lines(nothing[nothing.part == part], level) for part in ("scores", "designs"))
    facts: dict[str, Any] = {"level": level}
    if runs := int(measure_rows.runs.sum()):
        measures = _measures(nothing[nothing.part == "measures"])
        facts |= {
            "independent": rate(int(measure_rows.hits.sum()), runs),
            "pairs": runs,
            "measures": len(measures),
            "measures off": int(outside(measures, level).sum()),
        }
    for name, group in (
        *((f"clusters, {design}", clustered[clustered.design == design]) for design in ("free", "blocks")),
        *((f"scale, {design}", scaled[scaled.design == design]) for design in ("-", "row scale")),
    ):
        facts |= {name: group.hits.sum() / group.runs.sum()} if group.runs.sum() else {}
    adequate, free = designs[~designs.design.isin(TOO_FREE)], designs[designs.design == "free"]
    facts |= {"designs": len(adequate), "designs above": int(adequate.above.sum())}
    facts |= {"designs above in words": "; ".join(_rates_by_rows(adequate[adequate.above]))}
    facts |= {"free, lowest": free.rate.min(), "free, highest": free.rate.max()} if len(free) else {}
    others = scores[(scores.design == "-") & ~scores.data.isin(SCALED)]
    facts |= {"scores": len(others), "scores above": int(others.above.sum())}
    return as_facts(facts | _doubt_facts(rows, _lines(nothing[nothing.part == "groups"], level)))


def _rates_by_rows(lines: pd.DataFrame) -> list[str]:
    """Name each score, kind of data and design once, with its rate for each number of rows."""
    return [
        f"{str(score).split('(')[0]} on data of the kind '{data}' with `{design}`, "
        + ", ".join(f"{100 * row.rate:.0f} % of runs with {row.n} rows" for _, row in df.sort_values("n").iterrows())
        for (score, data, design), df in lines.groupby(["score", "data", "design"], sort=False)
    ]


def _doubts_table(rows: pd.DataFrame) -> pd.DataFrame:
    """How often each doubt is raised about data that give no cause, and about data that do."""
    table = pool_rates(rows, ["truth", "data", "score"])
    return table[["data", "score"]].assign(
        **{
            "the warning would be": ["wrong" if truth == "nothing" else "right" for truth in table.truth],
            "raised": _cells(table),
        }
    )


def _doubt_facts(rows: pd.DataFrame, groups: pd.DataFrame) -> dict[str, Any]:
    """How often groups without an effect are called coherent, and how often doubts are wrong or missing."""
    doubts = rows[rows.part == "doubts"]
    if not len(doubts) or not len(groups):
        return {}
    wrong, right = (pool_rates(doubts[doubts.truth == truth], ["data"]) for truth in ("nothing", "signal"))
    rare = right.iloc[int(right.rate.to_numpy().argmin())]
    often = wrong.iloc[int(wrong.rate.to_numpy().argmax())]
    return {
        **{"groups, lowest": groups.rate.min(), "groups, highest": groups.rate.max()},
        **{"wrong doubts": often.rate, "wrong doubts in words": str(often.data)},
        **{"right doubts": rare.rate, "right doubts in words": str(rare.data)},
    }


def _picture(measures: pd.DataFrame, level: float) -> Picture:
    few = measures[measures.n == measures.n.min()]
    fig, (ax,) = figure(width=5.2, height=5.6)
    dots(ax, few, few.score, level)
    ax.set(
        xlabel="false positives at p <= 0.05, with 95 % limits", xlim=(0, None), title=f"{few.n.min()} independent rows"
    )
    return Picture(
        "measures", fig, "Rates of false positives of every measure with exact 95 % limits; the level is 5 %"
    )
