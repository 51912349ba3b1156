"""Scores of features and classes: distances to centroids, scatter, silhouettes, Gaussian overlap, anisotropy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from inspect import signature
from typing import Any, Literal, ParamSpec, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shesha.inputs import align_labels, validation as check
from shesha.kernels import spectrum
from shesha.kernels.class_statistics import class_totals
from shesha.kernels.condensed_matrices import square
from shesha.kernels.distances import (
    METRICS,
    PANEL,
    Metric,
    condensed_distances,
    find_undirected_rows,
    panel,
    standard_rows,
)
from shesha.kernels.rounding_and_scaling import ROUNDING, length_unit
from shesha.kernels.threads import parallel, single_threaded_blas
from shesha.support import memory
from shesha.support.types import Labels, Matrix, Vector
from shesha.support.warnings import NotEstimable

P = ParamSpec("P")


def nan_with_reason(score: Callable[P, float]) -> Callable[P, float]:
    """Decorate a score so that it returns NaN with a warning if it raises NotEstimable."""
    names = tuple(signature(score).parameters)[:2]

    @wraps(score)
    def score_or_nan(*args: P.args, **kwargs: P.kwargs) -> float:
        given = _align(dict(zip(names, args, strict=False)) | kwargs, *names)
        first, named = [given[name] for name in names[: len(args)]], {name: given[name] for name in kwargs}
        try:
            return score(*first, *args[len(first) :], **named)  # type: ignore[arg-type]
        except NotEstimable as reason:
            return check.not_estimable(str(reason))

    return score_or_nan


def _align(given: dict[str, Any], rows: str, labels: str) -> dict[str, Any]:
    """Return the arguments with rows as an array; labels are put in the order of the rows if both have names."""
    if rows in given:
        if labels in given:
            given[labels] = align_labels(given[rows], given[labels])
        given[rows] = check.dense(given[rows])
    return given


@dataclass(frozen=True)
class ClassedRows:
    """Centred rows, stored as class means plus residuals."""

    codes: Labels
    names: NDArray[Any]
    counts: Vector
    means: Matrix
    within: Matrix
    noise: Vector
    """Rounding error in the entries of each feature; deviations of this size may really be zero."""
    unit: float
    """Power of two by which the rows were divided, so that squares stay within range."""

    @property
    def rows(self) -> Matrix:
        """The rows minus their overall mean."""
        return np.asarray(self.means[self.codes] + self.within)

    @property
    def negligible(self) -> float:
        """Squared length of a row that consists only of rounding errors."""
        return float(self.noise @ self.noise)

    def within_scatter(self) -> float:
        """Sum of squared deviations from the class means; 0 if at rounding level."""
        total = float(np.einsum("ij,ij->", self.within, self.within))
        return total if total > len(self.within) * self.negligible else 0.0

    def between_scatter(self) -> float:
        """Sum, over rows, of the squared length of the mean of the row's class."""
        return float(self.counts @ np.einsum("ij,ij->i", self.means, self.means))

    def principal_axes(self) -> tuple[Vector, Matrix]:
        """Singular values of the rows, and the corresponding directions as columns."""
        rows = self.rows
        n, d = rows.shape
        with single_threaded_blas():
            # The triangular factor has the same singular values and directions, but fewer rows.
            short = np.linalg.qr(rows, mode="r") if n > d else rows
            _, lengths, axes = np.linalg.svd(short, full_matrices=False)
        rounding = np.sqrt(self.negligible / d) * (np.sqrt(n) + np.sqrt(d))
        kept = lengths > max(rounding, lengths[0] * max(n, d) * np.finfo(float).eps)
        if not kept.any():
            raise NotEstimable("all rows are equal up to rounding")
        return lengths[kept], axes[kept].T

    def project(self, axes: Matrix) -> ClassedRows:
        """Return the coordinates along the given directions, which need not have unit length."""
        noise = np.linalg.norm(axes, axis=0) * np.sqrt(self.negligible)
        return replace(self, means=self.means @ axes, within=self.within @ axes, noise=noise)


def precision(X: ArrayLike) -> float:
    """Relative rounding error of the stored numbers, which is larger in single precision."""
    dtype = np.asarray(X).dtype
    return float(np.finfo(dtype if dtype.kind == "f" else np.float64).eps)


