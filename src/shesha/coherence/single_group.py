"""Coherence of one group of rows relative to controls."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from shesha.coherence.coherence_by_group import Method, Null, coherence_by_group
from shesha.coherence.shared_rows import warn_of_shared_rows
from shesha.inputs import validation as check
from shesha.inputs.overflow_limits import require_squarable
from shesha.results import Coherence
from shesha.support.types import Seed


def coherence(
    X: ArrayLike,
    controls: ArrayLike,
    *,
    method: Method = "standard",
    k: int = 50,
    shrinkage: float | None = None,
    null: Null = "controls",
    n_draws: int | None = None,
    alpha: float = 0.05,
    confidence: float = 0.95,
    seed: Seed = 0,
) -> Coherence:
    """Test whether rows move together, away from the controls, more than by chance.

    Parameters
    ----------
    X : array of shape (n, n_features)
        The rows of one group.
    controls : array of shape (n_controls, n_features)
        The controls. Rows of X that also occur here would bias the score, so a warning states how many there are.
    method, k, shrinkage, null, n_draws, alpha, confidence, seed
        See `coherence_by_group`.

    Returns
    -------
    Coherence

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> print(coherence(rng.normal(size=(20, 30)) + 0.5, rng.normal(size=(200, 30)), n_draws=199))
    group: unbiased coherence 0.217 [0.160, 0.274] for 20 rows against 200 controls, p = 0.005 (199 draws); coherence
    0.506 (chance 0.228), magnitude 3.06
    """
    rows = require_squarable(check.matrix(X, "X", min_rows=2))
    others = require_squarable(check.matrix(controls, "controls", min_rows=1), "controls")
    if rows.shape[1] != others.shape[1]:
        raise ValueError(f"controls must have as many features as X ({rows.shape[1]}), got {others.shape[1]}")
    warn_of_shared_rows(others, rows, controls_name="controls", rows_name="X")
    labels = np.repeat(["control", "group"], [len(others), len(rows)])
    table = coherence_by_group(
        np.concatenate([others, rows]),
        labels,
        "control",
        method=method,
        k=k,
        shrinkage=shrinkage,
        null=null,
        n_draws=n_draws,
        min_size=2,
        alpha=alpha,
        confidence=confidence,
        seed=seed,
    )
    return table.groups[0]
