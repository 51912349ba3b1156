"""Follow a model during training: distances from the start and between checkpoints, and checks of a canary."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any, Protocol, get_args

from shesha.inputs import validation as validate
from shesha.kernels.distances import Metric
from shesha.results import DriftPath
from shesha.results.drift import State
from shesha.stability import drift_path
from shesha.support.thread_locks import Locked
from shesha.support.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike
    from torch import nn


@dataclass(frozen=True)
class Checkpoint:
    """How far the representation has moved at one step of a training."""

    step: int
    from_first: float
    from_previous: float

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as plain values; loggers receive the entries of `scores`."""
        drifts = {"drift_from_first": self.from_first, "drift_from_previous": self.from_previous}
        return {"step": self.step, "scores": drifts}


class TrainingPath(Locked):
    """Records the drift of a representation during training, from the first record and from the previous one.

    Pass it to `shesha.drift.callbacks.check` in your own loop, or to `CanaryCallback` or `LightningCanary`. Only the
    first and the last array are kept. Several threads may use one path, each with a higher step than the last; other
    steps raise ValueError. To test whether a *finished* model changed beyond noise, use `shesha.diff`.

    Parameters
    ----------
    metric : {'cosine', 'correlation', 'euclidean'}
        Distance between rows.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((50, 8))
    >>> path = TrainingPath()
    >>> for step in (0, 100, 200):
    ...     drift = path.record(step, X)
    ...     X = X + 0.3 * rng.standard_normal(X.shape)
    >>> drift.step, drift.from_first > drift.from_previous > 0
    (200, True)
    >>> path.result().names
    ('0', '100', '200')
    """

    def __init__(self, metric: Metric = "cosine") -> None:
        super().__init__()
        self._metric: Metric = metric
        self._ends: list[Any] = []
        self.checkpoints: list[Checkpoint] = []

    def record(self, step: int, rows: ArrayLike) -> Checkpoint:
        """Add the representation of the same inputs at a later step, and return how far it has moved.

        Parameters
        ----------
        step : int
            Number of optimiser steps so far.
        rows : array of shape (n_rows, n_features)
            At least four rows, of the same inputs in the same order each time.
        """
        with self._lock:
            if self.checkpoints and step <= self.checkpoints[-1].step:
                raise ValueError(f"step must be above {self.checkpoints[-1].step}, the last one, got {step}")
            first, last = (self._ends[0], self._ends[-1]) if self._ends else (rows, rows)
            path = drift_path({"first": first, "previous": last, f"step {step}": rows}, metric=self._metric)
            found = Checkpoint(int(step), path.from_first[-1], path.from_previous[-1])
            self._ends = [*self._ends[:1], _copy(rows)]
            self.checkpoints.append(found)
        return found

    def result(self) -> DriftPath:
        """Return the drifts so far, which can be printed, plotted, saved and converted to a table."""
        if not self.checkpoints:
            raise ValueError("path must have at least one record, got none; call record() or a callback first")
        first, previous = ([getattr(one, name) for one in self.checkpoints] for name in ("from_first", "from_previous"))
        names = tuple(str(one.step) for one in self.checkpoints)
        known = [isfinite(a) and isfinite(b) for a, b in zip(first, previous, strict=True)]
        reasons = tuple("" if there else "all distances are equal" for there in known)
        return DriftPath(names, tuple(first), tuple(previous), "spearman", metric=self._metric, reasons=reasons)

    def plot(self, ax: Axes | None = None, *, title: str | None = None) -> Axes:
        """Draw the drift from the first and from the previous record over the steps."""
        return self.result().plot(ax, title=title)


def _copy(rows: Any) -> Any:
    """Return a copy, because the training may overwrite the array that the model returned."""
    return rows.clone() if hasattr(rows, "clone") else rows.copy() if hasattr(rows, "copy") else rows


PREFIX = "canary"
LEVELS = {state: number for number, state in enumerate(get_args(State))}
"""States as numbers for loggers; 'not estimable' is the highest, and stands for unknown states."""


class Verdict(Protocol):
    """The verdict of a monitor on one encoding."""

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as plain values."""
        ...


class Monitor(Protocol):
    """Any object that compares the canary with its reference."""

    def check(self, current: Any, /) -> Verdict:
        """Compare the rows of the canary with the reference."""
        ...


Canary = Callable[["nn.Module"], Array]
"""Function that takes a model and returns the canary's rows as an array."""


