"""Documented analyses of one perturbation or of a table: discordance, matched magnitudes, split halves, intervals."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from shesha.bio.cell_design import cells_and_labels, dense_rows, labels, require_anndata
from shesha.bio.perturbation_scores import (
    NO_LENGTH,
    both,
    coherence_of_matrices,
    complete_lines,
    effect_size_of_matrices,
)
from shesha.coherence.controls import warn_of_shared_rows
from shesha.inputs import validation as check
from shesha.kernels.rounding_and_scaling import is_constant, length_unit, z_scores
from shesha.results.number import Number
from shesha.support import types as kinds
from shesha.support.optional import require
from shesha.support.seeds import CONFIDENCE, generator
from shesha.support.types import Matrix, Seed, Vector
from shesha.support.warnings import NotEstimableWarning, warn
from shesha.support.wording import count, in_label_order

if TYPE_CHECKING:
    from anndata import AnnData


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
    """Mean cosine between the mean shifts of random halves of a perturbation's cells, as documented.

    Both halves share the sampling error of the mean control. For n cells that did not move and m controls, the expected
    cosine is therefore above 0: about n / (n + 2 m).

    Parameters
    ----------
    adata : AnnData
        Cells by features.
    perturbation_key : str
        Column of ``adata.obs`` with the perturbations. Cells without a label are left out.
    control_label : str
        The label of the control cells.
    n_splits : int
        Number of random splits into halves.
    random_state : int
        Base seed. The seed for each perturbation is derived from it and from the label, as in the public package.
    min_cells : int
        Minimum number of cells of a perturbation; smaller ones are left out.
    layer : str, optional
        Layer with the data. Default: X.

    Returns
    -------
    DataFrame
        One row per perturbation, with columns split_half_cosine and n_cells.

    Warns
    -----
    NotEstimableWarning
        If perturbations with fewer cells than ``min_cells`` are left out; it names them.

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
    require_anndata(adata)
    n_splits = check.count(n_splits, "n_splits")
    min_cells = check.count(min_cells, "min_cells", minimum=2)
    random_state = check.count(random_state, "random_state", minimum=0)
    values = labels(adata, perturbation_key, "perturbation_key")
    known = in_label_order(label for label in values if label is not None)
    # A set compares hashes first, which avoids comparisons with pandas.NA, whose result has no truth value.
    if kinds.label(control_label, "control_label") not in set(known):
        raise ValueError(f"control_label must be one of {check.join_items(known) or 'none'}, got {control_label!r}")
    matrix = cells_and_labels(adata, perturbation_key, layer, values, control_label)
    centre = dense_rows(matrix, values == control_label, "the control cells").mean(axis=0)
    lines: list[dict[str, Any]] = []
    small = []
    for label in known:
        mask = values == label
        if label == control_label:
            continue
        if mask.sum() < min_cells:
            small.append(f"{label} ({count(int(mask.sum()), 'cell')})")
            continue
        cells = dense_rows(matrix, mask, f"the cells of {label}")
        shifts = (cells - centre) / length_unit(cells)
        cosine = _half_agreement(shifts, n_splits, np.random.default_rng(_seed(label, random_state)))
        lines.append({"perturbation": label, "split_half_cosine": cosine, "n_cells": int(mask.sum())})
    if small:
        warn(f"left out, since they have fewer than {min_cells} cells: {check.join_items(small)}", NotEstimableWarning)
    table = pd.DataFrame(lines, columns=["perturbation", "split_half_cosine", "n_cells"])
    return table.set_index("perturbation")


def _half_agreement(shifts: Matrix, n_splits: int, rng: np.random.Generator) -> float:
    n, half = len(shifts), len(shifts) // 2
    orders = np.array([rng.permutation(n) for _ in range(n_splits)])
    sums = []
    for part in (orders[:, :half], orders[:, half : 2 * half]):
        chosen = np.zeros((n_splits, n))
        np.put_along_axis(chosen, part, 1.0 / half, axis=1)
        sums.append(chosen @ shifts)
    lengths = [np.linalg.norm(vectors, axis=1) for vectors in sums]
    has_no_length = np.minimum(*lengths) < NO_LENGTH
    product = np.einsum("ij,ij->i", *sums)
    return float(np.mean(np.where(has_no_length, 0.0, product / np.where(has_no_length, 1.0, lengths[0] * lengths[1]))))


