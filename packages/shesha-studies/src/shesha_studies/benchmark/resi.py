"""Do the small suites of the benchmark rank measures as its published tables do?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from shesha_studies.benchmark import _resi_scores_and_places as tables
from shesha_studies.benchmark._resi_calibration_and_axes import option_facts, option_scores, option_table
from shesha_studies.benchmark._resi_facts import DOMAINS, make_facts
from shesha_studies.framework.facts import Facts, as_facts
from shesha_studies.framework.page import Page
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
    """Return a page without tables, because rules judge all lines."""
    return Page()


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


@resi.facts
def facts(rows: pd.DataFrame, published: pd.DataFrame | None) -> Facts:
    """Return the facts by which the claims are judged."""
    return {**make_facts(rows), **as_facts(option_facts(option_table(rows)))}
