"""Labelled images in memory or in files, selected by row number, and randomly cropped on request."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from shesha.support.optional import require
from shesha_bench.array_hash import hash_arrays

if TYPE_CHECKING:
    from PIL.Image import Image

Pixels = NDArray[np.uint8]
Rows = NDArray[np.int64]
_AREA = (0.08, 1.0)
_ASPECT = (3 / 4, 4 / 3)
_MARGIN = 256 / 224
_CHUNK = 1000


class Images(Protocol):
    """Labelled colour images that all have the same size."""

    @property
    def labels(self) -> NDArray[np.int64]:
        """The class of each image."""
        ...

    @property
    def side(self) -> int:
        """Side length in pixels of the returned images."""
        ...

    def take(self, rows: Rows, rng: np.random.Generator | None = None) -> Pixels:
        """Return images of shape (n_rows, side, side, 3), randomly cropped and flipped if `rng` is given."""
        ...

    def subset(self, rows: Rows) -> Images:
        """Return only the images of these rows."""
        ...

    def fingerprint(self) -> str:
        """Hash the images and labels."""
        ...


@dataclass(frozen=True)
class ArrayImages:
    """Images in memory: greyscale of shape (n, side, side), or in colour of shape (n, side, side, 3)."""

    pixels: Pixels
    labels: NDArray[np.int64]
    padding: int = 4
    """How many pixels an image is shifted at most by a random crop."""

    @property
    def side(self) -> int:
        """Side length of the images in pixels."""
        return int(self.pixels.shape[1])

    def take(self, rows: Rows, rng: np.random.Generator | None = None) -> Pixels:
        """Return images. If `rng` is given, shift them by up to `padding` pixels and mirror about half."""
        pixels = self.pixels[rows]
        if rng is not None:
            pixels = _crop_and_flip(pixels, self.padding, rng)
        return pixels if pixels.ndim == 4 else np.repeat(pixels[..., None], 3, axis=-1)

    def reduce(self, side: int) -> ArrayImages:
        """Reduce the images to this side length by averaging pixels, unless they are small enough."""
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
        """Return only the images of these rows."""
        return replace(self, pixels=self.pixels[rows], labels=self.labels[rows])

    def fingerprint(self) -> str:
        """Hash the pixels and labels."""
        return hash_arrays(self.pixels, self.labels)


def _crop_and_flip(pixels: Pixels, padding: int, rng: np.random.Generator) -> Pixels:
    """Add a black border, crop each image at a random position, and mirror about half of the images."""
    n_images, side = pixels.shape[:2]
    border = [(0, 0), (padding, padding), (padding, padding), *[(0, 0)] * (pixels.ndim - 3)]
    top, left = rng.integers(0, 2 * padding + 1, size=(2, n_images, 1))
    offsets = np.arange(side)
    columns = np.where(rng.random((n_images, 1)) < 0.5, side - 1 - offsets, offsets) + left
    image = np.arange(n_images)[:, None, None]
    return np.asarray(np.pad(pixels, border)[image, (top + offsets)[:, :, None], columns[:, None, :]])


@dataclass(frozen=True)
class FileImages:
    """Images in files of any size, which are decoded when they are selected."""

    paths: Sequence[Path]
    labels: NDArray[np.int64]
    side: int

    def take(self, rows: Rows, rng: np.random.Generator | None = None) -> Pixels:
        """Return the centre of each image or, if `rng` is given, a random region that may be mirrored."""
        # With one seed per image, draws do not depend on the order of the threads.
        seeds = [None] * len(rows) if rng is None else rng.integers(2**63, size=len(rows)).tolist()
        with ThreadPoolExecutor(min(16, os.cpu_count() or 1)) as pool:
            return np.stack(list(pool.map(self._read, rows.tolist(), seeds)))

    def subset(self, rows: Rows) -> FileImages:
        """Return only the images of these rows."""
        return replace(self, paths=[self.paths[row] for row in rows], labels=self.labels[rows])

    def fingerprint(self) -> str:
        """Hash file names, file sizes and labels, because reading a whole photo collection would take minutes."""
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
    """Cut out the central square, without a small margin, and resize it."""
    cut = min(image.size) / _MARGIN
    left, top = (image.width - cut) / 2, (image.height - cut) / 2
    return _crop_and_resize(image, (left, top, left + cut, top + cut), side)


def _part(image: Image, side: int, rng: np.random.Generator) -> Pixels:
    """Crop a region whose area, aspect ratio and position are random."""
    area = image.width * image.height * rng.uniform(*_AREA)
    aspect = np.exp(rng.uniform(*np.log(_ASPECT)))
    width = min(float(np.sqrt(area * aspect)), image.width)
    height = min(float(np.sqrt(area / aspect)), image.height)
    left, top = rng.uniform(0, image.width - width), rng.uniform(0, image.height - height)
    return _crop_and_resize(image, (left, top, left + width, top + height), side)


def _crop_and_resize(image: Image, box: tuple[float, float, float, float], side: int) -> Pixels:
    bilinear = require("PIL.Image", "vision").Resampling.BILINEAR
    return np.asarray(image.resize((side, side), bilinear, box=box))
