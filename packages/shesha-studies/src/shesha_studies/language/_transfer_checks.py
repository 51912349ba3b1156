"""Our values of the numbers in the section on transfer."""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy.stats import spearmanr

from shesha.studies.checks import RECIPE, Found
from shesha.studies.published_checks import Answers, Table, judged, printed_table, shown, table_cells
from shesha.studies.tolerance import correlation_p_value
from shesha_studies.language._transfer_facts import ACCURACY, MODELS, table_57
from shesha_studies.language._transfer_representations import TEST

KEYS = {
    "Label-RDM Align": "alignment",
    "Class Separation": "separation",
    "Split-Half": "split",
    "LDA": "lda",
    "LogME": "logme",
    "Bhatt": "bhattacharyya",
    "H-Score": "h_score",
    "Margin": "margin",
    "Centroid": "centroid",
    "NCE": "nce",
}
"""Our names of scores, by the start of the published names."""
AT_HAND = {"all-MiniLM-L6-v2": ("MiniLM", 6), "all-mpnet-base-v2": ("MPNet", 12)}
"""Published encoders with available weights; their last layers are among our representations."""
TEST_ROWS = 1000
"""Number of sentences on which the published accuracies were tested."""
OURS = {"source samples": 300, "target training rows": 512, "target validation rows": 88, "target test rows": 300}


def published_numbers(rows: Table, published: Table) -> Answers:
    """Return our values for Tables 55 to 58 and the text, by "row: number" or "table | row: number"."""
    by_k = printed_table(published, "Table 55")
    full = printed_table(published, "Table 56")
    answers = _score_tables(rows, by_k, "Table 55") | _score_tables(rows, full, "Table 56")
    # Numbers of the text repeat, or follow from, correlations in these tables.
    correlations = by_k[[name for name in by_k if name.isdigit()]]
    ends = correlations.agg(["min", "max"], axis=1).set_axis(["lowest over k", "highest over k"], axis=1)
    answers |= judged(table_cells(correlations) | table_cells(full[["correlation"]]) | table_cells(ends))
    split = "Split-Half (dims)"
    answers[f"{split}: p"] = Found(correlation_p_value(full.correlation[split], MODELS))
    gaps = _gaps(printed_table(published, "Table 58"), by_k["64"], full.correlation)
    return answers | _accuracies(rows) | _of_table_57(table_57(published), correlations.shape[1]) | gaps


def _score_tables(rows: Table, printed: Table, place: str) -> Answers:
    """Correlations of our representations; stars by a t test of 30 independent models; and types of scores."""
    rows, answers = rows.round(5), Answers()
    for row, column in product(printed.index, printed.columns):
        key, name = f"{place} | {row}: {column}", next(ours for start, ours in KEYS.items() if row.startswith(start))
        if column == "type":
            answers[key] = Found("Unsupervised" if name == "split" else "Label-informed")
        elif "stars" in column:
            rho = printed.loc[row, "correlation" if column == "stars" else column.split()[0]]
            p = correlation_p_value(rho, MODELS)
            answers[key] = Found(float(sum(p < level for level in (0.05, 0.01, 0.001))))
        else:
            accuracy = ACCURACY if column == "correlation" else f"accuracy {column}"
            answers |= shown({key: float(spearmanr(rows[name], rows[accuracy]).statistic)})
    return answers


def _accuracies(rows: Table) -> Answers:
    """Accuracies on SST-2 of the available encoders."""
    accuracy = rows.set_index(["family", "part"])[ACCURACY] / 100
    values = {model: float(accuracy[part]) for model, part in AT_HAND.items() if part in accuracy.index}
    return {
        f"Table 57 | {model}: accuracy 1": Found(
            value, float(np.sqrt(value * (1 - value) * (1 / TEST + 1 / TEST_ROWS))), basis=RECIPE
        )
        for model, value in values.items()
    }


def _of_table_57(table: Table, n_sizes: int) -> Answers:
    """Numbers of the text that follow from Table 57: its lines, its ends and its counts."""
    text = {f"11.4 | {key}": value for key, value in table_cells(table.select_dtypes(float)).items()}
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
    return judged(text) | shown({f"counts: {name}": float(count) for name, count in OURS.items()})


def _gaps(printed: Table, at_64: Table, full: Table) -> Answers:
    """The columns of Table 58, which repeat other tables, and their differences."""
    few, many = "Transfer (SST-2, k = 64)", "Transfer (Yelp)"
    gaps = printed["label-informed"] - printed["unsupervised"]
    transfer = printed.gap[[few, many]]
    return judged(
        {
            f"{few}: unsupervised": at_64["Split-Half (unsup.)"],
            f"{few}: label-informed": at_64["H-Score"],
            f"{many}: unsupervised": full["Split-Half (dims)"],
            f"{many}: label-informed": full["LogME"],
            **{f"{row}: gap": gap for row, gap in gaps.items()},
            "gap: lowest": transfer.min(),
            "gap: highest": transfer.max(),
        }
    )
