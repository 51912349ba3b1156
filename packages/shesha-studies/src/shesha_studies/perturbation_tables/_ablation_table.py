"""Correlate two scores in several settings, such as numbers of components or seeds."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from shesha.bio.perturbation_scores import complete_lines
from shesha.results.base import Result
from shesha.support import types as kinds
from shesha_studies.perturbation_tables._bootstrap_ranks import rank_correlations
from shesha_studies.perturbation_tables._correlations import correlation, derive_seed


@dataclass(frozen=True)
class Ablation(Result):
    """The correlation of two scores in several settings, and the agreement of the settings' rankings."""

    settings: tuple[str, ...]
    correlations: dict[str, dict[str, float]]
    """For each setting: rho, low, high, p_value and n; with sizes, also controlling for group size."""
    consistency: dict[str, dict[str, float]]
    """For each score: mean, sd and min of the rank correlations between settings."""

    def _frame(self, *, full: bool) -> pd.DataFrame:
        """Return one row per setting."""
        return pd.DataFrame([{"setting": name, **self.correlations[name]} for name in self.settings])

    def _text(self) -> str:
        """Return the correlation in each setting, and the agreement of their rankings."""
        lines = [
            f"{name}: rho {values['rho']:.3f} [{values['low']:.3f}, {values['high']:.3f}]"
            for name, values in self.correlations.items()
        ]
        lines += [
            f"rank correlation between settings for {name}: {values['mean']:.3f} +- {values['sd']:.3f} (minimum "
            f"{values['min']:.3f})"
            for name, values in self.consistency.items()
        ]
        return "\n".join(lines)


def ablation(
    tables: Mapping[Hashable, pd.DataFrame],
    x: str = "magnitude",
    y: str = "coherence",
    *,
    size: str | None = "n",
    n_bootstrap: int = 10_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Ablation:
    """Correlate two scores in several settings, and compare how the settings rank perturbations.

    Parameters
    ----------
    tables : mapping
        Maps each setting (such as 50 components) to a table with one row per perturbation, named by the index.
    x, y : str
        Columns of scores.
    size : str, optional
        Column of group sizes. If given, correlations that control for size, such as rho_given_size, are added.
    n_bootstrap, confidence, seed
        See `correlations`.

    Returns
    -------
    Ablation

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> first = pd.DataFrame({"magnitude": np.arange(30.0), "coherence": np.arange(30) + 9 * rng.random(30)})
    >>> second = first.assign(coherence=first.coherence + 9 * rng.random(30))
    >>> print(ablation({10: first, 20: second}, size=None, n_bootstrap=200))
    10: rho 0.950 [0.880, 0.973]
    20: rho 0.926 [0.832, 0.962]
    rank correlation between settings for magnitude: 1.000 +- 0.000 (minimum 1.000)
    rank correlation between settings for coherence: 0.955 +- 0.000 (minimum 0.955)
    """
    if not isinstance(tables, Mapping) or len(tables) < 2:
        size = f" of {len(tables)}" if isinstance(tables, Mapping) else ""
        raise ValueError(f"tables must map at least two settings to tables, got {type(tables).__name__}{size}")
    consistency = {score: _consistency(list(tables.values()), score) for score in (x, y)}
    lines: dict[str, dict[str, float]] = {}
    for name, table in tables.items():
        lines[str(name)] = {}
        for ending, covariates in {"": (), "_given_size": () if size is None else (kinds.text(size, "size"),)}.items():
            if ending and not covariates:
                continue
            table_seed = derive_seed(seed, name, x, y, *covariates)
            result = correlation(
                table, x, y, covariates=covariates, n_bootstrap=n_bootstrap, confidence=confidence, seed=table_seed
            )
            numbers = {"rho": result.value, "low": result.low, "high": result.high, "p_value": result.p_value}
            lines[str(name)] |= {field + ending: one for field, one in (numbers | {"n": float(result.n_rows)}).items()}
    return Ablation(tuple(map(str, tables)), lines, consistency)


def _consistency(tables: list[pd.DataFrame], score: str) -> dict[str, float]:
    scores = [complete_lines(table, [score], "table")[score] for table in tables]
    if not all(part.index.is_unique for part in scores):
        raise ValueError("tables must have distinct names of perturbations in their index, got repeated ones")
    values = np.array([_agreement(*pair) for pair in combinations(scores, 2)])
    return {"mean": float(values.mean()), "sd": float(values.std()), "min": float(values.min())}


def _agreement(one: pd.Series, other: pd.Series) -> float:
    both = pd.concat([one, other], axis=1, join="inner")
    if len(both) < 2:
        raise ValueError("tables must share at least two perturbations in their index, got fewer")
    return float(rank_correlations(both.to_numpy(dtype=float), np.ones((1, len(both)), dtype=np.intp))[0])
