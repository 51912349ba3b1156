"""A stability score with its uncertainty."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from shesha import _validate as check
from shesha._types import Seed
from shesha.nulls.orders import Design
from shesha.results import Estimate
from shesha.stability.evidence import Evidence, Request
from shesha.stability.measured import measured, requested
from shesha.stability.split_estimator import monte_carlo_error


def estimate(
    X: ArrayLike,
    y: ArrayLike | None = None,
    variant: str = "feature_split",
    *,
    confidence: float = 0.95,
    n_bootstrap: int = 200,
    target_se: float | None = None,
    pairs: int | None = None,
    blocks: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    within: ArrayLike | None = None,
    shift: bool = False,
    block_length: int | None = None,
    covariates: ArrayLike | None = None,
    seed: Seed = None,
    **options: Any,
) -> Estimate:
    """Score a representation with an interval over rows and the Monte-Carlo error of the partitions.

    Rows are never subsampled. The two split scores use all pairs of rows up to the memory budget
    (a quarter of the machine, or SHESHA_MEMORY); beyond it, or with `pairs`, they use random pairs
    and report the error that this adds. X may be a memory-mapped file of any length.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        At least 4 rows.
    y : array of shape (n_samples,), optional
        Class labels, for the supervised variants.
    variant : str
        Any name that `shesha` takes, except the two without an identifiable estimand.
    confidence : float
        Of the interval, in (0, 1).
    n_bootstrap : int
        Resamples of the rows; 0 for no interval. Pairs of a row with itself are left out: their
        distance is zero in both halves and would raise the score. The interval is the bootstrap's
        quantiles, moved so that its mean is the value: duplicates bias the resampled scores, not
        their spread. With sampled pairs the interval is analytic instead (dyadic-robust).
    target_se : float, optional
        Draw partitions until the Monte-Carlo error of the value is at most this (split scores).
    pairs : int, optional
        Use this many random pairs of rows (split scores).
    blocks, groups, within, shift, block_length
        Which rows may take each other's place, and which are resampled together: as for `shesha.nulls.exchange`. Rows
        that depend on one another (cells of a donor, time points) need one of them.
    covariates : array of shape (n_samples,) or (n_samples, n_covariates), or DataFrame, optional
        What rows are known to differ in, numbers or labels, to be taken out of the features first: what is
        stable beyond it. As for `shesha.calibrate`.
    seed : int, Generator or None
        One seed gives the same value as the documented function with that seed.
    **options
        'metric', and 'n_splits', 'n_rotations' or 'n_draws', 'subsample_frac', where the variant takes them.

    Returns
    -------
    Estimate
        With `value`, `low`, `high`, `monte_carlo_error`, `pairs_dropped` and what they rest on.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 5)) @ rng.standard_normal((5, 64))
    >>> print(estimate(X, seed=320))
    feature_split: 0.8889  [0.8783, 0.9014] at 95% (200 row resamples)
      100 rows x 64 features, 30 draws, 4,950 pairs
      standard error from partitions: 0.007, sampled pairs: 0
    """
    check.fraction(confidence, "confidence", closed=False)
    design: Design = {
        "blocks": blocks,
        "groups": groups,
        "within": within,
        "shift": shift,
        "block_length": block_length,
    }
    request = requested(
        X,
        y,
        variant,
        options,
        n_bootstrap=n_bootstrap,
        target_se=target_se,
        pairs=pairs,
        seed=seed,
        design=design,
        covariates=covariates,
    )
    return as_estimate(request, measured(request), confidence)


def as_estimate(request: Request, found: Evidence, confidence: float) -> Estimate:
    """Return the evidence as a result."""
    low, high, error, used = _interval(found, request.variant.bounds, confidence)
    return Estimate(
        variant=request.variant.name,
        value=found.value,
        low=low,
        high=high,
        confidence=confidence,
        standard_error=error,
        monte_carlo_error=_partition_error(found),
        pair_error=found.pair_error,
        n_samples=request.n_rows,
        n_features=request.n_features,
        n_draws=len(found.draws),
        n_bootstrap=used,
        n_pairs=found.n_pairs,
        pairs_dropped=found.pairs_dropped,
        reason=found.reason,
        warnings=(*found.notes, *_lost(found)),
        options={**request.options, "seed": request.seed if isinstance(request.seed, int) else None},
    )


def _partition_error(found: Evidence) -> float:
    """Error from the partitions alone: the spread of their scores less what sampling pairs adds to it."""
    if not len(found.draws):
        return 0.0
    error = monte_carlo_error(found.draws)
    return error if np.isnan(error) else float(np.sqrt(max(0.0, error**2 - found.pair_error**2)))


def _interval(found: Evidence, bounds: tuple[float, float], confidence: float) -> tuple[float, float, float, int]:
    """Return low, high, standard error and the number of resamples behind them."""
    resampled = found.resampled[np.isfinite(found.resampled)]
    if len(resampled) > 1:
        tail = (1 - confidence) / 2
        centred = resampled - resampled.mean() + found.value
        low, high = np.quantile(centred, [tail, 1 - tail])
        error, used = float(resampled.std(ddof=1)), len(resampled)
    else:
        from statistics import NormalDist

        error, used = found.analytic_error, 0
        half = NormalDist().inv_cdf(0.5 + confidence / 2) * error
        low, high = found.value - half, found.value + half
    floor, ceiling = bounds
    return float(np.clip(low, floor, ceiling)), float(np.clip(high, floor, ceiling)), error, used


def _lost(found: Evidence) -> list[str]:
    lost = int(np.isnan(found.resampled).sum())
    return [f"{lost} resamples of the rows gave no score and were left out"] if lost else []
