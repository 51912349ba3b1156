"""A callback for `transformers.Trainer` that checks a canary during training."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from transformers import TrainerCallback

from shesha.drift.training_path import Canary, Monitor, TrainingPath, Verdict, Watch

if TYPE_CHECKING:
    from transformers import Trainer, TrainerControl, TrainerState, TrainingArguments


class CanaryCallback(TrainerCallback):
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

    @property
    def verdicts(self) -> dict[int, Verdict]:
        """Verdicts of the monitor, by step."""
        return self._watch.verdicts

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
