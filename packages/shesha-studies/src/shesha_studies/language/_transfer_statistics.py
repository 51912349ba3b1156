"""Correlations of scores with few-shot accuracy: facts of the transfer study, and our values of its numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import rankdata, spearmanr

from shesha.support.types import Index, Vector
from shesha_studies.causal_lm_embeddings import CAUSAL
from shesha_studies.framework.checks import RECIPE, Found
from shesha_studies.framework.facts import Fact, Facts, as_facts, rank_correlation, resampled
from shesha_studies.framework.published_checks import (
    Answers,
    Table,
    derived_answers,
    lines_of,
    numbers_by_cell,
    printed_table,
    unjudged_answers,
)
from shesha_studies.framework.tolerance import correlation_p
from shesha_studies.partial_rank_correlations import partial_rank_correlations
from shesha_studies.printed_p_values import printed_p_values

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
"""Our scores, in the order of the published tables."""
ACCURACY = "accuracy 512"
DRAWS = 2000
REAL_TASKS = ["Steering (SST-2)", "Steering (MNLI)", "Transfer (SST-2, k = 64)", "Transfer (Yelp)"]
MODELS = 30
"""Number of published models."""
AT_HAND = {"all-MiniLM-L6-v2": ("MiniLM", 6), "all-mpnet-base-v2": ("MPNet", 12)}
"""Published encoders with available weights; their last layers are among our representations."""
TEST_ROWS = 1000
"""Number of sentences on which the published accuracies were tested."""
OURS = {"source samples": 300, "target training rows": 512, "target validation rows": 88, "target test rows": 300}


def score_correlation(a: Vector, b: Vector, families: Sequence[str], width: Vector) -> dict[str, float]:
    """Return Spearman's correlation over models with its p, over family means, without each family, and given width.

    p-values are two-sided, from permutations of the models or of the family means. There are fewer families than
    models, but families do not share a network.
    """
    names = np.asarray(families)
    known = np.unique(names)
    first, second = (np.array([vector[names == name].mean() for name in known]) for vector in (a, b))
    without = [float(spearmanr(a[names != name], b[names != name]).statistic) for name in known]
    return {
        "rho": float(spearmanr(a, b).statistic),
        "p": permutation_p(a, b),
        "rho_families": float(spearmanr(first, second).statistic),
        "p_families": permutation_p(first, second),
        "families": float(len(known)),
        "lowest": min(without),
        "highest": max(without),
        "width": float(spearmanr(a, width).statistic),
        "at_equal_width": float(partial_rank_correlations(np.column_stack([a, b, width]), 0, [2])[1]),
    }


def permutation_p(a: Vector, b: Vector) -> float:
    """Two-sided p-value of a rank correlation, among 1,999 permutations and the order observed."""
    first, second = _centred(a), _centred(b)
    rng = np.random.default_rng(0)
    orders = np.stack([np.arange(len(b)), *(rng.permutation(len(b)) for _ in range(DRAWS - 1))])
    totals = np.abs(second[orders] @ first)
    return float((totals >= totals[0] - 1e-12).mean())


def _centred(values: Vector) -> Vector:
    ranks = rankdata(values)
    ranks = ranks - ranks.mean()
    return np.asarray(ranks / np.linalg.norm(ranks))


def accuracy_correlations(rows: Table) -> Table:
    """Return one line per score with its correlation with the accuracy for 512 examples."""
    # Round scores, so that scores at their limit are ties despite rounding errors.
    rows = rows.round(5)
    accuracy, families, width = rows[ACCURACY].to_numpy(), rows.family.tolist(), rows.width.to_numpy()
    return pd.DataFrame(
        {name: score_correlation(rows[name].to_numpy(), accuracy, families, width) for name in LABELS}
    ).T


def table_57(published: Table) -> Table:
    """Return the published Table 57, one line per model, with the model's family by its name."""
    table = printed_table(published, "Table 57")
    # The families are bge, GIST, e5, gte, t5 (also gtr-t5), jina, or what the model was made of (MiniLM, mpnet, ...).
    family = re.compile("bge|GIST|MiniLM|mpnet|distilroberta|albert|jina|t5|e5|gte")
    return table.assign(family=[family.findall(str(name))[0] for name in table.index])


