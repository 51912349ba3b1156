"""Change parameters temporarily, and restore them exactly afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from shesha.extract.layer_names import match_names
from shesha.extract.model_state import model_device

Change = Callable[[str, Tensor], Tensor]
"""Function that takes the name and the values of a parameter and returns new values."""


def parameters(model: nn.Module, targets: str | Sequence[str], *, least_axes: int = 0) -> dict[str, nn.Parameter]:
    """Return the floating-point parameters that match the patterns, each listed once.

    Parameters
    ----------
    model : torch.nn.Module
        The model.
    targets : str or sequence of str
        Names or patterns of parameters (``**.query.weight``), or of the modules that hold them (``**.query``).
    least_axes : int
        Minimum number of axes of a parameter. A value of 2 leaves out biases and the scales of normalisation layers.
    """
    model_device(model)
    every = dict(model.named_parameters(remove_duplicate=False))
    known = list(
        dict.fromkeys([*every, *(name for name, module in model.named_modules() if name and _has_parameters(module))])
    )
    patterns = [targets] if isinstance(targets, str) else list(targets)
    if not patterns:
        raise ValueError("targets must be names or patterns of parameters, got none")
    chosen: set[str] = set()
    for pattern in patterns:
        for name in match_names(pattern, known, "targets", "parameters"):
            # The name of a module selects the parameters that it holds itself, not those of its submodules.
            chosen |= (
                {name} if name in every else {parameter for parameter in every if parameter.rpartition(".")[0] == name}
            )
    parameters_by_id: dict[int, tuple[str, nn.Parameter]] = {}
    for name, parameter in every.items():
        if name in chosen and parameter.is_floating_point() and parameter.ndim >= least_axes:
            parameters_by_id.setdefault(id(parameter), (name, parameter))
    if not parameters_by_id:
        raise ValueError(
            f"targets must match floating-point parameters with at least {least_axes} axes, got {targets!r}"
        )
    return dict(parameters_by_id.values())


def _has_parameters(module: nn.Module) -> bool:
    return any(True for _ in module.parameters(recurse=False))


@contextmanager
def change_parameters(chosen: Mapping[str, nn.Parameter], change: Change) -> Iterator[None]:
    """Change parameters in place, and restore them afterwards even if an error occurs.

    The parameters remain the same objects, so optimisers and tied layers still refer to them. Gradients are not
    affected.
    """
    originals: dict[str, Tensor] = {}
    try:
        with torch.no_grad():
            for name, parameter in chosen.items():
                before = parameter.detach().clone()
                originals[name] = before
                parameter.copy_(change(name, before))
        yield
    finally:
        with torch.no_grad():
            for name, before in originals.items():
                chosen[name].copy_(before)


def generator(seed: int, number: int) -> torch.Generator:
    """Return the random generator for one tensor, on the CPU so that draws do not depend on the device."""
    return torch.Generator().manual_seed((seed * 1_000_003 + number) % 2**63)


def wide(values: Tensor) -> Tensor:
    """Return the values in at least single precision, so that sums and quotients are accurate."""
    return values if values.dtype == torch.float64 else values.float()
