"""The documented intervals for the scores of one perturbation, from resampling both kinds of cells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from shesha.bio.perturbation_scores import both, checked_coherence, checked_effect_size
from shesha.coherence.shared_rows import warn_of_shared_rows
from shesha.inputs import validation as check
from shesha.results.base import Result
from shesha.support.seeds import generator
from shesha.support.types import Seed

_SCORES: dict[str, Callable[..., float]] = {
    "coherence": checked_coherence,
    "effect_size": checked_effect_size,
}


@dataclass(frozen=True)
class PerturbationInterval(Result):
    """A documented score of one perturbation, with percentiles over resampled cells."""

    score: str
    value: float
    """Score of the given cells; the mean over resamples is larger, because resamples repeat cells."""
    low: float
    high: float
    confidence: float
    resampled_mean: float
    resampled_sd: float
    n_bootstrap: int
    """Number of resamples that have a value."""

    def _text(self) -> str:
        """Return the value and its interval as text."""
        return (
            f"{self.score}: {self.value:.4f} [{self.low:.4f}, {self.high:.4f}] at {100 * self.confidence:g}% "
            f"({self.n_bootstrap} resamples of both groups, mean {self.resampled_mean:.4f})"
        )


def perturbation_interval(
    X_control: ArrayLike,
    X_perturbed: ArrayLike,
    score: Literal["coherence", "effect_size"] = "coherence",
    *,
    n_bootstrap: int = 1000,
    confidence: float = 0.95,
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
    return PerturbationInterval(score, value, float(ends[0]), float(ends[1]), level, float(mean), float(sd), len(known))
