"""Load timm networks by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from shesha.extract._images import Process
from shesha.support.optional import require

if TYPE_CHECKING:
    from torch import nn


def load(name: str) -> tuple[nn.Module, Process]:
    """Return a pretrained network without its classifier, and its image preprocessing."""
    timm: Any = require("timm", "timm", f"timm is needed to load timm/{name}")
    try:
        model: nn.Module = timm.create_model(name, pretrained=True, num_classes=0)
    except (RuntimeError, OSError, ValueError) as error:
        reason = str(error).strip().splitlines()[0]
        raise ValueError(f"model must be a network of timm with weights, got {name!r}: {reason}") from error
    transform = timm.data.create_transform(**timm.data.resolve_model_data_config(model), is_training=False)
    image: Any = require("PIL.Image", "vision", "pillow is needed to read images")

    def process(images: list[Any]) -> torch.Tensor:
        as_images = [picture if hasattr(picture, "convert") else image.fromarray(picture) for picture in images]
        return torch.stack([transform(picture) for picture in as_images])

    return model, process
