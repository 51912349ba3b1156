"""The documented discordance: how far coherence falls below what the magnitude predicts."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pandas as pd

from shesha.bio.missing_values import complete_lines
from shesha.inputs import validation as check
from shesha.kernels.rounding_and_scaling import is_constant, z_scores
from shesha.support.optional import require
from shesha.support.types import Vector

_FEWEST = 10


def discordance(
    df: pd.DataFrame,
    coherence_col: str = "Sp",
    magnitude_col: str = "Mp",
    method: Literal["linear", "rank", "loess"] = "linear",
    loess_frac: float = 0.3,
) -> pd.Series:
    """Shortfall of each perturbation's coherence below the prediction from its magnitude, as a z-score.

    By chance, groups of few cells are highly coherent for their magnitude, so compare groups of equal size.

    Parameters
    ----------
    df : DataFrame
        One row per perturbation, of which at least 10 have both values.
    coherence_col, magnitude_col : str
        Columns of coherence and magnitude.
    method : {'linear', 'rank', 'loess'}
        How coherence is predicted from the magnitude: by a straight line, by equal ranks, or by local regression
        (requires statsmodels).
    loess_frac : float
        Share of the perturbations in each local regression, in (0, 1].

    Returns
    -------
    Series
        One value for each perturbation that has both scores; positive if it is less coherent than predicted. All values
        are 0 if the perturbations do not differ.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> table = pd.DataFrame({"Mp": np.arange(10.0), "Sp": np.arange(10.0) - 5 * (np.arange(10) == 4)})
    >>> float(discordance(table).round(2)[4])
    2.99
    """
    check.choice(method, ("linear", "rank", "loess"), "method")
    share = check.fraction(loess_frac, "loess_frac")
    complete = complete_lines(df, [coherence_col, magnitude_col], "df")
    if len(complete) < _FEWEST:
        raise ValueError(f"df must contain at least {_FEWEST} perturbations with both values, got {len(complete)}")
    coherence, magnitude = (complete[column].to_numpy(dtype=np.float64) for column in (coherence_col, magnitude_col))
    # Differences of ranks have no rounding error; other differences have the rounding error of the coherence.
    size = 0.0 if method == "rank" else float(np.abs(coherence).max())
    return as_deviations(_shortfall(coherence, magnitude, method, share), complete.index, size)


def as_deviations(values: Vector, index: pd.Index, size: float) -> pd.Series:
    """Return z-scores as a Series; all 0 if values differ only by rounding of numbers of this size."""
    flat = bool(is_constant(values + size, n_terms=len(values)))
    return pd.Series(np.zeros_like(values) if flat else z_scores(values), index=index, name="discordance")


def _shortfall(coherence: Vector, magnitude: Vector, method: str, share: float) -> Vector:
    if method == "rank":
        from scipy.stats import rankdata

        ranks: Vector = rankdata(magnitude) - rankdata(coherence)
        return ranks
    if method == "linear":
        design = np.column_stack([np.ones_like(magnitude), z_scores(magnitude)])
        line: Vector = design @ np.linalg.lstsq(design, coherence, rcond=None)[0]
        return line - coherence
    smoothers = require("statsmodels.nonparametric.smoothers_lowess", "bio", "method='loess' needs statsmodels")
    local: Vector = smoothers.lowess(coherence, magnitude, frac=share, return_sorted=False) - coherence
    return local
