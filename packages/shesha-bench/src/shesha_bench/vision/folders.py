"""Read folders of image files: train/<class>/<image>, with a folder val or test next to train."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from shesha_bench.vision.images import ArrayImages, FileImages, open_image

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
    images = [np.asarray(open_image(path)) for path in paths]
    shapes = sorted({image.shape[:2] for image in images})
    if len(shapes) > 1 or shapes[0][0] != shapes[0][1]:
        raise ValueError(f"images in {part} must be squares of one size, got {shapes[:5]} (height, width)")
    return ArrayImages(np.stack(images), labels)
