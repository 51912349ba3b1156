"""The layers of a model by name, pattern or depth, the model inside wrappers, and its state, which is restored."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from shesha.inputs import validation as validate
from shesha.support import wording
from shesha.support.optional import require
from shesha.support.provenance import state

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn


EMBEDDING = "embedding"
"""Name of the layer with the output of a sentence encoder, which comes first."""
INPUT = ":input"
"""Suffix of a module's name that selects the module's input instead of its output."""
_MOST_CLOSE = 5
_WILD = frozenset("*?[")


def choose_layers(model: nn.Module, layers: str | Sequence[str], wrapper_prefix: str = "") -> dict[str, str]:
    """Return the modules that match the names and patterns, in the model's own order, each with its layer's name.

    The names of layers lack the parts that compilation, checkpointing and sharding insert (`name_without_wrappers`).

    Parameters
    ----------
    model : torch.nn.Module
        The model.
    layers : str or sequence of str
        Names such as ``encoder.layer.3``, or patterns in which ``*`` matches one part between dots (or a piece of a
        part) and ``**`` matches any number of parts. For example, ``encoder.layer.*`` matches the blocks but not their
        submodules. A name that ends in ``:input`` selects the module's input instead of its output.
    wrapper_prefix : str
        Beginning that names may have, because they are those of a wrapper of the model.

    Raises
    ------
    ValueError
        If a name or pattern matches nothing; the message suggests similar names.
    """
    modules = {name_without_wrappers(name): name for name, _ in model.named_modules() if name}
    known = [name for name in modules if name]
    selection: dict[tuple[str, str], None] = {}
    for pattern in _as_list(layers):
        side = INPUT if pattern.endswith(INPUT) else ""
        plain = name_without_wrappers(pattern.removesuffix(INPUT).removeprefix(wrapper_prefix))
        selection |= dict.fromkeys((name, side) for name in match_names(plain, known, "layers", "modules"))
    place = {name: number for number, name in enumerate(known)}
    chosen = sorted(selection, key=lambda key: place[key[0]])
    return {modules[name] + side: name + side for name, side in chosen}


_INSIDE = frozenset({"_orig_mod", "_checkpoint_wrapped_module", "_fsdp_wrapped_module"})
"""Parts of names that compilation, checkpointing and sharding insert before the wrapped module."""


def name_without_wrappers(name: str) -> str:
    """Return a module's name without the parts that compilation, checkpointing and sharding insert.

    Examples
    --------
    >>> name_without_wrappers("layer1._orig_mod.0")
    'layer1.0'
    """
    return ".".join(part for part in name.split(".") if part not in _INSIDE)


def output_layer(names: Sequence[str]) -> str:
    """Return the layer that stands for a whole model: the output of a sentence encoder, or else the last layer.

    Examples
    --------
    >>> output_layer(["embedding", "layer.0", "layer.1"]), output_layer(["layer.0", "layer.1"])
    ('embedding', 'layer.1')
    """
    return EMBEDDING if EMBEDDING in names else names[-1]


def _as_list(layers: str | Sequence[str]) -> list[str]:
    names = [layers] if isinstance(layers, str) else list(layers)
    if not names or not all(isinstance(name, str) and name for name in names):
        raise ValueError(f"layers must be names of modules or patterns, got {layers!r}")
    return names


def match_names(pattern: str, known: Sequence[str], argument: str, what: str) -> list[str]:
    """Return the names that match a pattern; if none does, raise an error that suggests similar names."""
    matches = [name for name in known if _matches(name.split("."), pattern.split("."))]
    if matches:
        return matches
    close = _close(pattern, known)
    if not known:
        raise ValueError(
            f"{argument} must match {what} of the model, got {pattern!r} and a single module; put it into nn.Sequential"
        )
    offer = wording.did_you_mean(close) or f"; known names include {', '.join(_families(known)[:_MOST_CLOSE])}"
    raise ValueError(f"{argument} must match {what} of the model, got {pattern!r}, which matches none{offer}")


def _matches(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    if not pattern:
        return not parts
    if pattern[0] == "**":
        return any(_matches(parts[skipped:], pattern[1:]) for skipped in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], pattern[0]) and _matches(parts[1:], pattern[1:])


def _close(pattern: str, known: Sequence[str]) -> list[str]:
    """Return names similar to a pattern; numbered modules are merged to families such as `layer.*`."""
    offered = _families(known) if _WILD & set(pattern) else [*known, *_families(known)]
    # A module inside a wrapper has the given name preceded by a prefix.
    inside = [name for name in offered if name.endswith(f".{pattern}")]
    lookalikes = wording.close_names(pattern, offered, n=_MOST_CLOSE, cutoff=0.5)
    return list(dict.fromkeys([*inside, *lookalikes]))[:_MOST_CLOSE]


def _families(names: Iterable[str]) -> list[str]:
    """Replace numbers in similar names with a star and list each family once; other names do not change."""
    members: dict[str, list[str]] = {}
    for name in names:
        members.setdefault(re.sub(r"(?<![^.])\d+(?![^.])", "*", name), []).append(name)
    return [family if len(group) > 1 else group[0] for family, group in members.items()]


def layers(model: nn.Module, example: Any, *, batch_axis: int = 0) -> dict[str, tuple[int, ...]]:
    """List the layers of a model that can be extracted, with the shape of each output for one input.

    Parameters
    ----------
    model : torch.nn.Module
        Any module, with its weights.
    example : array, mapping or data set
        Inputs as for `activations`, of which only the first two are run.
    batch_axis : int
        Axis of `example` that numbers the inputs, as in `activations`.

    Returns
    -------
    dict of str to tuple of int
        Shape of each layer's output without the axis that numbers the inputs, in the order in which the modules finish.
        If a module runs twice, its second output has the suffix ``#2``. Layers whose output has no axis for the inputs
        are left out.

    Examples
    --------
    >>> import torch
    >>> layers(torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU()), torch.zeros(5, 4))
    {'0': (3,), '1': (3,)}
    """
    require("torch", "torch")
    import torch

    from shesha.extract._input_rows import make_rows
    from shesha.extract.batch_loop import N_FIRST, REPEAT, find_input_axis, record_outputs

    network, _ = unwrap_model(model)
    rows, place = make_rows(example, axis=validate.count(batch_axis, "batch_axis", minimum=0)), model_device(network)
    dtype = next((p.dtype for p in network.parameters() if p.is_floating_point()), torch.float32)
    plain = {name: name_without_wrappers(name) for name, _ in network.named_modules() if name}
    chosen = np.resize(np.arange(min(2, len(rows))), N_FIRST)
    outputs: list[dict[str, Tensor]] = []
    # Only the shapes are needed, so no values are kept; modules without a tensor are left out.
    shape_only = partial(record_outputs, summary=lambda _, output: output.to("meta"), optional=True)
    with evaluation_mode(network), shape_only(network, tuple(plain)) as recording:
        for part in (chosen, chosen[1:]):
            recording.clear()
            batch = rows.batch(part, place, dtype)
            network(*batch.args, **batch.named)
            outputs.append(recording.found)
    shapes = {}
    for name, output in outputs[0].items():
        axis = find_input_axis(output, outputs[1][name], compared=False) if name in outputs[1] else None
        if axis is not None:
            module, mark, call = name.partition(REPEAT)
            shapes[plain[module] + mark + call] = tuple(axis.inputs_first(output, N_FIRST).shape[1:])
    return shapes


def blocks(model: nn.Module) -> tuple[str, ...]:
    """Return the names of a model's blocks in order; empty if the model is not a stack of blocks.

    Blocks are the elements of an outermost list whose elements all have the same class, such as ``encoder.layer.3``,
    ``h.3`` or ``layer2.1``. If such lists contain different classes, the class with the most parameters is chosen.
    """

    kinds: dict[type[nn.Module], list[str]] = {}
    sizes: dict[type[nn.Module], int] = {}
    for name, block in _candidates(model, ""):
        kind = type(block)
        kinds.setdefault(kind, []).append(name)
        sizes[kind] = sizes.get(kind, 0) + sum(parameter.numel() for parameter in block.parameters())
    return tuple(kinds[max(kinds, key=lambda kind: sizes[kind])]) if kinds else ()


def _candidates(module: nn.Module, prefix: str) -> Iterator[tuple[str, nn.Module]]:
    """Yield the blocks in the outermost lists whose modules have one class and contain submodules."""
    from torch import nn

    if isinstance(module, (nn.ModuleList, nn.Sequential)) and _has_equal_blocks(module):
        yield from ((f"{prefix}{name}", child) for name, child in module.named_children())
        return
    for name, child in module.named_children():
        yield from _candidates(child, f"{prefix}{name}.")


def _has_equal_blocks(stack: nn.Module) -> bool:
    children = list(stack.children())
    return len({type(child) for child in children}) == 1 and any(True for _ in children[0].children())


@contextmanager
def preserve_random_state() -> Iterator[None]:
    """Within a context, protect the random states of Python, NumPy and torch from changes."""
    import torch

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
    import torch

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
    import torch

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
    import torch

    current = model_device(model)
    try:
        target = current if device is None else torch.empty(0, device=device).device
    except (RuntimeError, AssertionError, TypeError) as error:
        known = "device must be a device that PyTorch can use here, such as 'cpu' or 'cuda:0'"
        raise ValueError(f"{known}, got {str(device)!r} ({str(error).partition('. ')[0]})") from error
    if target.type == "meta":
        raise ValueError("device must be a device with values, got 'meta'")
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
    >>> from torch import nn
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
    from torch import nn

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
