"""The state of a model during extraction, and its restoration."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import nn


@contextmanager
def preserve_random_state() -> Iterator[None]:
    """Restore the random states of Python, NumPy and torch."""
    python, numpy = random.getstate(), np.random.get_state()  # noqa: NPY002  # Other code may use it.
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        try:
            yield
        finally:
            random.setstate(python)
            np.random.set_state(numpy)  # noqa: NPY002


@contextmanager
def evaluation_mode(model: nn.Module) -> Iterator[None]:
    """Put a model into evaluation mode without gradients, and restore the flags of all modules.

    This uses `no_grad` instead of inference mode. Tensors that a model caches in inference mode, such as a table of
    positions, cannot be used in later training.
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
    """Return the device of a model; refuse one without loaded weights."""
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
    """Move a model to a device within a context; None does not move it."""
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