def table_57_correlations(published: Table) -> Table:
    """Alignment against accuracy in the published rows themselves, by experiment; size takes the place of width."""
    table = table_57(published)
    size = table.capacity.map({"Small": 0.0, "Base": 1.0, "Large": 2.0}).to_numpy()
    large_families = [group for _, group in table.groupby("family") if len(group) > 2]
    lines = {}
    for name in ("accuracy 1", "accuracy 2"):
        values = score_correlation(table.alignment.to_numpy(), table[name].to_numpy(), table.family.tolist(), size)
        within = [group.alignment.corr(group[name], method="spearman") for group in large_families]
        lines[f"alignment, {name}"] = values | {"mean_within_families": float(np.mean(within))}
    return pd.DataFrame(lines).T


def make_facts(rows: Table, published: Table) -> Facts:
    """Correlations with accuracy over representations and over families, ours and the paper's."""
    table, n = accuracy_correlations(rows), rows.groupby(["family", "part"]).ngroups
    rho, best = table.rho, str(table.rho.idxmax())
    units = ["family", "part"]
    facts = {
        "representations": n,
        "families": rows.family.nunique(),
        **{name: rank_correlation(rho[name], n) for name in ("alignment", "split", "h_score")},
        "behind_bhattacharyya": _difference(rows, "alignment", "bhattacharyya", units),
        "behind_bhattacharyya_families": _difference(rows, "alignment", "bhattacharyya", ["family"]),
        "h_score_behind": _difference(rows, best, "h_score", ["family"]),
        "gap": _difference(rows, best, "split", units),
        **{f"{name}, rho": value for name, value in rho.items()},
        **{f"h_score, {key}": table.loc["h_score", key] for key in ("width", "at_equal_width")},
        "lda, rho": rank_correlation(rho["lda"], n),
        "lda, width": table.width["lda"],
        "lda, at_equal_width": rank_correlation(table.at_equal_width["lda"], n, 1),
        "best": LABELS[best],
        "best_rho": rho[best],
        "alignment_p": table.p["alignment"],
        **{f"{name}_families_p": table.p_families[name] for name in ("alignment", "split")},
    }
    return as_facts(facts | _published_facts(published)) | as_facts(_causal(rows), "causal ")


def _published_facts(published: Table) -> dict[str, Any]:
    """Facts computed from the published tables: over families, at equal size, and compared with the text."""
    t55, t56, t58 = (printed_table(published, f"Table {place}") for place in (55, 56, 58))
    printed = {"Exp1": t55.loc["Label-RDM Align.", "512"], "Exp2": t56.loc["Label-RDM Alignment", "correlation"]}
    table = table_57_correlations(published).set_axis(list(printed))
    jina = table_57(published).loc["jina-embeddings-v2-base-en", ["alignment", "accuracy 1", "accuracy 2"]]
    keys = ["rho", "rho_families", "p_families", "at_equal_width"]
    return {
        **{f"{name} {key}": table.loc[name, key] for name in printed for key in keys},
        **{f"{name} within": table.mean_within_families[name] for name in printed},
        **{f"{name} apart": abs(rho - table.rho[name]) for name, rho in printed.items()},
        "published_1": rank_correlation(table.rho["Exp1"], MODELS),
        "table_57_families": table.families["Exp1"],
        "families_p": table.p_families.max(),
        "at_equal_size": rank_correlation(table.at_equal_width.min(), MODELS, 1),
        "unsupervised_64": t58.loc["Transfer (SST-2, k = 64)", "unsupervised"],
        "labelled_table_58": t58.loc[REAL_TASKS, "label-informed"].min(),
        "labelled_64": t55.loc["Label-RDM Align.", "64"],
        "jina": jina.alignment,
        **jina[1:].add_prefix("jina "),
        "jina accuracy": jina[1:].max(),
    }


def _causal(rows: Table) -> dict[str, Any]:
    """Ranks of the causal model's most accurate layer by accuracy and by alignment."""
    causal_rows = rows[rows.family == CAUSAL]
    if not len(causal_rows):
        return {}
    ranks = rows[[ACCURACY, "alignment"]].rank(ascending=False, method="min")
    best = causal_rows[ACCURACY].idxmax()
    facts = {"layer": rows.part[best], "accuracy": rows[ACCURACY][best]}
    return facts | {f"place by {name.split()[0]}": ranks[name][best] for name in ranks}


