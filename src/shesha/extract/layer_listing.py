"""List the layers of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shesha.support.optional import require

if TYPE_CHECKING:
    from torch import Tensor, nn

_ROWS = 2
"""Number of example rows that are run, which suffices to find the shapes."""


def layers(model: nn.Module, example: Any) -> dict[str, tuple[int, ...]]:
    """List the layers of a model that can be extracted, with the shape of each output for one input.

    Parameters
    ----------
    model : torch.nn.Module
        Any module, with its weights.
    example : array, mapping or data set
        Inputs as for `activations`, of which only the first two are run.

    Returns
    -------
    dict of str to tuple of int
        Shape of each layer's output without the batch axis, in the order in which the modules finish. If a module runs
        twice, its second output has the suffix ``#2``.

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
    from shesha.extract.hooks import REPEAT, first_tensor
    from shesha.extract.model_state import evaluation_mode, model_device

    rows, place = make_rows(example), model_device(model)
    dtype = next((parameter.dtype for parameter in model.parameters() if parameter.is_floating_point()), torch.float32)
    shapes: dict[str, tuple[int, ...]] = {}
    calls: dict[str, int] = {}

    def note(name: str, output: Any) -> None:
        tensor: Tensor | None = first_tensor(output)
        if tensor is not None:
            call = calls[name] = calls.get(name, 0) + 1
            shapes[name if call == 1 else f"{name}{REPEAT}{call}"] = tuple(tensor.shape[1:])

    named = [(name, module) for name, module in model.named_modules() if name]
    hooks = [module.register_forward_hook(lambda _, __, out, name=name: note(name, out)) for name, module in named]
    try:
        with evaluation_mode(model):
            batch = rows.batch(np.arange(min(_ROWS, len(rows))), place, dtype)
            model(*batch.args, **batch.named)
    finally:
        for hook in hooks:
            hook.remove()
    return shapes
