"""The geometry of two representations of the same rows, and of a sequence of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shesha import _memory as memory
from shesha import _validate as check
from shesha.kernels import ranks
from shesha.kernels.distances import METRICS, Metric, condensed, n_pairs, rounding_level
from shesha.kernels.precision import length_unit
from shesha.results import DriftPath
from shesha.stability.feature import directed

Method = Literal["spearman", "pearson"]
METHODS: tuple[Method, ...] = get_args(Method)
_EQUAL = "all distances of a representation are equal, so nothing can be correlated with them"


def compute_rdm(X: ArrayLike, metric: Metric = "cosine", normalize: bool = True) -> NDArray[np.float64]:
    """Representational dissimilarity matrix: the distances between all pairs of rows.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        At least 2 rows, finite.
    metric : {'cosine', 'correlation', 'euclidean'}
        Cosine and correlation distances lie in [0, 2]: rounding never takes them outside.
    normalize : bool
        Part of the documented signature. Cosine distance does not depend on the length of the
        rows, so both values give the same distances.

    Returns
    -------
    array of shape (n_samples * (n_samples - 1) / 2,)
        The upper triangle, row by row (SciPy's condensed form).

    Raises
    ------
    ValueError
        If a row has no direction under the metric, or the distances do not fit the memory budget.

    Examples
    --------
    >>> compute_rdm([[0, 0], [3, 4], [6, 8]], metric="euclidean")
    array([ 5., 10.,  5.])
    """
    check.choice(metric, METRICS, "metric")
    if not isinstance(normalize, bool | np.bool_):
        raise TypeError(f"normalize must be True or False, got {normalize!r}")
    matrix = check.matrix(X, min_rows=2)
    distances = condensed(directed(matrix, metric), metric)
    return distances * length_unit(matrix) if metric == "euclidean" else distances


def rdm_similarity(X: ArrayLike, Y: ArrayLike, method: Method = "spearman", metric: Metric = "cosine") -> float:
    """Correlation between the distances of two representations of the same rows.

    Parameters
    ----------
    X : array of shape (n_samples, n_features_x)
        At least 4 rows, finite.
    Y : array of shape (n_samples, n_features_y)
        The same rows, described by other features.
    method : {'spearman', 'pearson'}
        Correlation of ranks (any monotone change of the distances is invisible) or of distances.
    metric : {'cosine', 'correlation', 'euclidean'}
        Distance between rows.

    Returns
    -------
    float
        In [-1, 1], larger is more similar; NaN, with a warning, if all distances of one are equal.

    Raises
    ------
    ValueError
        If the rows do not match, a row has no direction under the metric, or the distances do not
        fit the memory budget.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((50, 8))
    >>> rdm_similarity(X, 3 * X)
    1.0
    """
    check.choice(method, METHODS, "method")
    check.choice(metric, METRICS, "metric")
    a, b = check.paired(X, Y)
    return similarity_of_rows(directed(a, metric, "X"), directed(b, metric, "Y"), method, metric)


def rdm_drift(X: ArrayLike, Y: ArrayLike, method: Method = "spearman", metric: Metric = "cosine") -> float:
    """Change of geometry between two representations of the same rows: 1 - `rdm_similarity`.

    Parameters
    ----------
    X, Y, method, metric
        As for `rdm_similarity`: X before, Y after.

    Returns
    -------
    float
        In [0, 2]: 0 the same geometry, 1 unrelated, 2 inverted; NaN as for `rdm_similarity`.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((50, 8))
    >>> rdm_drift(X, X)
    0.0
    """
    return 1.0 - rdm_similarity(X, Y, method=method, metric=metric)


def drift_path(
    representations: Mapping[str, ArrayLike] | Sequence[ArrayLike],
    *,
    method: Method = "spearman",
    metric: Metric = "cosine",
) -> DriftPath:
    """Drift along a sequence of representations of the same rows, from the first and step by step.

    Parameters
    ----------
    representations : mapping of names to arrays, or sequence of arrays
        At least two, in order: training checkpoints, layers, days.
    method, metric
        As for `rdm_similarity`.

    Returns
    -------
    DriftPath
        For each representation its drift from the first and from the one before it.

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
        arrays = list(representations)
        names = tuple(map(str, range(len(arrays))))
    if len(arrays) < 2:
        raise ValueError(f"representations must hold at least 2 matrices, got {len(arrays)}")
    check.choice(method, METHODS, "method")
    check.choice(metric, METRICS, "metric")
    rows = [
        directed(check.paired(arrays[0], X, (names[0], name))[1], metric, name)
        for name, X in zip(names, arrays, strict=True)
    ]
    first, previous = [0.0], [0.0]
    for at in range(1, len(rows)):
        previous.append(1.0 - correlation_of_rows(rows[at - 1], rows[at], method, metric))
        first.append(previous[-1] if at == 1 else 1.0 - correlation_of_rows(rows[0], rows[at], method, metric))
    reasons = tuple(_EQUAL if np.isnan([a, b]).any() else "" for a, b in zip(first, previous, strict=True))
    for name, reason in zip(names, reasons, strict=True):
        if reason:
            check.not_estimable(f"drift of {name}: {reason}")
    return DriftPath(names, tuple(first), tuple(previous), method, metric, reasons)


def similarity_of_rows(a: NDArray[np.float64], b: NDArray[np.float64], method: Method, metric: Metric) -> float:
    """Correlate the distances of two sets of standard rows; NaN, with a warning, if that is impossible."""
    value = correlation_of_rows(a, b, method, metric)
    return check.not_estimable(_EQUAL) if np.isnan(value) else value


def correlation_of_rows(a: NDArray[np.float64], b: NDArray[np.float64], method: Method, metric: Metric) -> float:
    """Correlate the distances of two sets of standard rows; NaN if all distances of one are equal."""
    memory.require(
        24 * n_pairs(len(a)),
        f"the {n_pairs(len(a)):,} distances of {len(a):,} rows",
        "compare a random subset of the rows",
    )
    spearman = method == "spearman"
    tolerance = rounding_level(a, metric), rounding_level(b, metric)
    first = condensed(a, metric, squared=spearman)
    if spearman:
        return ranks.spearman(first, lambda: condensed(b, metric, squared=True), tolerance)
    return ranks.pearson(first, condensed(b, metric), tolerance)
