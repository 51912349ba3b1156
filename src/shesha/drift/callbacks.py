"""Check canaries during training, with `transformers.Trainer`, Lightning, or your own loop.

Canaries do not affect the training: the model's training flags and all random states are restored, and gradients do not
change.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Self

from shesha.drift.training_path import Canary, Monitor, TrainingPath, Verdict, Watch, ask_monitor, numbers
from shesha.support.optional import require
from shesha.support.types import Array

if TYPE_CHECKING:
    from torch import nn
    from transformers import Trainer, TrainerControl, TrainerState, TrainingArguments


class _Callback:
    """A canary that is checked every k steps of a trainer."""

    _watch: Watch

    @property
    def verdicts(self) -> dict[int, Verdict]:
        """Verdicts of the monitor, by step."""
        return self._watch.verdicts


class _CanaryCallback(_Callback):
    """Encodes a canary every k steps of a `transformers.Trainer` and logs its drift.

    ``CanaryCallback(monitor, canary, every=500).attach(trainer)`` logs through the trainer's own loggers. If it is only
    passed in the trainer's ``callbacks``, it writes to the log history alone, because a callback has no access to its
    trainer.

    Parameters
    ----------
    monitor
        Object whose ``check(array)`` returns a verdict with ``to_dict()``, such as `shesha.drift.DriftMonitor`, or a
        `shesha.drift.TrainingPath`, which also records the state before the first step.
    canary : callable
        Function that takes the model and returns the canary's rows as an array; see `shesha.drift.callbacks.canary`.
    every : int
        Number of optimiser steps between two checks.
    stop : bool
        Whether an alert ends the training.

    Attributes
    ----------
    verdicts : dict of int to verdict
        Verdicts of the monitor, by step.
    """

    def __init__(
        self, monitor: Monitor | TrainingPath, canary: Canary, every: int = 500, *, stop: bool = False
    ) -> None:
        self._watch, self._stop = Watch(monitor, canary, every), stop
        self._trainer: Trainer | None = None

    def attach(self, trainer: Trainer) -> Self:
        """Add this callback to a trainer, whose loggers then record the drift."""
        self._trainer = trainer
        trainer.add_callback(self)
        return self

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Record the state with which a path of the training begins."""
        if self._watch.starts():
            self._watch.look(kwargs["model"], state.global_step, ask=state.is_world_process_zero)

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> TrainerControl:
        """Check the canary if it is due; every process runs the model, but only the first calls the monitor."""
        if not self._watch.is_due(state.global_step):
            return control
        log_entry = self._watch.look(kwargs["model"], state.global_step, ask=state.is_world_process_zero)
        if log_entry and self._trainer is not None:
            # Logging resets this flag, which would suppress the trainer's own log entry for this step.
            should_log = control.should_log
            self._trainer.log(log_entry)
            control.should_log = should_log
        elif log_entry:
            state.log_history.append({**log_entry, "step": state.global_step})
        if self._stop and self._watch.has_alert():
            control.should_training_stop = True
        return control


class _LightningCanary(_Callback):
    """Encodes a canary every k steps of Lightning's Trainer and logs its drift.

    Parameters
    ----------
    monitor, canary, every, stop
        See `CanaryCallback`.
    module : str
        Name of the submodule that is the encoder. Default: the LightningModule itself.

    Attributes
    ----------
    verdicts : dict of int to verdict
        Verdicts of the monitor, by step.
    """

    def __init__(
        self, monitor: Monitor | TrainingPath, canary: Canary, every: int = 500, *, module: str = "", stop: bool = False
    ) -> None:
        self._watch, self._module, self._stop = Watch(monitor, canary, every), module, stop

    def on_train_start(self, trainer: Any, pl_module: nn.Module) -> None:
        """Record the state with which a path of the training begins."""
        if self._watch.starts():
            self._watch.look(pl_module.get_submodule(self._module), trainer.global_step, ask=trainer.is_global_zero)

    def on_train_batch_end(self, trainer: Any, pl_module: nn.Module, *_: Any, **__: Any) -> None:
        """Check the canary if it is due."""
        step = trainer.global_step
        if not self._watch.is_due(step):
            return
        model = pl_module.get_submodule(self._module)
        values = self._watch.look(model, step, ask=trainer.is_global_zero)
        for logger in trainer.loggers if values else ():
            logger.log_metrics(values, step=step)
        if self._stop and self._watch.has_alert():
            trainer.should_stop = True


