"""Hooks that record the outputs of modules, protected from later in-place changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pad_packed_sequence

from shesha.extract.layer_names import INPUT

Summary = Callable[[str, Tensor], Tensor]
"""Function that takes a module's name and its first output tensor, and returns the value to store."""
REPEAT = "#"
"""Separator between a module's name and the number of the call, used from the second call on."""


class Recording:
    """Values recorded in one forward pass, by name, in the order of execution."""

    def __init__(self, summary: Summary) -> None:
        self.found: dict[str, Tensor] = {}
        self.mask: Tensor | None = None
        """Mask (n, n_steps) of the valid steps of the value being recorded, if it is a packed sequence."""
        self._summary = summary
        self._calls: dict[str, int] = {}

    def clear(self) -> None:
        """Discard the recorded values before another pass."""
        self.found, self._calls = {}, {}

    def take(self, name: str, value: Any) -> None:
        """Record one value; if a module runs again in the same pass, the value gets a new name."""
        tensor, self.mask = first_output(value)
        if tensor is None:
            raise ValueError(f"layers must return tensors, got {type(value).__name__} from {name}")
        self._calls[name] = self._calls.get(name, 0) + 1
        self.found[self.call_name(name)] = _detach_copy(self._summary(name, tensor.detach()), tensor)

    def call_name(self, name: str) -> str:
        """Return the name of the value being recorded, which contains the number of the call from the second on."""
        call = self._calls[name]
        return name if call == 1 else f"{name}{REPEAT}{call}"


def first_output(value: Any) -> tuple[Tensor | None, Tensor | None]:
    """Return the first tensor in nested tuples, lists and mappings, and the mask of a packed sequence.

    A packed sequence is padded to (n, n_steps, ...), in the order of the inputs. Without a tensor, both are None.
    """
    if isinstance(value, Tensor):
        return value, None
    if isinstance(value, PackedSequence):
        padded, lengths = pad_packed_sequence(value, batch_first=True)
        return padded, (torch.arange(padded.shape[1]) < lengths[:, None]).to(padded.device)
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, tuple | list) else ()
    return next((found for item in inner if (found := first_output(item))[0] is not None), (None, None))


def _detach_copy(kept: Tensor, source: Tensor) -> Tensor:
    """Copy a value that shares memory with the model, because later in-place operations would change it."""
    return kept.clone() if kept.untyped_storage().data_ptr() == source.untyped_storage().data_ptr() else kept


@contextmanager
def record_outputs(model: nn.Module, names: Sequence[str], summary: Summary) -> Iterator[Recording]:
    """Within a context, record the outputs of the named modules, or their inputs (``name:input``)."""
    recording = Recording(summary)
    hooks = []
    try:
        for name in names:
            module = model.get_submodule(name.removesuffix(INPUT))
            if name.endswith(INPUT):
                hooks.append(module.register_forward_pre_hook(_input_hook(recording, name), with_kwargs=True))
            else:
                hooks.append(module.register_forward_hook(_output_hook(recording, name)))
        yield recording
    finally:
        for hook in hooks:
            hook.remove()


def _output_hook(recording: Recording, name: str) -> Callable[[nn.Module, Any, Any], None]:
    return lambda _, __, output: recording.take(name, output)


def _input_hook(recording: Recording, name: str) -> Callable[[nn.Module, Any, dict[str, Any]], None]:
    return lambda _, args, named: recording.take(name, (*args, *named.values()))


def to_numpy_precision(values: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Move values to the CPU; half precision and integers are converted to single precision."""
    return {name: value.to("cpu", _precision(value)) for name, value in values.items()}


def _precision(value: Tensor) -> torch.dtype:
    if value.is_complex():
        raise TypeError(f"layers must return real numbers, got {value.dtype}")
    return torch.float64 if value.dtype == torch.float64 else torch.float32