def _difference(rows: Table, metric: str, other: str, unit: list[str]) -> Fact:
    """How much better one metric ranks accuracy than another, by Spearman's correlation; units are resampled whole."""

    values = rows[[metric, other, ACCURACY]].to_numpy()

    def better(places: Index) -> float:
        drawn = values[places].T
        # Mean ranks by counts, since calls of rankdata for thousands of small samples take most of the time.
        ranks = (drawn[:, :, None] > drawn[:, None]).sum(axis=2) + (drawn[:, :, None] == drawn[:, None]).sum(axis=2) / 2
        if not np.ptp(ranks, axis=1).all():
            return float("nan")
        first, second = np.corrcoef(ranks)[:2, 2]
        return float(first - second)

    return resampled(better, list(rows.groupby(unit).indices.values()), DRAWS)


def published_numbers(rows: Table, published: Table) -> Answers:
    """Return our values for Tables 55 to 58 and the text, by "row: number" or "table | row: number"."""
    by_k = printed_table(published, "Table 55")
    full = printed_table(published, "Table 56")
    answers = _score_table(rows, published, "Table 55") | _score_table(rows, published, "Table 56")
    # Numbers of the text repeat, or follow from, correlations in these tables.
    correlations = by_k[[name for name in by_k if name.isdigit()]]
    ends = correlations.agg(["min", "max"], axis=1).set_axis(["lowest over k", "highest over k"], axis=1)
    answers |= derived_answers(
        numbers_by_cell(correlations) | numbers_by_cell(full[["correlation"]]) | numbers_by_cell(ends)
    )
    answers |= printed_p_values(published)
    gaps = printed_table(published, "Table 58")
    differences = (gaps["label-informed"] - gaps["unsupervised"]).to_frame("gap")
    transfer = gaps.gap[gaps.index.str.startswith("Transfer")]
    answers |= derived_answers(
        {**numbers_by_cell(differences), "gap: lowest": transfer.min(), "gap: highest": transfer.max()}
    )
    return answers | _accuracies(rows) | _table_57_answers(table_57(published), correlations.shape[1])


def _score_table(rows: Table, published: Table, place: str) -> Answers:
    """Correlations of our representations; stars by a t test of 30 independent models; and types of scores."""
    rows, printed, answers = rows.round(5), printed_table(published, place), Answers()
    scores = zip(lines_of(published, place).row.dropna().unique(), LABELS, strict=True)
    for (row, name), column in product(scores, printed.columns):
        key = f"{place} | {row}: {column}"
        if column == "type":
            answers[key] = Found("Unsupervised" if name == "split" else "Label-informed")
        elif "stars" in column:
            rho = printed.loc[row, "correlation" if column == "stars" else column.split()[0]]
            p = correlation_p(rho, MODELS)
            answers[key] = Found(float(sum(p < level for level in (0.05, 0.01, 0.001))))
        else:
            accuracy = ACCURACY if column == "correlation" else f"accuracy {column}"
            answers |= unjudged_answers({key: float(spearmanr(rows[name], rows[accuracy]).statistic)})
    return answers


def _accuracies(rows: Table) -> Answers:
    """Accuracies on SST-2 of the available encoders."""
    accuracy = rows.set_index(["family", "part"])[ACCURACY] / 100
    values = {model: float(accuracy[part]) for model, part in AT_HAND.items() if part in accuracy.index}
    return {
        f"Table 57 | {model}: accuracy 1": Found(
            value, float(np.sqrt(value * (1 - value) * (1 / OURS["target test rows"] + 1 / TEST_ROWS))), basis=RECIPE
        )
        for model, value in values.items()
    }


def _table_57_answers(table: Table, n_sizes: int) -> Answers:
    """Numbers of the text that follow from Table 57: its lines, its ends and its counts."""
    text = {f"11.4 | {key}": value for key, value in numbers_by_cell(table.select_dtypes(float)).items()}
    accuracies = table.sort_values("alignment")[["accuracy 1", "accuracy 2"]]
    gains = 100 * (accuracies.tail(5).mean() - accuracies.head(5).mean())
    counts = {
        **table.capacity.value_counts(),
        "models": len(table),
        "observations, experiment 1": len(table) * n_sizes,
        "observations, experiment 2": len(table),
    }
    text |= {f"top 5 less bottom 5: {name}": gain for name, gain in gains.items()}
    text |= {f"counts: {name}": count for name, count in counts.items()}
    return derived_answers(text) | unjudged_answers({f"counts: {name}": float(count) for name, count in OURS.items()})
