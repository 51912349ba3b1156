"""Facts of the transfer study, by which its claims are judged."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import rankdata, spearmanr

from shesha.studies.facts import Fact, Facts, as_facts, rank_correlation
from shesha.studies.published_checks import Table, lines_of, number, split_numbers_and_claims
from shesha.support.types import Vector
from shesha_studies.causal_lm_embeddings import CAUSAL

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
REAL_TASKS = ("Steering (SST-2)", "Steering (MNLI)", "Transfer (SST-2, k = 64)", "Transfer (Yelp)")
MODELS = 30
"""Number of published models."""


def score_correlation(a: Vector, b: Vector, families: Sequence[str], width: Vector | None = None) -> dict[str, float]:
    """Return Spearman's correlation over models with its p, over family means, and without each family.

    p-values are two-sided, from permutations of the models or of the family means. There are fewer families than
    models, but families do not share a network.
    """
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
    ranks = rankdata(values)
    ranks = ranks - ranks.mean()
    return np.asarray(ranks / np.linalg.norm(ranks))


def metric_correlations(rows: Table) -> Table:
    """Return one line per score and number of examples."""
    # Round scores, so that scores at their limit are ties despite rounding errors.
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


def make_facts(rows: Table, published: Table) -> Facts:
    """Correlations with accuracy over representations and over families, ours and the paper's."""
    table = metric_correlations(rows).set_index(["number", "accuracy"])
    rhos: Any = {name: table.loc[(name, "accuracy 512")] for name in ("alignment", "split", "h_score")}
    paper_rhos = table_57_correlations(split_numbers_and_claims(published)[0])
    n = rows.groupby(["family", "part"]).ngroups
    facts = {"representations": Fact(float(n)), "families": Fact(float(rows.family.nunique()))}
    facts |= {name: rank_correlation(float(row.rho), n) for name, row in rhos.items()}
    facts["published_1"] = rank_correlation(float(paper_rhos["alignment, accuracy 1"].rho), MODELS)
    for name, unit in (("behind_bhattacharyya", ["family", "part"]), ("behind_bhattacharyya_families", ["family"])):
        facts[name] = _difference(rows, "alignment", "bhattacharyya", unit)
    facts |= _over_representations(rows, table, n)
    return facts | as_facts({**_tables(published), **_scores(table)}) | as_facts(_causal(rows), "causal ")


def _over_representations(rows: Table, table: Table, n: int) -> dict[str, Fact]:
    """Differences between scores, with families or their parts resampled, and correlations of LDA with accuracy."""
    best = str(table.xs("accuracy 512", level="accuracy").rho.idxmax())
    unit = ["family", "part"]
    lda: Any = table.loc[("lda", "accuracy 512")]
    return {
        "h_score_behind": _difference(rows, best, "h_score", ["family"]),
        "gap": _difference(rows, best, "split", unit),
        "lda, rho": rank_correlation(float(lda.rho), n),
        "lda, at_equal_width": rank_correlation(float(lda.at_equal_width), n, 1),
    }


_SAMPLED = [("lda", "rho"), ("lda", "at_equal_width")]
"""Scores and statistics whose intervals are computed."""


def _scores(table: Table) -> dict[str, Any]:
    """Facts on the strongest score, and on the dependence of scores on the number of features."""
    rhos: Any = {name: table.loc[(name, "accuracy 512")] for name in NUMBERS}
    pairs = [(name, key) for name in rhos for key in ("rho", "width", "at_equal_width") if (name, key) not in _SAMPLED]
    values = {f"{name}, {key}": float(rhos[name][key]) for name, key in pairs}
    best = max(rhos, key=lambda name: rhos[name].rho)
    return values | {
        "best": LABELS[best],
        "best_rho": float(rhos[best].rho),
        "alignment_p": float(rhos["alignment"].p),
        "alignment_families_p": float(rhos["alignment"].p_families),
        "split_families_p": float(rhos["split"].p_families),
    }


def _tables(published: Table) -> dict[str, Any]:
    """Facts computed from the published tables: over families, at equal size, and compared with the text."""
    lines = split_numbers_and_claims(published)[0]
    paper_rhos, table = table_57_correlations(lines), table_57(lines)
    facts: dict[str, Any] = {}
    ends = {"Exp1": ("Table 55", "Label-RDM Align.", "512"), "Exp2": ("Table 56", "Label-RDM Alignment", "correlation")}
    for place, (name, end) in enumerate(ends.items(), 1):
        entry = paper_rhos[f"alignment, accuracy {place}"]
        facts |= {f"{name} {key}": float(entry[key]) for key in ("rho", "rho_families", "p_families", "at_equal_width")}
        facts |= {f"{name} within": float(entry.mean_within_families), "table_57_families": float(entry.families)}
        facts[f"{name} apart"] = abs(number(lines, *end) - float(entry.rho))
    jina = table.loc["jina-embeddings-v2-base-en"]
    return facts | {
        "families_p": max(facts["Exp1 p_families"], facts["Exp2 p_families"]),
        "at_equal_size": rank_correlation(min(facts["Exp1 at_equal_width"], facts["Exp2 at_equal_width"]), MODELS, 1),
        "unsupervised_64": number(lines, "Table 58", "Transfer (SST-2, k = 64)", "unsupervised"),
        "labelled_table_58": min(number(lines, "Table 58", task, "label-informed") for task in REAL_TASKS),
        "labelled_64": number(lines, "Table 55", "Label-RDM Align.", "64"),
        "jina": float(jina.alignment),
        **{f"jina {name}": float(jina[name]) for name in ("accuracy 1", "accuracy 2")},
        "jina accuracy": float(max(jina["accuracy 1"], jina["accuracy 2"])),
    }


def _causal(rows: Table) -> dict[str, Any]:
    """Ranks of the causal model's most accurate layer by accuracy and by alignment."""
    causal_rows = rows[rows.family == CAUSAL]
    if not len(causal_rows):
        return {}
    ranks = rows[["accuracy 512", "alignment"]].rank(ascending=False, method="min")
    best = causal_rows["accuracy 512"].idxmax()
    facts = {"layer": rows.part[best], "accuracy": rows["accuracy 512"][best]}
    return facts | {f"place by {name.split()[0]}": ranks[name][best] for name in ranks}


def _difference(rows: Table, metric: str, other: str, unit: list[str], draws: int = 2000) -> Fact:
    """How much better one metric ranks accuracy than another, by Spearman's correlation; units are resampled whole."""
    numbers = rows[[metric, other, "accuracy 512"]].to_numpy()
    members = [numbers[index] for index in rows.groupby(unit).indices.values()]
    rng = np.random.default_rng(0)

    def better(sample: Any) -> float:
        ranks = rankdata(sample, axis=0)
        if not np.ptp(ranks, axis=0).all():
            return float("nan")
        return float(np.corrcoef(ranks[:, 0], ranks[:, 2])[0, 1] - np.corrcoef(ranks[:, 1], ranks[:, 2])[0, 1])

    drawn = [
        better(np.concatenate([members[i] for i in rng.integers(len(members), size=len(members))]))
        for _ in range(draws)
    ]
    return Fact(better(numbers), *(float(limit) for limit in np.nanquantile(drawn, [0.025, 0.975])))
