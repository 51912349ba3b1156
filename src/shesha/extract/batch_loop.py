"""Run the forward pass over all inputs in batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pad_packed_sequence

from shesha._version import __version__
from shesha.extract._input_rows import Batch, InputRows, model_fingerprint, token_counts
from shesha.extract._resumable_files import Activations, Draft, open_draft, read_finished, require_same
from shesha.extract.pooling import Pooled
from shesha.extract.torch_modules import EMBEDDING, INPUT, evaluation_mode, move_to_device
from shesha.support.progress import track
from shesha.support.provenance import collect_statements, state
from shesha.support.types import Array, Index
from shesha.support.warnings import CalibrationWarning, PoolingWarning, warn
from shesha.support.wording import join_items

_LONG = 10.0
"""Norm relative to the other tokens above which the first token dominates the mean of all tokens."""


class FirstTokens:
    """For each layer, the norm of each input's first token relative to the other tokens."""

    def __init__(self) -> None:
        self._ratios: dict[str, list[Tensor]] = {}

    def see(self, layer: str, states: Tensor, mask: Tensor | None) -> None:
        """Record the output of a layer if its shape is (n, n_tokens, d)."""
        if states.ndim != 3 or states.shape[1] < 2 or not states.is_floating_point():
            return
        lengths = torch.linalg.vector_norm(states.detach().float(), dim=-1)
        real = torch.ones_like(lengths, dtype=torch.bool) if mask is None else mask
        if real.shape != lengths.shape:
            return
        place = real.int().argmax(dim=1, keepdim=True)
        others = real.scatter(1, place, False)
        mean = lengths.masked_fill(~others, 0).sum(dim=1) / others.sum(dim=1)
        # For inputs of a single token, the ratio is NaN, because the mean of the others is 0 / 0.
        self._ratios.setdefault(layer, []).append(lengths.gather(1, place).squeeze(1) / mean)

    def warn(self) -> None:
        """Warn of layers in which, for most inputs, the first token has a much larger norm than the others."""
        medians = {layer: float(torch.cat(ratios).nanmedian()) for layer, ratios in self._ratios.items()}
        ruled = {layer: ratio for layer, ratio in medians.items() if ratio > _LONG}
        if not ruled:
            return
        longest = max(ruled, key=lambda layer: ruled[layer])
        layers = list(ruled)
        named = (
            layers[0] if len(layers) == 1 else f"{len(layers)} of {len(medians)} layers ({layers[0]} to {layers[-1]})"
        )
        warn(
            f"the first token dominates the mean in {named}. In {longest}, its norm is {ruled[longest]:.0f} times that "
            "of other tokens. Such an attention sink hardly depends on the input, so mean-pooled rows mainly reflect "
            "the number of tokens. Use pool='later' to leave out the first token, or pool='last' to take the last one",
            PoolingWarning,
        )


Summary = Callable[[str, Tensor], Tensor]
"""Function that takes a module's name and its first output tensor, and returns the value to store."""
REPEAT = "#"
"""Separator between a module's name and the number of the call, used from the second call on."""


class Recording:
    """Values recorded in one forward pass, by name, in the order of execution."""

    def __init__(self, summary: Summary, *, optional: bool) -> None:
        self._optional = optional
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
        if tensor is None and self._optional:
            return
        if tensor is None:
            raise ValueError(f"layers must return tensors, got {type(value).__name__} from {name}")
        self._calls[name] = self._calls.get(name, 0) + 1
        kept = self._summary(name, tensor.detach())
        # Later in-place operations of the model would change a value that shares its memory.
        shared = kept.untyped_storage().data_ptr() == tensor.untyped_storage().data_ptr()
        self.found[self.call_name(name)] = kept.clone() if shared else kept

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


