"""Check a canary during training: encode it, compare it and log the result, without side effects."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from shesha.drift.training_path import Checkpoint, TrainingPath
from shesha.inputs import validation as validate
from shesha.support.types import Array

if TYPE_CHECKING:
    from torch import nn

PREFIX = "canary"
LEVELS = {"ok": 0, "watch": 1, "alert": 2}
"""States as numbers for loggers; 'not estimable' is `_UNKNOWN`, the highest."""
_UNKNOWN = 3


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
        from shesha.extract.model_state import evaluation_mode

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
    return LEVELS.get(str(getattr(state, "value", state)).lower(), _UNKNOWN)


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
