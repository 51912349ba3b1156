"""Changes of the weights of a torch module, which are restored afterwards: noise, adapters and quantised formats."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from shesha.extract.torch_modules import match_names, model_device

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


ATTENTION = (
    *("**.q_proj", "**.k_proj", "**.v_proj", "**.o_proj", "**.out_proj"),
    *("**.query", "**.key", "**.value", "**.attention.output.dense"),
    *("**.q_lin", "**.k_lin", "**.v_lin", "**.out_lin", "**.c_attn", "**.attn.c_proj", "**.query_key_value"),
)
"""Patterns for the names of attention projections in common families of transformers."""


def adapter(values: Tensor, rank: int, scale: float, factor: float, draws: torch.Generator) -> Tensor:
    """Return factor * B A, with A uniform by Kaiming's rule and B normal with standard deviation `scale`.

    The standard deviation of B does not depend on the rank.
    """
    n_out, n_in = len(values), values[0].numel()
    bound = math.sqrt(1 / n_in)
    a = (torch.rand(rank, n_in, generator=draws) * 2 - 1) * bound
    b = torch.randn(n_out, rank, generator=draws) * scale
    return ((b @ a) * factor).view(values.shape).to(values.device)


def attention_patterns(model: nn.Module) -> tuple[str, ...]:
    """Return those patterns that match attention projections of the model."""
    names = [name for name, _ in model.named_modules() if name]
    patterns = []
    for pattern in ATTENTION:
        try:
            match_names(pattern, names, "targets", "modules")
        except ValueError:
            continue
        patterns.append(pattern)
    if not patterns:
        raise ValueError(
            f"targets must be given for {type(model).__name__}, whose attention projections have no known names, "
            "got None"
        )
    return tuple(patterns)


LARGEST = 127
BLOCK = 64
"""Number of weights that share one scale in the four-bit format."""
NF4_LEVELS = (
    *(-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453),
    *(-0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0.0),
    *(0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224),
    *(0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0),
)
"""Quantiles of a normal distribution between -1 and 1 (Dettmers et al., 2023, appendix E)."""


def int8(values: Tensor) -> Tensor:
    """Round each row of a weight matrix to integer multiples of 1/127 of its largest absolute entry."""
    rows = values.flatten(1) if values.ndim > 1 else values.unsqueeze(0)
    scale = rows.abs().amax(dim=1, keepdim=True) / LARGEST
    # The lower limit avoids a division by zero in rows of zeros.
    steps = (rows / scale.clamp_min(torch.finfo(rows.dtype).tiny)).round()
    return (steps * scale).view_as(values)


def nf4(values: Tensor) -> Tensor:
    """Scale blocks of 64 entries by their largest absolute entry, and round to the nearest of 16 levels."""
    flat = values.flatten()
    padded = torch.nn.functional.pad(flat, (0, -len(flat) % BLOCK)).view(-1, BLOCK)
    scale = padded.abs().amax(dim=1, keepdim=True)
    levels = torch.tensor(NF4_LEVELS, dtype=values.dtype, device=values.device)
    borders = (levels[1:] + levels[:-1]) / 2
    unit = padded / scale.clamp_min(torch.finfo(values.dtype).tiny)
    return (levels[torch.bucketize(unit, borders)] * scale).flatten()[: len(flat)].view_as(values)