@contextmanager
def record_outputs(
    model: nn.Module, names: Sequence[str], summary: Summary, *, optional: bool = False
) -> Iterator[Recording]:
    """Within a context, record the outputs of the named modules, or their inputs (``name:input``).

    With `optional`, modules that return no tensor are left out.
    """
    recording = Recording(summary, optional=optional)
    hooks = []
    try:
        for name in names:
            module = model.get_submodule(name.removesuffix(INPUT))
            take = partial(recording.take, name)
            if name.endswith(INPUT):
                hook = module.register_forward_pre_hook(
                    lambda _, args, named, take=take: take((*args, *named.values())), with_kwargs=True
                )
            else:
                hook = module.register_forward_hook(lambda _, __, output, take=take: take(output))
            hooks.append(hook)
        yield recording
    finally:
        for hook in hooks:
            hook.remove()


def _precision(value: Tensor) -> torch.dtype:
    if value.is_complex():
        raise TypeError(f"layers must return real numbers, got {value.dtype}")
    return torch.float64 if value.dtype == torch.float64 else torch.float32


N_FIRST = 3
"""Number of inputs in the first of the two batches; the second batch lacks its first input."""
_SAME, _SAME_IN_HALF = 1e-2, 1e-1
"""Mean relative difference up to which outputs are equal. Batches of other sizes round differently."""


@dataclass(frozen=True)
class InputAxis:
    """Where the inputs of a batch are in an output.

    Attributes
    ----------
    axis : int
        The axis that numbers the inputs.
    parts : int
        Number of entries of each input along this axis, such as time steps or windows that were folded into it.
    interleaved : bool
        Whether the entries of one input are `n` places apart rather than next to each other.

    Examples
    --------
    >>> steps_first = torch.arange(6).reshape(3, 2)
    >>> InputAxis(1).inputs_first(steps_first, 2)
    tensor([[0, 2, 4],
            [1, 3, 5]])
    >>> InputAxis(0, 3).inputs_first(torch.arange(6), 2)
    tensor([[0, 1, 2],
            [3, 4, 5]])
    """

    axis: int = 0
    parts: int = 1
    interleaved: bool = False

    def inputs_first(self, output: Tensor, n: int) -> Tensor:
        """Return the output with one entry per input along the first axis, and its parts along the second."""
        if self.axis >= output.ndim or output.shape[self.axis] != n * self.parts:
            raise ValueError(
                f"outputs must have {self.parts} entries for each of the {n} inputs along axis {self.axis}, got shape "
                f"{tuple(output.shape)}; choose other layers, or pass a callable as pool"
            )
        moved = output.movedim(self.axis, 0)
        if self.parts == 1:
            return moved
        rest = moved.shape[1:]
        if self.interleaved:
            return moved.reshape(self.parts, n, *rest).movedim(1, 0)
        return moved.reshape(n, self.parts, *rest)

    @property
    def text(self) -> str:
        """The decision in words; empty for inputs along the first axis."""
        if self.parts > 1:
            return f"axis {self.axis} holds {self.parts} entries of each input"
        return f"axis {self.axis} numbers the inputs" if self.axis else ""


FIRST = InputAxis()


def find_input_axis(output: Tensor, without_first: Tensor, *, compared: bool = True) -> InputAxis | None:
    """Return where the inputs are; None if no axis numbers them.

    The axis must have as many entries per input in both batches, and the outputs of the inputs that both batches
    contain must be equal. Otherwise, the layer mixes its inputs.

    Parameters
    ----------
    output : Tensor
        Output for a batch of `N_FIRST` inputs.
    without_first : Tensor
        Output for the same batch without its first input.
    compared : bool
        Whether to compare the values; False for models that draw random numbers.

    Raises
    ------
    ValueError
        If an axis has the right lengths, but the outputs of one input depend on the other inputs.
    """
    possible = list(_possible_axes(output, without_first))
    if not possible:
        return None
    if not compared:
        return possible[0]
    fitting = [axis for axis in possible if _agrees(axis, output, without_first)]
    if not fitting:
        raise ValueError("rows depend on the other inputs of the batch")
    # Several fit only if the output is the same for all inputs or parts.
    return fitting[0]


def _possible_axes(output: Tensor, without_first: Tensor) -> Iterator[InputAxis]:
    if output.ndim != without_first.ndim:
        return
    for axis in range(output.ndim):
        before, after = output.shape[axis], without_first.shape[axis]
        parts = before // N_FIRST
        others = [
            size for place, size in enumerate(zip(output.shape, without_first.shape, strict=True)) if place != axis
        ]
        if not parts or before != parts * N_FIRST or after != parts * (N_FIRST - 1) or any(a != b for a, b in others):
            continue
        yield InputAxis(axis, parts)
        if parts > 1:
            yield InputAxis(axis, parts, interleaved=True)


