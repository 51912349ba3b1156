"""Steering vectors: directions from probes, their strengths, agreement of rows on them, and the hook that adds them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import ArrayLike, NDArray

from shesha.inputs import MissingRows, validation as check
from shesha.kernels.class_statistics import class_means
from shesha.kernels.regression import EXACT, Fits, fit_many
from shesha.results import Number
from shesha.results.base import Result
from shesha.steering.labelled_rows import Labelled, check_labelled, coordinates, score_against_null, shuffle_count
from shesha.support import wording
from shesha.support.device_arrays import to_host
from shesha.support.provenance import keep_statements
from shesha.support.seeds import N_BOOTSTRAP, spawn
from shesha.support.types import Labels, Matrix, Seed, Vector
from shesha.support.warnings import MeasureWarning, warn
from shesha.views import select_rows

_CLOSE = 3


def module_named(model: Any, layer: str) -> Any:
    """Return the module with this name; the error for an unknown name suggests similar names."""
    if not hasattr(model, "named_modules"):
        raise TypeError(f"model must be a torch module, got {type(model).__name__}")
    if not isinstance(layer, str):
        raise TypeError(f"layer must be the name of a module, got {layer!r}")
    known = dict(model.named_modules())
    if layer in known and layer:
        return known[layer]
    names = [name for name in known if name]
    raise ValueError(f"layer must be the name of a module of the model, got {layer!r}{_suggest_names(layer, names)}")


def _suggest_names(layer: str, names: list[str]) -> str:
    """Suggest names with similar spelling or the same ending, because wrapper modules add prefixes."""
    ending = [name for name in names if name == layer.strip(".") or name.endswith("." + layer.strip("."))]
    close = list(dict.fromkeys([*ending, *wording.close_names(layer, names, n=_CLOSE, cutoff=0.5)]))[:_CLOSE]
    if close:
        return wording.did_you_mean(close)
    return f"; known names are {', '.join(map(repr, names[:_CLOSE]))}{' and more' if len(names) > _CLOSE else ''}"


@contextmanager
def add_shift(model: Any, layer: str, shift: Vector) -> Iterator[Any]:
    """Add a shift to the last axis of a module's output; the model is restored when the block ends.

    Yields
    ------
    module
        The module whose output is shifted.
    """
    module, runs = module_named(model, layer), [0]

    def add(_: Any, __: Any, output: Any) -> Any:
        runs[0] += 1
        return _shift_output(output, shift, layer)

    handle = module.register_forward_hook(add)
    try:
        yield module
    finally:
        handle.remove()
    if not runs[0]:
        warn(
            f"{layer!r} did not run while it was hooked, so the model was not steered. Check that the forward pass "
            "uses this layer",
            MeasureWarning,
        )


def _shift_output(output: Any, shift: Vector, layer: str) -> Any:
    """Return the shifted output with its type unchanged; of several outputs, only the first is shifted."""
    if isinstance(output, tuple | list) and len(output):
        first = _shift_output(output[0], shift, layer)
        # Named tuples are built from separate fields, other types from a single sequence.
        make: Callable[..., Any] = type(output)
        return make(first, *output[1:]) if hasattr(output, "_fields") else make((first, *output[1:]))
    if not (hasattr(output, "shape") and hasattr(output, "is_floating_point") and output.is_floating_point()):
        raise TypeError(
            f"the output of {layer!r} must be a tensor of real numbers, or a tuple that begins with one, got "
            f"{type(output).__name__}"
        )
    if not len(output.shape) or output.shape[-1] != len(shift):
        raise ValueError(
            f"the output of {layer!r} must have {len(shift)} features, like the vector, got shape {tuple(output.shape)}"
        )
    # Adding in place would change a tensor that other modules may still use.
    return output + output.new_tensor(np.asarray(shift))


Units = Literal["raw", "norm"]
UNITS = ("raw", "norm")
PAPER: Sequence[float] = (-2.0, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0)
"""Strengths in the published experiments, in units of the features."""
RELATIVE: Sequence[float] = (-0.5, -0.25, -0.1, 0.0, 0.1, 0.25, 0.5)
"""Strengths in units of the mean row length, which are comparable between layers."""


def strengths(alphas: ArrayLike, units: Units, norm: float) -> tuple[Vector, Vector]:
    """Return the given strengths sorted, and the same strengths in units of the features."""
    check.choice(units, UNITS, "units")
    values = to_host(alphas, "alphas")
    if values.ndim != 1 or values.dtype.kind not in "fiu" or len(values) < 2:
        raise ValueError(f"alphas must be at least two numbers, got {alphas!r}")
    values = np.sort(values.astype(np.float64))
    if not np.isfinite(values).all():
        raise ValueError(f"alphas must be finite, got {values.tolist()}")
    if len(np.unique(values)) < len(values):
        raise ValueError(f"alphas must differ, got {values.tolist()}")
    if 0.0 not in values:
        raise ValueError(f"alphas must contain 0, the reference for all effects, got {values.tolist()}")
    return values, values * (norm if units == "norm" else 1.0)


Method = Literal["logistic", "mean_difference", "svd"]
METHODS = ("logistic", "mean_difference", "svd")
ENOUGH = 1e-6
"""Gradient tolerance for fitting probes to shuffled and observed labels. Smaller tolerances do not change predictions.
"""


@dataclass(frozen=True, eq=False)
class Probe:
    """A linear classifier and its steering direction, in the coordinates of the rows."""

    weights: Matrix
    """Coefficients for each class, of shape (n_classes, k)."""
    intercepts: Vector
    direction: Vector
    """Direction of unit length, of shape (k,)."""
    source: int
    target: int

    def scores(self, rows: Matrix) -> Matrix:
        """Score of each row for each class."""
        return np.asarray(rows @ self.weights.T + self.intercepts)


def probes(
    rows: Matrix, codes: Labels, training: NDArray[np.bool_], n_classes: int, method: Method, C: float, tolerance: float
) -> list[Probe]:
    """Fit one probe per column of `codes` to the rows that `training` marks."""
    fits = fit_many(rows, codes, training.astype(np.float64), n_classes, C, tolerance)
    return [probe(rows[mask], codes[mask, j], fits, j, method) for j, mask in enumerate(training.T)]


def probe(rows: Matrix, codes: Labels, fits: Fits, j: int, method: Method) -> Probe:
    """Build a probe and its direction from fit number j."""
    slopes, shift = fits.coefficients[j], fits.intercepts[j]
    weights, intercepts = (
        (slopes, shift) if len(slopes) > 1 else (_two_class_scores(slopes), _two_class_scores(shift[:, None])[:, 0])
    )
    direction = _DIRECTIONS[method](rows, codes, weights)
    # A logistic direction is oriented by the weights of the classes; other directions are oriented by the class means.
    places = weights if method == "logistic" else class_means(rows, codes)[0]
    direction, source, target = orient(direction, places @ direction)
    return Probe(weights, intercepts, direction, source, target)


def _two_class_scores(values: Matrix) -> Matrix:
    """Convert the score of the second class against the first to one score per class."""
    return np.concatenate([-values / 2, values / 2])


def fit_probe(
    rows: Matrix, codes: Labels, n_classes: int, method: Method, C: float
) -> tuple[Probe, bool, Matrix, Vector]:
    """Fit one probe to all rows; return it, whether the fit converged, and the fit's coefficients."""
    everything = np.ones((len(rows), 1))
    fits = fit_many(rows, codes[:, None], everything, n_classes, C, EXACT)
    classifier = probe(rows, codes, fits, 0, method)
    return classifier, bool(fits.converged[0]), fits.coefficients[0], fits.intercepts[0]


