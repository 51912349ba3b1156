"""Comparison of our means with published numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from shesha_studies.framework.checks import AGREES, DIFFERS, NOT_RUN
from shesha_studies.framework.tolerance import allowed_difference

if TYPE_CHECKING:
    import pandas as pd


def compare_with_published(
    rows: pd.DataFrame, published: pd.DataFrame, by: Sequence[str], numbers: Sequence[str], *, decimals: int = 3
) -> pd.DataFrame:
    """Compare the means of our draws with published numbers; return differences and verdicts.

    A published number is a single draw. It agrees with ours if it lies within the range of 95 % of our single draws, or
    if both are equal up to rounding.

    Parameters
    ----------
    rows : DataFrame
        Our results, with one line per cell.
    published : DataFrame
        Published numbers, with one line per combination of `by` and the same column names as in `rows`.
    by : sequence of str
        Names of the parameters by which published lines are matched to our rows.
    numbers : sequence of str
        Columns to compare.
    decimals : int
        Number of decimals with which the published numbers are printed.

    Returns
    -------
    DataFrame
        One line per published number, with the parameters, `number`, `published`, `ours`, `sd`, `draws`, `difference`
        and `verdict`.

    Examples
    --------
    >>> import pandas as pd
    >>> ours = pd.DataFrame({"k": [1, 1, 1], "score": [0.50, 0.52, 0.54]})
    >>> compare_with_published(ours, pd.DataFrame({"k": [1], "score": [0.55]}), ["k"], ["score"]).verdict.tolist()
    ['agrees']
    """
    import pandas as pd

    lines = []
    for _, line in published.iterrows():
        matches = rows[np.logical_and.reduce([rows[name] == line[name] for name in by])] if by else rows
        for number in numbers:
            if number not in published or pd.isna(line[number]):
                continue
            values = matches[number].dropna() if number in matches else pd.Series(dtype=float)
            lines.append(_line({name: line[name] for name in by}, number, float(line[number]), values, decimals))
    return pd.DataFrame(lines)


def _line(
    keys: dict[str, object], number: str, published: float, values: pd.Series[float], decimals: int
) -> dict[str, object]:
    n = len(values)
    mean = float(values.mean()) if n else float("nan")
    sd = float(values.std(ddof=1)) if n > 1 else float("nan")
    difference = mean - published
    within = allowed_difference(sd, decimals=decimals)
    verdict = NOT_RUN if not n else AGREES if abs(difference) <= within else DIFFERS
    return {
        **keys,
        "number": number,
        "published": published,
        "ours": mean,
        "sd": sd,
        "draws": n,
        "difference": difference,
        "verdict": verdict,
    }
