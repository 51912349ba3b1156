"""Discordance of perturbations whose shifts are large but incoherent, and scores by its quartiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from shesha.bio.documented_analyses import as_deviations
from shesha.bio.perturbation_scores import complete_lines
from shesha.support import types as kinds
from shesha.support.types import Vector
from shesha_studies.perturbation_tables._correlations import parts


def discordances(
    table: pd.DataFrame,
    x: str = "magnitude",
    y: str = "coherence",
    *,
    by: str | None = None,
    covariates: Sequence[str] = (),
) -> pd.Series:
    """Discordance (12.16): magnitude minus coherence, each z-scored within its data set.

    A value is positive if the cells moved far, but in different directions. `shesha.bio.documented_analyses` computes a
    different discordance, the shortfall from a fit. Small groups are more coherent at any magnitude, so large groups
    seem discordant. To avoid this, use ``y="unbiased"``, or ``covariates=["n"]``, which first regresses both scores on
    log(n).

    Parameters
    ----------
    table : DataFrame
        One row per perturbation. Rows with missing values are left out.
    x, y : str
        Columns of magnitude and coherence.
    by : str, optional
        Column that names data sets. Default: a single data set.
    covariates : sequence of str
        Columns of positive numbers, whose logarithms are regressed out of both scores.

    Returns
    -------
    Series
        Discordance of each perturbation, with the index of the table.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"magnitude": [1.0, 2, 3], "coherence": [1.0, 3, 2]}, index=["a", "b", "c"])
    >>> discordances(table).round(2).tolist()
    [0.0, -1.22, 1.22]
    """
    covariates = list(kinds.sequence(covariates, "covariates"))
    complete = complete_lines(table, [x, y, *covariates], "table", [] if by is None else [by])
    if complete.empty:
        raise ValueError("table must contain perturbations without missing values, got none")
    differences = []
    for _, part in parts(complete, by):
        a, b = (
            as_deviations(_residuals(part, name, covariates), part.index, float(part[name].abs().max()))
            for name in (x, y)
        )
        differences.append(a - b)
    return pd.concat(differences).rename("discordance")


def _residuals(part: pd.DataFrame, name: str, covariates: Sequence[str]) -> Vector:
    values: Vector = part[name].to_numpy(dtype=np.float64)
    if not covariates:
        return values
    columns = part[list(covariates)].to_numpy(dtype=np.float64)
    if (columns <= 0).any():
        raise ValueError(f"table must contain positive numbers in {', '.join(covariates)}, got zero or less")
    design = np.column_stack([np.ones(len(values)), np.log(columns)])
    residuals: Vector = values - design @ np.linalg.lstsq(design, values, rcond=None)[0]
    return residuals


def discordance_quartiles(
    table: pd.DataFrame,
    x: str = "magnitude",
    y: str = "coherence",
    *,
    by: str | None = None,
    size: str = "n",
    covariates: Sequence[str] = (),
) -> pd.DataFrame:
    """Scores and group sizes in each quartile of the discordance (12.16, Table 73).

    Parameters
    ----------
    table, x, y, by, covariates
        See `discordances`.
    size : str
        Column of group sizes.

    Returns
    -------
    DataFrame
        One row per quartile, from the least to the most discordant: n, the mean and sd of both scores, and the median
        size.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> table = pd.DataFrame({"magnitude": rng.random(40), "coherence": rng.random(40), "n": 50})
    >>> discordance_quartiles(table)[["n", "coherence_mean", "magnitude_mean"]].round(2).T
    quartile           Q1     Q2     Q3     Q4
    n               10.00  10.00  10.00  10.00
    coherence_mean   0.60   0.60   0.54   0.23
    magnitude_mean   0.27   0.55   0.62   0.70
    """
    scores = discordances(table, x, y, by=by, covariates=covariates)
    complete = complete_lines(
        table, [x, y, size, *kinds.sequence(covariates, "covariates")], "table", [] if by is None else [by]
    )
    if not complete.index.is_unique or len(scores) < 8:
        raise ValueError(f"table must contain at least 8 perturbations with distinct names, got {len(scores)}")
    codes: Any = pd.qcut(scores.rank(method="first"), 4, labels=False)
    lines = []
    for code in range(4):
        part = complete.loc[scores.index[codes == code].intersection(complete.index)]
        line: dict[str, Any] = {"quartile": f"Q{code + 1}", "n": len(part)}
        for name in (y, x):
            line |= {f"{name}_mean": float(part[name].mean()), f"{name}_sd": float(part[name].std())}
        lines.append(line | {f"median_{size}": float(part[size].median())})
    return pd.DataFrame(lines).set_index("quartile")