def orient(direction: Vector, along: Vector) -> tuple[Vector, int, int]:
    """Orient a direction from the first to the second of the two classes farthest apart along it."""
    low, high = int(along.argmin()), int(along.argmax())
    if low > high:
        return -direction, high, low
    # If all classes coincide (the direction has length zero), any two classes will do.
    return direction, low, high if high != low else (low + 1) % len(along)


def top_right(matrix: Matrix) -> Vector:
    """First right singular vector, of unit length; zero for a zero matrix."""
    if not matrix.any():
        return np.zeros(matrix.shape[1])
    return np.asarray(np.linalg.svd(matrix, full_matrices=False)[2][0])


def _from_means(rows: Matrix, codes: Labels, weights: Matrix) -> Vector:
    means = class_means(rows, codes)[0]
    return top_right(means - means.mean(axis=0))


def _from_shifts(rows: Matrix, codes: Labels, weights: Matrix) -> Vector:
    """Direction from the shifts, where each row's shift is the row minus the mean of the other classes."""
    means, counts = class_means(rows, codes)
    share = counts[:, None] / counts.sum()
    others = (means.T @ share).T / (1 - share) - share * means / (1 - share)
    return top_right(rows - others[codes])


_DIRECTIONS = {
    "logistic": lambda rows, codes, weights: top_right(weights),
    "mean_difference": _from_means,
    "svd": _from_shifts,
}