_ROUNDINGS = 4
"""Largest number of rounding errors in one entry: from storage, an earlier product, and centring."""


def check_classes(X: ArrayLike, y: ArrayLike) -> ClassedRows:
    """Check rows and labels, and return them; raise NotEstimable if all rows are equal."""
    matrix = check.matrix(X)
    codes, names = check.labels(y, len(matrix))
    unit = length_unit(matrix)
    rows = matrix / unit
    noise = _ROUNDINGS * precision(X) * np.abs(rows).max(axis=0)
    first = rows[np.unique(codes, return_index=True)[1]]
    # Subtracting one row of the class makes equal rows exactly zero; subtracting their rounded mean would not.
    rows -= first[codes]
    counts = np.bincount(codes).astype(np.float64)
    shift = class_totals(rows, codes) / counts[:, None]
    rows -= shift[codes]
    # For the same reason, one row is subtracted first.
    means = first - first[0] + shift
    means -= counts @ means / len(rows)
    data = ClassedRows(codes, names, counts, means, rows, noise, unit)
    if data.within_scatter() == 0 and data.between_scatter() <= len(rows) * data.negligible:
        raise NotEstimable("all rows are equal")
    return data


def anisotropy(X: ArrayLike) -> float:
    """Share of the variance along the first principal direction.

    The value is ``s_1^2 / sum_i s_i^2``, where s are the singular values of the centred rows.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        At least 4 rows, finite.

    Returns
    -------
    float
        In [1 / min(n_samples - 1, n_features), 1]; invariant to rotation, scale and offset. Labels are not used. In the
        study that proposes this score, models with higher values were easier to steer; how strong the relation was
        depended on the task. NaN, with a warning, if all rows are equal.

    References
    ----------
    Ethayarajh (2019), How contextual are contextualized word representations?

    Examples
    --------
    >>> round(anisotropy([[3.0, 0.0], [-3.0, 0.0], [0.0, 1.0], [0.0, -1.0]]), 3)
    0.9
    """
    value = spectrum.anisotropy(spectrum.centred_variances(check.matrix(X)))
    return check.not_estimable("all rows are equal") if np.isnan(value) else value


@nan_with_reason
def margin_score(X: ArrayLike, y: ArrayLike) -> float:
    """Mean relative margin between a row's distances to the nearest other centroid and to its own.

    The score is the mean over rows of ``(b - a) / (b + a)``. Here a is the Euclidean distance to the centroid of the
    other rows in the same class, and b is the distance to the nearest centroid of another class. A row for which both
    are 0 contributes 0. The study that names the score gives no formula. The definition used here is our own; it is
    bounded and does not depend on scale. Each row is left out of its class centroid, because random labels would
    otherwise score above 0. (The study's code divides the mean distance between centroids by the mean distance within
    classes, and subtracts log(n) / n.)

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        At least 4 rows, finite.
    y : array of shape (n_samples,)
        Class labels, at least two classes. If a class has only one row, this row serves as its centroid and is not
        scored.

    Returns
    -------
    float
        In [-1, 1]; higher = easier to transfer. Invariant to rotation, scale and offset. NaN, with a warning,
        if all rows are equal or no class has two rows.

    References
    ----------
    Raju (2026), Geometric stability: the missing axis of representations.

    Examples
    --------
    >>> round(margin_score([[0.0], [2.0], [10.0], [12.0]], [0, 0, 1, 1]), 3)
    0.664
    """
    data = check_classes(X, y)
    own_distances, other = _squared_distances(data)
    a, b = np.sqrt(own_distances), np.sqrt(other.min(axis=1))
    # The ratio of two distances at rounding level would be meaningless.
    near = (a + b) ** 2 <= data.negligible
    return float(np.where(near, 0.0, (b - a) / np.where(near, 1.0, b + a)).mean())


