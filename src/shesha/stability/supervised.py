"""How well a representation's geometry agrees with class labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shesha import _validate as check
from shesha._random import Seed, generator
from shesha.kernels import ranks
from shesha.kernels.distances import METRICS, Metric, condensed, rounding_level
from shesha.kernels.precision import length_unit
from shesha.stability.feature import directed

Matrix = NDArray[np.float64]
Codes = NDArray[np.intp]


def variance_ratio(X: ArrayLike, y: ArrayLike) -> float:
    """Share of the total variance that lies between classes.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        At least 4 rows, finite.
    y : array of shape (n_samples,)
        Class labels, at least two classes.

    Returns
    -------
    float
        In [0, 1]: the R-squared of predicting the coordinates from the class. Labels at random
        give about (classes - 1) / (n_samples - 1), not 0. NaN, with a warning, if all rows are equal.

    Examples
    --------
    >>> variance_ratio([[0.0], [0.0], [1.0], [1.0]], ["a", "a", "b", "b"])
    1.0
    """
    matrix = check.matrix(X)
    codes, _ = check.labels(y, len(matrix))
    value = between_share(matrix, codes)
    if np.isnan(value):
        return check.not_estimable("all rows are equal, so there is no variance to divide")
    return value


def between_share(X: Matrix, codes: Codes) -> float:
    """Between-class share of the sum of squares; NaN if all rows are equal."""
    if (X[0] == X).all():
        return float("nan")
    centred = X - X.mean(axis=0)
    # Relative to the largest deviation, squares of data of any scale stay within range.
    centred /= np.abs(centred).max()
    means, counts = class_means(centred, codes)
    between = float(counts @ np.einsum("ij,ij->i", means, means))
    return float(np.clip(between / float(np.einsum("ij,ij->", centred, centred)), 0.0, 1.0))


def class_means(X: Matrix, codes: Codes) -> tuple[Matrix, NDArray[np.float64]]:
    """Mean row and number of rows of each class that occurs."""
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    counts = np.diff(np.append(starts, len(codes))).astype(np.float64)
    return np.add.reduceat(X[order], starts, axis=0) / counts[:, None], counts


def supervised_alignment(
    X: ArrayLike, y: ArrayLike, metric: Metric = "correlation", seed: Seed = None, max_samples: int = 300
) -> float:
    """Rank correlation between the distances of rows and whether their labels differ.

    Column means are removed first. The label distances take two values, so ties keep the score
    below 1 even for perfect classes (0.87 for two equal, perfectly separated ones).

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        At least 4 rows, finite.
    y : array of shape (n_samples,)
        Class labels, at least two classes.
    metric : {'correlation', 'cosine', 'euclidean'}
        Distance between rows.
    seed : int, Generator or None
        For the subsample.
    max_samples : int or None
        Above this many rows a random subset of that size is used; None uses all.

    Returns
    -------
    float
        In [-1, 1]; NaN, with a warning, if the distances of the rows or of the labels are all equal.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 20)
    >>> round(supervised_alignment(rng.standard_normal((40, 6)) + 5 * np.eye(6)[y], y), 3)
    0.866
    """
    check.choice(metric, METRICS, "metric")
    limit = check.optional_count(max_samples, "max_samples", minimum=4)
    matrix = check.matrix(X)
    codes, _ = check.labels(y, len(matrix))
    rng = generator(seed)
    if limit is not None and len(matrix) > limit:
        chosen = rng.choice(len(matrix), limit, replace=False)
        matrix, codes = matrix[chosen], codes[chosen]
    rows = centred_rows(matrix, metric)
    distances = condensed(rows, metric, squared=True)
    value = ranks.spearman(distances, label_distances(codes), (rounding_level(rows, metric), 0.0))
    if np.isnan(value):
        return check.not_estimable("all distances between rows, or all between labels, are equal")
    return value


def centred_rows(X: Matrix, metric: Metric) -> Matrix:
    """Standard rows of X minus its column means."""
    shifted = X / length_unit(X)
    shifted -= shifted[0].copy()
    return directed(shifted - shifted.mean(axis=0), metric, "X minus its column means")


def label_distances(codes: Codes) -> NDArray[np.float64]:
    """1 for each pair of rows with different labels, 0 for the others, in condensed order."""
    n = len(codes)
    return np.concatenate([codes[i] != codes[i + 1 :] for i in range(n)]).astype(np.float64)


def zscore_separation(X: ArrayLike, y: ArrayLike) -> float:
    """Mean over classes of (inter - intra) / (inter + intra), Euclidean.

    For each class with at least two members, `intra` is the mean distance of its members to their
    own mean, `inter` their mean distance to the mean of all other rows.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        At least 4 rows, finite.
    y : array of shape (n_samples,)
        Class labels, at least two classes.

    Returns
    -------
    float
        In [-1, 1]. Labels at random give a little more than 0: about 1 / (4 m) + 1 / (4 (n - m)) for classes
        of m among n rows. NaN, with a warning, if no class has two members, or all rows are equal.

    Examples
    --------
    >>> zscore_separation([[0.0], [2.0], [10.0], [12.0]], [0, 0, 1, 1])
    0.8181818181818182
    """
    matrix = check.matrix(X)
    codes, classes = check.labels(y, len(matrix))
    value = separation_score(matrix, codes, len(classes))
    if np.isnan(value):
        return check.not_estimable("no class has two members that differ from the other rows")
    return value


def separation_score(X: Matrix, codes: Codes, n_classes: int) -> float:
    """Compute `zscore_separation` of checked input; NaN if no class gives a value."""
    # Equal rows become exact zeros, which the rounding of their mean would miss.
    X = X / length_unit(X)
    X -= X[0].copy()
    total = X.sum(axis=0)
    scores = []
    for label in range(n_classes):
        members = X[codes == label]
        if not 2 <= len(members) < len(X):
            continue
        own = members.sum(axis=0)
        inter = float(np.linalg.norm(members - (total - own) / (len(X) - len(members)), axis=1).mean())
        intra = float(np.linalg.norm(members - own / len(members), axis=1).mean())
        if inter + intra > 0:
            scores.append((inter - intra) / (inter + intra))
    return float(np.mean(scores)) if scores else float("nan")
