"""Get images from the local folder or by a download."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from shesha.support.optional import require
from shesha_bench.data_folders import cache_folder, local_folder, missing_data_error
from shesha_bench.vision.data_and_network_types import Loader
from shesha_bench.vision.folders import file_images, folder_images
from shesha_bench.vision.hyperparameters import Hyper
from shesha_bench.vision.images import ArrayImages, Images


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