@nan_with_reason
def centroid_softmax(X: ArrayLike, y: ArrayLike) -> float:
    """Mean log-probability of the true class under a softmax of distances to the class centroids.

    The score is ``mean_i log(exp(-a_i / s) / (exp(-a_i / s) + sum_c exp(-b_ic / s)))``. Here a is the squared Euclidean
    distance to the centroid of the other rows in the same class, and b_c is the squared distance to the centroid of
    another class c. The scale s is the mean of a over rows. The study that names the score gives no formula. The
    definition used here is our own: dividing by s makes it independent of scale, and leaving each row out of its class
    centroid keeps random labels at chance. (The study's code passes a softmax of plain distances to LEEP, which depends
    on the scale of the features.)

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        At least 4 rows, finite.
    y : array of shape (n_samples,)
        Class labels, at least two classes. If a class has only one row, this row serves as its centroid and is not
        scored.

    Returns
    -------
    float
        At most 0; higher = easier to transfer. Random labels give about -log(n_classes). Invariant to rotation,
        scale and offset. NaN, with a warning, if no row differs from the other rows of its class.

    References
    ----------
    Raju (2026), Geometric stability: the missing axis of representations.

    Examples
    --------
    >>> round(centroid_softmax([[0.0], [2.0], [4.0], [6.0]], [0, 0, 1, 1]), 3)
    -0.129
    """
    data = check_classes(X, y)
    own_distances, other = _squared_distances(data)
    scale = own_distances.mean()
    if scale <= data.negligible:
        raise NotEstimable("no row differs from the other rows of its class")
    logits = (own_distances[:, None] - other) / scale
    return float(-np.logaddexp(0.0, np.logaddexp.reduce(logits, axis=1)).mean())


def _squared_distances(data: ClassedRows) -> tuple[Vector, Matrix]:
    """Distances to the centroid of the class's other rows, and to other centroids, without single rows."""
    n, n_classes = len(data.codes), len(data.names)
    memory.require(
        40 * n * n_classes, f"the distances of {n:,} rows to {n_classes:,} classes", "pass fewer rows or classes"
    )
    scored = data.counts[data.codes] > 1
    if not scored.any():
        raise NotEstimable("every class has only one row")
    codes, within = data.codes[scored], data.within[scored]
    size, each = data.counts[codes], np.arange(len(codes))
    to_own_mean = np.einsum("ij,ij->i", within, within)
    between = condensed_distances(data.means, "euclidean", squared=True)
    # Coordinates relative to the mean of the row's class keep all digits, however far apart the classes are.
    inner = within @ data.means.T
    other = to_own_mean[:, None] + 2 * (inner[each, codes, None] - inner) + square(between, len(data.names))[codes]
    other[each, codes] = np.inf
    return to_own_mean * (size / (size - 1)) ** 2, np.maximum(other, 0.0)


@nan_with_reason
def h_score(X: ArrayLike, y: ArrayLike) -> float:
    """H-score: variance of the class means relative to the total variance.

    The score is ``trace(pinv(cov(X)) cov(M))``, where row i of M is the mean of row i's class. Both covariances are
    divided by n - 1. The inverse ignores directions whose variance is at rounding level. The paper's companion code
    (``transfer.HScore:gs`` in the reference values) divides the covariance between classes by n, which makes it smaller
    by a factor of (n - 1) / n, and adds an absolute 1e-10 to the total covariance.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        At least 4 rows, finite.
    y : array of shape (n_samples,)
        Class labels, at least two classes.

    Returns
    -------
    float
        In [0, n_classes - 1]; higher = easier to transfer. Invariant to invertible affine maps. Random labels give
        about (n_classes - 1) rank(X) / (n_samples - 1). If there are no more rows than features, the score is usually
        n_classes - 1 for any labels. NaN, with a warning, if all rows are equal.

    References
    ----------
    Bao, Li, Huang, Zhang, Zheng, Zamir and Guibas (2019), An information-theoretic approach to
    transferability in task transfer learning.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.repeat([0, 1, 2], 20)
    >>> X = np.random.default_rng(0).standard_normal((60, 5))
    >>> round(h_score(X, y), 3), round(h_score(X + 4 * np.eye(5)[y], y), 3)
    (0.172, 1.744)
    """
    data = check_classes(X, y)
    lengths, axes = data.principal_axes()
    white = data.project(axes / lengths)
    return min(white.between_scatter(), len(data.names) - 1.0)


