"""Arrange results in tables with the layout of the paper, which can be printed as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shesha.inputs import validation as check
from shesha.report import markdown_table
from shesha.support import argument_types as kinds
from shesha_bench.measure_ranks import CELL, require_columns

if TYPE_CHECKING:
    import pandas as pd

TYPES = {
    "CCA": ("PWCCA", "SVCCA"),
    "Alignment": (
        *("AlignCos", "AngShape", "HardCorr", "LinReg"),
        *("OrthProc", "PermProc", "ProcDist", "SoftCorr"),
    ),
    "RSM": ("CKA", "DistCorr", "EOS", "GULP", "RSA", "RSMDiff"),
    "Neighbors": ("2nd-Cos", "Jaccard", "RankSim"),
    "Topology": ("IMD", "RTD"),
    "Statistic": ("ConcDiff", "MagDiff", "UnifDiff"),
}
"""The measures of the paper grouped by type, in the order in which its tables list them."""
OTHER = "Other"
_PLACES = {measure: (kind, place) for kind, found in TYPES.items() for place, measure in enumerate(found)}


def base_name(measure: str) -> str:
    """Return a measure's name without its options, so that 'RTD(subsets=2)' counts as 'RTD'."""
    return measure.split("(")[0]


def measure_type(measure: str) -> str:
    """Return a measure's type in the paper's tables, or 'Other' if the paper does not include it."""
    return _PLACES.get(base_name(measure), (OTHER, 0))[0]


def table(results: pd.DataFrame, test: str | None = None, domain: str | None = None) -> pd.DataFrame:
    """Arrange results as the paper does, with measures as rows and data sets and architectures as columns.

    Parameters
    ----------
    results : DataFrame
        Scores with the columns of `published`.
    test, domain : str, optional
        Test and domain to include; default: all. If there are several, a column level distinguishes them.

    Returns
    -------
    DataFrame
        The row levels are type and measure. The column levels are test, domain, quality, dataset, architecture and
        pooling, where test, domain and pooling are left out if they have only one value.

    Examples
    --------
    >>> from shesha_bench._published_results import published
    >>> frame = table(published(), "shortcut", "graph")
    >>> frame.shape, float(frame.loc[("RSM", "CKA"), ("auprc", "Cora", "SAGE")])
    ((24, 20), 0.78)
    """
    return _pivot(results, "value", test, domain)


def stars(results: pd.DataFrame, test: str | None = None, domain: str | None = None) -> pd.DataFrame:
    """Return the significance stars for `table`: '**' if p is at most 0.01, '*' if at most 0.05, else ''.

    They are computed from the column `p_value` if there is one. Otherwise they are taken from the column
    `significance_stars`, which the published results have.
    """
    if "p_value" in results.columns:
        p_values = results["p_value"].to_numpy(dtype=float)
        counts = (p_values <= 0.05).astype(int) + (p_values <= 0.01)
    else:
        require_columns(results, ["significance_stars"], "results")
        counts = results["significance_stars"].to_numpy()
    marked = results.assign(stars=["*" * int(count) for count in counts])
    return _pivot(marked, "stars", test, domain).fillna("")


def to_markdown(frame: pd.DataFrame, stars: pd.DataFrame | None = None) -> str:
    """Format a `table` as Markdown, with two decimals and the best value of each column in bold.

    Parameters
    ----------
    frame : DataFrame
        A table as returned by `table`, whose values are better the higher they are.
    stars : DataFrame, optional
        Significance stars as returned by the function `stars` for the same results; default: no stars.
    """
    kinds.frame(frame, "frame")
    if stars is not None and not (
        kinds.frame(stars, "stars").index.equals(frame.index) and stars.columns.equals(frame.columns)
    ):
        raise ValueError("stars must have the rows and columns of frame, got different ones")
    values = frame.to_numpy(dtype=float)
    marks = np.full(values.shape, "", dtype=object) if stars is None else stars.to_numpy()
    head = [*map(str, frame.index.names), *("<br>".join(filter(None, _levels(column))) for column in frame.columns)]
    rows = []
    printed = np.array([[f"{value:.2f}" for value in row] for row in values], dtype=object).reshape(values.shape)
    best = [f"{max(numbers):.2f}" if len(numbers := column[~np.isnan(column)]) else "" for column in values.T]
    for label, row, marked in zip(frame.index, printed, marks, strict=True):
        # Escape stars, which Markdown reads as emphasis.
        starred = [mark.replace("*", r"\*") for mark in marked]
        cells = [f"**{v}**{s}" if v == b else f"{v}{s}" for v, s, b in zip(row, starred, best, strict=True)]
        rows.append([*_levels(label), *cells])
    return markdown_table(head, rows, numbers=frame.shape[1]) + "\n"


def _pivot(results: pd.DataFrame, column: str, test: str | None, domain: str | None) -> pd.DataFrame:
    """Arrange one column of the results as a table of measures by data sets and architectures."""
    require_columns(results, [*CELL, "measure", column], "results")
    chosen = results
    for name, wanted in (("test", test), ("domain", domain)):
        if wanted is not None:
            check.choice(wanted, [str(value) for value in results[name].unique()], name)
            chosen = chosen[chosen[name] == wanted]
    levels = [
        name
        for name in ("test", "domain", "quality", "dataset", "architecture", "pooling")
        if name in ("quality", "dataset", "architecture") or chosen[name].nunique() > 1
    ]
    if chosen.duplicated([*levels, "measure"]).any():
        raise ValueError("results must contain each score of a measure once, got duplicates")
    chosen = chosen.assign(type=chosen["measure"].map(measure_type))
    table = chosen.pivot(index=["type", "measure"], columns=levels, values=column)
    order = {name: {value: place for place, value in enumerate(chosen[name].unique())} for name in levels}
    columns = sorted(table.columns, key=lambda labels: [order[n][v] for n, v in zip(levels, labels, strict=True)])
    return table.loc[sorted(table.index, key=_row_order), columns]


def _row_order(row: tuple[str, str]) -> tuple[int, int]:
    kind, measure = row
    kinds = [*TYPES, OTHER]
    return kinds.index(kind), _PLACES.get(base_name(measure), ("", 0))[1]


def _levels(label: Any) -> list[str]:
    return [str(part) for part in label] if isinstance(label, tuple) else [str(label)]
