"""Random low-rank changes to add to weights, as in LoRA adapters."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from shesha.extract.layer_names import match_names

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
