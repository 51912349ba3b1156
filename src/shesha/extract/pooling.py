"""Pool the output of a module to one row per input."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Literal, get_args

import torch
from torch import Tensor

from shesha.support.layer_axis import has_channels_last
from shesha.support.provenance import state

Named = Literal["mean", "cls", "last", "later", "max", "mean_sqrt_len", "weightedmean", "gap"]
Pool = Named | str | Callable[..., Tensor] | None
"""Name of a pooling, names joined by ``+`` (whose results are concatenated), function or None."""
Pooled = Callable[[Tensor, Tensor | None], Tensor]
"""Function that takes an output (n, ...) and a mask of tokens (n, n_tokens), and returns (n, ...)."""


def mean(states: Tensor, mask: Tensor | None) -> Tensor:
    """Average the tokens that the mask selects."""
    states = _wide(states)
    if mask is None:
        return states.mean(dim=1)
    weights = mask.unsqueeze(-1)
    # Fill with zeros instead of multiplying by zero, because values at padding may be infinite.
    return states.masked_fill(~weights, 0).sum(dim=1) / weights.sum(dim=1).to(states.dtype)


def later(states: Tensor, mask: Tensor | None) -> Tensor:
    """Average all tokens after the first; an input with a single token keeps it."""
    if mask is None:
        return mean(states[:, 1:] if states.shape[1] > 1 else states, None)
    first = mask.int().argmax(dim=1, keepdim=True)
    alone = mask.sum(dim=1, keepdim=True) < 2
    return mean(states, mask.scatter(1, first, False) | (mask & alone))


def cls(states: Tensor, mask: Tensor | None) -> Tensor:
    """Take the first valid token, which is not at the first position if padding is on the left."""
    return states[:, 0] if mask is None else _gather_tokens(states, mask.int().argmax(dim=1))


def last(states: Tensor, mask: Tensor | None) -> Tensor:
    """Take the last valid token, on whichever side the padding is."""
    if mask is None:
        return states[:, -1]
    return _gather_tokens(states, mask.shape[1] - 1 - mask.int().flip(1).argmax(dim=1))


def maximum(states: Tensor, mask: Tensor | None) -> Tensor:
    """Take the largest value of each feature among the valid tokens."""
    return (states if mask is None else states.masked_fill(~mask.unsqueeze(-1), float("-inf"))).amax(dim=1)


def mean_sqrt_len(states: Tensor, mask: Tensor | None) -> Tensor:
    """Divide the sum of the valid tokens by the square root of their number."""
    count = torch.full((len(states), 1), states.shape[1]) if mask is None else mask.sum(dim=1, keepdim=True)
    return mean(states, mask) * count.to(states.device, torch.float64).sqrt().to(_wide(states).dtype)


def weightedmean(states: Tensor, mask: Tensor | None, first_weight: int = 1) -> Tensor:
    """Average the valid tokens with increasing weights (by default 1, 2, ...), so that later tokens count more."""
    states = _wide(states)
    valid = torch.ones(states.shape[:2], dtype=torch.bool, device=states.device) if mask is None else mask
    # Weights count from the first valid token, on whichever side the padding is.
    start = valid.int().argmax(dim=1, keepdim=True)
    places = torch.arange(states.shape[1], device=states.device) - start + first_weight
    weights = (places * valid).to(states.dtype).unsqueeze(-1)
    return (states.masked_fill(~valid.unsqueeze(-1), 0) * weights).sum(dim=1) / weights.sum(dim=1)


def pooling_after_prompt(pool: str, n_tokens: int) -> Pooled:
    """Return the pooling of all valid tokens but the first `n_tokens`, which keep their share of the weights."""
    later_weights = _over_tokens("weightedmean", partial(weightedmean, first_weight=n_tokens + 1))
    pooled = pooling(pool, {**_TOKENS, "weightedmean": later_weights})

    def pool_later_tokens(states: Tensor, mask: Tensor | None) -> Tensor:
        if states.ndim != 3:
            return pooled(states, mask)
        valid = torch.ones(states.shape[:2], dtype=torch.bool, device=states.device) if mask is None else mask
        return pooled(states, valid & (valid.int().cumsum(dim=1) > n_tokens))

    return pool_later_tokens


def gap(states: Tensor, mask: Tensor | None) -> Tensor:
    """Average feature maps over positions: (n, channels, height, width), or (n, height, width, channels).

    Channels come last in square images, and in square maps with more channels than positions along an axis.
    """
    if has_channels_last(states.shape):
        state(f"feature maps of {states.shape[1]} x {states.shape[2]} positions with channels last")
        states = states.movedim(-1, 1)
    return _wide(states).flatten(2).mean(dim=2)


def whole(states: Tensor, mask: Tensor | None) -> Tensor:
    """Keep all tokens, with NaN in place of padding."""
    if mask is None or not _fits(states, mask) or bool(mask.all()):
        return states
    wide = _wide(states)
    return wide.masked_fill(~mask.view(*mask.shape, *[1] * (wide.ndim - 2)), float("nan"))


def pooling(pool: Pool, known: Mapping[str, Pooled] | None = None) -> Pooled:
    """Return the pooling function for a name (among the `known` ones), a callable or None."""
    if pool is None:
        return whole
    if isinstance(pool, str):
        names = pool.split("+")
        if not set(names) <= ({pool} & {"gap"} or set(_TOKENS)):
            raise ValueError(
                f"pool must be one of {', '.join(map(repr, get_args(Named)))}, None or callable, got {pool!r}"
            )
        if len(names) == 1:
            return (known or _TOKENS).get(pool, _maps)
        parts = [(known or _TOKENS)[name] for name in names]
        return lambda states, mask: _concatenate(parts, states, mask)
    if not callable(pool):
        raise TypeError(f"pool must be a name, None or callable, got {pool!r}")
    return pool if _takes_two(pool) else lambda states, _: pool(states)


def _concatenate(parts: list[Pooled], states: Tensor, mask: Tensor | None) -> Tensor:
    """Concatenate the results of several poolings; outputs without tokens are unchanged."""
    return states if states.ndim == 2 else torch.cat([_wide(pooled(states, mask)) for pooled in parts], dim=-1)


def pool_name(pool: Pool) -> str | None:
    """Return the name under which a pooling is recorded."""
    return pool if pool is None or isinstance(pool, str) else getattr(pool, "__qualname__", type(pool).__name__)


def either(tokens: Pooled) -> Pooled:
    """Pool tokens as requested, but average feature maps, because image networks return either."""
    return lambda states, mask: gap(states, None) if states.ndim > 3 else tokens(states, mask)


def _over_tokens(pool: Named, pooled: Pooled) -> Pooled:
    def pool_tokens(states: Tensor, mask: Tensor | None) -> Tensor:
        if states.ndim == 2:
            return states
        if states.ndim != 3:
            raise ValueError(
                f"pool must be 'gap', None or callable for outputs of shape {tuple(states.shape)}, got {pool!r}"
            )
        if mask is not None and not _fits(states, mask):
            raise ValueError(
                f"the mask must have one entry for each of the {states.shape[1]} tokens for pool={pool!r}, "
                f"got {mask.shape[1]}; pass a callable as pool"
            )
        return pooled(states, mask)

    return pool_tokens


def _maps(states: Tensor, mask: Tensor | None) -> Tensor:
    if states.ndim == 2:
        return states
    if states.ndim == 3:
        known = ", ".join(map(repr, _TOKENS))
        raise ValueError(f"pool must be one of {known} for tokens of shape {tuple(states.shape)}, got 'gap'")
    return gap(states, mask)


_TOKENS: dict[str, Pooled] = {
    "mean": _over_tokens("mean", mean),
    "cls": _over_tokens("cls", cls),
    "last": _over_tokens("last", last),
    "later": _over_tokens("later", later),
    "max": _over_tokens("max", maximum),
    "mean_sqrt_len": _over_tokens("mean_sqrt_len", mean_sqrt_len),
    "weightedmean": _over_tokens("weightedmean", weightedmean),
}


def _fits(states: Tensor, mask: Tensor) -> bool:
    return states.ndim > 1 and states.shape[:2] == mask.shape


def _gather_tokens(states: Tensor, places: Tensor) -> Tensor:
    return states[torch.arange(len(states), device=states.device), places]


def _wide(states: Tensor) -> Tensor:
    """Convert half precision to single precision, because sums in half precision lose digits."""
    return states if states.dtype in (torch.float32, torch.float64) else states.float()


def _takes_two(pool: Callable[..., Any]) -> bool:
    """Return whether a callable also takes the mask."""
    try:
        parameters = inspect.signature(pool).parameters.values()
    except ValueError:
        return False
    places = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return sum(p.default is p.empty for p in places) == 2 or any(p.kind == p.VAR_POSITIONAL for p in parameters)
