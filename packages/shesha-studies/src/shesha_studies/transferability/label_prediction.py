"""How well labels are predicted: LEEP and NCE from the classes of a source model, LogME from its features."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shesha.inputs import align_labels, validation as check
from shesha.kernels.class_statistics import class_totals
from shesha.kernels.rounding_and_scaling import length_unit
from shesha.kernels.threads import single_threaded_blas
from shesha.support import memory
from shesha.support.device_arrays import array_shape
from shesha.support.types import Matrix, Vector
from shesha.support.warnings import NotEstimable
from shesha_studies.transferability.class_separation import nan_with_reason, precision

_ROW_SUM = 1e-3
"""Tolerance for the sum of a row's probabilities, which allows for a softmax in half precision."""


def leep(P: ArrayLike, y: ArrayLike) -> float:
    """Mean log-probability of the labels, predicted from the source model's class probabilities.

    The score is ``mean_i log sum_z P[i, z] p(y_i | z)``. Here p(y | z) is the share of the total probability of source
    class z that falls on rows with label y. Rows of P are divided by their sums, so that they sum to 1 exactly.

    Parameters
    ----------
    P : array of shape (n_samples, n_source_classes)
        Probabilities of the source classes, which must be non-negative and sum to 1 in each row. At least 4 rows.
    y : array of shape (n_samples,)
        Target labels, at least two classes.

    Returns
    -------
    float
        At most 0, and at least minus the entropy of the labels, which is the score for uninformative source classes.
        Higher = easier to transfer. The order of the source classes does not matter.

    References
    ----------
    Nguyen, Hassner, Seeger and Archambeau (2020), LEEP: a new measure to evaluate transferability of
    learned representations.

    Examples
    --------
    >>> P = [[0.9, 0.1], [0.8, 0.2], [0.2, 0.8], [0.1, 0.9]]
    >>> round(leep(P, ["cat", "cat", "dog", "dog"]), 3)
    -0.295
    """
    y, probabilities = align_labels(P, y, other="P"), _probabilities(P)
    codes, _ = check.labels(y, len(probabilities))
    joint = class_totals(probabilities, codes)
    total = joint.sum(axis=0)
    # A source class whose total probability is 0 has no label distribution, so its entries are set to 0.
    given_source = joint / np.where(total > 0, total, 1.0)
    return min(float(np.log(np.einsum("iz,iz->i", probabilities, given_source[codes])).mean()), 0.0)


def _probabilities(P: ArrayLike) -> NDArray[np.float64]:
    rows = check.matrix(P, "P")
    negative = np.flatnonzero((rows < 0).any(axis=1))
    if len(negative):
        raise ValueError(f"P must contain probabilities, got negative numbers in rows {check.join_items(negative)}")
    sums = rows.sum(axis=1, keepdims=True)
    off = np.flatnonzero(np.abs(sums - 1) > _ROW_SUM)
    if len(off):
        raise ValueError(f"P must have rows that sum to 1, got other sums in rows {check.join_items(off)}")
    return np.asarray(rows / sums)


