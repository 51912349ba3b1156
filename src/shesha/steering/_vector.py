"""A steering vector with its classes, the agreement of rows on it, and chance levels."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import ArrayLike, NDArray

from shesha.inputs import MissingRows
from shesha.inputs import validation as check
from shesha.results import SteeringScore
from shesha.results.base import Result
from shesha.steering._directions import METHODS, Method, fit_probe
from shesha.steering._hook import add_shift
from shesha.steering._labelled_rows import check_labelled, shuffle_count
from shesha.steering._principal_coordinates import coordinates
from shesha.steering._shift_coherence import agreement
from shesha.steering._strengths import UNITS, Units
from shesha.support.provenance import keep_statements
from shesha.support.types import Seed, Vector
from shesha.support.warnings import MeasureWarning, warn
from shesha.views import select_rows


@dataclass(frozen=True, eq=False)
class SteeringVector(NDArrayOperatorsMixin, Result):
    """A direction of unit length that works as a NumPy array: `2 * vector`, `X @ vector`."""

    direction: Vector
    """The direction from `source` to `target`, of shape (n_features,) and unit length."""
    source: str
    target: str
    norm: float
    """Mean length of the rows, which is the unit of strengths with ``units='norm'``."""
    coherence: SteeringScore
    """Mean cosine between the mean shift and the shifts of the target's rows from the source's mean."""
    unbiased: SteeringScore
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
        return self.coherence.ci_low, self.coherence.ci_high

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
        shift = self.scale(alpha, units)
        return add_shift(model, layer, shift)

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
    strength = check.positive(C, "C")
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
