"""Folders of image files, read into memory or one by one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from shesha_bench.vision.data import load
from shesha_bench.vision.hyperparameters import Hyper

Write = Callable[..., None]


def test_a_folder_of_small_images(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write_images: Write, hyper: Callable[..., Hyper]
) -> None:
    monkeypatch.setenv("SHESHA_DATA", str(tmp_path))
    write_images(tmp_path / "cifar100", ("train", "test"), ("apple", "bear", "cup"), (16, 16))
    found = load("CIFAR100", hyper())
    assert found.train.take(np.arange(6)).shape == (6, 16, 16, 3)
    assert found.test.labels.tolist() == [0, 0, 1, 1, 2, 2]


def test_small_images_must_have_one_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write_images: Write, hyper: Callable[..., Hyper]
) -> None:
    monkeypatch.setenv("SHESHA_DATA", str(tmp_path))
    write_images(tmp_path / "cifar100", ("train", "test"), ("apple",), (16, 12))
    with pytest.raises(ValueError, match=r"images in .*train must be squares of one size, got \[\(12, 16\)\]"):
        load("CIFAR100", hyper())


@pytest.fixture
def photographs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write_images: Write) -> Path:
    monkeypatch.setenv("SHESHA_DATA", str(tmp_path))
    write_images(tmp_path / "imagenet100", ("train", "val"), ("n01", "n02"), (60, 40))
    return tmp_path / "imagenet100"


def test_photographs_are_cut_to_squares(photographs: Path, hyper: Callable[..., Hyper]) -> None:
    found = load("IN100", hyper(image_size=32))
    assert found.train.labels.tolist() == [0, 0, 1, 1]
    plain = found.test.take(np.array([0, 3]))
    assert plain.shape == (2, 32, 32, 3)
    np.testing.assert_array_equal(plain, found.test.take(np.array([0, 3])))


def test_the_middle_of_a_photograph_is_shown(photographs: Path, hyper: Callable[..., Hyper]) -> None:
    image = pytest.importorskip("PIL.Image")
    pixels = np.zeros((40, 60, 3), np.uint8)
    pixels[:, 10:50] = 200
    image.fromarray(pixels).save(photographs / "val" / "n01" / "0.png")
    middle = load("IN100", hyper(image_size=16)).test.take(np.array([0]))
    assert middle.min() == 200


def test_crops_of_photographs_follow_the_generator(photographs: Path, hyper: Callable[..., Hyper]) -> None:
    images = load("IN100", hyper(image_size=16)).train
    rows = np.array([0, 1, 1, 2])
    first = images.take(rows, np.random.default_rng(3))
    np.testing.assert_array_equal(first, images.take(rows, np.random.default_rng(3)))
    assert (first != images.take(rows, np.random.default_rng(4))).any()
    assert (first[1] != first[2]).any()


def test_half_of_the_crops_are_mirrored(photographs: Path, hyper: Callable[..., Hyper]) -> None:
    image = pytest.importorskip("PIL.Image")
    ramp = np.repeat(np.linspace(0, 255, 60).astype(np.uint8)[None, :, None], 40, axis=0).repeat(3, axis=2)
    image.fromarray(ramp).save(photographs / "train" / "n01" / "0.png")
    taken = load("IN100", hyper(image_size=16)).train.take(np.zeros(200, int), np.random.default_rng(0)).astype(int)
    mirrored = taken[:, 0, 0, 0] > taken[:, 0, -1, 0]
    assert 75 < mirrored.sum() < 125


def test_fingerprints_of_photographs_follow_the_files(photographs: Path, hyper: Callable[..., Hyper]) -> None:
    before = load("IN100", hyper()).fingerprint()
    assert load("IN100", hyper()).fingerprint() == before
    (photographs / "val" / "n02" / "0.png").rename(photographs / "val" / "n02" / "9.png")
    assert load("IN100", hyper()).fingerprint() != before


def test_folders_that_do_not_fit(photographs: Path, write_images: Write, hyper: Callable[..., Hyper]) -> None:
    write_images(photographs, ("val",), ("n09",), (8, 8))
    with pytest.raises(ValueError, match="val must contain only classes that are in train as well, got n09"):
        load("IN100", hyper())
    (photographs / "train" / "n09").mkdir()
    with pytest.raises(ValueError, match=r"n09 must contain image files .*, got none"):
        load("IN100", hyper())
    (photographs / "val").rename(photographs / "validation")
    with pytest.raises(ValueError, match="must contain a folder val or test next to train"):
        load("IN100", hyper())
