"""How images and image classifiers are declared, and images in arrays, folders and downloads."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from shesha.support.files import read_image
from shesha.support.optional import require
from shesha_bench.catalogue import (
    NOT_NEGATIVE,
    PART,
    SWITCH,
    Hyperparameters,
    NetworkPart,
    Part,
    choice_of_words,
    count,
    option,
)
from shesha_bench.domains import cache_folder, hash_arrays, local_folder, missing_data_error

if TYPE_CHECKING:
    from PIL.Image import Image
    from torch import nn


@dataclass(frozen=True)
class Hyper(Hyperparameters):
    """Settings for training and extraction of an image classifier, except data, network, setting and seed."""

    epochs: int = option(count())
    batch_size: int = option(count())
    learning_rate: float = option(NOT_NEGATIVE)
    """Maximum learning rate, which is reached by a linear warm-up and followed by a cosine decay to zero."""
    weight_decay: float = option(NOT_NEGATIVE)
    optimiser: str = option(choice_of_words("sgd", "adamw"))
    """`sgd` (with momentum 0.9) or `adamw`."""
    image_size: int = option(count())
    """Side length in pixels of the network's input. Larger images are reduced when they are read; smaller ones are
    enlarged before they enter the network.
    """
    extent: int = option(count())
    """Height and width to which feature maps are pooled."""
    warmup: float = option(PART, 0.0)
    """Share of the training steps after which the learning rate reaches its maximum."""
    train_rows: int | None = option(count(), None)
    test_rows: int | None = option(count(), None)
    """Number of images to use; None uses all."""
    padding: int = option(count(0), 4)
    """How many pixels a training image is shifted at most, before it is enlarged; photographs are cropped instead."""
    dot: int = option(count(), 5)
    """Diameter of the dot that serves as a shortcut, in pixels of the image before it is enlarged."""
    reduced: bool = option(SWITCH, False)
    """Whether to build a tiny version of a pretrained architecture with random weights."""


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
        image: Image = read_image(self.paths[row])
        if seed is None:
            return _middle(image, self.side)
        rng = np.random.default_rng(seed)
        pixels = _part(image, self.side, rng)
        return pixels[:, ::-1] if rng.random() < 0.5 else pixels


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


Loader = Callable[[Hyper], tuple[Images, Images]]


class Parts(NamedTuple):
    """A network's body, and the names of those of its parts that are read."""

    body: nn.Module
    blocks: tuple[str, ...]
    """Names of the body's parts after which a representation can be read, in order."""
    head: str
    """Name of the linear classifier; its input is the last hidden representation."""


@dataclass(frozen=True, kw_only=True)
class ImageData(Part):
    """Declaration of an image data set for classification."""

    read: Loader
    """Function that reads all training and test images, with hyperparameters `image_size` and `padding`."""


@dataclass(frozen=True, kw_only=True)
class ImageNetwork(NetworkPart):
    """Declaration of a network that classifies images."""

    build: Callable[[int, Hyper, bool], Parts]
    """Function that builds the network, pretrained or not. New weights are drawn from torch's current random state.

    The body takes normalised images (n, 3, image_size, image_size) and returns logits (n, n_classes). Its blocks return
    feature maps (n, channels, height, width), or tokens (n, n_tokens, n_features).
    """
    tokens: bool = False
    """Whether the network's blocks return tokens, of which the first is the CLS token."""


SUFFIXES = {".png", ".jpg", ".jpeg", ".bmp", ".webp"}


def folder_images(place: Path) -> tuple[ArrayImages, ArrayImages]:
    """Read all training and test images in a folder, which must be squares of one size, into memory."""
    classes, (train, test) = _classes(place), _parts(place)
    return _read(train, classes), _read(test, classes)


def file_images(place: Path, side: int) -> tuple[FileImages, FileImages]:
    """List the training and test images in a folder, which are read only when they are needed."""
    classes, (train, test) = _classes(place), _parts(place)
    return FileImages(*_list_files(train, classes), side), FileImages(*_list_files(test, classes), side)


def _parts(place: Path) -> tuple[Path, Path]:
    test = next((place / name for name in ("val", "test") if (place / name).is_dir()), None)
    if test is None:
        raise ValueError(f"{place} must contain a folder val or test next to train")
    return place / "train", test


def _classes(place: Path) -> list[str]:
    """Return the names of the classes in the order of their numbers."""
    classes = sorted(path.name for path in (place / "train").iterdir() if path.is_dir())
    if not classes:
        raise ValueError(f"{place / 'train'} must contain a folder per class, got none")
    return classes


