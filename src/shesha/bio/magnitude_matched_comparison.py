"""The documented comparison of more and less coherent perturbations at similar magnitude."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from shesha.bio.missing_values import complete_lines
from shesha.inputs import validation as check


def magnitude_matched_comparison(
    repro_df: pd.DataFrame,
    coherence_col: str = "Sp",
    repro_col: str = "split_half_cosine",
    magnitude_col: str = "Mp",
    n_bins: int = 4,
) -> pd.DataFrame:
    """Compare perturbations of high and low coherence within bins of similar magnitude, as documented.

    Coherence, magnitude and reproducibility all depend on the number of cells, which is still a confounder within bins
    unless you use the unbiased coherence.

    Parameters
    ----------
    repro_df : DataFrame
        One row per perturbation. Rows with missing values are left out.
    coherence_col, repro_col, magnitude_col : str
        Columns of coherence, reproducibility and magnitude.
    n_bins : int
        Number of bins with equally many perturbations, on average at least 4. Bins with fewer than 6 are left out.

    Returns
    -------
    DataFrame
        One row per bin, with columns mag_bin, n, mag_min, mag_max, high_coherence_mean, low_coherence_mean, difference,
        within_bin_rho and within_bin_pvalue (Spearman).

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> table = pd.DataFrame(rng.random((40, 3)), columns=["Sp", "split_half_cosine", "Mp"])
    >>> magnitude_matched_comparison(table)[["mag_bin", "n", "difference"]].round(2)
      mag_bin   n  difference
    0      Q1  10       -0.08
    1      Q2  10       -0.10
    2      Q3  10       -0.29
    3      Q4  10       -0.13
    """
    names = [coherence_col, repro_col, magnitude_col]
    bins = check.count(n_bins, "n_bins", minimum=1)
    table = complete_lines(repro_df, names, "repro_df")
    if len(table) < 4 * bins:
        raise ValueError(f"repro_df must contain at least {4 * bins} perturbations for {bins} bins, got {len(table)}")
    codes = pd.qcut(table[magnitude_col], q=bins, labels=False, duplicates="drop")
    lines = [
        _group_row(f"Q{code + 1}", table[codes == code], names) for code in range(bins) if (codes == code).sum() >= 6
    ]
    return pd.DataFrame(lines)


def _group_row(name: str, part: pd.DataFrame, names: list[str]) -> dict[str, Any]:
    from scipy.stats import spearmanr

    coherence, repro, magnitude = (part[column] for column in names)
    high = coherence >= coherence.median()
    means = float(repro[high].mean()), float(repro[~high].mean())
    varied = coherence.nunique() > 1 and repro.nunique() > 1
    rho, p = spearmanr(coherence, repro) if varied else (np.nan, np.nan)
    return {
        "mag_bin": name,
        "n": len(part),
        "mag_min": float(magnitude.min()),
        "mag_max": float(magnitude.max()),
        "high_coherence_mean": means[0],
        "low_coherence_mean": means[1],
        "difference": means[0] - means[1],
        "within_bin_rho": float(rho),
        "within_bin_pvalue": float(p),
    }