def _agrees(axis: InputAxis, output: Tensor, without_first: Tensor) -> bool:
    before = axis.inputs_first(output, N_FIRST)[1:].reshape(N_FIRST - 1, -1).double()
    after = axis.inputs_first(without_first, N_FIRST - 1).reshape(N_FIRST - 1, -1).double()
    before, after = torch.nan_to_num(before), torch.nan_to_num(after)
    scale = torch.linalg.vector_norm(before, dim=1) + torch.linalg.vector_norm(after, dim=1)
    differences = 2 * torch.linalg.vector_norm(before - after, dim=1) / scale.clamp_min(torch.finfo(torch.float64).tiny)
    limit = _SAME if output.dtype in (torch.float32, torch.float64) else _SAME_IN_HALF
    return bool(differences.mean() <= limit)


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
    rows: InputRows
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
            with collect_statements() as statements:
                _fill(work, memory, device)
            if statements:
                about["outputs"] = "; ".join(statements)
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


def _fill(work: Work, sink: _Memory | Draft, device: torch.device) -> None:
    order, size = batch_order(work.rows), work.batch_size
    batches = [order[start : start + size] for start in range(0, len(order), size)]
    first: dict[str, tuple[int, ...]] = {}
    recorder = Recorder(work)
    with recorder.open(device):
        todo = batches[sink.done :]
        for chosen in track(todo, len(todo), "batches"):
            values = recorder.read(chosen, device)
            shapes = {name: rows.shape[1:] for name, rows in values.items()}
            first = first or {name: recorder.longest(shape) for name, shape in shapes.items()}
            _require_same_layers(first, values)
            sink.write(chosen, {name: _pad_with_nan(rows, first[name], name) for name, rows in values.items()}, first)
    recorder.first_tokens.warn()


_CHANNELS_FIRST = (
    *(nn.Conv1d, nn.ConvTranspose1d, nn.BatchNorm1d, nn.InstanceNorm1d, nn.MaxPool1d, nn.AvgPool1d),
    *(nn.AdaptiveAvgPool1d, nn.AdaptiveMaxPool1d),
)
"""Modules whose three-dimensional outputs have the shape (n, channels, positions)."""


def channel_first_modules(model: nn.Module) -> frozenset[str]:
    """Return the modules whose outputs have channels before positions, with what follows them in nn.Sequential.

    Examples
    --------
    >>> block = nn.Sequential(nn.Conv1d(2, 3, 1), nn.ReLU(), nn.Flatten(), nn.Linear(3, 2))
    >>> sorted(channel_first_modules(block))
    ['0', '1']
    """
    found = {name for name, module in model.named_modules() if isinstance(module, _CHANNELS_FIRST)}
    for name, module in reversed(list(model.named_modules())):
        if not isinstance(module, nn.Sequential):
            continue
        follows = False
        for own, child in module.named_children():
            full = f"{name}.{own}" if name else own
            shapes = isinstance(child, nn.Flatten) or next(child.parameters(), None) is not None
            follows = full in found or (follows and not shapes)
            if follows:
                found.add(full)
        if follows and name:
            found.add(name)
    return frozenset(found)


def _name_mixing_modules(model: nn.Module) -> str:
    """Say which modules normalise with the statistics of each batch; empty if there are none.

    Examples
    --------
    >>> _name_mixing_modules(nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2, track_running_stats=False)).eval())
    'Module 1 (BatchNorm1d without running statistics) normalises with ...'
    >>> _name_mixing_modules(nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)).eval())
    ''
    """
    mixing = {
        name: f"{type(module).__name__} {'in training mode' if module.training else 'without running statistics'}"
        for name, module in model.named_modules()
        if isinstance(module, nn.modules.batchnorm._BatchNorm) and (module.training or module.running_mean is None)
    }
    if not mixing:
        return ""
    found = join_items((f"{name} ({kind})" if name else kind for name, kind in mixing.items()), most=3)
    normalise = f"Module {found} normalises" if len(mixing) == 1 else f"Modules {found} normalise"
    return (
        f"{normalise} with the mean and variance of each batch, which mixes its inputs: use running statistics "
        "(track_running_stats=True, and evaluation mode), or choose layers before it"
    )