@nan_with_reason
def fisher_discriminant(X: ArrayLike, y: ArrayLike) -> float:
    """Fisher's ratio of the scatter between classes to the scatter within classes.

    The score is ``sum_c n_c |m_c - m|^2 / sum_i |x_i - m_c(i)|^2``, the ratio of the traces of the scatter matrices.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        At least 4 rows, finite.
    y : array of shape (n_samples,)
        Class labels, at least two classes.

    Returns
    -------
    float
        At least 0; higher = easier to transfer. It equals v / (1 - v), where v is the `variance_ratio`. Invariant to
        rotation, scale and offset. NaN, with a warning, if no row differs from the mean of its class.

    References
    ----------
    Fisher (1936), The use of multiple measurements in taxonomic problems.

    Examples
    --------
    >>> fisher_discriminant([[0.0], [2.0], [10.0], [12.0]], [0, 0, 1, 1])
    25.0
    """
    data = check_classes(X, y)
    within = data.within_scatter()
    if within == 0:
        raise NotEstimable("no row differs from the mean of its class")
    return float(np.divide(data.between_scatter(), within))


@nan_with_reason
def silhouette(X: ArrayLike, y: ArrayLike, *, metric: Metric = "euclidean") -> float:
    """Mean silhouette: whether rows are closer to their own class than to the nearest other class.

    The score is the mean over rows of ``(b - a) / max(a, b)``. Here a is the mean distance to the other rows in the
    same class, and b is the smallest mean distance to the rows of another class. The value of a row is 0 if it is the
    only row of its class or if both distances are 0. The result is exact: all pairs of rows are used, in blocks that
    limit the memory.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        At least 4 rows, finite.
    y : array of shape (n_samples,)
        Class labels, at least two classes.
    metric : {'euclidean', 'cosine', 'correlation'}
        Distance between rows.

    Returns
    -------
    float
        In [-1, 1]; higher = easier to transfer. Invariant to scale; to rotation, except with 'correlation'; and to an
        offset with 'euclidean'. NaN, with a warning, if all distances are 0 or every class has one row.

    References
    ----------
    Rousseeuw (1987), Silhouettes: a graphical aid to the interpretation and validation of cluster analysis.

    Examples
    --------
    >>> round(silhouette([[0.0], [2.0], [10.0], [12.0]], [0, 0, 1, 1]), 3)
    0.798
    """
    check.choice(metric, METRICS, "metric")
    matrix = check.matrix(X)
    codes, names = check.labels(y, len(matrix))
    counts = np.bincount(codes)
    if len(names) == len(matrix):
        raise NotEstimable("every class has only one row")
    bad = find_undirected_rows(matrix, metric)
    if len(bad):
        kind = "zero" if metric == "cosine" else "constant"
        raise ValueError(
            f"X must have no {kind} row under the {metric} metric, got {kind} rows {check.join_items(bad)}; "
            "remove them, or use metric='euclidean'"
        )
    order = np.argsort(codes, kind="stable")
    rows, codes = standard_rows(matrix, metric)[order], codes[order]
    means = _distance_sums(rows, codes, len(names), metric)
    each = np.arange(len(codes))
    means /= np.where(np.arange(len(names)) == codes[:, None], np.maximum(counts - 1, 1), counts)
    own_means = means[each, codes]
    means[each, codes] = np.inf
    others = means.min(axis=1)
    larger = np.maximum(own_means, others)
    # For parallel rows, one minus the cosine is a rounding error; Euclidean distances between equal rows are exactly 0.
    mask = larger > (0.0 if metric == "euclidean" else ROUNDING)
    if not mask.any():
        raise NotEstimable("all distances are 0")
    scored = mask & (counts[codes] > 1)
    return float(np.where(scored, (others - own_means) / np.where(mask, larger, 1.0), 0.0).mean())


def _distance_sums(rows: Matrix, codes: Labels, n_classes: int, metric: Metric) -> Matrix:
    """Sum of the distances from each row to the rows of each class; rows are sorted by class."""
    n = len(rows)
    memory.require(
        24 * n * n_classes + 64 * PANEL * n,
        f"the mean distances of {n:,} rows to {n_classes:,} classes",
        "pass fewer rows or classes",
    )

    def sums(start: int) -> tuple[Matrix, Matrix]:
        distances = panel(rows, metric, start)
        width = len(distances)
        distances[np.tril_indices(width)] = 0.0  # Keep each pair only once.
        if metric == "euclidean":
            np.sqrt(distances, out=distances)
        later = np.add.reduceat(distances, _stretches(codes[start:]), axis=1)
        return later, np.add.reduceat(distances, _stretches(codes[start : start + width]), axis=0)

    total = np.zeros((n, n_classes))
    starts = range(0, n, PANEL)
    for start, (later, here) in zip(starts, parallel(sums, starts), strict=True):
        first = codes[start]
        total[start : start + PANEL, first:] += later
        total[start:, first : first + len(here)] += here.T
    return total


