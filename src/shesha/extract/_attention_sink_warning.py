"""Detect attention sinks: first tokens with a large norm, which dominate means in many causal models."""

from __future__ import annotations

import torch
from torch import Tensor

from shesha.support.warnings import PoolingWarning, warn

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
