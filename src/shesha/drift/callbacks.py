"""Check canaries during training, with `transformers.Trainer`, Lightning, or your own loop.

Canaries do not affect the training: the model's training flags and all random states are restored, and gradients do not
change.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from shesha.drift.training_path import Canary, Monitor, TrainingPath, Verdict, ask_monitor, numbers
from shesha.support.optional import require
from shesha.support.types import Array

if TYPE_CHECKING:
    from torch import nn

    from shesha.drift._lightning import LightningCanary as LightningCanary
    from shesha.drift._trainer import CanaryCallback as CanaryCallback


def __getattr__(name: str) -> Any:
    """Import the classes that derive from another library only when they are first used."""
    if name == "CanaryCallback":
        require("transformers", "hf", "transformers is needed for CanaryCallback")
        return import_module("shesha.drift._trainer").CanaryCallback
    if name == "LightningCanary":
        return import_module("shesha.drift._lightning").lightning_canary()
    raise AttributeError(f"module 'shesha.drift.callbacks' has no attribute {name!r}")


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
