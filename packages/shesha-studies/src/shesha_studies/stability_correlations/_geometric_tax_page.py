"""The page of the study `geometric-tax`: tables, the picture, and our values of published numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from shesha.charts import PALETTE
from shesha.studies.checks import Found
from shesha.studies.page import Page, Picture
from shesha.studies.pictures import figure
from shesha_studies.stability_correlations._geometric_tax_statistics import (
    STABILITIES,
    TARGETS,
    TRANSFERS,
    Findings,
)

_MARKERS = "osv^D"


def make_page(findings: Findings, published: pd.DataFrame) -> Page:
    """Return the page."""
    columns = [f"{name} {target}" for target in TARGETS for name in ("stability", "averaged", "logme", "accuracy")]
    tables = (
        ("Rank correlations of stability and transfer scores over networks", _trade(findings)),
        ("Families", findings.rows.groupby("family")[columns].mean().reset_index()),
    )
    return Page(tables=tables, pictures=(_picture(findings),), answers=published_numbers(published))


def _trade(findings: Findings) -> pd.DataFrame:
    lines = []
    for stability in STABILITIES:
        for transfer in TRANSFERS:
            line = {"stability": STABILITIES[stability], "transfer": TRANSFERS[transfer]}
            for target in TARGETS:
                for title, flag in ((target, False), (f"{target}, same width", True)):
                    rho = findings.trade[stability, transfer, target, flag]
                    line[title] = f"{rho.value:+.2f} (p {rho.p:.3f})"
            lines.append(line)
    return pd.DataFrame(lines)


def _picture(findings: Findings) -> Picture:
    """Draw stability against LogME for every target, and LogME against width for both computations."""
    rows = findings.rows
    fig, (*axes, last) = figure(len(TARGETS) + 1, width=3.6, height=3.6)
    for ax, target in zip(axes, TARGETS, strict=True):
        for colour, marker, objective in zip(PALETTE, _MARKERS, rows.objective.unique(), strict=False):
            group = rows[rows.objective == objective]
            style = {"s": np.sqrt(group.width) * 3.5, "color": colour, "marker": marker, "alpha": 0.75, "linewidths": 0}
            ax.scatter(group[f"logme {target}"], group[f"stability {target}"], label=objective, **style)
        rho = findings.trade["stability", "logme", target, True]
        ax.set(xlabel="LogME", title=f"{target}: {rho.value:+.2f} at equal width")
        ax.title.set_fontsize("medium")
    axes[0].set_ylabel("stability (chance: 0; marker size: width)")
    axes[0].legend(frameon=False, fontsize="x-small")
    names = {
        "few published logme": "LogME as published, 200 rows",
        "few logme": "LogME, 200 rows",
        "logme": "LogME",
    }
    for colour, marker, (name, label) in zip(PALETTE, _MARKERS, names.items(), strict=False):
        means = rows.groupby("width")[[f"{name} {target}" for target in TARGETS]].mean().mean(axis=1)
        last.plot(means.index, means, marker=marker, color=colour, label=label)
    last.axvline(200, color="0.6", linewidth=0.8, linestyle="--")
    last.set(xlabel="features (dashed: 200 rows)", ylabel="LogME, mean over images")
    last.legend(frameon=False, fontsize="x-small")
    shows = (
        "Stability against LogME of every network on three image sets; mean LogME against the number of features, "
        "exact and as computed by the public code"
    )
    return Picture("geometric_tax", fig, shows)


_DIFFERENCES = {
    "Geometric Stability, Table 26": ["CLIP mean", "SSL mean"],
    "Geometric Stability, Table 27": ["hierarchical mean", "columnar mean"],
    "Geometric Stability (journal), Table 6": ["CLIP mean", "SSL mean"],
    "Geometric Stability (journal), Table 7": ["hierarchical mean", "columnar mean"],
}


def published_numbers(published: pd.DataFrame) -> dict[str, Found]:
    """Return the sums and differences of other published numbers, which are all that can be computed again."""
    answers = {}
    for where, means in _DIFFERENCES.items():
        lines = published[published["where"] == where]
        table: Any = lines.pivot(index="row", columns="number", values="published")[means].astype(float)
        for row, (first, second) in table.iterrows():
            # Both means are rounded, so their difference may be wrong by one unit in the last place.
            answers[f"{where.rpartition(', ')[2]} | {row}: difference"] = Found(first - second, 0.0052, decimals=2)
    cells: Any = published[(published["where"] == "Geometric Stability, Table 29") & (published.number != "mean")]
    for row, values in cells.groupby("row"):
        answers[f"Table 29 | {row}: mean"] = Found(values.published.astype(float).mean(), 0.0026, decimals=2)
    return answers
