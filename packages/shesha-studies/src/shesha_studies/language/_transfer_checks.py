"""Our values of the numbers in the section on transfer."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

import numpy as np

from shesha import stability, transfer
from shesha.studies.checks import RECIPE, Found
from shesha.studies.published_checks import Answers, Table, lines_of, number, shown
from shesha_studies.language._transfer_facts import MODELS, metric_correlations, table_57
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
_SCORES: dict[str, Callable[..., Any]] = {
    "alignment": stability.supervised_alignment,
    "separation": stability.class_separation_ratio,
    "split": stability.feature_split,
    "lda": stability.lda_stability,
    "logme": transfer.logme,
    "bhattacharyya": transfer.bhattacharyya,
    "h_score": transfer.h_score,
    "margin": transfer.margin_score,
    "centroid": transfer.centroid_softmax,
    "nce": transfer.nce,
}
AT_HAND = {"all-MiniLM-L6-v2": ("MiniLM", 6), "all-mpnet-base-v2": ("MPNet", 12)}
"""Published encoders with available weights; their last layers are among our representations."""
TEST_ROWS = 1000
"""Number of sentences on which the published accuracies were tested."""
OURS = {
    "source samples": 300.0,
    "target training rows": 512.0,
    "target validation rows": 88.0,
    "target test rows": 300.0,
}
_SPLIT = "Split-Half (dims)"


def published_numbers(rows: Table, published: Table) -> Answers:
    """Return our values for Tables 55 to 58 and the text, by "row: number" or "table | row: number"."""
    table = table_57(published)
    return {
        **_repeated(published),
        **_correlations(rows, published),
        **_stars_and_types(published),
        **_accuracies(rows),
        **_of_table_57(published, table),
        **_gaps(published),
    }


def _p(rho: float) -> float:
    """Two-sided p-value of a correlation over the published models, by Student's t test."""
    from scipy.stats import t

    return float(2 * t.sf(abs(rho) * np.sqrt((MODELS - 2) / (1 - rho**2)), MODELS - 2))


def _repeated(published: Table) -> Answers:
    """Numbers of the text that repeat, or follow from, a correlation of Tables 55 and 56."""
    answers: Answers = {}
    for place in ("Table 55", "Table 56"):
        lines = lines_of(published, place)
        lines = lines[lines.number.isin(["correlation"]) | lines.number.str.isdigit()]
        lines = lines.assign(value=lines.published.astype(float))
        answers |= {f"{line.row}: {line.number}": Found(line.value) for _, line in lines.iterrows()}
        for row, values in lines[lines.number.str.isdigit()].groupby("row").value:
            answers |= {f"{row}: lowest over k": Found(values.min()), f"{row}: highest over k": Found(values.max())}
    return answers | {f"{_SPLIT}: p": Found(_p(number(published, "Table 56", _SPLIT, "correlation")))}


def _correlations(rows: Table, published: Table) -> Answers:
    """Correlations of our representations, which replace those of Tables 55 and 56."""
    rhos = metric_correlations(rows).set_index(["number", "accuracy"]).rho
    values = {}
    for place in ("Table 55", "Table 56"):
        for _, line in lines_of(published, place).iterrows():
            accuracy = "accuracy 512" if line.number == "correlation" else f"accuracy {line.number}"
            if (_key(str(line.row)), accuracy) in rhos.index:
                values[f"{place} | {line.row}: {line.number}"] = float(rhos[_key(str(line.row)), accuracy])
    return shown(values)


def _key(row: str) -> str:
    return next((value for key, value in KEYS.items() if row.startswith(key)), "")


def _stars_and_types(published: Table) -> Answers:
    """Stars by a t test of 30 independent models, and types by the parameters of our scores of that name."""
    answers: Answers = {}
    for place in ("Table 55", "Table 56"):
        for _, line in lines_of(published, place).iterrows():
            if "stars" in str(line.number):
                column = "correlation" if line.number == "stars" else line.number.split()[0]
                p = _p(number(published, place, str(line.row), column))
                found = Found(float(sum(p < level for level in (0.05, 0.01, 0.001))))
            elif line.number == "type":
                named = signature(_SCORES[_key(str(line.row))]).parameters
                found = Found("Label-informed" if "y" in named else "Unsupervised")
            else:
                continue
            answers[f"{place} | {line.row}: {line.number}"] = found
    return answers


def _accuracies(rows: Table) -> Answers:
    """Accuracies on SST-2 of the available encoders."""
    accuracy = rows.set_index(["family", "part"])["accuracy 512"] / 100
    values = {model: float(accuracy[part]) for model, part in AT_HAND.items() if part in accuracy.index}
    return {
        f"Table 57 | {model}: accuracy 1": Found(
            value, float(np.sqrt(value * (1 - value) * (1 / TEST + 1 / TEST_ROWS))), basis=RECIPE
        )
        for model, value in values.items()
    }


def _of_table_57(published: Table, table: Table) -> Answers:
    """Numbers of the text that follow from Table 57: its lines, its ends and its counts."""
    names = ("alignment", "accuracy 1", "accuracy 2")
    answers = {f"11.4 | {row}: {name}": Found(float(table.loc[row, name])) for row in table.index for name in names}
    ordered = table.sort_values("alignment")
    for name in names[1:]:
        gain = 100 * (ordered[name].tail(5).mean() - ordered[name].head(5).mean())
        answers[f"top 5 less bottom 5: {name}"] = Found(float(gain))
    tested = lines_of(published, "Table 55").number
    counts: dict[str, float] = {
        **table.capacity.value_counts().to_dict(),
        "models": len(table),
        "observations, experiment 1": len(table) * tested[tested.str.isdigit()].nunique(),
        "observations, experiment 2": len(table),
    }
    answers |= {f"counts: {name}": Found(float(count)) for name, count in counts.items()}
    return answers | shown({f"counts: {name}": count for name, count in OURS.items()})


def _gaps(published: Table) -> Answers:
    """The columns of Table 58, which repeat other tables, and their differences."""
    ends = {
        "Transfer (SST-2, k = 64)": ("Table 55", "64", "Split-Half (unsup.)", "H-Score"),
        "Transfer (Yelp)": ("Table 56", "correlation", _SPLIT, "LogME"),
    }
    answers: Answers = {}
    for row, (place, column, plain, labelled) in ends.items():
        answers[f"{row}: unsupervised"] = Found(number(published, place, plain, column))
        answers[f"{row}: label-informed"] = Found(number(published, place, labelled, column))
    lines: Any = lines_of(published, "Table 58")
    wide = lines.assign(value=lines.published.astype(float)).pivot(index="row", columns="number", values="value")
    gaps = wide["label-informed"] - wide["unsupervised"]
    answers |= {f"{row}: gap": Found(float(gap)) for row, gap in gaps.items()}
    printed = wide.gap[wide.index.str.startswith("Transfer")]
    return answers | {"gap: lowest": Found(printed.min()), "gap: highest": Found(printed.max())}
