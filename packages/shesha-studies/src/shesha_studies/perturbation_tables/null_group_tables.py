"""Null tables: scores of random groups of controls with the real group sizes, to test any statistic."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from shesha.coherence.scores import NO_DIRECTION
from shesha.inputs import validation as check
from shesha.results import CoherenceTable
from shesha.results.base import Result
from shesha.support import types as kinds
from shesha.support.seeds import generator
from shesha.support.types import Matrix, Seed

_FEWEST = 5
"""Minimum number of controls that must remain when a null group is removed."""


@dataclass(frozen=True)
class NullTableComparison(Result):
    """A statistic of a table of perturbations, compared with its values in null tables."""

    value: float
    chance: float
    """Mean of the statistic over the null tables, in which only group sizes and noise have an effect."""
    low: float
    high: float
    """Limits of the central 95 % of the statistic's values in null tables."""
    p_value: float
    """(1 + number of null tables with a value at least as large) / (number of null tables + 1)."""
    n_tables: int

    def _text(self) -> str:
        """Return the statistic and its null as text."""
        return (
            f"{self.value:.3f}, p = {self.p_value:.2g}; mean of {self.n_tables} null tables {self.chance:.3f} "
            f"[{self.low:.3f}, {self.high:.3f}]"
        )


_NAMES = {
    "n_rows": "n",
    "value": "unbiased",
    "low": "unbiased_ci_low",
    "high": "unbiased_ci_high",
    "corrected_p_value": "p_adj",
    "p_value": "unbiased_p",
    "chance": "unbiased_chance",
    "coherence_chance": "chance",
}
"""Names of columns in the tables of this paper, for fields of `shesha.results.Coherence`."""


def group_table(table: CoherenceTable) -> pd.DataFrame:
    """Return the numbers of a coherence table under the names of the columns of these tables."""
    if not isinstance(table, CoherenceTable):
        raise TypeError(f"table must be a CoherenceTable, got {type(table).__name__}")
    return table.to_frame(full=True).rename(columns=_NAMES)


def fake_tables(
    controls: ArrayLike, sizes: Mapping[str, int], *, n_tables: int = 200, seed: Seed = 0
) -> list[pd.DataFrame]:
    """Score random groups of control cells as if they were perturbations, relative to the other controls.

    Parameters
    ----------
    controls : array of shape (n_controls, n_features)
        Control cells, in the same embedding in which the perturbations were scored, for example after whitening.
    sizes : mapping of str to int
        Maps the name of each perturbation to its number of cells, such as ``table["n"]``.
    n_tables : int
        Number of tables, each with new random groups.
    seed : int, Generator or None
        Seed of the draws. Each group is drawn separately, without replacement, so the groups in a table may share
        cells.

    Returns
    -------
    list of DataFrame
        One row per name in `sizes`, with columns n, coherence, unbiased, magnitude, spread and snr.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> found = fake_tables(rng.standard_normal((500, 50)), {"STAT1": 10, "JAK2": 200}, n_tables=50)
    >>> round(float(np.mean([table.loc["STAT1", "coherence"] for table in found])), 2)
    0.32
    """
    rows = check.require_squarable(check.matrix(controls, "controls"), "controls")
    kinds.mapping(sizes, "sizes")
    n_tables = check.count(n_tables, "n_tables")
    counts = {str(name): check.count(n, "sizes", minimum=2) for name, n in sizes.items()}
    if max(counts.values(), default=0) > len(rows) - _FEWEST:
        raise ValueError(
            f"sizes must leave at least {_FEWEST} of the {len(rows)} controls, got a group of {max(counts.values())}"
        )
    rng, total = generator(seed), rows.sum(axis=0)
    return [
        pd.DataFrame([_null_group_scores(rows, total, n, rng) for n in counts.values()], index=list(counts))
        for _ in range(n_tables)
    ]


def _null_group_scores(rows: Matrix, total: Matrix, n: int, rng: np.random.Generator) -> dict[str, float]:
    cells = rows[rng.choice(len(rows), n, replace=False)]
    sums = cells.sum(axis=0)
    shifts = cells - (total - sums) / (len(rows) - n)
    mean = shifts.mean(axis=0)
    units = shifts / np.maximum(np.linalg.norm(shifts, axis=1, keepdims=True), 1e-300)
    together, magnitude = units.sum(axis=0), float(np.linalg.norm(mean))
    spread = float(np.linalg.norm(cells - sums / n, axis=1).mean())
    return {
        "n": n,
        "coherence": float(together @ mean / (n * magnitude)) if magnitude > 0 else float("nan"),
        "unbiased": float((together @ together - n) / (n * (n - 1))),
        "magnitude": magnitude,
        "spread": spread,
        "snr": magnitude / spread if spread > NO_DIRECTION * magnitude else float("nan"),
    }


def compare_with_null_tables(
    table: pd.DataFrame, null_tables: Sequence[pd.DataFrame], statistic: Callable[[pd.DataFrame], float]
) -> NullTableComparison:
    """Compare a statistic of a table of perturbations with its values in null tables.

    Parameters
    ----------
    table : DataFrame
        One row per perturbation.
    null_tables : sequence of DataFrame
        Null tables, such as `fake_tables` returns.
    statistic : function of a table
        A function such as ``lambda t: correlation(t, covariates=["n"], n_bootstrap=0).value``. Large values count as
        significant.

    Returns
    -------
    NullTableComparison

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> sizes = {f"G{n}": n for n in range(10, 200, 10)}
    >>> first, *others = fake_tables(rng.standard_normal((500, 50)), sizes, n_tables=50)
    >>> found = compare_with_null_tables(first, others, lambda table: table["magnitude"].corr(table["coherence"]))
    >>> found.chance > 0.95  # Nothing moved.
    True
    """
    kinds.function(statistic, "statistic")
    kinds.frame(table, "table")
    if not isinstance(null_tables, list | tuple) or not null_tables:
        raise ValueError("null_tables must contain at least one table, got none")
    value = check.real_number(statistic(table), "statistic")
    tables = [kinds.frame(null, "null_tables") for null in null_tables]
    drawn = np.array([check.real_number(statistic(null), "statistic") for null in tables])
    low, high = np.nanquantile(drawn, [0.025, 0.975])
    # An undefined null value counts as larger, so that it cannot make the p-value smaller.
    larger = int((~(drawn < value - 1e-12)).sum())
    return NullTableComparison(
        value, float(np.nanmean(drawn)), float(low), float(high), (1 + larger) / (len(drawn) + 1), len(drawn)
    )