class Watch:
    """Checks a canary every k steps and keeps the verdict of each step."""

    def __init__(self, monitor: Monitor | TrainingPath, canary: Canary, every: int) -> None:
        if not callable(canary):
            raise TypeError(f"canary must be a function of the model, got {type(canary).__name__}")
        if not isinstance(monitor, TrainingPath) and not callable(getattr(monitor, "check", None)):
            raise TypeError(f"monitor must be a TrainingPath or have a method `check`, got {type(monitor).__name__}")
        self.every = validate.count(every, "every")
        self.verdicts: dict[int, Verdict] = {}
        self._monitor, self._canary = monitor, canary

    def is_due(self, step: int) -> bool:
        """Return whether the canary should be checked at this step and has not been checked yet."""
        return step > 0 and step % self.every == 0 and step not in self.verdicts

    def starts(self) -> bool:
        """Return whether the state before the first step should be recorded, with which later ones are compared."""
        return isinstance(self._monitor, TrainingPath) and not self._monitor.checkpoints

    def look(self, model: nn.Module, step: int, *, ask: bool = True) -> dict[str, float]:
        """Encode the canary and return the numbers to log; if not `ask`, only encode it."""
        from shesha.extract.torch_modules import evaluation_mode

        with evaluation_mode(model):
            current = self._canary(model)
            if not ask:
                return {}
            verdict = self.verdicts[step] = ask_monitor(self._monitor, current, step)
        return numbers(verdict)

    def has_alert(self) -> bool:
        """Return whether the last verdict was an alert or not estimable."""
        return bool(self.verdicts) and level(list(self.verdicts.values())[-1]) >= LEVELS["alert"]


def ask_monitor(monitor: Monitor | TrainingPath, current: Array, step: int) -> Verdict:
    """Check the rows of one step with a monitor, or record them."""
    return monitor.record(step, current) if isinstance(monitor, TrainingPath) else monitor.check(current)


def level(verdict: Verdict) -> int:
    """Return the state of a verdict as a number: 0 ok, 1 watch, 2 alert, 3 not estimable."""
    if isinstance(verdict, Checkpoint):
        return LEVELS["ok"]
    state = verdict.to_dict().get("state")
    return LEVELS.get(str(getattr(state, "value", state)).lower(), LEVELS["not estimable"])


def numbers(verdict: Verdict, prefix: str = PREFIX) -> dict[str, float]:
    """Return the finite numbers of a verdict by name, for loggers.

    Parameters
    ----------
    verdict
        Object with ``to_dict()``. Its ``state`` becomes ``canary/level`` (0 ok, 1 watch, 2 alert, 3 not estimable), and
        each finite number in its ``scores`` becomes one entry. A checkpoint of a `TrainingPath` has no state.
    prefix : str
        First part of each name.

    Examples
    --------
    >>> class Verdict:
    ...     def to_dict(self):
    ...         return {"state": "watch", "scores": {"rdm": {"value": 0.2, "p_value": 0.03}}}
    >>> numbers(Verdict())
    {'canary/level': 1.0, 'canary/rdm/value': 0.2, 'canary/rdm/p_value': 0.03}
    """
    values = {} if isinstance(verdict, Checkpoint) else {f"{prefix}/level": float(level(verdict))}
    return values | dict(_flat(prefix, verdict.to_dict().get("scores", {})))


def _flat(name: str, value: Any) -> list[tuple[str, float]]:
    if isinstance(value, Mapping):
        return [pair for key, inner in value.items() for pair in _flat(f"{name}/{key}", inner)]
    if isinstance(value, Sequence) and not isinstance(value, str):
        named = [(_entry_name(inner, number), inner) for number, inner in enumerate(value)]
        return [pair for key, inner in named for pair in _flat(f"{name}/{key}", inner)]
    if isinstance(value, bool) or not isinstance(value, int | float):
        return []
    return [(name, float(value))] if math.isfinite(value) else []


def _entry_name(value: Any, number: int) -> Any:
    """Return the name of a list entry, or its position if it has none."""
    called = [value[key] for key in ("name", "measure", "score") if key in value] if isinstance(value, Mapping) else []
    return next((name for name in called if isinstance(name, str)), number)
