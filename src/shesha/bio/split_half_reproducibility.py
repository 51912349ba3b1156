"""The documented split-half reproducibility of a perturbation's mean shift."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from shesha.bio._anndata_fields import data_matrix, dense_rows, labels, require_anndata
from shesha.bio.shifts_of_public_package import NO_LENGTH
from shesha.inputs import validation as check
from shesha.kernels.rounding_and_scaling import length_unit
from shesha.support import argument_types as kinds
from shesha.support.types import Matrix

if TYPE_CHECKING:
    import pandas as pd
    from anndata import AnnData

_OFFSETS = 100_000


def split_half_reproducibility(
    adata: AnnData,
    perturbation_key: str = "perturbation",
    control_label: str = "control",
    n_splits: int = 50,
    random_state: int = 320,
    min_cells: int = 30,
    layer: str | None = None,
) -> pd.DataFrame:
    """Mean cosine between the shifts of random halves of a perturbation's cells, as documented.

    Both halves start from the same mean control, whose error they share: cells that did not move have a cosine above 0,
    about the share n / (n + 2 m) for n cells and m controls.

    Parameters
    ----------
    adata : AnnData
        Cells by features.
    perturbation_key : str
        Column of ``adata.obs`` with the perturbations. Cells without one are left out.
    control_label : str
        The label of the control cells.
    n_splits : int
        Random halves.
    random_state : int
        Each perturbation has its own seed, derived from this one and its label as in the public package.
    min_cells : int
        Perturbations of fewer cells are left out.
    layer : str, optional
        A layer instead of X.

    Returns
    -------
    DataFrame
        By perturbation: split_half_cosine, n_cells.

    Examples
    --------
    >>> import anndata, numpy as np, pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> labels = np.repeat(["control", "STAT1", "NONE"], (200, 60, 60))
    >>> cells = rng.standard_normal((320, 10)) + (labels == "STAT1")[:, None]
    >>> adata = anndata.AnnData(cells, obs=pd.DataFrame({"gene": labels}, index=np.arange(320).astype(str)))
    >>> split_half_reproducibility(adata, "gene").round(2).T
    perturbation        NONE  STAT1
    split_half_cosine   0.09   0.97
    n_cells            60.00  60.00
    """
    import pandas as pd

    require_anndata(adata)
    check.count(n_splits, "n_splits")
    check.count(min_cells, "min_cells", minimum=2)
    check.count(random_state, "random_state", minimum=0)
    values, matrix = labels(adata, perturbation_key, "perturbation_key"), data_matrix(adata, layer)
    known = sorted({one for one in values if one is not None})
    # Equality with a missing value is missing; a set asks for the hash first.
    if kinds.label(control_label, "control_label") not in set(known):
        raise ValueError(f"control_label must be one of {check.join_items(known) or 'none'}, got {control_label!r}")
    centre = dense_rows(matrix, values == control_label, "the control cells").mean(axis=0)
    lines: list[dict[str, Any]] = []
    for one in known:
        mask = values == one
        if one == control_label or mask.sum() < min_cells:
            continue
        cells = dense_rows(matrix, mask, f"the cells of {one}")
        shifts = (cells - centre) / length_unit(cells)
        cosine = _half_agreement(shifts, n_splits, np.random.default_rng(_seed(one, random_state)))
        lines.append({"perturbation": one, "split_half_cosine": cosine, "n_cells": int(mask.sum())})
    found = pd.DataFrame(lines, columns=["perturbation", "split_half_cosine", "n_cells"])
    return found.set_index("perturbation")


def _half_agreement(shifts: Matrix, n_splits: int, rng: np.random.Generator) -> float:
    n, half = len(shifts), len(shifts) // 2
    orders = np.array([rng.permutation(n) for _ in range(n_splits)])
    sums = []
    for part in (orders[:, :half], orders[:, half : 2 * half]):
        chosen = np.zeros((n_splits, n))
        np.put_along_axis(chosen, part, 1.0 / half, axis=1)
        sums.append(chosen @ shifts)
    lengths = [np.linalg.norm(one, axis=1) for one in sums]
    lost = np.minimum(*lengths) < NO_LENGTH
    product = np.einsum("ij,ij->i", *sums)
    return float(np.mean(np.where(lost, 0.0, product / np.where(lost, 1.0, lengths[0] * lengths[1]))))


def _seed(label: str, base: int) -> int:
    """Return the seed of a perturbation, the same in every process, as in the public package."""
    digest = hashlib.blake2b(f"builtins.str:{label!r}".encode(), digest_size=8).digest()
    return base + int.from_bytes(digest, "big") % _OFFSETS


def magnitude_matched_comparison(
    repro_df: pd.DataFrame,
    coherence_col: str = "Sp",
    repro_col: str = "split_half_cosine",
    magnitude_col: str = "Mp",
    n_bins: int = 4,
) -> pd.DataFrame:
    """Compare perturbations of high and low coherence within bins of similar magnitude, as documented.

    Coherence, magnitude and reproducibility all grow with the number of cells: within a bin the larger groups are still
    favoured, unless the score is the unbiased one.

    Parameters
    ----------
    repro_df : DataFrame
        A line per perturbation. Lines with a missing value are left out.
    coherence_col, repro_col, magnitude_col : str
        Its columns.
    n_bins : int
        Bins of equally many perturbations; each needs 6, and all together 4 times their number.

    Returns
    -------
    DataFrame
        A line per bin: mag_bin, n, mag_min, mag_max, high_coherence_mean, low_coherence_mean, difference,
        within_bin_rho, within_bin_pvalue (Spearman).

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
    import pandas as pd

    names = [coherence_col, repro_col, magnitude_col]
    bins = check.count(n_bins, "n_bins", minimum=1)
    table = complete(repro_df, names, "repro_df")
    if len(table) < 4 * bins:
        raise ValueError(f"repro_df must contain at least {4 * bins} perturbations for {bins} bins, got {len(table)}")
    codes = pd.qcut(table[magnitude_col], q=bins, labels=False, duplicates="drop")
    lines = [
        _group_row(f"Q{code + 1}", table[codes == code], names) for code in range(bins) if (codes == code).sum() >= 6
    ]
    return pd.DataFrame(lines)


def _group_row(name: str, part: pd.DataFrame, names: list[str]) -> dict[str, Any]:
    from scipy.stats import spearmanr

    coherence, repro, magnitude = (part[one] for one in names)
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


def complete(table: pd.DataFrame, names: Sequence[str], name: str) -> pd.DataFrame:
    """Return the lines of a table without missing values in some columns."""
    kinds.frame(table, name)
    missing = [one for one in names if kinds.label(one, "a column") not in table]
    if missing:
        raise ValueError(f"{name} must have the columns {check.join_items(names)}, got none called {missing[0]!r}")
    return table.dropna(subset=names)
