"""Every number and claim of the transfer section, judged."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from inspect import signature
from typing import Any

import numpy as np

from shesha import stability, transfer
from shesha.studies.checks import RECIPE, Check
from shesha.studies.published_checks import (
    Found,
    Table,
    against,
    judge_line,
    lines_of,
    number,
    stand_ins,
)
from shesha_studies.language._transfer_representations import FAMILIES, TEST
from shesha_studies.language._transfer_statistics import metric_correlations
from shesha_studies.language._transfer_table_checks import check_tables

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
MODELS = 30
HERE = (
    "The published value is over 30 encoders, from IMDB to SST-2 or Yelp; ours is over "
    f"{sum(map(len, FAMILIES.values()))} representations of {len(FAMILIES)} families, from phrases to sentences of "
    "SST-2."
)
AT_HAND = {"all-MiniLM-L6-v2": ("MiniLM", 6), "all-mpnet-base-v2": ("MPNet", 12)}
"""Published encoders with available weights; their last layers are among our representations."""
TEST_ROWS = 1000
"""Number of sentences on which the published accuracies were tested."""


def checks(rows: Table, published: Table, claims: Table) -> Iterator[Check]:
    """Yield a check for every row of Tables 55 to 58 and every number of the text."""
    rhos = metric_correlations(rows).set_index(["number", "accuracy"])
    yield from _stars(published)
    for table in ("Table 55", "Table 56"):
        lines = lines_of(published, table)
        lines = lines[~lines.number.str.contains("stars|type")]
        yield from stand_ins(lines, lambda row, column: _rho(rhos, row, column), HERE, "rank correlation,")
    for _, line in lines_of(published, "Table 56").query("number == 'type'").iterrows():
        kind = _kind(str(line.row))
        yield judge_line(line, Found(kind, why="our score of that name uses other information"))
    yield from _table_57(rows, published)
    yield from check_tables(published)
    yield from against(claims, {})


def _table_57(rows: Table, published: Table) -> Iterator[Check]:
    """Compare accuracies on SST-2 of the available encoders; other numbers need other weights, IMDB or Yelp."""
    lines = lines_of(published, "Table 57")
    reached = lines.row.isin(list(AT_HAND)) & (lines.number == "accuracy 1")
    yield from stand_ins(
        lines[~reached], lambda *_: None, "We do not have the weights of most of these encoders, IMDB or Yelp."
    )
    accuracy = rows.set_index(["family", "part"])["accuracy 512"] / 100
    for _, line in lines[reached].iterrows():
        value = float(accuracy.get(AT_HAND[str(line.row)], np.nan))
        if np.isnan(value):
            yield judge_line(line, Found(None))
            continue
        error = float(np.sqrt(value * (1 - value) * (1 / TEST + 1 / TEST_ROWS)))
        why = f"We use 512 training sentences and {TEST} test sentences."
        yield replace(judge_line(line, Found(value, error, why)), basis=RECIPE)


def _key(row: str) -> str:
    return next(value for key, value in KEYS.items() if row.startswith(key))


def _rho(table: Table, row: str, column: str) -> float | None:
    accuracy = "accuracy 512" if column == "correlation" else f"accuracy {column}"
    return float(table.loc[(_key(row), accuracy), "rho"]) if (_key(row), accuracy) in table.index else None


def _kind(row: str) -> str:
    """Return whether our score of that name takes labels, by its signature."""
    named = signature(_SCORES[_key(row)]).parameters
    return "Label-informed" if "y" in named else "Unsupervised"


def _stars(published: Table) -> Iterator[Check]:
    """Check the stars against Student's t test for 30 independent models."""
    from scipy.stats import t

    for table in ("Table 55", "Table 56"):
        lines = lines_of(published, table)
        for _, line in lines[lines.number.str.contains("stars")].iterrows():
            column = "correlation" if line.number == "stars" else line.number.split()[0]
            rho = number(published, table, str(line.row), column)
            p = 2 * t.sf(abs(rho) * np.sqrt((MODELS - 2) / (1 - rho**2)), MODELS - 2)
            stars = float(sum(p < level for level in (0.05, 0.01, 0.001)))
            why = f"rho = {rho} with n = 30 has p = {p:.4f}; the difference is due to rounding of rho."
            claim = {**line, "what": f"{line.row}: {line.number}, as of {MODELS} independent models"}
            yield judge_line(claim, Found(stars, why=why, decimals=0))
