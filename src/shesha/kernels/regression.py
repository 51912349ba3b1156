"""Regression: cross-validated ridge, L2-penalised logistic for many label vectors, and natural cubic splines."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shesha.kernels.threads import parallel
from shesha.support.types import Index, Labels, Mask, Matrix, Vector

PENALTIES = np.geomspace(1e-6, 1e4, 31)
"""Candidate penalties, in units of the largest variance of the training rows."""
_RANK = 1e-12
"""A variance below this share of the largest variance counts as a rounding error."""


@dataclass(frozen=True)
class Training:
    """The decomposition of the training rows of one fold, which are all rows outside it."""

    rest: Index
    held_out: Index
    mean: Vector
    variances: Vector
    """Sums of squares along the axes, largest first."""
    axes: Matrix
    """Principal axes of the training rows, one per column."""


def decompose_folds(rows: Matrix, fold: Index, n_folds: int) -> list[Training]:
    """Decompose the rows outside each fold; the columns of `rows` must have mean zero over all rows."""
    products = rows.T @ rows if rows.shape[1] <= len(rows) else None
    return [_decompose_fold(rows, products, fold == k) for k in range(n_folds)]


def _decompose_fold(rows: Matrix, products: Matrix | None, out: NDArray[np.bool_]) -> Training:
    held_out, rest = np.flatnonzero(out), np.flatnonzero(~out)
    held_out_rows = rows[held_out]
    # The columns sum to zero over all rows, so the sums over the training rows are minus those over the held-out rows.
    mean = -held_out_rows.sum(axis=0) / len(rest)
    if products is None:
        # With fewer rows than columns, the rows themselves are smaller than the products of columns.
        _, lengths, transposed = np.linalg.svd(rows[rest] - mean, full_matrices=False)
        variances, axes = lengths**2, transposed.T
    else:
        variances, axes = np.linalg.eigh(products - held_out_rows.T @ held_out_rows - len(rest) * np.outer(mean, mean))
        variances, axes = variances[::-1], axes[:, ::-1]
    rank = int(np.count_nonzero(variances > _RANK * max(float(variances[0]), 0.0)))
    return Training(rest, held_out, mean, variances[:rank], axes[:, :rank])


def prediction_errors(rows: Matrix, parts: list[Training], targets: Matrix) -> tuple[float, float]:
    """Predict each fold from the other rows; return the squared errors of predictions and of the mean.

    All targets share the penalty with the smallest generalised cross-validation score on the training rows (Golub,
    Heath and Wahba 1979). This score is the leave-one-out error, up to a rotation of the rows.
    """
    cross = rows.T @ targets
    errors = np.array([_errors(rows, part, targets, cross) for part in parts])
    predicted, mean = errors.sum(axis=0)
    return float(predicted), float(mean)


def predict_held_out(rows: Matrix, parts: list[Training], targets: Matrix) -> Matrix:
    """Predict the targets of each fold from the other rows, with the penalty as in `prediction_errors`.

    The columns of rows and of targets must have mean zero over all rows, as in `prediction_errors`.
    """
    cross = rows.T @ targets
    predictions = np.empty_like(targets)
    for part in parts:
        mean, deviation = _fold_prediction(rows, part, targets, cross)
        predictions[part.held_out] = mean + deviation
    return predictions


def _errors(rows: Matrix, part: Training, targets: Matrix, cross: Matrix) -> tuple[float, float]:
    mean, deviation = _fold_prediction(rows, part, targets, cross)
    wanted = targets[part.held_out] - mean
    residuals = wanted - deviation
    return float(np.vdot(residuals, residuals)), float(np.vdot(wanted, wanted))


def _fold_prediction(rows: Matrix, part: Training, targets: Matrix, cross: Matrix) -> tuple[Vector, Matrix]:
    """Return the mean of the training targets, and the predicted deviations from it for held-out rows."""
    held_out_rows, wanted = rows[part.held_out], targets[part.held_out]
    mean = -wanted.sum(axis=0) / len(part.rest)
    shared = cross - held_out_rows.T @ wanted - len(part.rest) * np.outer(part.mean, mean)
    # Inner products of the targets with the left singular vectors of the training rows.
    projections = (part.axes.T @ shared) / np.sqrt(part.variances)[:, None]
    centred = targets[part.rest] - mean
    weights = np.sqrt(part.variances) / (part.variances + _penalty(part, projections, float(np.vdot(centred, centred))))
    return mean, ((held_out_rows - part.mean) @ part.axes) @ (weights[:, None] * projections)


def _penalty(part: Training, projections: Matrix, total: float) -> float:
    """Return the penalty that generalised cross-validation selects on the training rows."""
    n = len(part.rest)
    if not len(part.variances):
        return 1.0
    penalties = PENALTIES * part.variances[0]
    kept = part.variances / (part.variances + penalties[:, None])
    explained = np.einsum("ij,ij->i", projections, projections)
    residual = max(0.0, total - float(explained.sum()))
    residual = residual if residual > _RANK * total else 0.0
    freedom = 1.0 - (1.0 + kept.sum(axis=1)) / n
    scores = (residual + (1.0 - kept) ** 2 @ explained) / freedom**2
    return float(penalties[int(np.argmin(scores))])


EXACT = 1e-12
"""Gradient size, relative to its terms, at which the coefficients have nine correct digits."""
_TOGETHER = 1 << 19
"""Largest number of predictions held in memory."""
_STEPS = 100
_HALVINGS = 40
_SUFFICIENT = 1e-4
"""Armijo constant: smallest decrease in the loss per step, as a share of the decrease predicted by the slope."""
_SLACK = 1e-13
"""Relative difference below which two losses count as equal up to rounding."""


@dataclass(frozen=True)
class Fits:
    """Coefficients of each regression: class 1 against class 0, or one line per class if there are more."""

    coefficients: NDArray[np.float64]
    """Coefficients, of shape (n_fits, 1 or n_classes, n_features)."""
    intercepts: Matrix
    """Intercepts, of shape (n_fits, 1 or n_classes)."""
    converged: Mask


def fit_many(rows: Matrix, codes: Labels, weights: Matrix, n_classes: int, C: float, tolerance: float = EXACT) -> Fits:
    """Minimise C * weighted log loss + half the squared length of the coefficients (without intercepts).

    With two classes there is one coefficient vector; with more, there is one per class (softmax). Newton's method with
    conjugate gradients shares products with the rows, so a thousand regressions take little longer than a hundred. Pass
    principal coordinates as the columns of `rows`: the diagonal is then a good preconditioner. The optimum is the same
    with other coordinates.

    Parameters
    ----------
    rows : array of shape (n, d)
        Features.
    codes : array of shape (n, n_fits)
        Class of each row in each regression, numbered from 0.
    weights : array of shape (n, n_fits)
        Weight of each row in each regression; every class needs a row with positive weight.
    """
    n, n_fits = codes.shape
    per_fit = n * (1 if n_classes == 2 else n_classes)
    width = max(1, _TOGETHER // per_fit)
    spans = [slice(start, min(start + width, n_fits)) for start in range(0, n_fits, width)]

    def some(span: slice) -> Fits:
        return _Problem(rows, codes[:, span], weights[:, span], n_classes, C).solve(tolerance)

    parts = list(parallel(some, spans))
    return Fits(
        np.concatenate([part.coefficients for part in parts]),
        np.concatenate([part.intercepts for part in parts]),
        np.concatenate([part.converged for part in parts]),
    )


class _Problem:
    """Regressions that are solved together; array axes are (rows or coefficients, regressions, outputs)."""

    def __init__(self, rows: Matrix, codes: Labels, weights: Matrix, n_classes: int, C: float) -> None:
        self._rows = np.column_stack([rows, np.ones(len(rows))])
        self._binary = n_classes == 2
        one_hot = codes[:, :, None] == (np.ones(1) if self._binary else np.arange(n_classes))
        self._targets = one_hot.astype(np.float64)
        self._weights = C * weights[:, :, None]
        self._penalty = np.ones((self._rows.shape[1], 1, 1))
        self._penalty[-1] = 0.0

    def _times(self, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(self._rows @ theta.reshape(len(theta), -1)).reshape(-1, *theta.shape[1:])

    def _back(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(self._rows.T @ values.reshape(len(values), -1)).reshape(-1, *values.shape[1:])

    def _loss(self, point: _Point, theta: NDArray[np.float64], outputs: NDArray[np.float64]) -> Vector:
        target = (outputs * point.targets).sum(axis=2)
        if self._binary:
            total = np.logaddexp(0.0, outputs[:, :, 0])
        else:
            top = outputs.max(axis=2)
            total = top + np.log(np.exp(outputs - top[:, :, None]).sum(axis=2))
        fit = ((total - target) * point.weights[:, :, 0]).sum(axis=0)
        return np.asarray(fit + 0.5 * (self._penalty * theta**2).sum(axis=(0, 2)))

    def _probabilities(self, outputs: NDArray[np.float64]) -> NDArray[np.float64]:
        if self._binary:
            return np.asarray(0.5 * (1 + np.tanh(0.5 * outputs)))
        shares = np.exp(outputs - outputs.max(axis=2, keepdims=True))
        return np.asarray(shares / shares.sum(axis=2, keepdims=True))

    def solve(self, tolerance: float) -> Fits:
        """Iterate until every gradient is at rounding level or the maximum number of steps is reached."""
        d, (_, n_fits, n_outputs) = self._rows.shape[1], self._targets.shape
        theta = np.zeros((d, n_fits, n_outputs))
        small = tolerance * (1 + (self._weights[:, :, 0] * np.abs(self._rows).max(axis=1)[:, None]).sum(axis=0))
        active = np.arange(n_fits)
        for _ in range(_STEPS):
            point = _Point(theta[:, active], self._targets[:, active], self._weights[:, active])
            outputs = self._times(point.theta)
            shares = self._probabilities(outputs)
            gradient = self._back(point.weights * (shares - point.targets)) + self._penalty * point.theta
            worst = np.abs(gradient).max(axis=(0, 2))
            going = worst > small[active]
            if not going.any():
                active = active[:0]
                break
            active, point, gradient, shares = active[going], point.some(going), gradient[:, going], shares[:, going]
            outputs = outputs[:, going]
            step = self._newton_step(point, gradient, shares)
            change, slope = self._times(step), (gradient * step).sum(axis=(0, 2))
            start = self._loss(point, point.theta, outputs)
            length = np.ones(len(start))
            for _ in range(_HALVINGS):
                scaled = length[:, None]
                loss = self._loss(point, point.theta + scaled * step, outputs + scaled * change)
                poor = loss > start + _SUFFICIENT * length * slope + _SLACK * np.abs(start)
                if not poor.any():
                    break
                length[poor] /= 2
            theta[:, active] = point.theta + length[:, None] * step
        coefficients = np.moveaxis(theta, 0, 2)
        return Fits(coefficients[:, :, :-1], coefficients[:, :, -1], ~np.isin(np.arange(n_fits), active))

    def _newton_step(
        self, point: _Point, gradient: NDArray[np.float64], shares: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Solve Hessian * step = -gradient by preconditioned conjugate gradients, with a relative tolerance."""
        curvature = (point.weights * shares * (1 - shares)).sum(axis=(0, 2)) / point.weights.sum(axis=(0, 2))
        diagonal = curvature[None, :] * ((self._rows**2).T @ point.weights[:, :, 0]) / shares.shape[2]
        diagonal = (diagonal + self._penalty[:, :, 0])[:, :, None] + np.finfo(float).tiny
        step, residual = np.zeros_like(gradient), -gradient
        first = np.sqrt((gradient**2).sum(axis=(0, 2)))
        enough = first * np.minimum(0.1, np.sqrt(first / (1 + first)))
        towards = residual / diagonal
        direction, size = towards, (residual * towards).sum(axis=(0, 2))
        for _ in range(10 * len(self._rows.T)):
            going = np.sqrt((residual**2).sum(axis=(0, 2))) > enough
            if not going.any():
                break
            image = self._hessian_times(direction, point, shares)
            bend = (direction * image).sum(axis=(0, 2))
            going &= bend > 0
            if not going.any():
                break
            share = np.where(going, size / np.where(going, bend, 1.0), 0.0)[:, None]
            step = step + share * direction
            residual = residual - share * image
            towards = residual / diagonal
            new = (residual * towards).sum(axis=(0, 2))
            ratio = np.where(going, new / np.where(size > 0, size, 1.0), 0.0)[:, None]
            direction, size = np.where(going[:, None], towards + ratio * direction, direction), new
        return step

    def _hessian_times(
        self, direction: NDArray[np.float64], point: _Point, shares: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        outputs = self._times(direction)
        if self._binary:
            bent = shares * (1 - shares) * outputs
        else:
            weighted = shares * outputs
            bent = weighted - shares * weighted.sum(axis=2, keepdims=True)
        return self._back(point.weights * bent) + self._penalty * direction


@dataclass(frozen=True)
class _Point:
    """State and data of the regressions that have not converged yet."""

    theta: NDArray[np.float64]
    targets: NDArray[np.float64]
    weights: NDArray[np.float64]

    def some(self, which: Mask) -> _Point:
        """Keep only the marked regressions."""
        return _Point(self.theta[:, which], self.targets[:, which], self.weights[:, which])


MOST_TERMS = 4
"""Largest default number of spline terms; more terms would often fit noise."""
_DENSITY = 2 / 3
"""Exponent applied to the gaps between values when knots are placed; below 1, the tails get more knots."""


def natural_spline(values: Vector, n_terms: int) -> Matrix:
    """Return standardised terms whose linear combinations are the natural cubic splines of a covariate.

    Parameters
    ----------
    values : array of shape (n,)
        Finite values, not all equal.
    n_terms : int
        Number of terms; 1 gives the values only. With up to 4 terms, knots are at quantiles; with more, they favour the
        tails.

    Returns
    -------
    array of shape (n, n_found)
        The values, followed by the other terms. If repeated values make knots coincide, n_found is less than n_terms.

    References
    ----------
    .. [1] Stone & Koo 1985, Additive splines in statistics; in the form of Harrell 2015, section 2.4.5.
    """
    unit = _standardise(values)
    knots = _knots(unit, n_terms + 1)
    if len(knots) < 3:
        return unit[:, None]
    last, before = knots[-1], knots[-2]

    def cubes(knot: float) -> Vector:
        return np.maximum(unit - knot, 0.0) ** 3

    terms = [
        cubes(knot) - cubes(before) * (last - knot) / (last - before) + cubes(last) * (before - knot) / (last - before)
        for knot in knots[:-2]
    ]
    return np.stack([unit, *map(_standardise, terms)], axis=1)


def _knots(unit: Vector, n_knots: int) -> Vector:
    """Return distinct knots; the outer knots are the extreme values, as in R's ns()."""
    places = np.linspace(0, 1, n_knots)
    if n_knots <= MOST_TERMS + 1:
        return np.unique(np.quantile(unit, places))
    distinct = np.unique(unit)
    steps = np.concatenate([[0.0], np.cumsum(np.diff(distinct) ** _DENSITY)])
    knots: Vector = np.unique(np.interp(places * steps[-1], steps, distinct))
    return knots


def _standardise(values: Vector) -> Vector:
    centred = values / np.abs(values).max()
    centred = centred - centred.mean()
    return np.asarray(centred / centred.std())
