"""Do the small suites of the benchmark rank measures as its published tables do?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from shesha.studies.facts import Facts, as_facts
from shesha.studies.study_decorator import study
from shesha_studies.benchmark import _resi_scores_and_places as tables
from shesha_studies.benchmark._resi_calibration_and_axes import option_facts, option_scores, option_table
from shesha_studies.benchmark._resi_facts import make_facts
from shesha_studies.benchmark._resi_page import make_page

OURS = {
    "graph": [("Cora", one, "-") for one in ("GCN", "SAGE", "GAT", "PGNN")],
    "language": [
        (data, one, pooling)
        for data in ("SST2", "MNLI")
        for one in ("MiniLM", "SmallBERT")
        for pooling in ("cls", "mean")
    ],
    "vision": [(data, one, "-") for data in ("FashionMNIST", "CIFAR10") for one in ("ResNet", "VGG", "ViT")],
}
QUALITIES = (
    *((test, "spearman") for test in ("accuracy", "jsd", "disagreement")),
    *((test, one) for test in ("label_randomization", "shortcut", "augmentation") for one in ("auprc", "conformity")),
    *(("layer_monotonicity", one) for one in ("conformity", "spearman")),
)
NAMES = ("part", "domain", "dataset", "architecture", "pooling", "test", "quality")


def _grid() -> list[dict[str, Any]]:
    # The augmentation test drops edges, which would change the distances that P-GNN uses.
    cells = [
        ("table", domain, *column, test, quality)
        for domain, columns in OURS.items()
        for column in columns
        for test, quality in QUALITIES
        if (column[1], test) != ("PGNN", "augmentation")
    ]
    cells += [("ranks", domain, source, "-", "-", "-", "-") for domain in OURS for source in ("published", "small")]
    return [dict(zip(NAMES, cell, strict=True)) for cell in cells]


def _options() -> list[dict[str, Any]]:
    """Return the scores of one test of the benchmark on networks that are trained on Cora."""
    return [
        dict(zip(NAMES, ("options", "graph", "Cora", network, "-", test, "-"), strict=True))
        for network in ("GCN", "SAGE")
        for test in ("label_randomization", "shortcut", "augmentation")
    ]


READ, TRAINED = _grid(), _options()


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

    There are three kinds of cells. A cell of a table contains our scores of the 24 measures, and their rank correlation
    with the published columns of the same test and domain (on Cora: of the same network). It also contains the rank
    correlation of the published columns with each other. A cell of ranks contains the position of each measure over all
    tests, and how often it is first if data sets and networks are resampled. A cell of options trains nine small
    networks. It scores three measures raw, calibrated, and calibrated with permutations within classes. It also scores
    the difference of stabilities on the given axes and averaged over bases.
    """
    if part == "options":
        return option_scores(dataset, architecture, test)
    if part == "ranks":
        scores = tables.scores(dataset)
        places = tables.positions(scores[scores.domain == domain])
        row: dict[str, float] = {name: float(place) for name, (place, _) in places.items()}
        return row | {f"{name} first": share for name, (_, share) in places.items()}
    values = tables.columns("small", domain, test, quality)[(dataset, architecture, "" if pooling == "-" else pooling)]
    published = tables.columns("published", domain, test, quality)
    among = [
        tables.correlation(published[key], published[other])
        for index, key in enumerate(published.columns)
        for other in published.columns[:index]
    ]
    same = [key for key in published.columns if tuple(key)[:2] == (dataset, architecture)] or list(published.columns)
    agreement = [tables.correlation(values, published[key]) for key in same]
    return {
        "agreement": float(np.nanmean(agreement)),
        "published_agreement": float(np.nanmean(among)),
        "columns": len(same),
        **{str(name): float(value) for name, value in values.items()},
    }


resi.page(make_page)


@resi.facts
def facts(rows: pd.DataFrame, published: pd.DataFrame | None) -> Facts:
    """Return the facts by which the claims are judged."""
    return {**make_facts(rows), **as_facts(option_facts(option_table(rows)))}
