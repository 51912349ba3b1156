"""How distances change between two representations, along a sequence, and across matched replicates."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shesha.doubting import warn_of_pair_doubts
from shesha.inputs import validation as check
from shesha.kernels import ranks
from shesha.kernels.distances import METRICS, Metric, n_pairs
from shesha.results import DriftPath
from shesha.stability.registry import explain_undirected_rows, mean_score, stability
from shesha.support import memory, types as kinds
from shesha.support.provenance import keep_statements
from shesha.support.warnings import CalibrationWarning, NotEstimable, warn
from shesha.views import (
    Distances,
    RankedRdm,
    Rdm,
    Representation,
    Rows,
    Standard,
    align_rows,
    representation_from,
    rows_or_distances,
    warn_of_other_order,
)
from shesha.views.rdm import CORRELATIONS, Method

Data = ArrayLike | Rdm | Representation | Rows
EQUAL = "all distances of a representation are equal, so the correlation is undefined"


def compute_rdm(X: Data, metric: Metric = "cosine", normalize: bool = True) -> NDArray[np.float64]:
    """Representational dissimilarity matrix: the distances between all pairs of rows.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The representation, with at least 2 rows and finite values.
    metric : {'cosine', 'correlation', 'euclidean'}
        Distance between rows. Cosine and correlation distances are in [0, 2], even after rounding.
    normalize : bool
        Part of the documented signature, without effect, because cosine distance does not depend on row length.

    Returns
    -------
    array of shape (n_samples * (n_samples - 1) / 2,)
        Upper triangle of the distance matrix, row by row (SciPy's condensed form).

    Raises
    ------
    ValueError
        If a row has no direction under the metric, or the distances exceed the memory budget.

    Examples
    --------
    >>> compute_rdm([[0, 0], [3, 4], [6, 8]], metric="euclidean")
    array([ 5., 10.,  5.])
    """
    check.choice(metric, METRICS, "metric")
    if not isinstance(normalize, bool | np.bool_):
        raise TypeError(f"normalize must be True or False, got {normalize!r}")
    source = rows_or_distances(X, min_rows=2)
    with explain_undirected_rows():
        if metric == "euclidean":
            return representation_from(source).view(Distances).condensed
        return representation_from(source).view(Standard, metric=metric).squared()


def rdm_similarity(X: Data, Y: Data, method: Method = "spearman", metric: Metric = "cosine") -> float:
    """Correlation between the distances of two representations of the same rows.

    Parameters
    ----------
    X : array of shape (n_samples, n_features_x)
        First representation, with at least 4 rows and finite values.
    Y : array of shape (n_samples, n_features_y)
        Second representation of the same rows.
    method : {'spearman', 'pearson'}
        Whether to correlate ranks, which stay the same under any increasing function, or the distances themselves.
    metric : {'cosine', 'correlation', 'euclidean'}
        Distance between rows.

    Returns
    -------
    float
        Correlation, in [-1, 1]; larger is more similar. NaN, with a warning, if all distances of X or of Y are equal.

    Raises
    ------
    ValueError
        If the rows do not match, a row has no direction under the metric, or the distances exceed the memory budget.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((50, 8))
    >>> rdm_similarity(X, 3 * X)
    1.0
    """
    check.choice(method, CORRELATIONS, "method")
    check.choice(metric, METRICS, "metric")
    try:
        return similarity({"X": X, "Y": Y}, method, metric)
    except NotEstimable as reason:
        return check.not_estimable(str(reason))


def rdm_drift(X: Data, Y: Data, method: Method = "spearman", metric: Metric = "cosine") -> float:
    """Change of the geometry between two representations of the same rows: 1 - `rdm_similarity`.

    Parameters
    ----------
    X, Y, method, metric
        As for `rdm_similarity`; X is the representation before the change, and Y the one after it.

    Returns
    -------
    float
        Drift, in [0, 2]: 0 is the same geometry, 1 unrelated, 2 inverted. NaN as for `rdm_similarity`. The value equals
        that of `shesha.measures.rdm`, except that a row without a direction raises an error here and gives NaN
        there.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((50, 8))
    >>> rdm_drift(X, X)
    0.0
    """
    return float(np.clip(1.0 - rdm_similarity(X, Y, method=method, metric=metric), 0.0, 2.0))


@keep_statements
def drift_path(
    representations: Mapping[str, Data] | Sequence[Data],
    *,
    method: Method = "spearman",
    metric: Metric = "cosine",
) -> DriftPath:
    """Drift of the geometry along a sequence of representations of the same rows.

    Parameters
    ----------
    representations : mapping of names to arrays, or sequence of arrays
        At least two representations in order, such as training checkpoints, layers or days.
    method, metric
        As for `rdm_similarity`.

    Returns
    -------
    DriftPath
        Drift of each representation from the first one and from the previous one.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((50, 8))
    >>> path = drift_path({"day 0": X, "day 1": 2 * X, "day 2": rng.standard_normal((50, 8))})
    >>> path.from_first[:2]
    (0.0, 0.0)
    """
    if isinstance(representations, Mapping):
        names, arrays = tuple(map(str, representations)), list(representations.values())
    else:
        arrays = list(kinds.sequence(representations, "representations", "matrices"))
        names = tuple(map(str, range(len(arrays))))
    if len(arrays) < 2:
        raise ValueError(f"representations must contain at least 2 matrices, got {len(arrays)}")
    check.choice(method, CORRELATIONS, "method")
    check.choice(metric, METRICS, "metric")
    warn_of_order(names)
    sources = _check_same_rows(dict(zip(names, arrays, strict=True)))
    first, previous = [0.0], [0.0]
    start = before = _rank_distances(sources[0], names[0], method, metric)
    for name, source in zip(names[1:], sources[1:], strict=True):
        view = _rank_distances(source, name, method, metric)
        previous.append(drift_of_ranks(before, view))
        first.append(previous[-1] if before is start else drift_of_ranks(start, view))
        before = view
    if all(isinstance(source, Rows) and not source.is_sparse for source in sources):
        _warn_of_doubts(dict(zip(names, sources, strict=True)))
    reasons = tuple(EQUAL if np.isnan([a, b]).any() else "" for a, b in zip(first, previous, strict=True))
    for name, reason in zip(names, reasons, strict=True):
        if reason:
            check.not_estimable(f"drift of {name}: {reason}")
    return DriftPath(names, tuple(first), tuple(previous), method, metric=metric, reasons=reasons)


def _warn_of_doubts(sources: Mapping[str, Any]) -> None:
    """Warn of the first two neighbours with a problem; ranks hardly depend on single rows, and copies drift by 0."""
    matrices = {name: source.sample for name, source in sources.items()}
    warn_of_other_order(matrices)
    any(warn_of_pair_doubts(dict(pair), but=("few rows", "copies", "zero rows")) for pair in pairwise(matrices.items()))


def warn_of_order(names: Sequence[str]) -> None:
    """Warn if names are numbered, such as those of checkpoints, but not in the order of the numbers."""
    parts = [re.fullmatch(r"(.*?)(\d{1,18})(\D*)", name) for name in names]
    numbers = [int(part[2]) for part in parts if part is not None]
    if len(numbers) < len(names) or len({(part[1], part[3]) for part in parts if part is not None}) > 1:
        return
    if numbers not in (sorted(numbers), sorted(numbers, reverse=True)):
        warn(
            f"drift follows the given order, which begins with {names[0]} and is not that of the numbers in the names. "
            "Pass the representations in their order",
            CalibrationWarning,
        )


def similarity(data: Mapping[str, Data], method: Method, metric: Metric) -> float:
    """Correlate the distances of two named representations; raise NotEstimable if one has only ties."""
    a, b = (
        _rank_distances(source, name, method, metric) for name, source in zip(data, _check_same_rows(data), strict=True)
    )
    if a is None or b is None:
        raise NotEstimable(EQUAL)
    return a.inner(b)


def _check_same_rows(data: Mapping[str, Data]) -> list[Rows | Rdm]:
    aligned = align_rows({name: rows_or_distances(X, name) for name, X in data.items()})
    sizes = {name: len(source) if isinstance(source, Rows) else source.n_rows for name, source in aligned.items()}
    first = next(iter(sizes))
    for name, size in sizes.items():
        if size != sizes[first]:
            raise ValueError(f"{name} must have as many rows as {first} ({sizes[first]}), got {size}")
    memory.require(
        24 * n_pairs(sizes[first]),
        f"the {n_pairs(sizes[first]):,} distances of {sizes[first]:,} rows",
        "compare a random subset of the rows",
    )
    return list(aligned.values())


def _rank_distances(source: Rows | Rdm, name: str, method: Method, metric: Metric) -> RankedRdm | None:
    """Return a representation's ranked distances for use in all comparisons; None if all are equal."""
    with explain_undirected_rows(name):
        try:
            return representation_from(source).view(RankedRdm, metric=metric, method=method)
        except NotEstimable as reason:
            if hasattr(reason, "rows"):
                raise
            return None


def drift_of_ranks(a: RankedRdm | None, b: RankedRdm | None) -> float:
    """Return 1 minus the rank correlation of the distances; NaN if one side has only equal distances."""
    return float("nan") if a is None or b is None else float(np.clip(1.0 - a.inner(b), 0.0, 2.0))


_CHOICES = {"metric": METRICS, "method": CORRELATIONS}
_NOT_CORRECT = "Two fits may agree and both be wrong. A low value may be due to noise in only one of the fits."


@stability(
    needs="replicates",
    view=RankedRdm,
    title="Replicate stability",
    bounds=(-1, 1),
    means="Do two replicates of the same rows agree on all distances?",
    means_not=_NOT_CORRECT,
    reference="Raju 2026, section 3.2",
    invariant=("scaling", "orthogonal"),
    choices=_CHOICES,
)
def replicate_stability(a: RankedRdm, b: RankedRdm, *, metric: Metric = "cosine", method: Method = "spearman") -> float:
    """Correlation between the distances of two replicates of the same rows.

    Row i of both replicates is the same input, measured twice or encoded by two fits. Each distance is therefore
    compared with the distance between the same two rows, and the score estimates a well-defined quantity: the share of
    the geometry that a replication preserves.

    Parameters
    ----------
    X_a : array of shape (n_samples, n_features_a)
        First replicate, with at least 4 rows and finite values.
    X_b : array of shape (n_samples, n_features_b)
        Second replicate of the same rows.
    metric : {'cosine', 'correlation', 'euclidean'}
        Distance between rows.
    method : {'spearman', 'pearson'}
        Correlation between the two sets of distances.

    Returns
    -------
    float
        Correlation, in [-1, 1]; NaN, with a warning, if all distances of one replicate are equal.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> signal = rng.standard_normal((80, 10))
    >>> noisy = [signal + 0.3 * rng.standard_normal((80, 10)) for _ in range(2)]
    >>> round(replicate_stability(*noisy), 2)
    0.84
    """
    return a.inner(b)


@stability(
    needs="replicates",
    view=Standard,
    title="Anchor-profile stability",
    bounds=(-1, 1),
    means="Are the distances of other rows to fixed anchor rows the same in both replicates?",
    means_not=_NOT_CORRECT,
    reference="Raju 2026, section 3.2",
    invariant=("scaling", "orthogonal"),
    choices=_CHOICES,
)
def anchor_profile_stability(
    a: Standard,
    b: Standard,
    anchor_ids: Sequence[int] | NDArray[np.integer],
    probe_ids: Sequence[int] | NDArray[np.integer] | None = None,
    *,
    metric: Metric = "cosine",
    method: Method = "spearman",
) -> float:
    """Agreement of two replicates on the distances from fixed anchor rows to other rows.

    For each anchor, its distances to the probe rows are correlated between the two replicates; the score is the mean
    over the anchors. Only n_anchors * n_probes distances are needed, instead of about n_samples**2 / 2.

    Parameters
    ----------
    X_a, X_b : arrays of shape (n_samples, n_features_a) and (n_samples, n_features_b)
        Two replicates of the same rows, with finite values.
    anchor_ids : sequence of int
        Row numbers of the anchors.
    probe_ids : sequence of int, optional
        Row numbers of the probes, at least 3. Default: all rows that are not anchors.
    metric, method
        As for `replicate_stability`.

    Returns
    -------
    float
        Mean correlation, in [-1, 1]. Anchors with equal distances from all probes are left out. NaN, with a warning, if
        no anchor remains.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((50, 8))
    >>> anchor_profile_stability(X, 2 * X, anchor_ids=[0, 1, 2])
    1.0
    """
    anchors = check.row_ids(anchor_ids, a.n_rows, "anchor_ids")
    probes = (
        np.setdiff1d(np.arange(a.n_rows), anchors)
        if probe_ids is None
        else check.row_ids(probe_ids, a.n_rows, "probe_ids")
    )
    if len(probes) < 3:
        raise ValueError(f"probe_ids must name at least 3 rows, got {len(probes)}")
    both = np.intersect1d(anchors, probes)
    if len(both):
        raise ValueError(f"probe_ids must name other rows than anchor_ids, got {check.join_items(both)} in both")
    scores = [_profile_correlation(a, b, anchor, probes, method) for anchor in anchors]
    return mean_score(scores, "every anchor has equal distances to all probes")


def _profile_correlation(a: Standard, b: Standard, anchor: int, probes: NDArray[np.intp], method: Method) -> float:
    i = np.full(len(probes), anchor)
    profiles = [side.squared_distances_between(i, probes) for side in (a, b)]
    if method == "pearson":
        profiles = [np.sqrt(values) if side.squares else values for values, side in zip(profiles, (a, b), strict=True)]
        return ranks.pearson(profiles[0], profiles[1], (a.level, b.level))
    return ranks.spearman(profiles[0], profiles[1], (a.level, b.level))
