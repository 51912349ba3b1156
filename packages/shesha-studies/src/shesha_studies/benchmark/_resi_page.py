"""The page of the benchmark compared with the published one."""

from __future__ import annotations

import numpy as np
import pandas as pd

from shesha.charts import PALETTE
from shesha.studies.page import Page, Picture
from shesha.studies.pictures import figure
from shesha_studies.benchmark import _resi_scores_and_places as tables
from shesha_studies.benchmark._resi_calibration_and_axes import option_table
from shesha_studies.benchmark._resi_facts import CHANCE, DOMAINS, places


def make_page(rows: pd.DataFrame, published: pd.DataFrame) -> Page:
    """Agreement by table, positions by domain, and the effects of calibration."""
    by_test = _test_table(rows[rows.part == "table"])
    return Page(
        tables=(
            ("Agreement with the published columns", by_test),
            ("Cora, number by number, the same networks", _cora()),
            ("Positions of the measures", _positions(rows)),
            ("Calibration, restricted permutations, basis averaging", option_table(rows)),
        ),
        pictures=(_agreement_picture(by_test),),
    )


def _cora() -> pd.DataFrame:
    """Compare our numbers on Cora with the published numbers, by test and score."""
    keys = [*tables.BLOCK, "measure"]
    published, suite = (table[table.dataset == "Cora"] for table in map(tables.scores, ("published", "small")))
    both = published.merge(suite, on=keys, suffixes=("", " here")).dropna(subset=["value", "value here"])
    both["difference"] = (both["value here"] - both.value).abs()
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
        for (test, quality), part in [*both.groupby(["test", "quality"], sort=False), (("all", ""), both)]
    ]
    return pd.DataFrame(lines)


def _test_table(rows: pd.DataFrame) -> pd.DataFrame:
    means = rows.groupby(["domain", "test", "quality"], sort=False)
    columns = {"agreement": ("agreement", "mean"), "published_agreement": ("published_agreement", "mean")}
    return means.agg(columns=("agreement", "size"), **columns).reset_index()


def _positions(rows: pd.DataFrame) -> pd.DataFrame:
    by_domain, shares = places(rows), places(rows, " first")
    lines: dict[str, object] = {"measure": by_domain.index}
    for domain in DOMAINS:
        both = by_domain[domain].astype(int).astype(str)
        lines[domain] = (both["published"] + " / " + both["small"]).to_numpy()
        lines[f"{domain}, first"] = [f"{100 * share:.0f} %" for share in shares[domain, "published"]]
    return pd.DataFrame(lines)


def _agreement_picture(by_test: pd.DataFrame) -> Picture:
    fig, axes = figure(3, width=3.6, height=3.8, sharey=True)
    for ax, domain in zip(axes, DOMAINS, strict=True):
        df = by_test[by_test.domain == domain]
        heights = np.arange(len(df))[::-1]
        ax.axvspan(-2 * CHANCE, 2 * CHANCE, color="0.92", zorder=0)
        ax.plot(
            df.published_agreement, heights, "|", color="0.3", markersize=11, label="published columns with each other"
        )
        ax.plot(df.agreement, heights, "o", color=PALETTE[0], label="ours with published")
        ax.set(title=domain, xlabel="Spearman over 24 measures", xlim=(-0.6, 1.02))
    ax.set_yticks(heights, [f"{row.test.replace('_', ' ')}, {row.quality}" for _, row in df.iterrows()], fontsize=7.5)
    fig.legend(*axes[0].get_legend_handles_labels(), frameon=False, fontsize=8, loc="outside lower center", ncol=2)
    return Picture(
        "agreement",
        fig,
        "Rank correlation of our columns with the published columns, by test; the grey band is for unrelated orders",
    )