def _list_files(part: Path, classes: list[str]) -> tuple[list[Path], NDArray[np.int64]]:
    unknown = sorted(path.name for path in part.iterdir() if path.is_dir() and path.name not in classes)
    if unknown:
        raise ValueError(f"{part} must contain only classes that are in train as well, got {', '.join(unknown)}")
    paths: list[Path] = []
    labels: list[int] = []
    for number, name in enumerate(classes):
        images = sorted(path for path in (part / name).glob("*") if path.suffix.lower() in SUFFIXES)
        if not images:
            raise ValueError(f"{part / name} must contain image files ({', '.join(sorted(SUFFIXES))}), got none")
        paths += images
        labels += [number] * len(images)
    return paths, np.array(labels, dtype=np.int64)


def _read(part: Path, classes: list[str]) -> ArrayImages:
    paths, labels = _list_files(part, classes)
    images = [np.asarray(read_image(path)) for path in paths]
    shapes = sorted({image.shape[:2] for image in images})
    if len(shapes) > 1 or shapes[0][0] != shapes[0][1]:
        raise ValueError(f"images in {part} must be squares of one size, got {shapes[:5]} (height, width)")
    return ArrayImages(np.stack(images), labels)


def array_set(folder: str, file: str | None, source: str) -> Loader:
    """Return a loader for a data set that fits into memory; `source` is its name in torchvision."""

    def read(hyper: Hyper) -> tuple[Images, Images]:
        train, test = (images.reduce(hyper.image_size) for images in _load_arrays(folder, file, source))
        return replace(train, padding=hyper.padding), test

    return read


def _load_arrays(folder: str, file: str | None, source: str) -> tuple[ArrayImages, ArrayImages]:
    place = local_folder(folder)
    archive = _archive(place, file) if place else None
    if archive:
        return _from_archive(archive)
    if place and (place / "train").is_dir():
        return folder_images(place)
    return _download(folder, source)


def _archive(place: Path, file: str | None) -> Path | None:
    """Find the npz file with this name or, if no name is given, the folder's single npz file."""
    paths = sorted(place.glob(file or "*.npz"))
    if len(paths) > 1:
        raise ValueError(f"{place} must contain one npz file, got {', '.join(path.name for path in paths)}")
    return paths[0] if paths else None


def _from_archive(path: Path) -> tuple[ArrayImages, ArrayImages]:
    names = ("x_train", "y_train", "x_test", "y_test")
    with np.load(path, allow_pickle=False) as archive:
        lacking = [name for name in names if name not in archive]
        if lacking:
            raise ValueError(f"{path} must contain {', '.join(names)}, got {', '.join(archive.files)}")
        x_train, y_train, x_test, y_test = (archive[name] for name in names)
    return _check_images(x_train, y_train, f"{path}, train"), _check_images(x_test, y_test, f"{path}, test")


def _check_images(pixels: NDArray[np.uint8], labels: NDArray[np.int64], where: str) -> ArrayImages:
    square = pixels.ndim in (3, 4) and pixels.shape[1] == pixels.shape[2] and pixels.shape[3:] in ((), (3,))
    if pixels.dtype != np.uint8 or not square or not len(pixels):
        raise ValueError(
            f"{where}: images must be uint8 of shape (n, side, side) or (n, side, side, 3), "
            f"got {pixels.dtype} of shape {pixels.shape}"
        )
    if labels.shape != pixels.shape[:1] or labels.dtype.kind not in "iu" or labels.min() < 0:
        raise ValueError(
            f"{where}: labels must be one whole number from 0 per image ({len(pixels)}), "
            f"got {labels.dtype} of shape {labels.shape}"
        )
    return ArrayImages(pixels, labels.astype(np.int64))


def _download(folder: str, source: str) -> tuple[ArrayImages, ArrayImages]:
    """Download a data set with torchvision, which checks the archive's hash before opening it."""
    try:
        get = getattr(require("torchvision.datasets", "vision"), source)
        train, test = (get(str(cache_folder()), train=part, download=True) for part in (True, False))
    except (ImportError, OSError, RuntimeError) as error:
        raise missing_data_error(source, folder, f"torchvision.datasets.{source}", error) from error
    return (
        _check_images(np.asarray(train.data), np.asarray(train.targets), f"{source}, train"),
        _check_images(np.asarray(test.data), np.asarray(test.targets), f"{source}, test"),
    )


def photographs(hyper: Hyper) -> tuple[Images, Images]:
    """List the images in the local folder of ImageNet-100."""
    place = local_folder("imagenet100")
    if place is None or not (place / "train").is_dir():
        source = "https://image-net.org as folders train/<class>/ and val/<class>/ of image files"
        raise missing_data_error(
            "IN100", "imagenet100", source, "only people who have agreed to its terms may download ImageNet"
        )
    return file_images(place, hyper.image_size)
