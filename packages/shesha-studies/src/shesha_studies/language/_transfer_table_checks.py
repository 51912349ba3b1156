"""Checks of numbers that follow from the published tables of the transfer section."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from shesha.studies.checks import Check
from shesha.studies.published_checks import (
    Table,
    lines_of,
    number,
    stand_ins,
    text_checks,
)
from shesha_studies.language._transfer_statistics import table_57


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
