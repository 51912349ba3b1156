"""Labelled images in memory or in files, selected by row number, plain or randomly cropped and flipped."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from shesha.benchmark.array_hash import hash_arrays
from shesha.support.optional import require

if TYPE_CHECKING:
    from PIL.Image import Image

Pixels = NDArray[np.uint8]
Rows = NDArray[np.int64]
_AREA = (0.08, 1.0)
_ASPECT = (3 / 4, 4 / 3)
_MARGIN = 256 / 224
_CHUNK = 1000


class Images(Protocol):
    """Labelled images of one size, in colour."""

    @property
    def labels(self) -> NDArray[np.int64]:
        """The class of each image."""
        ...

    @property
    def side(self) -> int:
        """Pixels per side of the returned images."""
        ...

    def take(self, rows: Rows, rng: np.random.Generator | None = None) -> Pixels:
        """Return images of shape (n_rows, side, side, 3); with rng, randomly cropped and flipped."""
        ...

    def subset(self, rows: Rows) -> Images:
        """Keep these rows."""
        ...

    def fingerprint(self) -> str:
        """Hash images and labels."""
        ...


@dataclass(frozen=True)
class ArrayImages:
    """Images in memory: grey ones of shape (n, side, side), or coloured ones (n, side, side, 3)."""

    pixels: Pixels
    labels: NDArray[np.int64]
    padding: int = 4
    """Maximum shift of an image by a crop, in pixels."""

    @property
    def side(self) -> int:
        """Pixels per side."""
        return int(self.pixels.shape[1])

    def take(self, rows: Rows, rng: np.random.Generator | None = None) -> Pixels:
        """Return images; with rng, shift them by up to `padding` pixels on a black border, and mirror half."""
        pixels = self.pixels[rows]
        if rng is not None:
            pixels = _crop_and_flip(pixels, self.padding, rng)
        return pixels if pixels.ndim == 4 else np.repeat(pixels[..., None], 3, axis=-1)

    def reduce(self, side: int) -> ArrayImages:
        """Reduce images by averaging pixels, unless they are small enough."""
        if self.side <= side:
            return self
        torch = require("torch", "torch")
        channels = self.pixels.reshape(*self.pixels.shape[:3], -1).transpose(0, 3, 1, 2)
        # Convert one chunk at a time, because a whole data set of floats would take four times the memory.
        chunks = [
            torch.nn.functional.adaptive_avg_pool2d(torch.from_numpy(chunk).float(), side).round().byte().numpy()
            for chunk in np.array_split(channels, -(-len(channels) // _CHUNK))
        ]
        pixels = np.ascontiguousarray(np.concatenate(chunks).transpose(0, 2, 3, 1))
        return replace(self, pixels=pixels if self.pixels.ndim == 4 else pixels[..., 0])

    def subset(self, rows: Rows) -> ArrayImages:
        """Keep these rows."""
        return replace(self, pixels=self.pixels[rows], labels=self.labels[rows])

    def fingerprint(self) -> str:
        """Hash pixels and labels."""
        return hash_arrays(self.pixels, self.labels)


def _crop_and_flip(pixels: Pixels, padding: int, rng: np.random.Generator) -> Pixels:
    """Crop each image at a random position after adding a black border, and mirror half of them."""
    n_images, side = pixels.shape[:2]
    border = [(0, 0), (padding, padding), (padding, padding), *[(0, 0)] * (pixels.ndim - 3)]
    top, left = rng.integers(0, 2 * padding + 1, size=(2, n_images, 1))
    offsets = np.arange(side)
    columns = np.where(rng.random((n_images, 1)) < 0.5, side - 1 - offsets, offsets) + left
    image = np.arange(n_images)[:, None, None]
    return np.asarray(np.pad(pixels, border)[image, (top + offsets)[:, :, None], columns[:, None, :]])


@dataclass(frozen=True)
class FileImages:
    """Images in files of any size, decoded when they are selected."""

    paths: Sequence[Path]
    labels: NDArray[np.int64]
    side: int

    def take(self, rows: Rows, rng: np.random.Generator | None = None) -> Pixels:
        """Return the centre of each image; with rng, return a random region, and mirror half of them."""
        # With one seed per image, draws do not depend on the order of the threads.
        seeds = [None] * len(rows) if rng is None else rng.integers(2**63, size=len(rows)).tolist()
        with ThreadPoolExecutor(min(16, os.cpu_count() or 1)) as pool:
            return np.stack(list(pool.map(self._read, rows.tolist(), seeds)))

    def subset(self, rows: Rows) -> FileImages:
        """Keep these rows."""
        return replace(self, paths=[self.paths[row] for row in rows], labels=self.labels[rows])

    def fingerprint(self) -> str:
        """Hash names, sizes in bytes and labels: reading whole photo collections would take minutes."""
        names = "\n".join(f"{path.parent.name}/{path.name} {path.stat().st_size}" for path in self.paths)
        return hash_arrays(names, self.labels)

    def _read(self, row: int, seed: int | None) -> Pixels:
        image = open_image(self.paths[row])
        if seed is None:
            return _middle(image, self.side)
        rng = np.random.default_rng(seed)
        pixels = _part(image, self.side, rng)
        return pixels[:, ::-1] if rng.random() < 0.5 else pixels


def open_image(path: Path) -> Image:
    """Read an image file in colour."""
    image: Image = require("PIL.Image", "vision").open(path).convert("RGB")
    return image


def _middle(image: Image, side: int) -> Pixels:
    """Resize the shorter side to slightly more than the square, and crop the central square."""
    cut = min(image.size) / _MARGIN
    left, top = (image.width - cut) / 2, (image.height - cut) / 2
    return _crop_and_resize(image, (left, top, left + cut, top + cut), side)


def _part(image: Image, side: int, rng: np.random.Generator) -> Pixels:
    """Crop a region of random area, aspect ratio and position."""
    area = image.width * image.height * rng.uniform(*_AREA)
    aspect = np.exp(rng.uniform(*np.log(_ASPECT)))
    width = min(float(np.sqrt(area * aspect)), image.width)
    height = min(float(np.sqrt(area / aspect)), image.height)
    left, top = rng.uniform(0, image.width - width), rng.uniform(0, image.height - height)
    return _crop_and_resize(image, (left, top, left + width, top + height), side)


def _crop_and_resize(image: Image, box: tuple[float, float, float, float], side: int) -> Pixels:
    bilinear = require("PIL.Image", "vision").Resampling.BILINEAR
    return np.asarray(image.resize((side, side), bilinear, box=box))
