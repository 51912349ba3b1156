"""Attention sinks: in many causal models the first token is long and dominates the mean."""

from __future__ import annotations

import torch
from torch import Tensor

from shesha.support.warnings import PoolingWarning, warn

_LONG = 10.0
"""Relative length of the first token above which it dominates the mean; the sum of a dozen random tokens has 3 or 4."""


class FirstTokens:
    """Length of the first token of each input relative to the others, by layer."""

    def __init__(self) -> None:
        self._ratios: dict[str, list[Tensor]] = {}

    def see(self, layer: str, states: Tensor, mask: Tensor | None) -> None:
        """Record the output of a layer, if its shape is (n, n_tokens, d)."""
        if states.ndim != 3 or states.shape[1] < 2 or not states.is_floating_point():
            return
        lengths = torch.linalg.vector_norm(states.detach().float(), dim=-1)
        real = torch.ones_like(lengths, dtype=torch.bool) if mask is None else mask
        if real.shape != lengths.shape:
            return
        place = real.int().argmax(dim=1, keepdim=True)
        others = real.scatter(1, place, False)
        mean = lengths.masked_fill(~others, 0).sum(dim=1) / others.sum(dim=1)
        # Of inputs of a single token there are no others: 0 / 0.
        self._ratios.setdefault(layer, []).append(lengths.gather(1, place).squeeze(1) / mean)

    def warn(self) -> None:
        """Warn about layers in which the first token is many times as long as the others in most inputs."""
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
            f"pool='mean' averages tokens of very different length in {named}: the first is {ruled[longest]:.0f} "
            "times as long "
            f"as the others in {longest}. It is an attention sink that hardly depends on the input, so rows are mostly "
            "this token divided by the number of tokens. Use pool='later', which leaves it out, or pool='last', "
            "which takes the last token",
            PoolingWarning,
        )
