"""The whole of what can be said of one or several representations alone."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shesha import _validate as check
from shesha._memory import MemoryBudgetError, memory_budget
from shesha._progress import muted, track
from shesha._random import Seed, generator
from shesha._warnings import NotEstimableWarning
from shesha.kernels import spectrum
from shesha.kernels.distances import METRICS, Metric, undirected_rows
from shesha.results import Audit, DriftPath, Estimate, Faults, RepresentationAudit
from shesha.stability.chance import chance
from shesha.stability.drift import drift_path
from shesha.stability.estimate import estimate
from shesha.stability.faults import find_faults
from shesha.stability.feature import MIN_FEATURES
from shesha.stability.split_estimator import exact_bytes

SUPERVISED = (
    "supervised_alignment",
    "variance_ratio",
    "class_separation_ratio",
    "zscore_separation",
    "label_conditioned_split",
)
_MIN_ROWS = 4
_MANY_CLASSES = 0.5
"""With more classes than this share of the rows the labels are row names, not classes."""


def audit(
    representations: ArrayLike | Mapping[str, ArrayLike],
    y: ArrayLike | None = None,
    *,
    metric: Metric = "cosine",
    confidence: float = 0.95,
    n_bootstrap: int = 200,
    n_permutations: int = 200,
    pairs: int | None = None,
    seed: Seed = 0,
) -> Audit:
    """Audit representations: faults, stability with interval and chance, spectrum, labels, drift.

    Rows that have no direction under the metric are left out, named and counted. A representation
    that cannot be scored (NaN, too few rows or columns) keeps its place and gets a reason; the
    others are audited.

    Parameters
    ----------
    representations : mapping of names to arrays, or one array of shape (n_samples, n_features)
        Several of the same rows (layers, checkpoints) are ranked, and their drift along the order
        given is measured. Memory-mapped files stay on disk.
    y : array of shape (n_samples,), optional
        Class labels: adds the supervised scores.
    metric : {'cosine', 'correlation', 'euclidean'}
        Distance between rows, for all scores that take one.
    confidence : float
        Of the intervals, in (0, 1).
    n_bootstrap, n_permutations : int
        Resamples behind each interval, and random matchings behind the chance level.
    pairs : int, optional
        Use this many random pairs of rows in the split scores (see `estimate`).
    seed : int, Generator or None
        For everything random; 0 unless told otherwise, so that an audit can be repeated.

    Returns
    -------
    Audit
        Prints as a report; `to_frame()` gives a row per representation, `plot()` a picture.

    Examples
    --------
    >>> import shesha.data
    >>> layers, labels = shesha.data.digits_network()
    >>> last = {"init": layers["init_layer3"], "trained": layers["trained_layer3"]}
    >>> found = audit(last, labels, n_bootstrap=20, n_permutations=19)
    >>> found.ranking
    ('trained', 'init')
    >>> found.to_frame()[["representation", "n_samples", "n_features"]]
      representation  n_samples  n_features
    0           init        900          32
    1        trained        900          32
    """
    check.choice(metric, METRICS, "metric")
    options: dict[str, Any] = {
        "metric": metric,
        "confidence": check.fraction(confidence, "confidence", closed=False),
        "n_bootstrap": check.count(n_bootstrap, "n_bootstrap", minimum=0),
        "n_permutations": check.count(n_permutations, "n_permutations", minimum=19),
        "pairs": check.optional_count(pairs, "pairs", minimum=100),
        "seed": int(seed) if isinstance(seed, int | np.integer) else seed,
    }
    generator(seed)
    named = _named(representations)
    if y is not None:
        _require_usable_labels(y, named)
    found = []
    several = track(named.items(), len(named), "representations") if len(named) > 1 else named.items()
    for name, X in several:
        # One representation shows the progress of its parts, several that of the whole.
        with muted() if len(named) > 1 else nullcontext(), warnings.catch_warnings():
            # The reason stands in the result.
            warnings.simplefilter("ignore", NotEstimableWarning)
            found.append(_audit_one(name, X, y, options))
    drift, reason = _drift(named, found, metric)
    plain = {**options, "seed": options["seed"] if isinstance(options["seed"], int) else None}
    return Audit(tuple(found), drift, reason, plain)


def _named(representations: ArrayLike | Mapping[str, ArrayLike]) -> dict[str, NDArray[Any]]:
    if isinstance(representations, list | tuple) and all(np.ndim(one) == 2 for one in representations):
        raise TypeError(f"representations must be a mapping of names to matrices, got a list of {len(representations)}")
    if not isinstance(representations, Mapping):
        representations = {"X": representations}
    if not representations:
        raise ValueError("representations must hold at least one matrix, got none")
    names = [str(name) for name in representations]
    twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if twice:
        raise ValueError(
            f"representations must have distinct names, got {check.listed(map(repr, twice))} more than once"
        )
    arrays = zip(names, representations.values(), strict=True)
    return {name: check.raw_matrix(X, name, min_rows=0, min_columns=0) for name, X in arrays}


def _require_usable_labels(y: ArrayLike, named: dict[str, NDArray[Any]]) -> None:
    """Refuse labels that fit no representation, or are as many as the rows, before the long work."""
    n_rows = {len(X) for X in named.values()}
    length = len(np.asarray(y)) if np.ndim(y) == 1 else -1
    codes, classes = check.labels(y, length if length in n_rows else next(iter(n_rows)))
    if len(classes) > max(2, _MANY_CLASSES * len(codes)):
        raise ValueError(f"y must hold classes, got {len(classes)} different labels for {len(codes)} rows")


def _audit_one(name: str, X: NDArray[Any], y: ArrayLike | None, options: dict[str, Any]) -> RepresentationAudit:
    faults = find_faults(X) if X.size else Faults()
    unscored = RepresentationAudit(name, X.shape[0], X.shape[1], faults)
    if faults.not_finite:
        return _because(unscored, f"NaN or infinite entries ({faults.not_finite:,}) must be removed or filled first")
    bad = _undirected(X, faults, options["metric"])
    used = np.delete(X, bad, axis=0) if len(bad) else X
    labels = None if y is None else np.asarray(y)
    misfit = ""
    if labels is not None:
        if len(labels) == len(X):
            labels = np.delete(labels, bad)
        else:
            misfit = f"there are {len(labels):,} labels and {len(X):,} rows"
    if len(used) < _MIN_ROWS or X.shape[1] < MIN_FEATURES:
        return _because(
            unscored,
            f"it needs {_MIN_ROWS} rows with a direction and {MIN_FEATURES} columns, got {len(used)} and {X.shape[1]}",
        )
    try:
        supervised = {} if labels is None else _supervised(used, labels, misfit, options)
        return _scored(name, X, used, bad, supervised, faults, options)
    except MemoryBudgetError as error:
        return _because(unscored, str(error))


def _because(found: RepresentationAudit, reason: str) -> RepresentationAudit:
    return RepresentationAudit(found.name, found.n_samples, found.n_features, found.faults, reason=reason)


def _undirected(X: NDArray[Any], faults: Faults, metric: Metric) -> NDArray[np.intp]:
    """Rows that the metric cannot place."""
    if metric == "correlation":
        return undirected_rows(np.asarray(X, dtype=np.float64), metric)
    return np.array(faults.zero_rows if metric == "cosine" else (), dtype=np.intp)


def _scored(
    name: str,
    X: NDArray[Any],
    used: NDArray[Any],
    bad: NDArray[np.intp],
    supervised: dict[str, Estimate],
    faults: Faults,
    options: dict[str, Any],
) -> RepresentationAudit:
    metric, seed, pairs = options["metric"], options["seed"], options["pairs"]
    common: dict[str, Any] = {"metric": metric, "pairs": pairs, "seed": seed}
    interval = {"confidence": options["confidence"], "n_bootstrap": options["n_bootstrap"]}
    variances = spectrum.centred_variances(used)
    return RepresentationAudit(
        name,
        X.shape[0],
        X.shape[1],
        faults,
        left_out=tuple(map(int, bad)),
        feature_split=estimate(used, variant="feature_split", **common, **interval),
        chance=chance(used, variant="feature_split", n_permutations=options["n_permutations"], **common),
        basis_averaged_split=estimate(used, variant="basis_averaged_split", **common, **interval),
        effective_rank=spectrum.effective_rank(variances),
        participation_ratio=spectrum.participation_ratio(variances),
        anisotropy=spectrum.anisotropy(variances),
        supervised=supervised,
    )


def _supervised(X: NDArray[Any], labels: NDArray[Any], misfit: str, options: dict[str, Any]) -> dict[str, Estimate]:
    confidence = options["confidence"]
    if misfit:
        return {name: _not_given(name, X, misfit, confidence) for name in SUPERVISED}
    common: dict[str, Any] = {name: options[name] for name in ("confidence", "n_bootstrap", "seed")}
    found = {}
    for name in SUPERVISED:
        chosen: dict[str, Any] = {"metric": options["metric"]} if name == "label_conditioned_split" else {}
        try:
            found[name] = estimate(X, labels, name, **common, **chosen)
        except ValueError as error:
            # One score may ask more of the labels than another (three classes, two rows in each).
            found[name] = _not_given(name, X, str(error), confidence)
    return found


def _not_given(name: str, X: NDArray[Any], reason: str, confidence: float) -> Estimate:
    nan = float("nan")
    return Estimate(name, nan, nan, nan, confidence, nan, nan, 0.0, X.shape[0], X.shape[1], 0, 0, 0, 0, reason=reason)


def _drift(
    named: dict[str, NDArray[Any]], found: list[RepresentationAudit], metric: Metric
) -> tuple[DriftPath | None, str]:
    if len(named) < 2:
        return None, ""
    if any(one.reason for one in found):
        return None, "a representation could not be scored"
    n_rows = {len(X) for X in named.values()}
    if len(n_rows) > 1:
        return None, f"the representations have different numbers of rows ({', '.join(map(str, sorted(n_rows)))})"
    n = n_rows.pop()
    if exact_bytes(n, 1) > memory_budget():
        return None, f"the distances of {n:,} rows do not fit the memory budget; audit a subset of the rows for it"
    bad = [_undirected(X, one.faults, metric) for X, one in zip(named.values(), found, strict=True)]
    kept = np.delete(np.arange(n), np.unique(np.concatenate(bad)))
    if len(kept) < _MIN_ROWS:
        return None, f"only {len(kept)} rows have a direction in all representations"
    rows = {name: X if len(kept) == n else X[kept] for name, X in named.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotEstimableWarning)
        return drift_path(rows, metric=metric), ""
