"""Two ablations from the paper: number of components, and seed (12.14)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from shesha.coherence import coherence_by_group
from shesha.inputs import validation as check
from shesha.support import types as kinds
from shesha.support.seeds import generator
from shesha.support.types import Index
from shesha_studies.perturbation_tables._ablation_table import Ablation, ablation
from shesha_studies.perturbation_tables.null_group_tables import group_table

SEEDS = (3, 7, 9, 11, 12, 18, 103, 108, 320, 411, 724, 1754, 1991, 2222, 7258)
"""Seeds that the paper uses in its ablation."""


def component_ablation(
    X: ArrayLike,
    labels: ArrayLike,
    control: str | Sequence[str],
    n_components: Sequence[int] = (10, 20, 30, 50, 100),
    *,
    y: str = "coherence",
    n_bootstrap: int = 10_000,
    seed: int = 0,
    **options: Any,
) -> Ablation:
    """Correlate magnitude and coherence for several numbers of components of an embedding.

    Parameters
    ----------
    X : array of shape (n_cells, n_features)
        Principal components, in decreasing order of variance.
    labels : array of shape (n_cells,)
        Perturbation of each cell.
    control : str or sequence of str
        Labels of the controls.
    n_components : sequence of int
        Numbers of components to compare, each of which is at most n_features.
    y : str
        Score to correlate with magnitude: 'coherence' or 'unbiased'.
    n_bootstrap, seed
        See `ablation`.
    **options
        Options of `shesha.coherence.coherence_by_group`, such as ``method`` and ``min_size``.

    Returns
    -------
    Ablation

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> labels = np.repeat(["NT", *"abcdef"], [60, 20, 20, 20, 20, 20, 20])
    >>> X = rng.standard_normal((180, 20)) + np.repeat(np.arange(7), [60, 20, 20, 20, 20, 20, 20])[:, None] / 4
    >>> component_ablation(X, labels, "NT", [10, 20], n_bootstrap=100).to_frame()[["setting", "rho"]].round(2)
      setting  rho
    0      10  1.0
    1      20  1.0
    """
    rows = check.matrix(X, "X")
    kinds.sequence(n_components, "n_components", "whole numbers")
    wide = [check.count(n, "n_components", minimum=2) for n in n_components]
    if max(wide, default=0) > rows.shape[1]:
        raise ValueError(f"n_components must be at most the {rows.shape[1]} features of X, got {max(wide)}")
    tables: dict[Hashable, pd.DataFrame] = {
        k: group_table(coherence_by_group(rows[:, :k], labels, control, n_draws=0, **options)) for k in wide
    }
    return ablation(tables, y=y, n_bootstrap=n_bootstrap, seed=seed)


def seed_ablation(
    X: ArrayLike,
    labels: ArrayLike,
    control: str | Sequence[str],
    seeds: Sequence[int] = SEEDS,
    *,
    share: float = 0.8,
    y: str = "coherence",
    n_bootstrap: int = 10_000,
    seed: int = 0,
    **options: Any,
) -> Ablation:
    """Correlate magnitude and coherence in random subsets of the cells, one per seed.

    If all cells are used, scores do not depend on a seed, so ``share=1`` gives a correlation of 1.000 between seeds, as
    in the paper. With a smaller share, each seed selects different cells.

    Parameters
    ----------
    X, labels, control, y, n_bootstrap, seed, **options
        See `component_ablation`.
    seeds : sequence of int
        Seeds of the subsets. Default: the fifteen seeds of the paper.
    share : float
        Share of each label's cells that a subset contains, in (0, 1].

    Returns
    -------
    Ablation

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> labels = np.repeat(["NT", *"abcdef"], [60, 20, 20, 20, 20, 20, 20])
    >>> X = rng.standard_normal((180, 20)) + np.repeat(np.arange(7), [60, 20, 20, 20, 20, 20, 20])[:, None] / 4
    >>> found = seed_ablation(X, labels, "NT", [3, 7], share=1, n_bootstrap=100)
    >>> found.consistency["coherence"]["min"]
    1.0
    """
    rows, part = check.matrix(X, "X"), check.fraction(share, "share")
    codes, classes = check.labels(labels, len(rows), "labels")
    names = classes.astype(str)[codes]
    tables: dict[Hashable, pd.DataFrame] = {}
    for cell_seed in kinds.sequence(seeds, "seeds", "whole numbers"):
        chosen = _subsample_cells(names, part, generator(cell_seed))
        tables[cell_seed] = group_table(coherence_by_group(rows[chosen], names[chosen], control, n_draws=0, **options))
    return ablation(tables, y=y, n_bootstrap=n_bootstrap, seed=seed)


def _subsample_cells(names: Any, share: float, rng: np.random.Generator) -> Index:
    """Draw a share of the cells with each label, but at least one cell."""
    if share == 1:
        return np.arange(len(names))
    parts = []
    for name in np.unique(names):
        rows = np.flatnonzero(names == name)
        parts.append(rng.choice(rows, max(1, round(share * len(rows))), replace=False))
    return np.sort(np.concatenate(parts))
