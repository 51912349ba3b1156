"""The device on which networks run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shesha.support.optional import require

if TYPE_CHECKING:
    import torch


def device() -> torch.device:
    """Return the first CUDA device, or the CPU if there is none."""
    require("torch", "torch")
    import torch

    return torch.device("cuda" if torch.cuda.is_available() else "cpu")
