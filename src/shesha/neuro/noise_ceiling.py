"""The noise ceiling of distances between conditions, and their reliability."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from shesha.inputs import validation as check
from shesha.kernels.distances import METRICS, Metric
from shesha.kernels.standardisation import centred_units
from shesha.kernels.trial_geometry import centre_and_scale, centred_ranks, condition_distances, half_sums
from shesha.neuro._trials import Conditions, Trials, condition_codes
from shesha.results import NoiseCeiling
from shesha.support.types import Matrix, Vector

Method = Literal["spearman", "pearson", "cosine"]
METHODS: tuple[Method, ...] = get_args(Method)
_FEWEST_PAIRS = 3


def noise_ceiling(
    rdms_or_trials: Any,
    conditions: Conditions | None = None,
    runs: Conditions | None = None,
    *,
    method: Method = "spearman",
    metric: Metric = "cosine",
    normalize: bool = True,
) -> NoiseCeiling:
    """Noise ceiling: the range of scores of a perfect model of the distances, and their reliability.

    `lower` is the mean similarity of each repeat (subject, run) to the mean of the others, `upper` to the mean of all
    (Nili et al. 2014). Unlike `shesha.noise_ceiling` it takes distances below zero, as cross-validated ones are, and
    pairs that some repeat lacks; and where repeats do not agree it gives no ceiling, since nothing is there to reach.

    Parameters
    ----------
    rdms_or_trials : array
        Distances of shape (n_repeats, n_conditions, n_conditions) or (n_repeats, n_pairs), with NaN where a repeat has
        none; or, where `conditions` are given, responses as for `trial_split`.
    conditions : optional
        As for `trial_split`; then the distances of each run are the repeats.
    runs : the same, optional
        The run of each trial. None: odd and even trials are two.
    method : {'spearman', 'pearson', 'cosine'}
        How distances are compared; means are of their ranks, of standardised distances, of those of unit length.
    metric, normalize
        As for `trial_split`: how the distances of trials are found.

    Returns
    -------
    NoiseCeiling
        `lower`, `upper`, and `reliability`, the mean similarity of two repeats. Without a reliability above 0 there is
        no ceiling: NaN, with a reason and a warning.

    Raises
    ------
    ValueError
        If there are fewer than two repeats, or an array has another shape.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> found = noise_ceiling(rng.standard_normal(45) + rng.standard_normal((6, 45)))
    >>> round(found.lower, 2), round(found.upper, 2), round(found.reliability, 2)
    (0.61, 0.74, 0.46)
    """
    check.choice(method, METHODS, "method")
    if conditions is None:
        if runs is not None:
            raise ValueError("runs must come with conditions, got runs alone")
        repeats, n_conditions = _rdms_as_matrix(rdms_or_trials)
    else:
        repeats, n_conditions = _rdms_from_trials(rdms_or_trials, conditions, runs, metric, normalize)
    known = repeats[:, np.isfinite(repeats).all(axis=0)]
    fields: Mapping[str, Any] = {
        "measure": f"RDM {method}",
        "closer": "higher",
        "n_repeats": len(repeats),
        "n_rows": n_conditions,
    }
    if known.shape[1] < _FEWEST_PAIRS:
        reason = (
            f"only {known.shape[1]} pairs of conditions are known in all repeats, and at least {_FEWEST_PAIRS} "
            "are needed"
        )
        nan = check.not_estimable(f"noise ceiling: {reason}")
        return NoiseCeiling(lower=nan, upper=nan, reliability=nan, reason=reason, **fields)
    left_out, included, reliability = _ceiling(known, _SCALED[method])
    if not reliability > 0:
        reason = f"repeats do not agree (reliability {reliability:.3g}), so there is no ceiling"
        nan = check.not_estimable(f"noise ceiling: {reason}")
        return NoiseCeiling(lower=nan, upper=nan, reliability=reliability, reason=reason, **fields)
    return NoiseCeiling(
        lower=float(np.mean(left_out)),
        upper=float(np.mean(included)),
        reliability=reliability,
        left_out=left_out,
        included=included,
        **fields,
    )


def _centred(values: Matrix) -> Matrix:
    return centred_units(values, 1, constant=np.nan)


def _unit(values: Matrix) -> Matrix:
    lengths = np.linalg.norm(values, axis=1, keepdims=True)
    found: Matrix = values / np.where(lengths > 0, lengths, np.nan)
    return found


_SCALED: Mapping[Method, Callable[[Matrix], Matrix]] = {
    "spearman": centred_ranks,
    "pearson": _centred,
    "cosine": _unit,
}
"""Distances, normalised so that inner products compare them."""


def _ceiling(repeats: Matrix, scaled: Callable[[Matrix], Matrix]) -> tuple[tuple[float, ...], tuple[float, ...], float]:
    vectors = scaled(repeats)
    total: Vector = vectors.sum(axis=0)
    whole = scaled(total[None])[0]
    others = scaled(total - vectors)
    pairs = [float(a @ b) for a, b in combinations(vectors, 2)]
    left_out = tuple(float(own @ rest) for own, rest in zip(vectors, others, strict=True))
    return left_out, tuple(float(own @ whole) for own in vectors), float(np.mean(pairs))


def _rdms_as_matrix(rdms: ArrayLike) -> tuple[Matrix, int]:
    if hasattr(rdms, "get_matrices"):
        raise TypeError(f"rdms must be an array of distances, got a {type(rdms).__name__}; pass its get_matrices()")
    array = check.dense(rdms, "rdms")
    square = array.ndim == 3 and array.shape[1] == array.shape[2]
    if not (square or array.ndim == 2) or array.dtype.kind not in "fiu":
        raise ValueError(
            "rdms must be distances of shape (n_repeats, n_conditions, n_conditions) or (n_repeats, n_pairs), "
            f"got {array.dtype} of shape {array.shape}; for trials, pass conditions"
        )
    if len(array) < 2:
        raise ValueError(f"rdms must contain at least 2 repeats, got {len(array)}")
    if np.isinf(array).any():
        raise ValueError("rdms must be finite, or NaN for missing distances, got infinity")
    found = check.real(array, "rdms")
    if square:
        return found[:, *np.triu_indices(found.shape[1], k=1)], int(found.shape[1])
    n = round((1 + np.sqrt(1 + 8 * found.shape[1])) / 2)
    if n * (n - 1) // 2 != found.shape[1]:
        raise ValueError(f"rdms must contain the distances of all pairs of conditions, got {found.shape[1]} of them")
    return found, n


def _rdms_from_trials(
    X: Any, conditions: Conditions, runs: Conditions | None, metric: Metric, normalize: bool
) -> tuple[Matrix, int]:
    check.choice(metric, METRICS, "metric")
    check.boolean(normalize, "normalize")
    trials = Trials.build(X, conditions)
    if runs is None:
        part = np.arange(trials.n_trials) % 2
    else:
        part = condition_codes(X if trials.source is None else trials.source, runs, trials.n_trials)[0]
    n_parts = int(part.max()) + 1
    if n_parts < 2:
        raise ValueError("runs must be at least 2, got 1")
    rows = centre_and_scale(trials.rates, unit=normalize, centred=metric == "correlation")
    told = np.column_stack([rows, np.ones(len(rows))])
    sums, _ = half_sums(told, trials.codes, trials.n_conditions, part, np.eye(n_parts, dtype=bool))
    return condition_distances(sums[:, :, :-1], sums[:, :, -1], metric), trials.n_conditions
