"""A callback for Lightning's Trainer that checks a canary during training."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from shesha.drift.training_path import Canary, Monitor, TrainingPath, Verdict, Watch
from shesha.support.optional import require

if TYPE_CHECKING:
    from torch import nn


@cache
def lightning_canary() -> type[LightningCanary]:
    """Return the callback class, based on the installed library (`lightning` or `pytorch_lightning`)."""
    library = "lightning.pytorch" if find_spec("lightning") is not None else "pytorch_lightning"
    need = "LightningCanary needs lightning (pip install lightning) and torch"
    parts = (LightningCanary, require(library, "torch", need).Callback)
    return type("LightningCanary", parts, {"__doc__": LightningCanary.__doc__, "__module__": "shesha.drift.callbacks"})


class LightningCanary:
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

    @property
    def verdicts(self) -> dict[int, Verdict]:
        """Verdicts of the monitor, by step."""
        return self._watch.verdicts

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