def random_directions(axes: Matrix, count: int, rng: np.random.Generator) -> Matrix:
    """Draw random unit vectors in feature space, and express them in the coordinates of the rows."""
    drawn = rng.standard_normal((count, axes.shape[1]))
    drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
    return np.asarray(drawn @ axes.T)


_SHUFFLING, _RESAMPLING = 71, 72
_ENTRIES = 1 << 21
"""Largest number of values held in memory."""
NAMES = ("coherence", "unbiased coherence")


def agreement(X: Matrix, y: Labelled, source: int, target: int, n_draws: int, seed: Seed) -> tuple[Number, Number]:
    """Plain and unbiased coherence of the shifts from the source's mean to the rows of the target.

    Plain coherence is the mean cosine between the shifts and their mean. Unbiased coherence is the mean cosine over
    pairs of shifts.
    """
    observed = coherences(X, *_counts(y.codes[None], source, target))[:, 0]
    drawing, resampling = spawn(seed, _SHUFFLING), spawn(seed, _RESAMPLING)
    shuffled = np.array([y.shuffle(drawing) for _ in range(n_draws)], dtype=np.intp).reshape(n_draws, len(X))
    null = coherences(X, *_counts(shuffled, source, target))
    counts = np.array([y.resample_counts(resampling) for _ in range(N_BOOTSTRAP)])
    masks = _counts(y.codes[None], source, target)
    drawn = coherences(X, *(counts * mask for mask in masks))
    first, second = (
        score_against_null(name, float(value), of_null, 1.0, low=low, high=high)
        for name, value, (low, high), of_null in zip(NAMES, observed, _intervals(observed, drawn), null, strict=True)
    )
    return first, second


def _counts(codes: Labels, source: int, target: int) -> tuple[Matrix, Matrix]:
    return (codes == source).astype(np.float64), (codes == target).astype(np.float64)


