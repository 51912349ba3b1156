"""Compare perturbations of one gene with those of several genes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from shesha.bio.perturbation_scores import complete_lines
from shesha.results.base import Result
from shesha.support import types
from shesha.support.types import Matrix, Vector
from shesha_studies.perturbation_tables._correlations import correlation, derive_seed, numbers


@dataclass(frozen=True)
class Combined(Result):
    """Perturbations of one gene compared with those of several genes."""

    kinds: tuple[dict[str, float], ...]
    """For single and for combined perturbations: n, mean and sd of both scores, rho, low, high and p_value."""
    u: float
    """Mann-Whitney U: the number of pairs in which the single perturbation has the larger score."""
    p_value: float
    """Two-sided p-value of U."""
    covariates: tuple[str, ...]
    """Covariates that the comparison controls for, by their ranks."""

    def _frame(self, *, full: bool) -> pd.DataFrame:
        """Return one row for single and one row for combined perturbations."""
        return pd.DataFrame(list(self.kinds), index=["single", "combined"])


def single_against_combined(
    table: pd.DataFrame,
    x: str = "magnitude",
    y: str = "coherence",
    *,
    label: str | None = None,
    separator: str = "+",
    covariates: Sequence[str] = (),
    n_bootstrap: int = 10_000,
    seed: int = 0,
) -> Combined:
    """Compare perturbations of one gene with those of several genes by a Mann-Whitney test.

    Combined perturbations usually have fewer cells, which alone makes them more coherent. To control for this, use
    ``y="unbiased"`` or ``covariates=["n"]``.

    Parameters
    ----------
    table : DataFrame
        One row per perturbation. Rows with missing values are left out.
    x, y : str
        Columns with the magnitude and with the score to compare.
    label : str, optional
        Column with the names of the perturbations. Default: the index.
    separator : str
        Text that separates the genes in a name. A control does not count as a gene, so 'KLF1+ctrl' is single.
    covariates : sequence of str
        Columns whose ranks are regressed out of the ranks of the score.
    n_bootstrap, seed
        Number of resamples, and their seed, for the correlation within each kind of perturbation.

    Returns
    -------
    Combined

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> names = [f"G{i}" for i in range(8)] + [f"G{i}+G9" for i in range(8)]
    >>> rng = np.random.default_rng(0)
    >>> table = pd.DataFrame({"magnitude": rng.random(16), "coherence": np.arange(16) / 16}, index=names)
    >>> found = single_against_combined(table, n_bootstrap=100)
    >>> found.u, round(found.p_value, 4), found.kinds[0]["n"]
    (0.0, 0.0002, 8.0)
    """
    from scipy.stats import mannwhitneyu

    complete = complete_lines(
        table, [x, y, *types.sequence(covariates, "covariates")], "table", [] if label is None else [label]
    )
    if not types.text(separator, "separator"):
        raise ValueError("separator must be the text between two genes, got ''")
    names = complete.index if label is None else complete[label]
    combined = np.array([_genes(str(name), separator) > 1 for name in names], dtype=bool)
    if min(combined.sum(), (~combined).sum()) < 4:
        raise ValueError(
            f"table must contain at least 4 single and 4 combined perturbations (names with {separator!r}), "
            f"got {(~combined).sum()} and {combined.sum()}"
        )
    scores = _residual_ranks(numbers(complete, [y, *covariates])) if covariates else complete[y].to_numpy(dtype=float)
    u, p = mannwhitneyu(scores[~combined], scores[combined])
    kinds = tuple(
        _kind(complete[mask], x, y, n_bootstrap, derive_seed(seed, k)) for k, mask in enumerate((~combined, combined))
    )
    return Combined(kinds, float(u), float(p), tuple(covariates))


def _genes(name: str, separator: str) -> int:
    from shesha.bio.cell_design import is_control

    return sum(not is_control(label) for label in name.split(separator) if label.strip())


def _kind(part: pd.DataFrame, x: str, y: str, n_bootstrap: int, seed: int) -> dict[str, float]:
    summary: dict[str, float] = {"n": float(len(part))}
    for name in (y, x):
        summary |= {f"{name}_mean": float(part[name].mean()), f"{name}_sd": float(part[name].std())}
    rho = correlation(part, x, y, n_bootstrap=n_bootstrap, seed=seed)
    return summary | {"rho": rho.value, "low": rho.low, "high": rho.high, "p_value": rho.p_value}


def _residual_ranks(columns: Matrix) -> Vector:
    """Return the ranks in the first column after regressing them on the ranks in the other columns."""
    from scipy.stats import rankdata

    ranks = rankdata(columns, axis=0)
    design = np.column_stack([np.ones(len(ranks)), ranks[:, 1:]])
    residuals: Vector = ranks[:, 0] - design @ np.linalg.lstsq(design, ranks[:, 0], rcond=None)[0]
    return residuals
