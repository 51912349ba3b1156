"""Rank correlations over models, and over families of models."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pandas as pd

from shesha.studies.published_checks import Table, lines_of
from shesha.support.types import Vector

LABELS = {
    "alignment": "label-RDM alignment",
    "separation": "class separation",
    "split": "feature split (no labels)",
    "lda": "LDA subspace",
    "logme": "LogME",
    "bhattacharyya": "Bhattacharyya",
    "h_score": "H-Score",
    "margin": "margin score",
    "centroid": "centroid softmax",
    "nce": "NCE",
}
NUMBERS = tuple(LABELS)
DRAWS = 2000


def score_correlation(a: Vector, b: Vector, families: Sequence[str], width: Vector | None = None) -> dict[str, float]:
    """Return Spearman's correlation over models with its p, over family means, and without each family.

    p-values are two-sided shares of permutations of the models, or of the means of the families, which are fewer but
    do not share a network.
    """
    from scipy.stats import spearmanr

    names = np.asarray(families)
    known = np.unique(names)
    first, second = (np.array([vector[names == name].mean() for name in known]) for vector in (a, b))
    without = [float(spearmanr(a[names != name], b[names != name]).statistic) for name in known]
    values = {
        "rho": float(spearmanr(a, b).statistic),
        "p": permutation_p(a, b),
        "rho_families": float(spearmanr(first, second).statistic),
        "p_families": permutation_p(first, second),
        "families": float(len(known)),
        "lowest": min(without),
        "highest": max(without),
    }
    if width is not None:
        values["width"] = float(spearmanr(a, width).statistic)
        values["at_equal_width"] = partial(a, b, width)
    return values


def permutation_p(a: Vector, b: Vector) -> float:
    """Two-sided p-value of a rank correlation, among 1,999 permutations and the order observed."""
    ranks = [_centred(vector) for vector in (a, b)]
    rng = np.random.default_rng(0)
    orders = np.stack([np.arange(len(b)), *(rng.permutation(len(b)) for _ in range(DRAWS - 1))])
    totals = np.abs(ranks[1][orders] @ ranks[0])
    return float((totals >= totals[0] - 1e-12).mean())


def partial(a: Vector, b: Vector, given: Vector) -> float:
    """Partial Spearman correlation, controlling for the ranks of a third variable."""
    x, y, z = (_centred(vector) for vector in (a, b, given))
    residuals = [vector - z * (vector @ z) for vector in (x, y)]
    return float(residuals[0] @ residuals[1] / (np.linalg.norm(residuals[0]) * np.linalg.norm(residuals[1])))


def _centred(values: Vector) -> Vector:
    from scipy.stats import rankdata

    ranks = rankdata(values)
    ranks = ranks - ranks.mean()
    return np.asarray(ranks / np.linalg.norm(ranks))


def metric_correlations(rows: Table) -> Table:
    """Return one line per score and number of examples."""
    # Scores at their limit are ties, whatever their last digits.
    rows = rows.round(5)
    lines = []
    for accuracy in (name for name in rows.columns if name.startswith("accuracy ")):
        for name in NUMBERS:
            values = score_correlation(
                rows[name].to_numpy(), rows[accuracy].to_numpy(), rows.family.tolist(), rows.width.to_numpy()
            )
            lines.append({"number": name, "accuracy": accuracy, **values})
    return pd.DataFrame(lines)


def table_57(published: Table) -> Table:
    """Return the published Table 57, one line per model, with the model's family by its name."""
    table = lines_of(published, "Table 57").pivot(index="row", columns="number", values="published")
    for name in ("alignment", "accuracy 1", "accuracy 2"):
        table[name] = table[name].astype(float)
    return table.assign(family=[model_family(str(name)) for name in table.index])


def model_family(model: str) -> str:
    """Return bge, GIST, e5, gte, t5 (also gtr-t5), jina, or what the model was made of (MiniLM, mpnet, ...)."""
    match = re.search(r"bge|GIST|MiniLM|mpnet|distilroberta|albert|jina|t5|e5|gte", model)
    return match.group() if match else model


def table_57_correlations(published: Table) -> dict[str, Table]:
    """Alignment against accuracy in the published rows themselves: all, without the outlier, and by size."""
    table = table_57(published)
    size = table.capacity.map({"Small": 0.0, "Base": 1.0, "Large": 2.0})
    correlations = {}
    for name in ("accuracy 1", "accuracy 2"):
        values = score_correlation(
            table.alignment.to_numpy(), table[name].to_numpy(), table.family.tolist(), size.to_numpy()
        )
        rhos = [
            group.assign(n=1)[["alignment", name]].corr(method="spearman").iloc[0, 1]
            for _, group in table.groupby("family")
            if len(group) > 2
        ]
        values["mean_within_families"] = float(np.mean(rhos))
        correlations[f"alignment, {name}"] = pd.Series(values)
    return correlations
