"""The page on perturbations: tables and the picture."""

from __future__ import annotations

from typing import Any

import pandas as pd

from shesha.charts import PALETTE
from shesha.studies.page import Page, Picture
from shesha.studies.pictures import figure, logarithmic
from shesha_studies.biology._crispr_results import STIMULATION, Results, published_numbers

_GREY = "0.55"
_NAMED = ("STAT1", "IFNGR1", "SMAD4", "SPI1", "IRF1", "ATF2")


def make_page(rows: pd.DataFrame, published: pd.DataFrame) -> Page:
    """Compare the screen with Tables 59 to 74, and with groups without an effect."""
    results = Results(rows)
    shows = "Scores of control groups against group size; scores of targets against magnitude"
    picture = Picture("crispr", _draw(results), shows)
    return Page(tables=_tables(results), pictures=(picture,), answers=published_numbers(results))


def _tables(results: Results) -> tuple[tuple[str, pd.DataFrame], ...]:
    groups, kinds = (
        results.build("group", *data).sort_values("unbiased", ascending=False) for data in ((), (STIMULATION,))
    )
    scores = ["n", "coherence", "chance", "p_adj", "unbiased", "unbiased_ci_low", "unbiased_ci_high", "magnitude"]
    sizes = results.build("size")[["coherence", "low", "high", "expected", "unbiased", "magnitude"]]
    links = [f"{score}_{name}" for score in ("coherence", "unbiased") for name in ("rho", "low", "high", "chance", "p")]
    return (
        (
            "Targets, with intervals of the pairwise score over cells and over guides",
            _named(groups[[*scores, "guides_low", "guides_high"]], "target"),
        ),
        ("Stimulation with interferon-beta of seven cell types (Kang 2018)", _named(kinds[scores], "type")),
        ("Groups of control cells, by number of cells", _named(sizes, "cells")),
        ("Correlation of magnitude and score by three methods", _named(results.build("method")[links], "method")),
    )


def _named(table: pd.DataFrame, name: str) -> pd.DataFrame:
    return table.rename_axis(name).reset_index()


def _draw(results: Results) -> Any:
    drawn, (left, right) = figure(2, width=4.4, height=3.7)
    _sizes(left, results)
    _groups(right, results.build("group"))
    return drawn


def _sizes(ax: Any, results: Results) -> None:
    sizes = results.build("size")
    n = sizes.index.astype(float).to_numpy()
    spread = [sizes.coherence - sizes.low, sizes.high - sizes.coherence]
    ax.errorbar(n, sizes.coherence, yerr=spread, fmt="o-", color=PALETTE[0], capsize=3, label="mean cosine, 95 %")
    ax.plot(n, sizes.expected, ":", color="black", zorder=5, label="isotropic noise, closed form")
    ax.plot(n, sizes.unbiased, "s-", color=PALETTE[1], label="pairwise")
    logarithmic(ax, n)
    ax.axhline(0, color="0.7", linewidth=0.8)
    ax.set(xlabel="control cells in a group", ylabel="score", title="Control cells (no effect)")
    ax.legend(frameon=False, fontsize="small")


def _groups(ax: Any, groups: pd.DataFrame) -> None:
    ax.plot(groups.magnitude_chance, groups.chance, "x", color=_GREY, label="mean cosine of null groups")
    ax.plot(groups.magnitude, groups.coherence, "o", color=PALETTE[0], label="mean cosine of targets")
    ax.plot(groups.magnitude, groups.unbiased, "s", color=PALETTE[1], markersize=4, label="pairwise")
    for name in _NAMED:
        if name in groups.index:
            place = (groups.magnitude[name], groups.coherence[name])
            ax.annotate(name, place, (-4, 5), textcoords="offset points", fontsize=7, ha="right")
    ax.set_xscale("log")
    ax.set_xticks([0.2, 0.5, 1, 2], ["0.2", "0.5", "1", "2"])
    ax.set_xticks([], minor=True)
    ax.set(xlabel="magnitude", ylabel="score", title="25 targets")
    ax.legend(frameon=False, fontsize="small")
