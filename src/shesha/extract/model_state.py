"""Set the state of a model for an extraction, and restore it afterwards."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import nn


@contextmanager
def preserve_random_state() -> Iterator[None]:
    """Within a context, protect the random states of Python, NumPy and torch from changes."""
    python, numpy = random.getstate(), np.random.get_state()  # noqa: NPY002  # Other code may use it.
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        try:
            yield
        finally:
            random.setstate(python)
            np.random.set_state(numpy)  # noqa: NPY002


@contextmanager
def evaluation_mode(model: nn.Module) -> Iterator[None]:
    """Within a context, run a model in evaluation mode without gradients; restore all training flags.

    This uses `no_grad`, not inference mode: tensors that a model caches in inference mode, such as a table of
    positions, could not be used in later training.
    """
    flags = [(module, module.training) for module in model.modules()]
    with preserve_random_state(), torch.no_grad():
        try:
            model.eval()
            yield
        finally:
            for module, flag in flags:
                module.training = flag


def model_device(model: nn.Module) -> torch.device:
    """Return the device of a model; refuse a model whose weights are not loaded."""
    first: torch.device | None = None
    for name, tensor in (*model.named_parameters(), *model.named_buffers()):
        if tensor.device.type == "meta":
            raise ValueError(
                f"model must have its weights loaded, got {name} on the meta device, which stores no values"
            )
        first = first or tensor.device
    return first or torch.device("cpu")


@contextmanager
def move_to_device(model: nn.Module, device: str | torch.device | None) -> Iterator[torch.device]:
    """Within a context, move a model to a device; None leaves it where it is."""
    current = model_device(model)
    target = current if device is None else torch.device(device)
    if target == current:
        yield current
        return
    if len({tensor.device for tensor in (*model.parameters(), *model.buffers())}) > 1:
        raise ValueError(f"device must be None for a model that is spread over several devices, got {str(device)!r}")
    try:
        model.to(target)
        yield target
    finally:
        model.to(current)