def _stretches(codes: Labels) -> Labels:
    """First position of each class in sorted codes."""
    return np.flatnonzero(np.diff(codes, prepend=-1))


Covariance = Literal["spherical", "diagonal", "full"]
COVARIANCES: tuple[Covariance, ...] = get_args(Covariance)

_PUBLISHED_FLOOR = 1e-4


@nan_with_reason
def bhattacharyya(
    X: ArrayLike, y: ArrayLike, *, covariance: Covariance = "spherical", n_components: int | None = None
) -> float:
    """Mean Bhattacharyya distance between the classes, each modelled as a Gaussian.

    The score is the mean over pairs of classes of
    ``D_ij = (m_i - m_j)' S^-1 (m_i - m_j) / 8 + log(det S / sqrt(det S_i det S_j)) / 2``, where
    ``S = (S_i + S_j) / 2``. Each covariance is divided by the number of rows in its class.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        At least 4 rows, finite.
    y : array of shape (n_samples,)
        Class labels, at least two classes with at least two rows each.
    covariance : {'spherical', 'diagonal', 'full'}
        Covariance of each class: a single variance (the mean over features), one variance per feature, or the full
        matrix. For a full matrix, each class needs more rows than there are directions in which the rows vary.
    n_components : int or None
        Largest number of principal components to use; the published score uses 64. None uses all features.

    Returns
    -------
    float
        At least 0; higher = easier to transfer. 0 if all classes have the same mean and covariance. Invariant to scale
        and offset; to rotation, except with 'diagonal'; and to invertible affine maps with 'full' if n_components is
        None. NaN, with a warning, if all rows are equal or a class has no variance (with 'diagonal', in any single
        feature; with 'full', in any direction).

    References
    ----------
    Bhattacharyya (1943), On a measure of divergence between two statistical populations.

    Examples
    --------
    >>> bhattacharyya([[0.0], [2.0], [10.0], [12.0]], [0, 0, 1, 1])
    12.5
    """
    check.choice(covariance, COVARIANCES, "covariance")
    return float(_DISTANCES[covariance](_components(X, y, n_components)).mean())


@nan_with_reason
def gbc(
    X: ArrayLike,
    y: ArrayLike,
    *,
    covariance: Covariance = "spherical",
    n_components: int | None = None,
    published: bool = False,
) -> float:
    """Gaussian Bhattacharyya coefficient: minus the overlap between classes, summed over pairs.

    The score is ``-sum_{i != j} exp(-D_ij)`` over ordered pairs of classes, with D as in `bhattacharyya`.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        At least 4 rows, finite.
    y : array of shape (n_samples,)
        Class labels, at least two classes with at least two rows each.
    covariance : {'spherical', 'diagonal', 'full'}
        As for `bhattacharyya`; 'full' is not available with `published`.
    n_components : int or None
        As for `bhattacharyya`; the paper uses 64.
    published : bool
        Whether to compute the score as the public code does. That code raises variances below 1e-4 to 1e-4, whatever
        the scale of the features, and counts the logarithm of a spherical variance once instead of once per feature.

    Returns
    -------
    float
        In [-n_classes (n_classes - 1), 0]; higher = easier to transfer. Invariances and NaN are as for `bhattacharyya`.

    References
    ----------
    Pandy, Agostinelli, Uijlings, Ferrari and Mensink (2022), Transferability estimation using Bhattacharyya
    class separability.

    Examples
    --------
    >>> round(gbc([[0.0], [2.0], [3.0], [5.0]], [0, 0, 1, 1]), 3)
    -0.649
    """
    check.choice(
        covariance, ("spherical", "diagonal") if check.boolean(published, "published") else COVARIANCES, "covariance"
    )
    data = _components(X, y, n_components)
    if published:
        # The floor is converted to the units of the rows; the limit prevents an overflow if the features are tiny.
        variances = np.maximum(_variances(data), min(_PUBLISHED_FLOOR / data.unit / data.unit, 1e150))
        variances = variances.mean(axis=1, keepdims=True) if covariance == "spherical" else variances
        distances = _diagonal_distances(data.means, variances, 1)
    else:
        distances = _DISTANCES[covariance](data)
    return float(-2 * np.exp(-distances).sum())


