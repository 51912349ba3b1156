"""The state of a model for an extraction, restored afterwards, and the model inside wrappers."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import nn

from shesha.support.provenance import state


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


def unwrap_model(model: nn.Module) -> tuple[nn.Module, str]:
    """Return the model inside its wrappers, and the prefix of its names in the outermost wrapper.

    The wrappers are those of `torch.compile` (``_orig_mod``), of data-parallel training (``module``) and of PEFT
    (``base_model.model``). The layers of the model inside compute the same, with the adapter.

    Examples
    --------
    >>> unwrap_model(nn.DataParallel(nn.Linear(2, 2)))
    (Linear(in_features=2, out_features=2, bias=True), 'module.')
    """
    prefix = ""
    while (inside := _inside(model)) is not None:
        model, prefix = inside[0], f"{prefix}{inside[1]}."
    if prefix:
        state(f"names of layers without {prefix.rstrip('.')}")
    return model, prefix


def _inside(model: Any) -> tuple[nn.Module, str] | None:
    if hasattr(model, "_orig_mod"):
        return model._orig_mod, "_orig_mod"
    if isinstance(model, nn.DataParallel | nn.parallel.DistributedDataParallel):
        return model.module, "module"
    configs = getattr(model, "peft_config", None)
    if isinstance(configs, dict) and hasattr(model, "get_base_model"):
        if any(getattr(config, "is_prompt_learning", False) for config in configs.values()):
            raise ValueError(
                "model must be a model whose adapter changes its layers, got one that learns prompts, which are lost "
                "without its wrapper; pass activations that the wrapped model computes"
            )
        return model.get_base_model(), "base_model.model"
    return None