if TYPE_CHECKING:
    CanaryCallback, LightningCanary = _CanaryCallback, _LightningCanary


@cache
def __getattr__(name: str) -> Any:
    """Make the classes that derive from a class of another library only when they are first used."""
    own: type[Any]
    if name == "CanaryCallback":
        library = require("transformers", "hf", "transformers is needed for CanaryCallback")
        own, parent = _CanaryCallback, library.TrainerCallback
    elif name == "LightningCanary":
        installed = "lightning.pytorch" if find_spec("lightning") is not None else "pytorch_lightning"
        need = "LightningCanary needs lightning (pip install lightning) and torch"
        own, parent = _LightningCanary, require(installed, "torch", need).Callback
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return type(name, (own, parent), {"__doc__": own.__doc__, "__module__": __name__})


def canary(data: Sequence[Any], reader: Any, layer: str | None = None, **options: Any) -> Canary:
    """Return a function that encodes the same inputs with the current state of a model.

    Parameters
    ----------
    data : sequence
        A few hundred texts or images that are typical of the model's inputs.
    reader
        The tokenizer or image processor of the model.
    layer : str, optional
        Name of the module whose output is encoded. Default: the last block.
    **options
        Other options of `shesha.extract.encode`, such as ``pool`` and ``batch_size``. Do not change the batch size
        between runs: it changes the last digits of the encodings and thus the noise floor.

    Returns
    -------
    callable
        Function that takes a model and returns an array of shape (n, d).

    Examples
    --------
    >>> watched = canary(["a text", "another"], reader=None)
    >>> callable(watched)
    True
    """
    inputs = list(data)
    if not inputs:
        raise ValueError("data must contain at least one text or image, got none")

    def encode_canary(model: nn.Module) -> Array:
        from shesha.extract import encode

        layers = encode(model, inputs, "all" if layer is None else layer, reader=reader, **options)
        return layers[list(layers)[-1]]

    return encode_canary


def check(model: nn.Module, monitor: Monitor | TrainingPath, canary: Canary, step: int = 0) -> Verdict:
    """Check a canary once, for use in your own training loop.

    Parameters
    ----------
    model : torch.nn.Module
        Model in any mode. Its training flags, gradients and all random states are restored.
    monitor
        Object whose ``check(array)`` returns a verdict with ``to_dict()``, or a `shesha.drift.TrainingPath`.
    canary : callable
        Function that takes the model and returns the canary's rows as an array; see `canary`.
    step : int
        Number of optimiser steps so far, under which a `TrainingPath` records the rows.

    Returns
    -------
    verdict
        Verdict of the monitor; `numbers` converts it for loggers.

    Examples
    --------
    >>> import torch
    >>> class Verdict:
    ...     def to_dict(self):
    ...         return {"state": "ok", "scores": {}}
    >>> class Monitor:
    ...     def check(self, current):
    ...         return Verdict()
    >>> verdict = check(torch.nn.Linear(3, 2), Monitor(), lambda model: model(torch.ones(4, 3)).numpy())
    >>> numbers(verdict)
    {'canary/level': 0.0}
    """
    from shesha.extract.torch_modules import evaluation_mode

    with evaluation_mode(model):
        return ask_monitor(monitor, canary(model), step)


__all__ = ["CanaryCallback", "LightningCanary", "canary", "check", "numbers"]