def coherences(X: Matrix, source: Matrix, target: Matrix) -> Matrix:
    """Mean cosine with the mean shift, and mean cosine over pairs, for many choices of rows at once.

    Parameters
    ----------
    X : array of shape (n, d)
        All rows.
    source, target : arrays of shape (n_choices, n)
        How often each choice includes each row in the source and in the target class.

    Returns
    -------
    array of shape (2, n_choices)
        NaN if the mean shift has length zero or a class has no rows.
    """
    step = max(1, _ENTRIES // max(1, X.size // max(1, X.shape[1])))
    parts = [_coherences(X, source[i : i + step], target[i : i + step]) for i in range(0, len(source), step)]
    return np.concatenate(parts, axis=1) if parts else np.empty((2, 0))


def _coherences(X: Matrix, source: Matrix, target: Matrix) -> Matrix:
    with np.errstate(divide="ignore", invalid="ignore"):
        start, end = (counts @ X / counts.sum(axis=1, keepdims=True) for counts in (source, target))
        squared = np.einsum("ij,ij->i", X, X) - 2 * start @ X.T + np.einsum("ij,ij->i", start, start)[:, None]
        lengths = np.sqrt(np.maximum(squared, 0.0))
        # A row that coincides with the mean of the source has no direction.
        there = lengths > 1e-9 * lengths.max(axis=1, keepdims=True)
        share = np.where(there, target / np.where(there, lengths, 1.0), 0.0)
        total = share @ X - share.sum(axis=1, keepdims=True) * start
        n = (target * there).sum(axis=1)
        shift = end - start
        to_mean = np.einsum("ij,ij->i", total, shift) / (n * np.linalg.norm(shift, axis=1))
        # In a resample, pairs of copies of the same row are left out, because their cosine is 1.
        alone = (target**2 * there).sum(axis=1)
        pairs = (np.einsum("ij,ij->i", total, total) - alone) / (n**2 - alone)
    return np.array([to_mean, pairs])


def _intervals(observed: Vector, drawn: Matrix) -> list[tuple[float, float]]:
    """Quantiles of the resamples, shifted so that their mean is the observed value; duplicates bias them."""
    intervals = []
    for value, draws in zip(observed, drawn, strict=True):
        known = draws[np.isfinite(draws)]
        low, high = np.quantile(known - known.mean() + value, [0.025, 0.975]) if len(known) else (np.nan, np.nan)
        intervals.append((float(np.clip(low, -1, 1)), float(np.clip(high, -1, 1))))
    return intervals


@dataclass(frozen=True, eq=False)
class SteeringVector(NDArrayOperatorsMixin, Result):
    """A direction of unit length that works as a NumPy array: `2 * vector`, `X @ vector`."""

    direction: Vector
    """The direction from `source` to `target`, of shape (n_features,) and unit length."""
    source: str
    target: str
    norm: float
    """Mean length of the rows, which is the unit of strengths with ``units='norm'``."""
    coherence: Number
    """Mean cosine between the mean shift and the shifts of the target's rows from the source's mean."""
    unbiased: Number
    """Mean cosine over pairs of shifts; 0 on average for unrelated shifts."""
    method: str
    C: float
    n_rows: int
    exchanged: str
    weights: NDArray[np.float64] = field(repr=False)
    """Coefficients of the logistic probe fitted to the same rows: (1, n_features), or one row per class."""
    intercepts: Vector = field(repr=False)
    classes: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def interval(self) -> tuple[float, float]:
        """Confidence interval of the coherence."""
        return self.coherence.low, self.coherence.high

    @property
    def chance(self) -> float:
        """Mean coherence under shuffled labels."""
        return self.coherence.chance

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the direction."""
        return self.direction.shape

    def __len__(self) -> int:
        """Return the number of features."""
        return len(self.direction)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Return the direction as an array."""
        return np.array(self.direction, dtype=dtype, copy=copy)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """Apply a NumPy function to the direction; results are plain arrays."""
        plain = (operand.direction if isinstance(operand, SteeringVector) else operand for operand in inputs)
        return getattr(ufunc, method)(*plain, **options)

    def scale(self, alpha: float, units: Units = "norm") -> Vector:
        """Return the vector scaled to a strength, as a hook adds it.

        Parameters
        ----------
        alpha : float
            Strength; a negative strength points towards the source.
        units : {'norm', 'raw'}
            Unit of `alpha`: the mean length of the rows from which the vector was computed, or the unit of the
            features.
        """
        check.choice(units, UNITS, "units")
        length = check.finite_number(alpha, "alpha") * (self.norm if units == "norm" else 1.0)
        return np.asarray(length * self.direction)

    def hook(self, model: Any, layer: str, *, alpha: float, units: Units = "norm") -> AbstractContextManager[Any]:
        """Add the vector to the output of a module in a torch model, for the duration of a with block.

        Parameters
        ----------
        model : torch.nn.Module
            Model to steer.
        layer : str
            Name of a module, as in `model.named_modules()`. Its output must be a tensor whose last axis has as many
            features as the vector, or a tuple that begins with such a tensor. The vector is added at all positions. If
            a module runs twice in a forward pass, it is steered twice.
        alpha, units
            As for `scale`.

        Returns
        -------
        context manager
            The hook is removed when the block ends, even after an exception. Tensors are not changed in place.

        Raises
        ------
        ValueError
            If the model has no such module (the message suggests similar names), or if its output has a different
            number of features.

        Examples
        --------
        >>> import torch
        >>> X, y = np.random.default_rng(0).standard_normal((20, 3)), np.repeat([0, 1], 10)
        >>> model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())
        >>> with vector(X, y, n_draws=0).hook(model, "0", alpha=1.0):
        ...     out = model(torch.zeros(1, 2))
        """
        return add_shift(model, layer, self.scale(alpha, units))

    def to_dict(self) -> dict[str, Any]:
        """Return the vector as plain values that can be written as JSON."""
        return {
            "direction": self.direction.tolist(),
            **{name: getattr(self, name) for name in ("source", "target", "norm", "method", "C", "n_rows")},
            "coherence": self.coherence.to_dict(),
            "unbiased": self.unbiased.to_dict(),
            "notes": list(self.notes),
        }

    def _text(self) -> str:
        """Return a text with the vector's classes and the agreement of rows."""
        return "\n".join(
            [
                f"Steering vector from {self.source} to {self.target} ({self.method}), {len(self)} features, "
                f"{self.n_rows:,} rows of mean length {self.norm:.3g}",
                f"  {self.coherence}",
                f"  {self.unbiased}",
                f"  chance level from shuffled {self.exchanged}",
                *(f"  note: {note}" for note in self.notes),
            ]
        )


@keep_statements
def vector(
    X: ArrayLike,
    y: ArrayLike,
    *,
    method: Method = "logistic",
    groups: ArrayLike | None = None,
    C: float = 1.0,
    n_draws: int = 999,
    missing: MissingRows = "refuse",
    seed: Seed = None,
) -> SteeringVector:
    """Find a steering vector between classes, with the agreement of rows on it and its chance level.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Activations of one layer, finite, at least 8 rows.
    y : array of shape (n_samples,)
        Class labels, at least two classes. The vector points from the earlier to the later class in sorted order. If
        there are more than two classes, it connects the two that are farthest apart along it, measured by their weights
        if `method` is 'logistic' and otherwise by their means.
    method : {'logistic', 'mean_difference', 'svd'}
        'logistic' uses the weights of an L2-penalised logistic regression (with more than two classes, their top right
        singular vector, as in section 8.3 of the paper). 'mean_difference' uses the difference between the class means
        (with more than two classes, the top right singular vector of the centred means). 'svd' uses the top right
        singular vector of all rows, after subtracting from each row the mean of the rows of other classes.
    groups : array of shape (n_samples,), optional
        Template, speaker or document of each row. Labels are shuffled within groups that contain several classes, and
        among groups of a single class; whole groups are resampled.
    C : float
        Inverse strength of the L2 penalty. The solution equals that of scikit-learn for the same C.
    n_draws : int
        Number of shuffles of the labels for the chance level, 0 or at least 19. With 0, there is no chance level.
    missing : {'refuse', 'drop'}
        Whether rows with NaN or infinity raise an error, or are left out together with rows of zeros, and counted. Rows
        without a label are left out.
    seed : int, Generator or None
        Seed for shuffles and resamples; None draws a new one.

    Returns
    -------
    SteeringVector
        The direction, which has unit length and works as a NumPy array. `coherence` has an interval, a chance level and
        a p-value; `norm` is the mean row length; `hook` adds the vector to a layer.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat(["neg", "pos"], 30)
    >>> X = rng.standard_normal((60, 5)) + 3 * np.eye(5)[(y == "pos").astype(int)]
    >>> found = vector(X, y, method="mean_difference", n_draws=99, seed=0)
    >>> np.round(found, 1).tolist(), found.target
    ([-0.7, 0.7, -0.1, -0.0, -0.0], 'pos')
    >>> float(np.round(np.linalg.norm(2 * found), 6)), (X @ found).shape
    (2.0, (60,))
    >>> found.coherence.value > found.coherence.threshold
    True
    """
    sides, along = select_rows({"X": X}, {"y": y, "groups": groups}, missing=missing)
    X, y, groups = sides["X"], along["y"], along["groups"]
    rows = coordinates(X)
    known = check_labelled(X, y, groups, len(rows.values), halved=False)
    check.choice(method, METHODS, "method")
    strength = check.positive(C, "C", most=check.SQUARABLE[1])
    probe, converged, weights, intercepts = fit_probe(rows.values, known.codes, known.n_classes, method, strength)
    if not probe.direction.any():
        raise ValueError(f"the classes in X must have different means, got a {method} vector of length 0 between them")
    if not converged:
        warn(
            "the logistic regression did not converge, so the direction is unreliable. Scale X, or use a smaller C",
            MeasureWarning,
        )
    back = weights @ rows.axes
    agreed = agreement(rows.values, known, probe.source, probe.target, shuffle_count(n_draws), seed)
    return SteeringVector(
        direction=probe.direction @ rows.axes,
        source=known.names[probe.source],
        target=known.names[probe.target],
        norm=rows.norm,
        coherence=agreed[0],
        unbiased=agreed[1],
        method=method,
        C=strength,
        n_rows=len(rows.values),
        exchanged=known.shuffle_description,
        weights=back,
        intercepts=intercepts - back @ rows.mean,
        classes=known.names,
        notes=known.notes,
    )
