"""A stability score with its uncertainty."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from shesha import _validate as check
from shesha._random import Seed, generator
from shesha.kernels.distances import METRICS
from shesha.results import Estimate
from shesha.stability import label_estimators as labelled
from shesha.stability.discriminant import lda_stability
from shesha.stability.evidence import Evidence, Request
from shesha.stability.feature import MIN_FEATURES
from shesha.stability.label_conditioned import splittable_labels
from shesha.stability.split_estimator import estimate_split, monte_carlo_error
from shesha.stability.variants import require_known_options, require_labels, variant_named

Estimator = Callable[[Request], Evidence]

_SPLIT = {"metric": "cosine", "n_draws": 30}
_RESAMPLED = {"n_draws": 50, "subsample_frac": 0.5}
_ESTIMATORS: dict[str, tuple[Estimator, dict[str, Any]]] = {
    "feature_split": (lambda request: estimate_split("feature_split", request), _SPLIT),
    "basis_averaged_split": (lambda request: estimate_split("basis_averaged_split", request), _SPLIT),
    "supervised_alignment": (labelled.estimate_alignment, {"metric": "correlation"}),
    "class_separation_ratio": (labelled.estimate_separation, {"metric": "euclidean"}),
    "variance_ratio": (labelled.estimate_variance_ratio, {}),
    "zscore_separation": (labelled.estimate_zscore, {}),
    "label_conditioned_split": (labelled.estimate_label_conditioned, _SPLIT),
    "lda_stability": (labelled.estimate_lda, _RESAMPLED),
    "lda_subspace_stability": (labelled.estimate_lda, _RESAMPLED),
}
_DRAWS = ("n_splits", "n_rotations")
"""The documented names of what is called n_draws here."""
_PAIRED = ("feature_split", "basis_averaged_split")


def estimate(
    X: ArrayLike,
    y: ArrayLike | None = None,
    variant: str = "feature_split",
    *,
    confidence: float = 0.95,
    n_bootstrap: int = 200,
    target_se: float | None = None,
    pairs: int | None = None,
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
    name, estimator, request = prepared(
        X, y, variant, options, n_bootstrap=n_bootstrap, target_se=target_se, pairs=pairs, seed=seed
    )
    return _result(name, request, estimator(request), confidence)


def prepared(
    X: ArrayLike,
    y: ArrayLike | None,
    variant: str,
    options: dict[str, Any],
    *,
    n_bootstrap: int,
    target_se: float | None,
    pairs: int | None,
    seed: Seed,
) -> tuple[str, Estimator, Request]:
    """Check everything, once, and return the variant's name, its estimator and what to ask of it."""
    found = variant_named(variant)
    if found.name not in _ESTIMATORS:
        raise ValueError(
            f"variant must have an identifiable estimand, got {found.name!r}: "
            "use replicate_stability or anchor_profile_stability with two replicates"
        )
    require_labels(found, y)
    estimator, defaults = _ESTIMATORS[found.name]
    chosen = _options(found.name, options, defaults)
    return found.name, estimator, _request(X, y, found.name, chosen, n_bootstrap, target_se, pairs, seed)


def _options(name: str, given: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    known = tuple(defaults) + (_DRAWS if "n_draws" in defaults else ())
    require_known_options(variant_named(name), given, known)
    counts = [key for key in given if key in (*_DRAWS, "n_draws")]
    if len(counts) > 1:
        raise TypeError(f"options of {name!r} must give the number of draws once, got {', '.join(counts)}")
    chosen = {**defaults, **{"n_draws" if key in _DRAWS else key: value for key, value in given.items()}}
    if "metric" in chosen:
        check.choice(chosen["metric"], METRICS, "metric")
    if "n_draws" in chosen:
        check.count(chosen["n_draws"], counts[0] if counts else "n_draws")
    if "subsample_frac" in chosen:
        check.fraction(chosen["subsample_frac"], "subsample_frac")
    return chosen


def _request(
    X: ArrayLike,
    y: ArrayLike | None,
    name: str,
    options: dict[str, Any],
    n_bootstrap: int,
    target_se: float | None,
    pairs: int | None,
    seed: Seed,
) -> Request:
    check.count(n_bootstrap, "n_bootstrap", minimum=0)
    if name not in _PAIRED and (pairs is not None or target_se is not None):
        raise ValueError(f"pairs and target_se must be left out for {name!r}, they apply to {', '.join(_PAIRED)}")
    if target_se is not None:
        check.positive(target_se, "target_se")
    pairs = check.optional_count(pairs, "pairs", minimum=100)
    generator(seed)
    raw = check.raw_matrix(X, min_columns=MIN_FEATURES if name in _PAIRED else 1)
    if y is None or name in _PAIRED:
        return Request(raw, None, 0, options, n_bootstrap, target_se, pairs, seed)
    if name == "label_conditioned_split":
        codes, classes = splittable_labels(y, len(raw))
    else:
        codes, classes = check.labels(y, len(raw))
    if name == "lda_stability" and len(classes) != 2:
        lda_stability(raw, y)  # Raises the documented error, which names the function for more classes.
    return Request(raw, codes, len(classes), options, n_bootstrap, target_se, pairs, seed)


def _result(name: str, request: Request, found: Evidence, confidence: float) -> Estimate:
    low, high, error, used = _interval(found, confidence)
    return Estimate(
        variant=name,
        value=found.value,
        low=low,
        high=high,
        confidence=confidence,
        standard_error=error,
        monte_carlo_error=_partition_error(found),
        pair_error=found.pair_error,
        n_samples=request.X.shape[0],
        n_features=request.X.shape[1],
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


def _interval(found: Evidence, confidence: float) -> tuple[float, float, float, int]:
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
    floor, ceiling = found.bounds
    return float(np.clip(low, floor, ceiling)), float(np.clip(high, floor, ceiling)), error, used


def _lost(found: Evidence) -> list[str]:
    lost = int(np.isnan(found.resampled).sum())
    return [f"{lost} resamples of the rows gave no score and were left out"] if lost else []