def nce(z: ArrayLike, y: ArrayLike) -> float:
    """Negative conditional entropy of the target labels given the source model's labels.

    The score is ``sum_zy p(z, y) log p(y | z)``, with the natural logarithm.

    Parameters
    ----------
    z : array of shape (n_samples,)
        Source labels, such as the source model's most likely class.
    y : array of shape (n_samples,)
        Target labels, at least two classes.

    Returns
    -------
    float
        In [-log(n_classes), 0]; higher = easier to transfer; 0 if the source label determines the target label. The
        names of the labels do not matter. A source label that occurs only once always determines its target label. The
        score is therefore near 0 for any labels if there are many source classes relative to the number of rows.

    References
    ----------
    Tran, Nguyen and Hassner (2019), Transferability and hardness of supervised classification tasks.

    Examples
    --------
    >>> round(nce(["cat", "cat", "cat", "car", "car"], [0, 0, 1, 2, 2]), 3)
    -0.382
    """
    y, source = align_labels(z, y, other="z"), check.labels(z, math.prod(array_shape(z)), "z", min_classes=1)[0]
    target, names = check.labels(y, len(source))
    pairs, joint = np.unique(source * len(names) + target, return_counts=True)
    conditional = joint / np.bincount(source)[pairs // len(names)]
    return float(joint @ np.log(conditional) / len(source)) + 0.0


_STEP = 0.25
"""Grid step of log(alpha / beta), small enough to find all peaks, whose width is about 1."""
_ROUNDINGS = 16
_PUBLISHED_ROUNDS = 11
_PUBLISHED_STOP = 1e-3
_PUBLISHED_RIDGE = 1e-5


@nan_with_reason
def logme(X: ArrayLike, y: ArrayLike, *, published: bool = False) -> float:
    """Log maximum evidence per row of linear models that predict each class against the rest.

    The score is the mean over classes of ``max over alpha, beta of log p(t | X) / n``, where t is the indicator of the
    class. The model is t = X w + e with w ~ N(0, 1 / alpha) and e ~ N(0, 1 / beta), so that ``log p = -(n log(2 pi) +
    log det C + t' C^-1 t) / 2`` with ``C = I / beta + X X' / alpha``. As in the paper, X is not centred.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        At least 4 rows, finite.
    y : array of shape (n_samples,)
        Class labels, at least two classes.
    published : bool
        Whether to compute the score as the public code does. Its iteration stops after 11 rounds or at a relative
        change of 1e-3, and it adds 1e-5 to the denominators. If there are fewer rows n than features D, it also omits D
        - n terms of the log-determinant, an error of (D - n) log(alpha) / 2n. In an example with 50 rows and 120
        features, this error is 5.9, whereas the evidence is 0.63. By default, the true maximum is computed.

    Returns
    -------
    float
        Any real number; higher = easier to transfer. Invariant to rotation and scale of the features, but not to an
        offset. NaN, with a warning, if all rows are equal. Also NaN if the rank of the features is below n_samples and
        a class indicator is an exact linear function of them, because the evidence then has no maximum.

    References
    ----------
    You, Liu, Wang and Long (2021), LogME: practical assessment of pre-trained models for transfer learning.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.repeat([0, 1, 2], 20)
    >>> X = np.random.default_rng(0).standard_normal((60, 5))
    >>> round(logme(X, y), 3), round(logme(X + 2 * np.eye(5)[y], y), 3)
    (-0.867, -0.558)
    """
    check.boolean(published, "published")
    matrix = check.matrix(X)
    codes, names = check.labels(y, len(matrix))
    memory.require(
        32 * len(matrix) * len(names), f"{len(names):,} classes of {len(matrix):,} rows", "pass fewer classes"
    )
    return _mean_evidence(matrix, np.eye(len(names))[codes], precision(X), published)


@nan_with_reason
def logme_regression(X: ArrayLike, Y: ArrayLike, *, published: bool = False) -> float:
    """Log maximum evidence per row of linear models that predict real-valued targets.

    This is `logme` with the columns of Y instead of the class indicators.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        At least 4 rows, finite.
    Y : array of shape (n_samples,) or (n_samples, n_targets)
        Real targets, finite and not constant. Neither X nor Y is centred.
    published : bool
        As for `logme`.

    Returns
    -------
    float
        Any real number; higher = easier to transfer. Invariant to rotation and scale of the features. Multiplying a
        target by c lowers its evidence by log(c). NaN, with a warning, if all rows of X are equal or a target is
        constant. Also NaN if the rank of the features is below n_samples and a target is an exact linear function of
        them.

    References
    ----------
    You, Liu, Wang and Long (2021), LogME: practical assessment of pre-trained models for transfer learning.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((60, 5))
    >>> noise = np.random.default_rng(1).standard_normal(60)
    >>> round(logme_regression(X, noise), 3), round(logme_regression(X, X[:, 0] + 0.1 * noise), 3)
    (-1.274, 0.719)
    """
    check.boolean(published, "published")
    targets = check.dense(Y, "Y")
    matrix, targets = check.paired(X, targets[:, None] if targets.ndim == 1 else targets)
    constant = np.flatnonzero((targets == targets[0]).all(axis=0))
    if len(constant):
        raise NotEstimable(f"the targets in columns {check.join_items(constant)} of Y are constant")
    return _mean_evidence(matrix, targets, precision(X), published)


def _mean_evidence(X: Matrix, targets: Matrix, rounding: float, published: bool) -> float:
    if (X[0] == X).all():
        raise NotEstimable("all rows of X are equal")
    for name, given in (("X", X), ("Y", targets)):
        # The sum of the squares must be a number as well.
        if published and np.abs(given).max() > _LARGEST / given.size:
            raise NotEstimable(
                f"the squares of {name} are too large for the published iteration; divide {name} by its largest value"
            )
    evidence = _fixed_point_evidence(X, targets) if published else _maximum_evidence(X, targets, rounding)
    return float(np.mean(evidence))


_LARGEST = 1e150
"""Largest number whose square is a number."""


@dataclass(frozen=True)
class Alignment:
    """Targets in the coordinates given by the left singular vectors of the features."""

    n: int
    squares: Vector
    """Squared singular values of the features."""
    along: Matrix
    """Squared coordinates of the targets, of shape (n_singular_vectors, n_targets)."""
    rest: Vector
    """Squared length of the component of each target outside the span of the features."""

    @classmethod
    def build(cls, X: Matrix, targets: Matrix, smallest: float) -> Alignment:
        """Compute the coordinates; singular values of at most `smallest` times the largest count as zero."""
        with single_threaded_blas():
            vectors, lengths, _ = np.linalg.svd(X, full_matrices=False)
        kept = lengths > smallest * lengths[0]
        vectors, lengths = vectors[:, kept], lengths[kept]
        coordinates = vectors.T @ targets
        # The residual is used, because a difference of squares would lose the digits of a small remainder.
        rest = targets - vectors @ coordinates if len(lengths) < len(X) else np.zeros_like(targets)
        return cls(len(X), lengths**2, coordinates**2, np.einsum("ij,ij->j", rest, rest))

    @property
    def full(self) -> bool:
        """Whether the features span every target, whatever the targets are."""
        return len(self.squares) == self.n

    @property
    def slope(self) -> Vector:
        """Squared length of the weights that fit the component of each target in the span of the features."""
        return np.asarray((self.along / self.squares[:, None]).sum(axis=0))

    def gains(self, logs: Vector) -> Matrix:
        """Gain in evidence over a model without features, at the best beta: (targets, values of `logs`).

        `logs` are values of log(alpha / beta). For a given alpha / beta, the best beta is n divided by the quadratic
        form below, so only one variable remains.
        """
        ratio = self.squares[:, None] * np.exp(-logs)
        quadratic = self.along.T @ (1 / (1 + ratio)) + self.rest[:, None]
        return np.asarray(-(self.n * np.log(quadratic / self.n) + np.log1p(ratio).sum(axis=0)) / (2 * self.n))


def _maximum_evidence(X: Matrix, targets: Matrix, rounding: float) -> Vector:
    """Largest evidence per row for each target, over all alpha and beta.

    The search is over log(alpha / beta). The published fixed-point iteration converges slowly if the maximum lies at an
    end of the range (no noise, or no use of the features), and it may stop at a lower peak.
    """
    n, d = X.shape
    largest = np.abs(targets).max(axis=0)
    size = largest * np.sqrt(np.mean((targets / largest) ** 2, axis=0))
    alignment = Alignment.build(X / length_unit(X), targets / size, max(n, d) * np.finfo(float).eps)
    weight = np.sqrt(alignment.squares[0] * alignment.slope) + np.sqrt(n)
    exact = np.flatnonzero(np.sqrt(alignment.rest) <= _ROUNDINGS * rounding * weight)
    if len(exact) and not alignment.full:
        raise NotEstimable(
            f"the evidence has no maximum, because the features predict target {check.join_items(exact)} exactly"
        )
    return np.asarray(_largest_gains(alignment) - np.log(size) - (np.log(2 * np.pi) + 1) / 2)


def _largest_gains(alignment: Alignment) -> Vector:
    from scipy.optimize import minimize_scalar

    logs = _grid(alignment)
    on_grid = alignment.gains(logs)
    # As alpha goes to infinity, the model does not use the features, and the gain is 0.
    best: Vector = np.maximum(on_grid.max(axis=1), 0.0)
    for target, index in enumerate(np.clip(on_grid.argmax(axis=1), 1, len(logs) - 2)):
        part = Alignment(alignment.n, alignment.squares, alignment.along[:, [target]], alignment.rest[[target]])
        ends = (logs[index - 1], logs[index + 1])
        peak = minimize_scalar(
            lambda log, part=part: -part.gains(np.array([log]))[0, 0],
            bounds=ends,
            method="bounded",
            options={"xatol": 1e-9},
        )
        best[target] = max(best[target], -peak.fun)
    if not alignment.full:
        return best
    # If the features span every target, the gain has a limit as beta goes to infinity.
    n = alignment.n
    limit = -(n * np.log(alignment.slope / n) + np.log(alignment.squares).sum()) / (2 * n)
    return np.asarray(np.maximum(best, limit))


def _grid(alignment: Alignment) -> Vector:
    """Grid of values of log(alpha / beta) that encloses every peak."""
    n, rank = alignment.n, len(alignment.squares)
    low = alignment.squares[-1]
    if not alignment.full:
        # Below the smallest squared singular value, the slope of the evidence changes sign at this value.
        with np.errstate(divide="ignore"):
            low = min(low, (alignment.rest / alignment.slope).min() * rank / (n - rank))
    return np.arange(np.log(low) - 7, np.log(alignment.squares[0] * rank) + 9, _STEP)


def _fixed_point_evidence(X: Matrix, targets: Matrix) -> Vector:
    """Evidence from the fixed-point iteration of the public code, one target at a time."""
    n, d = X.shape
    # If there are fewer rows than features, the public code keeps directions of length 0.
    alignment = Alignment.build(X, targets, max(n, d) * np.finfo(float).eps if n > d else -1.0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        evidence = np.array(
            [
                _fixed_point(alignment.squares, projections, rest, n, d)
                for projections, rest in zip(alignment.along.T, alignment.rest, strict=True)
            ]
        )
    if not np.isfinite(evidence).all():
        raise NotEstimable("the published iteration overflows; scale X, or use published=False")
    return evidence


def _fixed_point(squares: Vector, projections: Vector, rest: float, n: int, d: int) -> float:
    alpha = beta = 1.0
    for _ in range(_PUBLISHED_ROUNDS):
        ratio = alpha / beta
        used = (squares / (squares + ratio)).sum()
        weight = (squares * projections / (ratio + squares) ** 2).sum()
        error = (projections / (1 + squares / ratio) ** 2).sum() + rest
        alpha = used / (weight + _PUBLISHED_RIDGE)
        beta = (n - used) / (error + _PUBLISHED_RIDGE)
        if abs(alpha / beta - ratio) <= _PUBLISHED_STOP * ratio:
            break
    # As in the public code, the sum has min(n, d) terms; if n < d, d - n terms of log(alpha) are missing.
    determinant = np.log(alpha + beta * squares).sum()
    fit = d * np.log(alpha) + n * np.log(beta / (2 * np.pi)) - determinant - beta * error - alpha * weight
    return float(fit / (2 * n))