class Recorder:
    """Runs a model on batches and returns the outputs of its layers."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._channels_first = channel_first_modules(work.model)
        self._batch = Batch()
        self._axes: dict[str, InputAxis] = {}
        self.first_tokens = FirstTokens()
        self._dtype = next((p.dtype for p in work.model.parameters() if p.is_floating_point()), torch.float32)

    @contextmanager
    def open(self, device: torch.device) -> Iterator[None]:
        """Within a context, run the model in evaluation mode, and record the layers by hooks."""
        with evaluation_mode(self._work.model):
            self.find_axes(device)
            with self._hooks(self._pool):
                yield

    @contextmanager
    def _hooks(self, summary: Summary) -> Iterator[None]:
        with record_outputs(self._work.model, tuple(self._work.names), summary) as self._recording:
            yield

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
                    warn(f"{self._layer_name(name)}: outputs are random, so two runs differ", CalibrationWarning)
                    self._axes[name] = self._axis(name, output, second[name], compared=False)
        for name, axis in self._axes.items():
            if axis.text:
                size = first[name].shape[0] if axis.axis == 1 and work.metadata.get("pool") else 0
                pooled = f", and the {size} entries of axis 0 (steps, layers or directions) are pooled" if size else ""
                state(f"{self._layer_name(name)}: {axis.text}{pooled}")
        if not work.raw and all(axis == FIRST for axis in self._axes.values()):
            _VERIFIED.setdefault(work.model, set()).add(key)

    def _axis(self, name: str, output: Tensor, without_first: Tensor, *, compared: bool) -> InputAxis:
        layer = self._layer_name(name)
        try:
            axis = find_input_axis(output, without_first, compared=compared)
        except ValueError as error:
            cause = _name_mixing_modules(self._work.model) or (
                "The model seems to take inputs along another axis, as nn.LSTM does without batch_first=True: pass "
                "them along axis 1 with batch_axis=1, or build the module with batch_first=True"
            )
            raise ValueError(
                f"layers must give each input a row of its own, got {layer}, in which {error}. {cause}"
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
        # Half precision and integers are converted to single precision.
        activations = {
            self._layer_name(name): value.to("cpu", _precision(value)).numpy() for name, value in wanted.items()
        }
        if not activations:
            raise ValueError(f"layers must run in the forward pass, got {', '.join(self._work.names)}")
        for name, rows in activations.items():
            if rows.ndim == 0 or len(rows) != len(chosen):
                raise ValueError(
                    f"layers must give one row for each of the {len(chosen)} inputs of a batch, got shape {rows.shape} "
                    f"from {name}; choose other layers, or pass a callable as pool"
                )
        ordered = sorted(activations, key=lambda name: name != EMBEDDING)
        return {name: activations[name].reshape(len(chosen), *activations[name].shape[1:] or (1,)) for name in ordered}

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
            if name in self._channels_first and value.ndim == 3 and isinstance(self._work.metadata.get("pool"), str):
                state(f"{self._layer_name(name)}: channels along axis 1 of the outputs, positions along axis 2")
                value = value.movedim(1, 2)
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


def batch_order(rows: InputRows) -> Index:
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
        # Only files need fingerprints, which take time to compute, except those of tokens.
        about["weights"] = model_fingerprint(model)
    if to_file or n_tokens is not None:
        about["inputs"]["fingerprint"] = work.rows.fingerprint()
    return about


def _precisions(model: nn.Module, device: torch.device) -> str:
    kinds = dict.fromkeys(str(parameter.dtype).removeprefix("torch.") for parameter in model.parameters())
    auto = torch.is_autocast_enabled(device.type)
    kept = ", ".join(kinds) or "float32"
    return f"{kept}, autocast to {str(torch.get_autocast_dtype(device.type)).removeprefix('torch.')}" if auto else kept