def _components(X: ArrayLike, y: ArrayLike, n_components: int | None) -> ClassedRows:
    """Check the input, and project it onto the leading principal components if a number is given."""
    n_kept = check.optional_count(n_components, "n_components")
    data = check_classes(X, y)
    return data if n_kept is None else data.project(data.principal_axes()[1][:, :n_kept])


def _spherical(data: ClassedRows) -> Vector:
    variances = _variances(data).mean(axis=1, keepdims=True)
    d = data.means.shape[1]
    _require_variance(data, variances[:, 0] * d > data.negligible, "variance")
    return _diagonal_distances(data.means, variances, d)


def _diagonal(data: ClassedRows) -> Vector:
    variances = _variances(data)
    noise = data.noise**2
    # Features that are equal in all rows are ignored.
    varies = (variances > noise).any(axis=0) | (data.means**2 > noise).any(axis=0)
    _require_variance(data, np.all(variances[:, varies] > noise[varies], axis=1), "variance in some feature")
    return _diagonal_distances(data.means[:, varies], variances[:, varies], 1)


def _full(data: ClassedRows) -> Vector:
    """Distances in coordinates with unit total covariance, which makes them invariant to affine maps."""
    lengths, axes = data.principal_axes()
    n_classes, d = len(data.names), len(lengths)
    memory.require(24 * n_classes * d * d, f"{n_classes:,} covariances of {d:,} features", "pass n_components")
    white = data.project(axes / lengths * np.sqrt(len(data.codes)))
    covariances = np.empty((n_classes, d, d))
    for label in range(n_classes):
        members = white.within[data.codes == label]
        covariances[label] = members.T @ members / len(members)
    with single_threaded_blas():
        spectra = np.linalg.eigvalsh(covariances)
    rounding = max(len(data.codes), d) * np.finfo(float).eps
    spread = (spectra[:, 0] > rounding * spectra[:, -1]) & (data.counts > d)
    _require_variance(data, np.asarray(spread), "variance in some direction")
    logs = np.log(spectra).sum(axis=1)
    distances = []
    for i, j in zip(*np.triu_indices(n_classes, k=1), strict=True):
        difference, middle = white.means[i] - white.means[j], (covariances[i] + covariances[j]) / 2
        shape = float(np.linalg.slogdet(middle)[1]) - float(logs[[i, j]].mean())
        distances.append(max(float(difference @ np.linalg.solve(middle, difference)) / 8 + shape / 2, 0.0))
    return np.array(distances)


_DISTANCES: dict[str, Callable[[ClassedRows], Vector]] = {
    "spherical": _spherical,
    "diagonal": _diagonal,
    "full": _full,
}


def _variances(data: ClassedRows) -> Matrix:
    """Variance of each feature within each class."""
    return np.asarray(class_totals(data.within**2, data.codes) / data.counts[:, None])


def _diagonal_distances(means: Matrix, variances: Matrix, times: int) -> Vector:
    """Distances for all pairs i < j with independent features; `times` multiplies the log-variances."""
    logs = np.log(variances).sum(axis=1)
    distances = []
    for i in range(len(means) - 1):
        middle = (variances[i] + variances[i + 1 :]) / 2
        shape = np.log(middle).sum(axis=1) - (logs[i] + logs[i + 1 :]) / 2
        distances.append(((means[i] - means[i + 1 :]) ** 2 / middle).sum(axis=1) / 8 + times * shape / 2)
    return np.asarray(np.maximum(np.concatenate(distances), 0.0))


def _require_variance(data: ClassedRows, enough: NDArray[np.bool_], what: str) -> None:
    if not enough.all():
        raise NotEstimable(f"there is no {what} within class {check.join_items(data.names[~enough])}")
