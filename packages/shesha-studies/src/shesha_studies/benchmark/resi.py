"""Do the small suites of the benchmark rank measures as its published tables do?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from shesha.charts import PALETTE
from shesha_studies.benchmark import _resi_scores_and_places as tables
from shesha_studies.benchmark._resi_calibration_and_axes import option_facts, option_scores, option_table
from shesha_studies.benchmark._resi_facts import CHANCE, DOMAINS, make_facts, places
from shesha_studies.framework.facts import Facts, as_facts
from shesha_studies.framework.page import Page, Picture
from shesha_studies.framework.pictures import figure
from shesha_studies.framework.study_decorator import study

NAMES = ("part", "domain", "dataset", "architecture", "pooling", "test", "quality")


def _cells(*rows: tuple[str, ...]) -> list[dict[str, Any]]:
    return [dict(zip(NAMES, row, strict=True)) for row in rows]


READ = _cells(
    *(("table", *block) for block in tables.small_suites()[list(tables.BLOCK)].itertuples(index=False)),
    *(("ranks", domain, source, "-", "-", "-", "-") for domain in DOMAINS for source in ("published", "small")),
)
TRAINED = _cells(
    *(
        ("options", "graph", "Cora", network, "-", test, "-")
        for network in ("GCN", "SAGE")
        for test in ("label_randomization", "shortcut", "augmentation")
    )
)


@study(
    "resi",
    paper="ReSi, 4, 5 and Appendix C",
    version=2,
    full=READ + TRAINED,
    quick=READ + TRAINED[:1],
    published="resi.csv",
    stand_ins="small networks of our own, trained on SST-2, MNLI, Fashion-MNIST and CIFAR-10, replace the published "
    "language and vision models; Cora is repeated with the published architectures",
)
def resi(
    part: str, domain: str, dataset: str, architecture: str, pooling: str, test: str, quality: str
) -> dict[str, float]:
    """Do our small suites rank the measures as the published benchmark does, and do its claims hold there?

    There are three kinds of cells. A cell of a table contains the rank correlation of our scores of the 24 measures
    with the published columns of the same test and domain (on Cora: of the same network), and that of the published
    columns with each other. A cell of ranks contains the position of each measure over all tests, and how often it is
    first if data sets and networks are resampled. A cell of options trains nine small networks. It scores three
    measures raw, calibrated, and calibrated with permutations within classes. It also scores the difference of
    stabilities on the given axes and averaged over bases.
    """
    if part == "options":
        return option_scores(dataset, architecture, test)
    if part == "ranks":
        scores = tables.scores(dataset)
        found = tables.positions(scores[scores.domain == domain])
        shares = {f"{name} first": share for name, (_, share) in found.items()}
        return {name: float(place) for name, (place, _) in found.items()} | shares
    values = tables.columns("small", domain, test, quality)[(dataset, architecture, "" if pooling == "-" else pooling)]
    published = tables.columns("published", domain, test, quality)
    same = [key for key in published.columns if tuple(key)[:2] == (dataset, architecture)] or list(published.columns)
    return {
        "agreement": float(np.nanmean([tables.correlation(values, published[key]) for key in same])),
        "published_agreement": tables.mean_agreement(published),
    }


@resi.page
def page(rows: pd.DataFrame, published: pd.DataFrame) -> Page:
    """Agreement by table, positions by domain, and the effects of calibration."""
    by_test = _test_table(rows[rows.part == "table"])
    page_tables = (
        ("Agreement with the published columns", by_test),
        ("Cora, number by number, the same networks", _cora()),
        ("Positions of the measures", _positions(rows)),
        ("Calibration, restricted permutations, basis averaging", option_table(rows).reset_index(names="score")),
    )
    return Page("", page_tables, (_agreement_picture(by_test),))


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
        }
        for (test, quality), part in [*both.groupby(["test", "quality"], sort=False), (("all", ""), both)]
    ]
    return pd.DataFrame(lines)


def _test_table(rows: pd.DataFrame) -> pd.DataFrame:
    means = rows.groupby(["domain", "test", "quality"], sort=False)
    columns = {"agreement": ("agreement", "mean"), "published_agreement": ("published_agreement", "mean")}
    return means.agg(columns=("agreement", "size"), **columns).reset_index()


def _positions(rows: pd.DataFrame) -> pd.DataFrame:
    by_domain, shares = places(rows).astype(int), places(rows, " first").xs("published", axis=1, level="dataset")
    table = by_domain.set_axis(by_domain.columns.map(", ".join), axis=1)
    return table.join(shares.add_suffix(", first")).reset_index(names="measure")


def _agreement_picture(by_test: pd.DataFrame) -> Picture:
    fig, axes = figure(3, width=3.6, height=3.8, sharey=True)
    among_published = {"color": "0.3", "markersize": 11, "label": "published columns with each other"}
    for ax, domain in zip(axes, DOMAINS, strict=True):
        df = by_test[by_test.domain == domain]
        heights = np.arange(len(df))[::-1]
        ax.axvspan(-2 * CHANCE, 2 * CHANCE, color="0.92", zorder=0, label="unrelated orders, 95 %")
        ax.plot(df.published_agreement, heights, "|", **among_published)
        ax.plot(df.agreement, heights, "o", color=PALETTE[0], label="ours with published")
        ax.set(title=domain, xlabel="Spearman over 24 measures", xlim=(-0.6, 1.02))
    ax.set_yticks(heights, [f"{row.test.replace('_', ' ')}, {row.quality}" for _, row in df.iterrows()], fontsize=7.5)
    fig.legend(*axes[0].get_legend_handles_labels(), frameon=False, fontsize=8, loc="outside lower center", ncol=3)
    shows = "Rank correlation of our columns with the published columns, by test; the grey band is for unrelated orders"
    return Picture("agreement", fig, shows)


@resi.facts
def facts(rows: pd.DataFrame, published: pd.DataFrame | None) -> Facts:
    """Return the facts by which the claims are judged."""
    return {**make_facts(rows), **as_facts(option_facts(option_table(rows)))}
