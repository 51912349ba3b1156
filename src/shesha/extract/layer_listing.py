"""List the layers of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shesha.inputs import validation as validate
from shesha.support.optional import require

if TYPE_CHECKING:
    from torch import Tensor, nn


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
    import numpy as np
    import torch

    from shesha.extract._input_rows import make_rows
    from shesha.extract.hooks import REPEAT, first_output
    from shesha.extract.input_axes import N_FIRST, find_input_axis
    from shesha.extract.layer_names import name_without_wrappers
    from shesha.extract.model_state import evaluation_mode, model_device
    from shesha.extract.wrapped_models import unwrap_model

    network, _ = unwrap_model(model)
    rows, place = make_rows(example, axis=validate.count(batch_axis, "batch_axis", minimum=0)), model_device(network)
    dtype = next((p.dtype for p in network.parameters() if p.is_floating_point()), torch.float32)
    outputs: list[dict[str, Tensor]] = []

    def note(name: str, output: Any) -> None:
        tensor, _ = first_output(output)
        if tensor is not None:
            call = calls[name] = calls.get(name, 0) + 1
            # Only the shapes are needed, so no values are kept.
            outputs[-1][name if call == 1 else f"{name}{REPEAT}{call}"] = tensor.to("meta")

    named = [(name_without_wrappers(name), module) for name, module in network.named_modules() if name]
    hooks = [module.register_forward_hook(lambda _, __, out, name=name: note(name, out)) for name, module in named]
    chosen = np.resize(np.arange(min(2, len(rows))), N_FIRST)
    try:
        with evaluation_mode(network):
            for part in (chosen, chosen[1:]):
                calls: dict[str, int] = {}
                outputs.append({})
                batch = rows.batch(part, place, dtype)
                network(*batch.args, **batch.named)
    finally:
        for hook in hooks:
            hook.remove()
    shapes = {}
    for name, output in outputs[0].items():
        axis = find_input_axis(output, outputs[1][name], compared=False) if name in outputs[1] else None
        if axis is not None:
            shapes[name] = tuple(axis.inputs_first(output, N_FIRST).shape[1:])
    return shapes
