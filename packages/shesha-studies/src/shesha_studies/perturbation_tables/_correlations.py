"""Rank correlations, also partial, of two scores of perturbations, with intervals over perturbations."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from shesha.bio.perturbation_scores import complete_lines
from shesha.inputs import validation as check
from shesha.results.number import Number
from shesha.support import types as kinds
from shesha.support.seeds import generator
from shesha.support.types import Matrix, Seed
from shesha.support.warnings import CalibrationWarning, warn
from shesha_studies.perturbation_tables._bootstrap_ranks import bootstrap_rank_correlations, rank_correlations

_LOST = 0.05
"""Share of resamples without a defined correlation above which a warning is raised."""


@dataclass(frozen=True, kw_only=True)
class Correlation(Number):
    """A rank correlation between two scores of perturbations, with its interval over perturbations."""

    x: str
    y: str
    covariates: tuple[str, ...]
    """Covariates that the correlation controls for, by their ranks."""
    n_resamples: int = 0
    n_undefined: int = 0
    """Number of resamples without a defined correlation; the interval leaves them out."""

    def _text(self) -> str:
        """Return the correlation and its interval as text."""
        controls = f" given {', '.join(self.covariates)}" if self.covariates else ""
        name = f"rho({self.x}, {self.y}{controls})"
        if self.value != self.value:
            return f"{name}: not estimable ({self.reason})"
        interval = f" [{self.low:.3f}, {self.high:.3f}] at {100 * self.confidence:g}%" if self.low == self.low else ""
        return f"{name} = {self.value:.3f}{interval}, p = {self.p_value:.2g}, {self.n_rows} perturbations"


def correlation(
    table: pd.DataFrame,
    x: str = "magnitude",
    y: str = "coherence",
    *,
    covariates: Sequence[str] = (),
    n_bootstrap: int = 10_000,
    confidence: float = 0.95,
    seed: Seed = 0,
) -> Correlation:
    """Rank correlation of two scores over perturbations, with an interval; partial if given covariates.

    The magnitude and the coherence of a group share the noise of its mean, and both are larger in small groups. They
    therefore correlate even without any effect. `fake_tables` measures this correlation; ``covariates=["n"]`` and
    ``y="unbiased"`` remove it.

    Parameters
    ----------
    table : DataFrame
        One row per perturbation, such as `coherence_test` returns. Rows with missing values are left out.
    x, y : str
        Columns of the table.
    covariates : sequence of str
        Columns whose ranks are regressed out of the ranks of x and y. The paper uses ``["snr"]``; ``["n"]`` controls
        for group size.
    n_bootstrap : int
        Number of bootstrap resamples of the perturbations; 0 for no interval. Resamples without a defined correlation
        (a constant column) are left out, with a `CalibrationWarning` if they are more than 5 %.
    confidence : float
        Confidence level of the interval, in (0, 1).
    seed : int, Generator or None
        Seed of the resamples.

    Returns
    -------
    Correlation
        The correlation with a percentile interval. Its p-value is based on Student's t with n - 2 - (number of
        covariates) degrees of freedom.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> n = rng.integers(10, 400, 60)
    >>> table = pd.DataFrame({"n": n, "magnitude": n**-0.5, "coherence": n**-0.5 + 0.02 * rng.random(60)})
    >>> print(correlation(table, n_bootstrap=500))
    rho(magnitude, coherence) = 0.945 [0.887, 0.974] at 95%, p = 9.6e-30, 60 perturbations
    >>> print(correlation(table, covariates=["n"], n_bootstrap=500))
    rho(magnitude, coherence given n): not estimable (magnitude is fully explained by n)
    """
    n_bootstrap = check.count(n_bootstrap, "n_bootstrap", minimum=0)
    level = check.fraction(confidence, "confidence", closed=False)
    covariates = list(kinds.sequence(covariates, "covariates"))
    columns = numbers(table, [x, y, *covariates])
    n, k = len(columns), len(covariates)
    if n < k + 4:
        raise ValueError(f"table must contain at least {k + 4} perturbations without missing values, got {n}")
    rho = float(rank_correlations(columns, np.ones((1, n), dtype=np.intp))[0])
    fields: dict[str, Any] = {"x": x, "y": y, "covariates": tuple(covariates), "confidence": level, "n_rows": n}
    if rho != rho:
        return Correlation(value=rho, reason=_why_not(columns, x, y, tuple(covariates)), **fields)
    rhos = bootstrap_rank_correlations(columns, n_bootstrap, generator(seed)) if n_bootstrap else np.empty(0)
    known = rhos[~np.isnan(rhos)]
    n_missing = n_bootstrap - len(known)
    if n_missing > _LOST * n_bootstrap:
        warn(
            f"the correlation of {x} and {y} is undefined in {n_missing} of {n_bootstrap} resamples of {n} "
            "perturbations. These resamples are left out, so the interval may be too narrow. Use more perturbations",
            CalibrationWarning,
        )
    low, high = np.quantile(known, [(1 - level) / 2, (1 + level) / 2]) if len(known) else (np.nan, np.nan)
    return Correlation(
        value=rho,
        low=float(low),
        high=float(high),
        p_value=_p_value(rho, n - 2 - k),
        n_resamples=n_bootstrap,
        n_undefined=n_missing,
        **fields,
    )


def correlations(
    table: pd.DataFrame,
    x: str = "magnitude",
    scores: Sequence[str] = ("coherence", "unbiased"),
    covariates: Iterable[Sequence[str]] = ((), ("n",)),
    *,
    by: str | None = None,
    n_bootstrap: int = 10_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> pd.DataFrame:
    """Correlate several scores with one column, with and without covariates such as group size.

    Parameters
    ----------
    table : DataFrame
        See `correlation`.
    x : str
        Column to correlate with each of the scores.
    scores : sequence of str
        Columns of scores.
    covariates : sequence of sequences of str
        Sets of covariates, each of which is used in turn; an empty set gives the plain correlation.
    by : str, optional
        Column that names data sets, which are analysed separately. Default: a single data set.
    n_bootstrap, confidence
        See `correlation`.
    seed : int
        Base seed. The seed for each row of the result is derived from it and from the names in that row.

    Returns
    -------
    DataFrame
        One row per data set, score and set of covariates, with the fields of `Correlation`.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> table = pd.DataFrame(rng.random((40, 4)), columns=["n", "magnitude", "coherence", "unbiased"])
    >>> correlations(table, n_bootstrap=200)[["y", "covariates", "value"]].round(2)
               y covariates value
    0  coherence             0.00
    1  coherence          n  0.01
    2   unbiased             0.12
    3   unbiased          n  0.02
    """
    sets = [
        tuple(kinds.sequence(columns, "covariates"))
        for columns in kinds.sequence(covariates, "covariates", "lists of columns")
    ]
    lines = []
    for name, part in parts(table, by):
        for score in kinds.sequence(scores, "scores"):
            for columns in sets:
                part_seed = derive_seed(seed, name, x, score, *columns)
                options: dict[str, Any] = {"n_bootstrap": n_bootstrap, "confidence": confidence, "seed": part_seed}
                line = correlation(part, x, score, covariates=columns, **options).to_dict()
                line["covariates"] = ", ".join(columns)
                lines.append(({} if by is None else {by: name}) | line)
    return pd.DataFrame(lines)


def parts(table: pd.DataFrame, by: str | None) -> Iterator[tuple[Any, pd.DataFrame]]:
    """Yield the name and rows of each data set in a table, which is a single data set if `by` is None."""
    if by is None:
        yield "", table
        return
    complete_lines(table, [], "table", [by])
    for name in dict.fromkeys(table[by].dropna()):
        yield name, table[table[by] == name]


def numbers(table: pd.DataFrame, names: Sequence[str]) -> Matrix:
    """Return columns of a table as numbers, leaving out rows with missing values."""
    columns: Matrix = complete_lines(table, list(names), "table")[list(names)].to_numpy(dtype=np.float64)
    return columns


def derive_seed(seed: int, *names: object) -> int:
    """Return a seed for one combination of names, which is the same in every process."""
    text = "\x1f".join(map(str, (seed, *names))).encode(errors="backslashreplace")
    return int.from_bytes(hashlib.md5(text, usedforsecurity=False).digest()[:8], "big")


def _why_not(columns: Matrix, x: str, y: str, covariates: tuple[str, ...]) -> str:
    places, once = range(2, columns.shape[1]), np.ones((1, len(columns)), dtype=np.intp)
    for column, name in enumerate((x, y)):
        if np.ptp(columns[:, column]) == 0:
            return f"{name} is constant"
        if np.isnan(rank_correlations(columns[:, [column, column, *places]], once)[0]):
            break
    return f"{name} is fully explained by {', '.join(covariates)}"


def _p_value(rho: float, freedom: int) -> float:
    from scipy.special import stdtr

    if abs(rho) >= 1:
        return 0.0
    return float(2.0 * stdtr(freedom, -abs(rho) * np.sqrt(freedom / (1 - rho**2))))
