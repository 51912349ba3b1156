"""How stable the output of an encoder is when its input is perturbed."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shesha.inputs import validation as check
from shesha.support.device_arrays import namespace
from shesha.support.seeds import generator
from shesha.support.types import Seed

Perturbation = Callable[..., Any]


def encoder_stability(
    f: Callable[[Any], ArrayLike], X: Any, perturb: Perturbation | float, n: int = 30, *, seed: Seed = None
) -> float:
    """Stability of the direction of an encoder's output when its input is perturbed.

    Each output row is scaled to unit length, and its displacement is the Euclidean distance between the perturbed and
    the unperturbed output. The score is 1 / (1 + mean displacement), with the mean over all rows and perturbations
    (long version, 6.1.1, "latent space").

    Parameters
    ----------
    f : callable
        Encoder: a function from inputs to a matrix with one row per input.
    X : array
        Inputs, in any form that `f` and `perturb` accept.
    perturb : callable or float
        Function `perturb(X, rng)` or `perturb(X)` that returns perturbed inputs. It receives a random generator if it
        requires two arguments or has one named `rng`. A number instead of a function is the standard deviation of
        Gaussian noise to add.
    n : int
        Number of perturbations.
    seed : int, Generator or None
        Seed for the random generator that `perturb` receives.

    Returns
    -------
    float
        Stability, in [1/3, 1]: 1 if the outputs do not change direction, and 0.41 if they rotate by a right angle.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((50, 8))
    >>> encoder_stability(lambda X: X, X, lambda X, rng: 2 * X)
    1.0
    >>> round(encoder_stability(lambda X: X, X, 0.1, seed=0), 2)
    0.91
    """
    n = check.count(n, "n")
    if not callable(f):
        raise TypeError(f"f must be callable, got {type(f).__name__}")
    disturb = _as_callable(perturb)
    rng = generator(seed)
    clean = _unit_output(f(X), "f(X)")
    total = 0.0
    for _ in range(n):
        moved = _unit_output(f(disturb(X, rng)), "f(perturbed X)")
        if moved.shape != clean.shape:
            raise ValueError(f"f(perturbed X) must have the shape of f(X) {clean.shape}, got {moved.shape}")
        total += float(np.linalg.norm(moved - clean, axis=1).mean())
    return 1.0 / (1.0 + total / n)


def _as_callable(perturb: Perturbation | float) -> Perturbation:
    if not callable(perturb):
        sd = check.positive(perturb, "perturb")
        return lambda X, rng: _add_noise(X, sd, rng)
    return perturb if _wants_generator(perturb) else lambda X, rng: perturb(X)


def _add_noise(X: Any, sd: float, rng: np.random.Generator) -> Any:
    values = check.dense(X)
    moved = np.asarray(values, dtype=np.float64) + sd * rng.standard_normal(values.shape)
    # A torch module takes tensors of its own precision only.
    return namespace(X).asarray(moved, dtype=X.dtype, device=X.device) if hasattr(X, "detach") else moved


def _wants_generator(perturb: Perturbation) -> bool:
    """Return whether a function takes a random generator in addition to its input."""
    if isinstance(perturb, np.ufunc):  # In older NumPy, ufuncs have no readable signature.
        return perturb.nin > 1
    try:
        parameters = inspect.signature(perturb).parameters.values()
    except ValueError:  # If the signature cannot be read, assume the documented one.
        return True
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    required = [p for p in parameters if p.kind in positional and p.default is inspect.Parameter.empty]
    return len(required) > 1 or "rng" in {p.name for p in parameters}


def _unit_output(output: ArrayLike, name: str) -> NDArray[np.float64]:
    rows = check.matrix(output, name, min_rows=1)
    largest = np.abs(rows).max(axis=1, keepdims=True)
    if not largest.all():
        raise ValueError(
            f"{name} must have no zero row, got zero rows {check.join_items(np.flatnonzero(largest == 0))}"
        )
    # Scaling by a power of two keeps the squares in range and causes no rounding error.
    exponents = np.frexp(largest)[1]
    rows = np.ldexp(rows, -exponents)
    return np.asarray(rows / np.linalg.norm(rows, axis=1)[:, None])
