"""Change a model temporarily, to test whether a canary detects the change.

Each function returns a context manager, which changes parameters in place. On exit, even after an error, it restores
their exact values. Buffers are never changed, and a tensor with several names is changed only once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

from shesha.inputs import validation as validate

if TYPE_CHECKING:
    from torch import Generator, Tensor, nn

    Change = Callable[[Tensor, int], Tensor]
    """Function that takes the values and the number of a parameter and returns new values."""

Targets = str | Sequence[str]
"""Names or patterns of parameters, or of modules that hold them; ``**`` matches any name parts."""


def gaussian_noise(
    model: nn.Module, sd: float, *, targets: Targets = "**", seed: int = 0
) -> AbstractContextManager[None]:
    """Add Gaussian noise to parameters.

    Parameters
    ----------
    model : torch.nn.Module
        Any model; only floating-point parameters are changed.
    sd : float
        Standard deviation of the noise relative to that of each tensor, at least 0. A tensor whose entries are all
        equal (such as a new bias) is not changed.
    targets : str or sequence of str
        Names or patterns of the parameters to change. Default: all.
    seed : int
        Seed of the noise, which does not depend on the device.

    Raises
    ------
    ValueError
        If the patterns match nothing (the message lists similar names), or the model is on the meta device.

    Examples
    --------
    >>> import torch
    >>> model = torch.nn.Linear(3, 2)
    >>> before = model.weight.clone()
    >>> with gaussian_noise(model, 0.1):
    ...     torch.equal(model.weight, before)
    False
    >>> torch.equal(model.weight, before)
    True
    """
    import torch

    deviation, start = validate.require_at_least(sd, "sd", 0), validate.count(seed, "seed", minimum=0)

    def add_noise(values: Tensor, number: int) -> Tensor:
        noise = torch.randn(values.shape, generator=_generator(start, number)).to(values.device)
        return values + noise * (deviation * values.std(correction=0))

    return _change(_parameters(model, targets), add_noise)


def int8(model: nn.Module, *, targets: Targets = "**") -> AbstractContextManager[None]:
    """Round weights symmetrically to eight bits: integer multiples of 1/127 of each row's largest entry.

    Parameters
    ----------
    model, targets
        See `gaussian_noise`. Only parameters with at least two axes are changed, because biases and normalisation
        layers are not quantised in practice either. Values remain floats, so this works on any device.

    Examples
    --------
    >>> import torch
    >>> model = torch.nn.Linear(2, 1)
    >>> _ = model.weight.data.copy_(torch.tensor([[1.27, 0.504]]))
    >>> with int8(model):
    ...     [round(value, 4) for value in model.weight[0].tolist()]
    [1.27, 0.5]
    """
    return _change(_parameters(model, targets, least_axes=2), lambda values, _: _int8_values(values))


def nf4(model: nn.Module, *, targets: Targets = "**") -> AbstractContextManager[None]:
    """Round weights to four bits, the 16 levels of NF4 with one scale per 64 entries, on any device.

    The result is bit-identical to quantisation and dequantisation by bitsandbytes, which need not be installed.

    Parameters
    ----------
    model, targets
        See `int8`.

    Examples
    --------
    >>> import torch
    >>> model = torch.nn.Linear(2, 1)
    >>> _ = model.weight.data.copy_(torch.tensor([[2.0, 1.0]]))
    >>> with nf4(model):
    ...     [round(value, 4) for value in model.weight[0].tolist()]
    [2.0, 0.8814]
    """
    return _change(_parameters(model, targets, least_axes=2), lambda values, _: _nf4_values(values))


def lora(
    model: nn.Module,
    rank: int = 8,
    scale: float = 0.01,
    *,
    alpha: float | None = None,
    targets: Targets | None = None,
    seed: int = 0,
) -> AbstractContextManager[None]:
    """Add random low-rank adapters to weights: alpha / rank times B A.

    Parameters
    ----------
    model : torch.nn.Module
        Any model. The adapters are added to the weights themselves, so no other library and no new modules are needed.
    rank : int
        Rank of the change, at least 1.
    scale : float
        Standard deviation of the entries of B, at least 0. The entries of A are drawn by Kaiming's rule.
    alpha : float, optional
        Numerator of the factor alpha / rank. Default: twice the rank.
    targets : str or sequence of str, optional
        Names or patterns of the weights to change. Default: attention projections with known names.
    seed : int
        Seed of the adapters, which do not depend on the device.

    Raises
    ------
    ValueError
        If the patterns match nothing, or no attention projection has a known name.

    Examples
    --------
    >>> import torch
    >>> model = torch.nn.Linear(6, 5)
    >>> before = model.weight.detach().clone()
    >>> with lora(model, rank=2, scale=0.1, targets="weight"):
    ...     int(torch.linalg.matrix_rank(model.weight - before, rtol=1e-4))
    2
    """
    r, deviation = validate.count(rank, "rank"), validate.require_at_least(scale, "scale", 0)
    factor = (2.0 * r if alpha is None else validate.finite_number(alpha, "alpha")) / r
    start = validate.count(seed, "seed", minimum=0)
    chosen = _parameters(model, _attention_patterns(model) if targets is None else targets, least_axes=2)

    def add_low_rank(values: Tensor, number: int) -> Tensor:
        return values + _low_rank_values(values, r, deviation, factor, _generator(start, number))

    return _change(chosen, add_low_rank)


def prune(model: nn.Module, share: float, *, targets: Targets = "**") -> AbstractContextManager[None]:
    """Set the weights of smallest magnitude in each tensor to zero.

    Parameters
    ----------
    model, targets
        See `int8`.
    share : float
        Share of each tensor's entries to set to zero, in [0, 1]. Among entries of equal magnitude, the first are
        chosen.

    Examples
    --------
    >>> import torch
    >>> model = torch.nn.Linear(4, 1)
    >>> _ = model.weight.data.copy_(torch.tensor([[0.1, -3.0, 0.2, 1.0]]))
    >>> with prune(model, 0.5):
    ...     model.weight[0].tolist()
    [0.0, -3.0, 0.0, 1.0]
    """
    part = validate.require_at_least(share, "share", 0)
    if part > 1:
        raise ValueError(f"share must be at most 1, got {share}")

    def prune_values(values: Tensor, _: int) -> Tensor:
        flat = values.flatten()
        smallest = flat.abs().argsort(stable=True)[: round(part * len(flat))]
        return flat.index_fill(0, smallest, 0).view_as(values)

    return _change(_parameters(model, targets, least_axes=2), prune_values)


def _parameters(model: nn.Module, targets: Targets, *, least_axes: int = 0) -> dict[str, nn.Parameter]:
    """Return the floating-point parameters with enough axes that match the patterns, each listed once."""
    from shesha.extract.torch_modules import match_names, model_device

    model_device(model)
    every = dict(model.named_parameters(remove_duplicate=False))
    modules = {name: name.rpartition(".")[0] for name in every}
    known = [name for name in dict.fromkeys([*every, *modules.values()]) if name]
    patterns = [targets] if isinstance(targets, str) else list(targets)
    if not patterns:
        raise ValueError("targets must be names or patterns of parameters, got none")
    chosen = {name for pattern in patterns for name in match_names(pattern, known, "targets", "parameters")}
    parameters_by_id: dict[int, tuple[str, nn.Parameter]] = {}
    for name, parameter in every.items():
        # The name of a module selects the parameters that it holds itself, not those of its submodules.
        is_chosen = name in chosen or modules[name] in chosen
        if is_chosen and parameter.is_floating_point() and parameter.ndim >= least_axes:
            parameters_by_id.setdefault(id(parameter), (name, parameter))
    if not parameters_by_id:
        raise ValueError(
            f"targets must match floating-point parameters with at least {least_axes} axes, got {targets!r}"
        )
    return dict(parameters_by_id.values())


@contextmanager
def _change(chosen: Mapping[str, nn.Parameter], change: Change) -> Iterator[None]:
    """Change parameters in place, and restore them afterwards even if an error occurs.

    The parameters remain the same objects, so optimisers and tied layers still refer to them. Gradients are not
    affected. Changes are computed in at least single precision, so that sums and quotients are accurate.
    """
    import torch

    originals: dict[str, Tensor] = {}
    try:
        with torch.no_grad():
            for number, (name, parameter) in enumerate(chosen.items()):
                before = originals[name] = parameter.detach().clone()
                parameter.copy_(change(before if before.dtype == torch.float64 else before.float(), number))
        yield
    finally:
        with torch.no_grad():
            for name, before in originals.items():
                chosen[name].copy_(before)


def _generator(seed: int, number: int) -> Generator:
    """Return the random generator for one tensor, on the CPU so that draws do not depend on the device."""
    import torch

    return torch.Generator().manual_seed((seed * 1_000_003 + number) % 2**63)


_ATTENTION = (
    *("**.q_proj", "**.k_proj", "**.v_proj", "**.o_proj", "**.out_proj"),
    *("**.query", "**.key", "**.value", "**.attention.output.dense"),
    *("**.q_lin", "**.k_lin", "**.v_lin", "**.out_lin", "**.c_attn", "**.attn.c_proj", "**.query_key_value"),
)
"""Patterns for the names of attention projections in common families of transformers."""


def _low_rank_values(values: Tensor, rank: int, scale: float, factor: float, draws: Generator) -> Tensor:
    """Return factor * B A, with A uniform by Kaiming's rule and B normal with standard deviation `scale`.

    The standard deviation of B does not depend on the rank.
    """
    import torch

    n_out, n_in = len(values), values[0].numel()
    bound = math.sqrt(1 / n_in)
    a = (torch.rand(rank, n_in, generator=draws) * 2 - 1) * bound
    b = torch.randn(n_out, rank, generator=draws) * scale
    return ((b @ a) * factor).view(values.shape).to(values.device)


def _attention_patterns(model: nn.Module) -> tuple[str, ...]:
    """Return those patterns that match attention projections of the model."""
    from shesha.extract.torch_modules import match_names

    names = [name for name, _ in model.named_modules() if name]
    patterns = []
    for pattern in _ATTENTION:
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


_BLOCK = 64
"""Number of weights that share one scale in the four-bit format."""
NF4_LEVELS = (
    *(-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453),
    *(-0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0.0),
    *(0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224),
    *(0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0),
)
"""Quantiles of a normal distribution between -1 and 1 (Dettmers et al., 2023, appendix E)."""


def _int8_values(values: Tensor) -> Tensor:
    """Round each row of a weight matrix to integer multiples of 1/127 of its largest absolute entry."""
    import torch

    rows = values.flatten(1) if values.ndim > 1 else values.unsqueeze(0)
    scale = rows.abs().amax(dim=1, keepdim=True) / 127
    # The lower limit avoids a division by zero in rows of zeros.
    steps = (rows / scale.clamp_min(torch.finfo(rows.dtype).tiny)).round()
    return (steps * scale).view_as(values)


def _nf4_values(values: Tensor) -> Tensor:
    """Scale blocks of 64 entries by their largest absolute entry, and round to the nearest of 16 levels."""
    import torch

    flat = values.flatten()
    padded = torch.nn.functional.pad(flat, (0, -len(flat) % _BLOCK)).view(-1, _BLOCK)
    scale = padded.abs().amax(dim=1, keepdim=True)
    levels = torch.tensor(NF4_LEVELS, dtype=values.dtype, device=values.device)
    borders = (levels[1:] + levels[:-1]) / 2
    unit = padded / scale.clamp_min(torch.finfo(values.dtype).tiny)
    return (levels[torch.bucketize(unit, borders)] * scale).flatten()[: len(flat)].view_as(values)
