"""Correlations over several data sets together, raw and with standardised scores."""

from __future__ import annotations

import pandas as pd

from shesha.bio.perturbation_scores import complete_lines
from shesha.kernels.rounding_and_scaling import z_scores
from shesha.support import types as kinds
from shesha_studies.perturbation_tables._correlations import correlation, derive_seed, parts


def pooled_correlations(
    table: pd.DataFrame,
    x: str = "magnitude",
    y: str = "coherence",
    *,
    by: str = "dataset",
    covariates: tuple[str, ...] = (),
    n_bootstrap: int = 10_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> pd.DataFrame:
    """Correlations over all data sets in the paper's three ways: raw, z-scored within each, or only x.

    Data sets differ in depth, size and cell types, which affects both scores and alone makes them correlate. Scores
    that are z-scored within data sets do not have this bias. They still depend on group size, for which
    ``covariates=("n",)`` controls by ranks over all data sets.

    Parameters
    ----------
    table : DataFrame
        One row per perturbation. Rows with missing values are left out.
    x, y : str
        Columns of scores.
    by : str
        Column that names data sets.
    covariates : tuple of str
        Covariates, as in `correlation`.
    n_bootstrap, confidence, seed
        See `correlations`.

    Returns
    -------
    DataFrame
        Three rows. The column `scaled` is 'raw', 'both' or the name of x.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> table = pd.DataFrame(rng.random((60, 2)), columns=["magnitude", "coherence"])
    >>> table["dataset"] = np.repeat(["a", "b"], 30)
    >>> table[["magnitude", "coherence"]] += (table.dataset == "b").to_numpy()[:, None]
    >>> pooled_correlations(table, n_bootstrap=200)[["scaled", "value"]].round(2)
          scaled  value
    0        raw    0.74
    1       both   -0.09
    2  magnitude   -0.03
    """
    complete = complete_lines(table, [x, y, *kinds.sequence(covariates, "covariates")], "table", [by])
    # Lines are matched by number, since several perturbations may have one name.
    complete = complete.reset_index(drop=True)
    if complete.empty:
        raise ValueError("table must contain perturbations without missing values, got none")
    scaled = pd.concat([_standardised(part, (x, y)) for _, part in parts(complete, by)])
    lines = []
    for name, scaled_table in (("raw", complete), ("both", scaled), (x, scaled.assign(**{y: complete[y]}))):
        line_seed = derive_seed(seed, name, x, y, *covariates)
        result = correlation(
            scaled_table, x, y, covariates=covariates, n_bootstrap=n_bootstrap, confidence=confidence, seed=line_seed
        )
        lines.append({"scaled": name, **result.to_dict(), "covariates": ", ".join(covariates)})
    return pd.DataFrame(lines)


def _standardised(part: pd.DataFrame, names: tuple[str, ...]) -> pd.DataFrame:
    """Standardise columns of one data set to mean 0 and variance 1, or to 0 if they are constant."""
    return part.assign(**{name: z_scores(part[name].to_numpy(dtype=float)) for name in names})
