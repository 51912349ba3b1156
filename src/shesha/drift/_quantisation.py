"""Simulated quantisation: values are rounded to the levels of a format, but stay floats."""

from __future__ import annotations

import torch
from torch import Tensor

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
