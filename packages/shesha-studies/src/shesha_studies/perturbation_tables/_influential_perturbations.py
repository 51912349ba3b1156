"""The influence of single perturbations on a correlation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from shesha.bio.perturbation_scores import complete_lines
from shesha.support import types as kinds
from shesha_studies.perturbation_tables._bootstrap_ranks import rank_correlations
from shesha_studies.perturbation_tables._correlations import numbers


def influence(
    table: pd.DataFrame, x: str = "magnitude", y: str = "coherence", *, covariates: Sequence[str] = ()
) -> pd.DataFrame:
    """Leave out each perturbation in turn, and return by how much the rank correlation changes.

    Parameters
    ----------
    table : DataFrame
        One row per perturbation, named by the index. Rows with missing values are left out.
    x, y : str
        Columns of scores.
    covariates : sequence of str
        Covariates, as in `correlation`.

    Returns
    -------
    DataFrame
        One row per perturbation, in decreasing order of `change`. `rho_without` is the correlation without the
        perturbation, and `change` is the correlation of all perturbations minus `rho_without`.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"magnitude": [1.0, 2, 3, 4, 5], "coherence": [1.0, 2, 3, 5, 0]}, index=list("abcde"))
    >>> influence(table).round(2)
       rho_without  change
    a         -0.2     0.2
    b         -0.2     0.2
    c         -0.2     0.2
    d         -0.2     0.2
    e          1.0    -1.0
    """
    columns = numbers(table, [x, y, *kinds.sequence(covariates, "covariates")])
    n = len(columns)
    if n < len(covariates) + 4:
        raise ValueError(
            f"table must contain at least {len(covariates) + 4} perturbations without missing values, got {n}"
        )
    counts = np.vstack([np.ones((1, n), dtype=np.intp), 1 - np.eye(n, dtype=np.intp)])
    rho = rank_correlations(columns, counts)
    complete = complete_lines(table, [x, y, *covariates], "table")
    changes = pd.DataFrame({"rho_without": rho[1:], "change": rho[0] - rho[1:]}, index=complete.index)
    return changes.sort_values("change", ascending=False, kind="stable")
