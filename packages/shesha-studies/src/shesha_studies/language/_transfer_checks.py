"""Checks of every number and claim in the section on transfer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from inspect import signature
from typing import Any

import numpy as np

from shesha import stability, transfer
from shesha.studies.checks import RECIPE, Check
from shesha.studies.published_checks import Found, Table, judge_line, lines_of, number, stand_ins, text_checks
from shesha_studies.language._transfer_facts import MODELS, metric_correlations, table_57
from shesha_studies.language._transfer_representations import FAMILIES, TEST

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
HERE = (
    "The published value is over 30 encoders, from IMDB to SST-2 or Yelp; ours is over "
    f"{sum(map(len, FAMILIES.values()))} representations of {len(FAMILIES)} families, from phrases to sentences of "
    "SST-2."
)
AT_HAND = {"all-MiniLM-L6-v2": ("MiniLM", 6), "all-mpnet-base-v2": ("MPNet", 12)}
"""Published encoders with available weights; their last layers are among our representations."""
TEST_ROWS = 1000
"""Number of sentences on which the published accuracies were tested."""


def checks(rows: Table, published: Table) -> Iterator[Check]:
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


def check_tables(published: Table) -> Iterator[Check]:
    """Check the numbers that follow from the published tables."""
    table = table_57(published)
    yield from _check_correlations(published)
    yield from _check_accuracies(published, table)
    yield from _table_58(published)
    yield from _check_counts(published, table)


def _check_correlations(published: Table) -> Iterator[Check]:
    """Check the numbers in the text that follow from Tables 55 and 56."""
    from scipy.stats import t

    lines = lines_of(published, "11.3", "11.6", "11.7")
    over_k = lines[lines.number.isin(["lowest over k", "highest over k"])]
    yield from text_checks(over_k, lambda row, which: _extreme(published, row, which), "Table 55 has another extreme.")
    again = lines[lines.number.isin(["64", "correlation"])]
    yield from text_checks(
        again,
        lambda row, column: number(published, "Table 55" if column == "64" else "Table 56", row, column),
        "The table has another value.",
    )
    rho = number(published, "Table 56", "Split-Half (dims)", "correlation")
    p = float(2 * t.sf(abs(rho) * np.sqrt(28 / (1 - rho**2)), 28))
    yield from text_checks(
        lines[lines.number == "p"], lambda *_: p, "The correlation is printed with two digits; 0.034 gives p = 0.86."
    )


def _check_accuracies(published: Table, table: Table) -> Iterator[Check]:
    """Check the numbers in the text that follow from Table 57."""
    named = lines_of(published, "11.4")
    plain = named[named.row.isin(table.index)]
    yield from text_checks(plain, lambda row, what: float(table.loc[row, what]), "Table 57 has another value.")
    ends = {
        name: 100
        * (table.sort_values("alignment")[name].tail(5).mean() - table.sort_values("alignment")[name].head(5).mean())
        for name in ("accuracy 1", "accuracy 2")
    }
    yield from text_checks(
        named[~named.row.isin(table.index)],
        lambda _, what: float(ends[what]),
        "Ours follows from the five highest and lowest rows of Table 57, which does not state k for Exp1.",
    )


def _check_counts(published: Table, table: Table) -> Iterator[Check]:
    """Check the numbers of models, observations and samples."""
    tested = lines_of(published, "Table 55")
    tested = tested[tested.number.str.isdigit()]
    counts: dict[str, float] = {
        **table.capacity.value_counts().astype(float).to_dict(),
        "models": float(len(table)),
        "observations, experiment 1": float(len(table) * tested.number.nunique()),
        "observations, experiment 2": float(len(table)),
    }
    rows = lines_of(published, "11.1")
    yield from text_checks(rows[rows.number.isin(list(counts))], lambda _, what: counts[what], "counted in Table 57")
    used = {
        "source samples": 300.0,
        "target training rows": 512.0,
        "target validation rows": 88.0,
        "target test rows": 300.0,
    }
    yield from stand_ins(
        rows[rows.number.isin(list(used))],
        lambda _, what: used[what],
        "We use other texts, phrases and sentences of SST-2, and fewer of them to save time.",
    )


def _extreme(published: Table, row: str, which: str) -> float:
    lines = lines_of(published, "Table 55")
    values = lines[(lines.row == row) & ~lines.number.str.contains("stars")].published.astype(float)
    return float(values.min() if which.startswith("lowest") else values.max())


def _table_58(published: Table) -> Iterator[Check]:
    lines = lines_of(published, "Table 58", "11.5", "11.7")
    yield from text_checks(
        lines[(lines.number == "gap")],
        lambda row, _: (
            number(published, "Table 58", row, "label-informed") - number(published, "Table 58", row, "unsupervised")
        ),
        "Ours is the difference of the two columns.",
    )
    gaps = (
        lines_of(published, "Table 58")
        .query("number == 'gap' and row.str.startswith('Transfer')", engine="python")
        .published.astype(float)
    )
    yield from text_checks(
        lines[lines.row == "gap"],
        lambda _, which: float(gaps.min() if which == "lowest" else gaps.max()),
        "from Table 58",
    )
    rhos = {
        ("Transfer (SST-2, k = 64)", "unsupervised"): number(published, "Table 55", "Split-Half (unsup.)", "64"),
        ("Transfer (SST-2, k = 64)", "label-informed"): number(published, "Table 55", "H-Score", "64"),
        ("Transfer (Yelp)", "unsupervised"): number(published, "Table 56", "Split-Half (dims)", "correlation"),
        ("Transfer (Yelp)", "label-informed"): number(published, "Table 56", "LogME", "correlation"),
    }
    rest = lines[lines.number.isin(["unsupervised", "label-informed"])]
    yield from text_checks(
        rest[rest.row.str.startswith("Transfer")], lambda row, what: rhos[(row, what)], "The tables have another value."
    )
    yield from stand_ins(
        rest[rest.row.str.startswith("Steering")],
        lambda *_: None,
        "This number belongs to the steering experiments; see the study `steering`.",
    )
