"""Batches of images as pixels, preprocessed as in the model's training."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from shesha.extract._fingerprints import Digest
from shesha.extract._input_rows import Batch
from shesha.support.optional import require
from shesha.support.types import Index

Process = Callable[[list[Any]], torch.Tensor]
"""Function that takes images and returns pixels of shape (n, 3, height, width)."""


class ImageRows:
    """Images in memory (arrays or Pillow images), or in files that are opened batch by batch."""

    def __init__(self, images: Sequence[Any], process: Process, argument: str | None) -> None:
        self._images, self._process, self._argument = list(images), process, argument

    def __len__(self) -> int:
        return len(self._images)

    def lengths(self) -> Index | None:
        """Return None, because images have no tokens."""
        return None

    def batch(self, chosen: Index, device: torch.device, dtype: torch.dtype) -> Batch:
        """Open some images and return their pixels."""
        pixels = self._process([open_image(self._images[row]) for row in chosen]).to(device, dtype)
        return Batch(named={self._argument: pixels}) if self._argument else Batch(args=(pixels,))

    def fingerprint(self) -> str:
        """Hash the pixels of images in memory and the bytes of files."""
        digest = Digest()
        for number, image in enumerate(self._images):
            if isinstance(image, str | os.PathLike):
                digest.array(str(number), np.frombuffer(Path(image).read_bytes(), dtype=np.uint8))
            else:
                digest.array(str(number), np.asarray(image))
        return digest.text()


def open_image(image: Any) -> Any:
    """Return an image with three colour channels, opened if it is a file."""
    if isinstance(image, str | os.PathLike):
        with require("PIL.Image", "vision", "pillow is needed to open images").open(image) as file:
            return file.convert("RGB")
    return image.convert("RGB") if hasattr(image, "convert") else np.asarray(image)


def are_images(data: Any) -> bool:
    """Return whether the data are images; strings are texts, and path objects name image files."""
    return not any(isinstance(item, str) for item in data)


def image_processor(processor: Any) -> Process:
    """Return a function that computes pixels with a transformers image processor."""
    return lambda images: torch.as_tensor(processor(images=images, return_tensors="pt")["pixel_values"])


def has_class_token(model: torch.nn.Module) -> bool:
    """Return whether the model has a class token, which represents the whole image."""
    return any(name.split(".")[-1] in ("cls_token", "class_embedding") for name, _ in model.named_parameters())
