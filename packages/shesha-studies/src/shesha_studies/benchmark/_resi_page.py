"""The page of the benchmark compared with the published one."""

from __future__ import annotations

import numpy as np
import pandas as pd

from shesha.charts import PALETTE
from shesha.studies.page import Page, Picture
from shesha.studies.pictures import figure
from shesha.studies.published_checks import against
from shesha_studies.benchmark import _resi_scores_and_places as tables
from shesha_studies.benchmark._resi_calibration_and_axes import option_table
from shesha_studies.benchmark._resi_checks import table_checks
from shesha_studies.benchmark._resi_facts import CHANCE, DOMAINS, Places


def make_page(rows: pd.DataFrame, published: pd.DataFrame) -> Page:
    """Agreement by table, positions by domain, and every claim in words."""
    table_rows = rows[rows.part == "table"]
    by_test = _test_table(table_rows)
    checks = (*against(published, {}), *table_checks(table_rows))
    options = option_table(rows)
    tables = [
        ("Agreement with the published columns", by_test),
        ("Cora, number by number, the same networks", _cora()),
        ("Positions of the measures", _positions(rows)),
    ]
    if len(options):
        tables.append(("Calibration, restricted permutations, basis averaging", options))
    return Page("", tuple(tables), (_agreement_picture(by_test),), checks=checks)


def _cora() -> pd.DataFrame:
    """Compare our numbers on Cora with the published numbers, by test and score."""
    keys = [*tables.BLOCK, "measure"]
    published, suite = (table[table.dataset == "Cora"] for table in map(tables.scores, ("published", "small")))
    both = published.merge(suite, on=keys, suffixes=("", " here")).dropna(subset=["value", "value here"])
    both["difference"] = (both["value here"] - both.value).abs()
    parts = [*both.groupby(["test", "quality"], sort=False), (("all", ""), both)]
    lines = [
        {
            "test": test,
            "quality": quality,
            "numbers": len(part),
            "within 0.05": (part.difference <= 0.05).mean(),
            "within 0.10": (part.difference <= 0.10).mean(),
            "median distance": part.difference.median(),
            "Spearman": tables.correlation(part.value, part["value here"]),
            "spread over networks, published": part.groupby("measure").value.std().mean(),
            "spread over networks, here": part.groupby("measure")["value here"].std().mean(),
        }
        for (test, quality), part in parts
    ]
    return pd.DataFrame(lines)


def _test_table(rows: pd.DataFrame) -> pd.DataFrame:
    means = rows.groupby(["domain", "test", "quality"], sort=False)
    table = means[["agreement", "published_agreement"]].mean().assign(columns=means.size()).reset_index()
    return table[["domain", "test", "quality", "columns", "agreement", "published_agreement"]]


def _positions(rows: pd.DataFrame) -> pd.DataFrame:
    places, lines = Places(rows), []
    names = [name for name in tables.scores("published").measure.unique() if name in places.of["graph", "small"].index]
    for name in names:
        line: dict[str, object] = {"measure": name}
        for domain in DOMAINS:
            published_place, small_place = (places.place(name, domain, source) for source in ("published", "small"))
            line[domain] = f"{published_place} / {small_place}"
            line[f"{domain}, first"] = f"{100 * places.share(name, domain):.0f} %"
        lines.append(line)
    return pd.DataFrame(lines)


def _agreement_picture(by_test: pd.DataFrame) -> Picture:
    fig, axes = figure(3, width=3.6, height=3.8, sharey=True)
    for ax, domain in zip(axes, DOMAINS, strict=True):
        df = by_test[by_test.domain == domain]
        places = np.arange(len(df))[::-1]
        ax.axvspan(-2 * CHANCE, 2 * CHANCE, color="0.92", zorder=0)
        ax.plot(
            df.published_agreement, places, "|", color="0.3", markersize=11, label=("published columns with each other")
        )
        ax.plot(df.agreement, places, "o", color=PALETTE[0], label="ours with published")
        ax.set(title=domain, xlabel="Spearman over 24 measures", xlim=(-0.6, 1.02))
    ax.set_yticks(places, [f"{row.test.replace('_', ' ')}, {row.quality}" for _, row in df.iterrows()], fontsize=7.5)
    fig.legend(*axes[0].get_legend_handles_labels(), frameon=False, fontsize=8, loc="outside lower center", ncol=2)
    return Picture(
        "agreement",
        fig,
        "Rank correlation of our columns with the published columns, by test; the grey band is for unrelated orders",
    )
