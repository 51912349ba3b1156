"""Subsets of Fashion-MNIST and CIFAR-10 for small networks: colour images, grey images, or halves of images."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shesha.support.types import Matrix
from shesha_studies.external_data import read_arrays

IMAGES = ("Fashion-MNIST", "CIFAR-10")
SEEN = ("all", "left", "right")
"""Names of the parts of an image."""
_FOLDERS = {
    "Fashion-MNIST": "fashion_mnist",
    "CIFAR-10": "cifar10",
    "clothes": "fashion_mnist",
    "photographs": "cifar10",
}
_LUMINANCE = np.array([0.299, 0.587, 0.114])
Labels = NDArray[np.int64]
Pictures = NDArray[np.float64]


def _part(data: str, part: str) -> tuple[NDArray[Any], Labels]:
    """Return pixels and classes of "train" or "test"."""
    folder = _FOLDERS[data]
    arrays = read_arrays(folder, f"{folder}_subset.npz")
    return arrays[f"x_{part}"], arrays[f"y_{part}"].astype(np.int64)


@cache
def in_colour(data: str) -> tuple[Pictures, Labels, Pictures, Labels]:
    """Return training and held-out images with labels; channels come first, and training pixels have variance 1."""
    arrays: list[NDArray[Any]] = []
    for part in ("train", "test"):
        pixels, labels = _part(data, part)
        pixels = pixels / 255
        arrays += [pixels[:, None] if pixels.ndim == 3 else pixels.transpose(0, 3, 1, 2), labels]
    mean, sd = arrays[0].mean(), arrays[0].std()
    return (arrays[0] - mean) / sd, arrays[1], (arrays[2] - mean) / sd, arrays[3]


@cache
def grey(data: str, part: str = "test") -> tuple[Pictures, Labels]:
    """Return grey images (n, 1, 28, 28) of mean 0 and variance 1, and their classes."""
    pixels, labels = _part(data, part)
    if pixels.ndim == 4:
        # Remove two pixels at every edge.
        pixels = (pixels @ _LUMINANCE)[:, 2:-2, 2:-2]
    pixels = pixels[:, None].astype(np.float64)
    return (pixels - pixels.mean()) / pixels.std(), labels


@cache
def as_rows(data: str, seen: str, part: str) -> tuple[Matrix, Labels]:
    """Return one row of grey pixels per image, with mean 0 and variance 1 over all images, and the classes.

    Pixels of CIFAR-10 are averaged in squares of 2 x 2. "left" and "right" are disjoint halves of the images.
    """
    pixels, labels = _part(data, part)
    pixels = pixels.astype(np.float64)
    if pixels.ndim == 4:
        means = pixels.mean(axis=3)
        pixels = means.reshape(len(means), 16, 2, 16, 2).mean(axis=(2, 4))
    half = pixels.shape[2] // 2
    pixels = {"all": pixels, "left": pixels[:, :, :half], "right": pixels[:, :, half:]}[seen]
    rows = pixels.reshape(len(pixels), -1)
    return (rows - rows.mean()) / rows.std(), labels
