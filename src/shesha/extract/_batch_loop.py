"""Run the forward pass over all inputs in batches."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor, nn

from shesha._version import __version__
from shesha.extract._attention_sink_warning import FirstTokens
from shesha.extract._extraction_result import Activations
from shesha.extract._fingerprints import model_fingerprint
from shesha.extract._input_rows import Batch, Rows, token_counts
from shesha.extract._resumable_files import open_draft, read_finished, require_same
from shesha.extract.hooks import REPEAT, Summary, record_outputs, to_numpy_precision
from shesha.extract.input_axes import FIRST, N_FIRST, InputAxis, find_input_axis
from shesha.extract.layer_names import EMBEDDING
from shesha.extract.model_state import evaluation_mode, move_to_device
from shesha.extract.pooling import Pooled
from shesha.support.progress import track
from shesha.support.provenance import state
from shesha.support.types import Array, Index

_VERIFIED: WeakKeyDictionary[nn.Module, set[tuple[frozenset[str], int]]] = WeakKeyDictionary()
"""Sets of layers whose first axis was found to number the inputs, by model; models often run again."""


@dataclass(frozen=True)
class Work:
    """The model, inputs, layers and options of one extraction.

    Attributes
    ----------
    names : mapping of str to str
        Modules to record (``name`` or ``name:input``), each with the name of its array.
    once : frozenset of str
        Modules that are recorded only at their first call in a pass. In a network that repeats one block, for example,
        the input of each later call is just the output of the previous call.
    options : dict
        Additional arguments for the model's forward pass.
    metadata : dict
        Entries to add to the record that every extraction keeps.
    """

    model: nn.Module
    rows: Rows
    names: Mapping[str, str]
    pooled: Pooled
    batch_size: int
    device: str | torch.device | None = None
    poolings: Mapping[str, Pooled] = field(default_factory=dict)
    """Pooling of the modules for which it is not `pooled`."""
    once: frozenset[str] = frozenset()
    options: dict[str, Any] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    raw: bool = False
    """Whether the pooling is a function of the user, which receives outputs with their own axes."""


class _Sink(Protocol):
    done: int

    def write(self, chosen: Index, values: Mapping[str, Array], row_shapes: Mapping[str, tuple[int, ...]]) -> None: ...


class _Memory:
    """Arrays in memory that are filled batch by batch."""

    def __init__(self, n_rows: int) -> None:
        self.done = 0
        self.arrays: dict[str, Array] = {}
        self._n_rows = n_rows

    def write(self, chosen: Index, values: Mapping[str, Array], row_shapes: Mapping[str, tuple[int, ...]]) -> None:
        for name, rows in values.items():
            if name not in self.arrays:
                self.arrays[name] = np.empty((self._n_rows, *row_shapes[name]), rows.dtype)
            self.arrays[name][chosen] = rows
        self.done += 1


def run(work: Work, target: Path | None) -> Activations:
    """Extract into memory, or into a file that appears only once it is complete."""
    with move_to_device(work.model, work.device) as device:
        about = _about(work, device, to_file=target is not None)
        if target is None:
            memory = _Memory(len(work.rows))
            _fill(work, memory, device)
            return Activations(memory.arrays, about)
        if (contents := read_finished(target)) is not None:
            require_same(contents[0], about, target)
        else:
            with open_draft(target, about, len(work.rows)) as draft:
                _fill(work, draft, device)
                draft.finish()
            contents = read_finished(target)
        assert contents is not None
        return Activations(contents[1], contents[0])


def _fill(work: Work, sink: _Sink, device: torch.device) -> None:
    order, size = batch_order(work.rows), work.batch_size
    batches = [order[start : start + size] for start in range(0, len(order), size)]
    first: dict[str, tuple[int, ...]] = {}
    recorder = Recorder(work)
    with ExitStack() as stack:
        stack.enter_context(evaluation_mode(work.model))
        recorder.find_axes(device)
        stack.enter_context(recorder.hooks())
        todo = batches[sink.done :]
        for chosen in track(todo, len(todo), "batches"):
            values = recorder.read(chosen, device)
            shapes = {name: rows.shape[1:] for name, rows in values.items()}
            first = first or {name: recorder.longest(shape) for name, shape in shapes.items()}
            _require_same_layers(first, values)
            sink.write(chosen, {name: _pad_with_nan(rows, first[name], name) for name, rows in values.items()}, first)
    recorder.first_tokens.warn()


class Recorder:
    """Runs a model on batches and returns the outputs of its layers."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._batch = Batch()
        self._axes: dict[str, InputAxis] = {}
        self.first_tokens = FirstTokens()
        self._dtype = next((p.dtype for p in work.model.parameters() if p.is_floating_point()), torch.float32)

    def hooks(self) -> ExitStack:
        """Return a context in which hooks record the layers."""
        return self._hooks(self._pool)

    def _hooks(self, summary: Summary) -> ExitStack:
        stack = ExitStack()
        self._recording = stack.enter_context(record_outputs(self._work.model, tuple(self._work.names), summary))
        return stack

    def find_axes(self, device: torch.device) -> None:
        """Find the axis that numbers the inputs in each layer, by running three inputs, and two of them again.

        A pooling function of the user receives the output as it is, so its result is examined instead.
        """
        work, key = self._work, (frozenset(self._work.names), getattr(self._work.rows, "axis", 0))
        if not work.raw and key in _VERIFIED.get(work.model, ()):
            return
        order = batch_order(work.rows)
        # The longest input is in both batches, so that both are padded to one length.
        chosen = order[np.resize([len(order) // 2, 0, len(order) - 1], N_FIRST)]
        with self._hooks(self._pool if work.raw else lambda _, output: output):
            first, second = self._outputs(chosen, device), self._outputs(chosen[1:], device)
            _require_same_layers(first, second)
            repeated: dict[str, Tensor] | None = None
            for name, output in first.items():
                try:
                    self._axes[name] = self._axis(name, output, second[name], compared=True)
                except ValueError:
                    repeated = self._outputs(chosen, device) if repeated is None else repeated
                    if torch.equal(repeated.get(name, output), output):
                        raise
                    state(f"{self._layer_name(name)}: outputs are random, so two runs differ")
                    self._axes[name] = self._axis(name, output, second[name], compared=False)
        for name, axis in self._axes.items():
            if axis.text:
                state(f"{self._layer_name(name)}: {axis.text}")
        if not work.raw and all(axis == FIRST for axis in self._axes.values()):
            _VERIFIED.setdefault(work.model, set()).add(key)

    def _axis(self, name: str, output: Tensor, without_first: Tensor, *, compared: bool) -> InputAxis:
        layer = self._layer_name(name)
        try:
            axis = find_input_axis(output, without_first, compared=compared)
        except ValueError as error:
            raise ValueError(
                f"layers must give each input a row of its own, got {layer}, in which {error}. The model seems to "
                "take inputs along another axis, as nn.LSTM does without batch_first=True: pass them along axis 1 with "
                "batch_axis=1, or build the module with batch_first=True"
            ) from error
        if axis is None or (self._work.raw and axis != FIRST):
            raise ValueError(
                f"layers must give one row for each input, got shape {tuple(output.shape)} for {N_FIRST} inputs and "
                f"{tuple(without_first.shape)} for {N_FIRST - 1} from {layer}; choose other layers, or pass a callable "
                "as pool"
            )
        if axis.parts > 1 and output.ndim > 2 and self._work.metadata.get("pool") is not None:
            raise ValueError(
                f"pool must be None or a callable for {layer}, in which {axis.text}, got outputs of shape "
                f"{tuple(output.shape)}"
            )
        return axis

    def _outputs(self, chosen: Index, device: torch.device) -> dict[str, Tensor]:
        """Run the model on some inputs, and return the recorded outputs by module."""
        self._batch = self._work.rows.batch(chosen, device, self._dtype)
        self._n = len(chosen)
        self._recording.clear()
        self._work.model(*self._batch.args, **self._batch.named, **self._work.options)
        return {name: value for name, value in self._recording.found.items() if self._is_wanted(name)}

    def read(self, chosen: Index, device: torch.device) -> dict[str, Array]:
        """Run the model on some inputs, and return one array per layer, in the order in which the layers ran."""
        wanted = self._outputs(chosen, device)
        activations = {self._layer_name(name): value.numpy() for name, value in to_numpy_precision(wanted).items()}
        if not activations:
            raise ValueError(f"layers must run in the forward pass, got {', '.join(self._work.names)}")
        for name, rows in activations.items():
            if rows.ndim == 0 or len(rows) != len(chosen):
                raise ValueError(
                    f"layers must give one row for each of the {len(chosen)} inputs of a batch, got shape {rows.shape} "
                    f"from {name}; choose other layers, or pass a callable as pool"
                )
        ordered = sorted(activations, key=lambda name: name != EMBEDDING)
        return {name: _at_least_one_feature(activations[name]) for name in ordered}

    def longest(self, row_shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape that a row has in the batch with most tokens."""
        lengths, mask = self._work.rows.lengths(), self._batch.mask
        if lengths is None or mask is None or len(row_shape) < 2 or row_shape[0] != mask.shape[1]:
            return row_shape
        return int(lengths.max()), *row_shape[1:]

    def _pool(self, name: str, value: Tensor) -> Tensor:
        call = self._recording.call_name(name)
        mask = self._batch.mask if self._recording.mask is None else self._recording.mask
        try:
            if not self._work.raw:
                value = self._axes.get(call, FIRST).inputs_first(value, self._n)
            if self._work.metadata.get("pool") == "mean":
                self.first_tokens.see(self._layer_name(name), value, mask)
            return self._work.poolings.get(name, self._work.pooled)(value, mask)
        except (ValueError, IndexError, RuntimeError) as error:
            raise ValueError(f"layer {self._layer_name(name)}: {error}") from error

    def _is_wanted(self, name: str) -> bool:
        module, repeated, _ = name.partition(REPEAT)
        return not (repeated and module in self._work.once)

    def _layer_name(self, name: str) -> str:
        module, mark, call = name.partition(REPEAT)
        return self._work.names[module] + mark + call


def _require_same_layers(first: Mapping[str, Any], later: Mapping[str, Any]) -> None:
    if list(first) != list(later):
        raise ValueError(f"layers must be the same in every batch, got {list(later)} after {list(first)}")


def _at_least_one_feature(rows: Array) -> Array:
    return rows[:, None] if rows.ndim == 1 else rows


def batch_order(rows: Rows) -> Index:
    """Return the order in which to process the inputs: longest first, so that batches have little padding."""
    lengths = rows.lengths()
    return np.arange(len(rows)) if lengths is None else np.argsort(-lengths, kind="stable")


def _pad_with_nan(rows: Array, row_shape: tuple[int, ...], name: str) -> Array:
    """Pad shorter sequences with NaN."""
    if rows.shape[1:] == row_shape:
        return rows
    if rows.ndim != 1 + len(row_shape) or rows.shape[2:] != row_shape[1:] or rows.shape[1] > row_shape[0]:
        raise ValueError(
            f"layers must give rows of one shape, got {rows.shape[1:]} after {row_shape} from {name}; "
            "pass pool= to combine the tokens"
        )
    filled = np.full((len(rows), *row_shape), np.nan, rows.dtype)
    filled[:, : rows.shape[1]] = rows
    return filled


def _about(work: Work, device: torch.device, *, to_file: bool) -> dict[str, Any]:
    model, lengths = work.model, work.rows.lengths()
    config = getattr(model, "config", None)
    about: dict[str, Any] = {
        "model": getattr(config, "name_or_path", None) or type(model).__name__,
        "class": f"{type(model).__module__}.{type(model).__qualname__}",
        "revision": getattr(config, "_commit_hash", None),
        "inputs": {"rows": len(work.rows)},
        "layers": dict(work.names),
        "hooked": "outputs of modules, or their inputs (:input); not hidden_states",
        "batch_size": work.batch_size,
        "order": "as given" if lengths is None else "longest first",
        "dtype": _precisions(model, device),
        "device": device.type,
        "versions": {"shesha": __version__, "torch": torch.__version__},
        **work.metadata,
    }
    if (n_tokens := token_counts(work.rows)) is not None:
        about["inputs"]["n_tokens"] = n_tokens
    if to_file:
        # Only files need fingerprints, which take time to compute.
        about["weights"] = model_fingerprint(model)
        about["inputs"]["fingerprint"] = work.rows.fingerprint()
    return about


def _precisions(model: nn.Module, device: torch.device) -> str:
    kinds = dict.fromkeys(str(parameter.dtype).removeprefix("torch.") for parameter in model.parameters())
    auto = torch.is_autocast_enabled(device.type)
    kept = ", ".join(kinds) or "float32"
    return f"{kept}, autocast to {str(torch.get_autocast_dtype(device.type)).removeprefix('torch.')}" if auto else kept