def _seed(label: str, base: int) -> int:
    """Return the seed for a perturbation, which is the same in every process and in the public package."""
    digest = hashlib.blake2b(f"builtins.str:{label!r}".encode(), digest_size=8).digest()
    return base + int.from_bytes(digest, "big") % _OFFSETS


_SCORES: dict[str, Callable[..., float]] = {
    "coherence": coherence_of_matrices,
    "effect_size": effect_size_of_matrices,
}


@dataclass(frozen=True, kw_only=True)
class PerturbationInterval(Number):
    """A documented score of one perturbation, with percentiles over resampled cells."""

    score: str
    resampled_mean: float
    resampled_sd: float
    n_resamples: int
    """Number of resamples that have a value."""

    def _text(self) -> str:
        """Return the value and its interval as text."""
        return (
            f"{self.score}: {self.value:.4f} [{self.low:.4f}, {self.high:.4f}] at {100 * self.confidence:g}% "
            f"({self.n_resamples} resamples of both groups, mean {self.resampled_mean:.4f})"
        )


def perturbation_interval(
    X_control: ArrayLike,
    X_perturbed: ArrayLike,
    score: Literal["coherence", "effect_size"] = "coherence",
    *,
    n_bootstrap: int = 1000,
    confidence: float = CONFIDENCE,
    seed: Seed = None,
    **options: Any,
) -> PerturbationInterval:
    """Resample control and perturbed cells, each with replacement, and take percentiles, as documented.

    A resample contains copies of cells, which raise the coherence and the distance, so the interval may even exclude
    the value. The intervals of `coherence_test` do not have this bias.

    Parameters
    ----------
    X_control, X_perturbed : array of shape (n_cells, n_features)
        See `perturbation_coherence`.
    score : {'coherence', 'effect_size'}
        `perturbation_coherence` or `perturbation_effect_size`.
    n_bootstrap : int
        Number of resamples.
    confidence : float
        Confidence level, in (0, 1).
    seed : int or None
        Seed of the resamples, and of the subsets that are drawn above ``max_samples``; both match the public package.
    **options
        Options of the score, such as ``method='knn'``.

    Returns
    -------
    PerturbationInterval

    Warns
    -----
    CalibrationWarning
        If perturbed cells are also among the controls, because they move the mean control.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> controls, moved = rng.standard_normal((2, 60, 10))
    >>> print(perturbation_interval(controls, moved + 1, n_bootstrap=100, seed=0))
    coherence: 0.7290 [0.6938, 0.7840] at 95% (100 resamples of both groups, mean 0.7359)
    """
    check.choice(score, tuple(_SCORES), "score")
    n_bootstrap = check.count(n_bootstrap, "n_bootstrap")
    level = check.fraction(confidence, "confidence", closed=False)
    controls, cells = both(X_control, X_perturbed)
    scored = partial(_SCORES[score], seed=seed, **options)
    value, rng = float(scored(controls, cells)), generator(seed)
    warn_of_shared_rows(controls, cells, controls_name="X_control", rows_name="X_perturbed")
    values = []
    for _ in range(n_bootstrap if value == value else 0):
        control_rows, others = (rng.choice(len(rows), len(rows), replace=True) for rows in (controls, cells))
        values.append(scored(controls[control_rows], cells[others]))
    known = np.array([value for value in values if np.isfinite(value)])
    ends = np.percentile(known, [50 * (1 - level), 50 * (1 + level)]) if len(known) else (np.nan, np.nan)
    mean, sd = (known.mean(), known.std()) if len(known) else (np.nan, np.nan)
    return PerturbationInterval(
        score=score,
        value=value,
        low=float(ends[0]),
        high=float(ends[1]),
        confidence=level,
        resampled_mean=float(mean),
        resampled_sd=float(sd),
        n_resamples=len(known),
    )
