"""Checks of every published number and claim on the geometric tax."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from shesha.studies.checks import UNREACHABLE, Check, judge_number
from shesha.studies.published_checks import against, as_number
from shesha_studies.stability_correlations._geometric_tax_statistics import Findings

_L, _J = "Geometric Stability", "Geometric Stability (journal)"
_WEIGHTS = "We do not have the weights of the published models. Claims are tested on small networks."
_DIFFERENCES = {
    f"{_L}, Table 26": ("CLIP mean", "SSL mean"),
    f"{_L}, Table 27": ("hierarchical mean", "columnar mean"),
    f"{_J}, Table 6": ("CLIP mean", "SSL mean"),
    f"{_J}, Table 7": ("hierarchical mean", "columnar mean"),
}


def checks(found: Findings, published: pd.DataFrame, claims: pd.DataFrame) -> Iterator[Check]:
    """Yield a check for every line of the published numbers, then for every claim in words."""
    tabled = {(line.where, line.row, line.number): line.published for line in published.itertuples(index=False)}
    for line in published.itertuples(index=False):
        yield _number(tabled, str(line.where), str(line.row), str(line.number), str(line.published))
    yield from against(claims, {})


def _number(tabled: dict[Any, Any], where: str, row: str, column: str, text: str) -> Check:
    """Check a published number, if it is a sum or a difference of other published numbers."""
    what = f"{row}: {column}"
    if column == "difference" and where in _DIFFERENCES:
        first, second = (float(tabled[where, row, name]) for name in _DIFFERENCES[where])
        # Both means are rounded, so their difference may be off by one in the last place.
        return judge_number(
            where,
            what,
            float(text),
            first - second,
            decimals=2,
            error=0.0052,
            why=("The difference of the printed means is another."),
        )
    if where.endswith("Table 29") and column == "mean":
        cells = [
            float(value)
            for (place, name, images), value in tabled.items()
            if (place, name) == (where, row) and images != column
        ]
        return judge_number(
            where,
            what,
            float(text),
            sum(cells) / len(cells),
            decimals=2,
            error=0.0026,
            why=("The mean of the printed line is another."),
        )
    return Check(where, what, as_number(text), None, UNREACHABLE, _WEIGHTS)
