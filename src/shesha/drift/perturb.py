"""Change a model temporarily, to test whether a canary detects the change.

Each function returns a context manager, which changes parameters in place. On exit, even after an error, it restores
their exact values. Buffers are never changed, and a tensor with several names is changed only once.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from shesha.inputs import validation as validate

if TYPE_CHECKING:
    from torch import Tensor, nn

    from shesha.drift._weight_changes import Change

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

    from shesha.drift._weight_changes import generator, parameters, wide

    deviation, start = validate.require_at_least(sd, "sd", 0), validate.count(seed, "seed", minimum=0)
    chosen = parameters(model, targets)
    number = {name: place for place, name in enumerate(chosen)}

    def noisy(name: str, values: Tensor) -> Tensor:
        noise = torch.randn(values.shape, generator=generator(start, number[name])).to(values.device)
        spread = wide(values).std(correction=0)
        return wide(values) + noise * (deviation * spread)

    return _change_chosen(chosen, noisy)


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
    from shesha.drift import _weight_changes
    from shesha.drift._weight_changes import parameters, wide

    return _change_chosen(
        parameters(model, targets, least_axes=2), lambda _, values: _weight_changes.int8(wide(values))
    )


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
    from shesha.drift import _weight_changes
    from shesha.drift._weight_changes import parameters, wide

    return _change_chosen(parameters(model, targets, least_axes=2), lambda _, values: _weight_changes.nf4(wide(values)))


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
    from shesha.drift._weight_changes import adapter, attention_patterns, generator, parameters, wide

    r, deviation = validate.count(rank, "rank"), validate.require_at_least(scale, "scale", 0)
    factor = (2.0 * r if alpha is None else validate.finite_number(alpha, "alpha")) / r
    start = validate.count(seed, "seed", minimum=0)
    chosen = parameters(model, attention_patterns(model) if targets is None else targets, least_axes=2)
    number = {name: place for place, name in enumerate(chosen)}

    def add_low_rank(name: str, values: Tensor) -> Tensor:
        return wide(values) + adapter(wide(values), r, deviation, factor, generator(start, number[name]))

    return _change_chosen(chosen, add_low_rank)


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
    from shesha.drift._weight_changes import parameters

    part = validate.require_at_least(share, "share", 0)
    if part > 1:
        raise ValueError(f"share must be at most 1, got {share}")

    def prune_values(_: str, values: Tensor) -> Tensor:
        flat = values.flatten()
        smallest = flat.abs().argsort(stable=True)[: round(part * len(flat))]
        return flat.index_fill(0, smallest, 0).view_as(values)

    return _change_chosen(parameters(model, targets, least_axes=2), prune_values)


def _change_chosen(chosen: dict[str, nn.Parameter], change: Change) -> AbstractContextManager[None]:
    from shesha.drift._weight_changes import change_parameters

    return change_parameters(chosen, change)
