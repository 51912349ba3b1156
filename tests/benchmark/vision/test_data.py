"""Image data sets: what is read, which rows are used, and what is said of data that lack or do not fit."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from shesha_bench.data_folders import MissingDataError
from shesha_bench.vision import fingerprint, hyperparameters, sources
from shesha_bench.vision.data import load
from shesha_bench.vision.hyperparameters import Hyper


def test_images_of_an_npz_file(cifar: Path, hyper: Callable[..., Hyper]) -> None:
    for name, file in (("CIFAR10", "cifar10/cifar10_subset.npz"), ("CIFAR100", "cifar100/images.npz")):
        found = load(name, hyper())
        with np.load(cifar / file) as written:
            np.testing.assert_array_equal(found.train.take(np.arange(40)), written["x_train"])
            np.testing.assert_array_equal(found.test.take(np.array([3, 1])), written["x_test"][[3, 1]])
            np.testing.assert_array_equal(found.test.labels, written["y_test"])
        assert found.n_classes == 4
        assert found.train.labels.dtype == np.int64


def test_grey_images_get_three_channels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hyper: Callable[..., Hyper]
) -> None:
    pixels = np.random.default_rng(1).integers(256, size=(6, 28, 28)).astype(np.uint8)
    labels = np.arange(6)
    (tmp_path / "fashion_mnist").mkdir()
    file = tmp_path / "fashion_mnist" / "fashion_mnist_subset.npz"
    np.savez(file, x_train=pixels, y_train=labels, x_test=pixels, y_test=labels)
    monkeypatch.setenv("SHESHA_DATA", str(tmp_path))
    taken = load("FashionMNIST", hyper(image_size=28)).test.take(np.arange(6))
    assert taken.shape == (6, 28, 28, 3)
    np.testing.assert_array_equal(taken, np.stack([pixels] * 3, axis=-1))


def test_rows_are_drawn_once_for_all_models(cifar: Path, hyper: Callable[..., Hyper]) -> None:
    everything = load("CIFAR10", hyper()).train.take(np.arange(40))
    some = load("CIFAR10", hyper(train_rows=10, test_rows=5))
    rows = np.sort(np.random.default_rng(2024).choice(40, 10, replace=False))
    np.testing.assert_array_equal(some.train.take(np.arange(10)), everything[rows])
    assert len(some.test.labels) == 5
    assert some.n_classes == 4
    with pytest.raises(ValueError, match="train_rows must be at most the number of images, 40, got 41"):
        load("CIFAR10", hyper(train_rows=41))


def test_the_fingerprint_follows_the_images_that_are_used(cifar: Path) -> None:
    plain = {**hyperparameters("CIFAR10", "VGG", "small"), "train_rows": None, "test_rows": None}
    before = fingerprint("CIFAR10", plain)
    assert fingerprint("CIFAR10", plain) == before == fingerprint("CIFAR100", plain)
    assert fingerprint("CIFAR10", {**plain, "train_rows": 10}) != before
    file = cifar / "cifar10" / "cifar10_subset.npz"
    with np.load(file) as archive:
        arrays = dict(archive)
    arrays["y_test"][0] = 1
    np.savez(file, **arrays)
    assert fingerprint("CIFAR10", plain) != before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x_test": None}, "must contain x_train, y_train, x_test, y_test, got x_train, y_train, y_test"),
        (
            {"x_test": np.zeros((2, 4, 5), np.uint8)},
            "test: images must be uint8 of shape .*got uint8 of shape .2, 4, 5.",
        ),
        ({"x_train": np.zeros((2, 4, 4))}, "train: images must be uint8 .*got float64"),
        ({"y_test": np.zeros(3, int)}, r"test: labels must be one whole number from 0 per image \(2\)"),
        ({"y_test": np.array([0, -1])}, "test: labels must be one whole number from 0"),
        ({"y_test": np.array([0, 2])}, "CIFAR100: test labels must be below 2, got 2"),
    ],
)
def test_npz_files_that_do_not_fit(
    change: dict[str, np.ndarray | None],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    hyper: Callable[..., Hyper],
) -> None:
    pixels, labels = np.zeros((2, 4, 4, 3), np.uint8), np.arange(2)
    arrays = {"x_train": pixels, "y_train": labels, "x_test": pixels, "y_test": labels, **change}
    (tmp_path / "cifar100").mkdir()
    np.savez(tmp_path / "cifar100" / "x.npz", **{name: array for name, array in arrays.items() if array is not None})
    monkeypatch.setenv("SHESHA_DATA", str(tmp_path))
    with pytest.raises(ValueError, match=message):
        load("CIFAR100", hyper())


def test_two_npz_files_are_one_too_many(cifar: Path, hyper: Callable[..., Hyper]) -> None:
    (cifar / "cifar100" / "more.npz").touch()
    with pytest.raises(ValueError, match=r"must contain one npz file, got images\.npz, more\.npz"):
        load("CIFAR100", hyper())


@pytest.mark.parametrize("name", ["FashionMNIST", "CIFAR10", "CIFAR100"])
def test_missing_data_name_folder_and_source(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hyper: Callable[..., Hyper]
) -> None:
    def unreachable(*_: object, **__: object) -> None:
        raise OSError("no network")

    monkeypatch.setenv("SHESHA_DATA", str(tmp_path))
    monkeypatch.setattr(sources, "require", lambda *_: SimpleNamespace(**{name: unreachable}))
    folder = {"FashionMNIST": "fashion_mnist", "CIFAR10": "cifar10", "CIFAR100": "cifar100"}[name]
    with pytest.raises(
        MissingDataError, match=rf"{folder} nor available from torchvision.datasets.{name} \(no network"
    ):
        load(name, hyper())


def test_missing_torchvision_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hyper: Callable[..., Hyper]
) -> None:
    def absent(module: str, extra: str) -> ModuleType:
        raise ImportError(f"torchvision is needed: pip install 'shesha-representations[{extra}]'")

    monkeypatch.setenv("SHESHA_DATA", str(tmp_path))
    monkeypatch.setattr(sources, "require", absent)
    with pytest.raises(MissingDataError, match=r"cifar10 nor .* pip install 'shesha-representations\[vision\]'"):
        load("CIFAR10", hyper())


def test_what_torchvision_downloads_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hyper: Callable[..., Hyper]
) -> None:
    def download(root: str, train: bool, download: bool) -> SimpleNamespace:
        assert download and root == str(tmp_path / "cache")
        return SimpleNamespace(data=np.full((3, 16, 16, 3), 7 if train else 9, np.uint8), targets=[0, 1, 1])

    monkeypatch.delenv("SHESHA_DATA", raising=False)
    monkeypatch.setenv("SHESHA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(sources, "require", lambda *_: SimpleNamespace(CIFAR10=download))
    found = load("CIFAR10", hyper())
    assert found.train.take(np.array([0])).max() == 7
    assert found.test.take(np.array([2])).min() == 9
    assert found.n_classes == 2


def test_imagenet_is_never_downloaded(monkeypatch: pytest.MonkeyPatch, hyper: Callable[..., Hyper]) -> None:
    monkeypatch.delenv("SHESHA_DATA", raising=False)
    with pytest.raises(MissingDataError, match=r"\$SHESHA_DATA/imagenet100 .*image-net.org.*agreed to its terms"):
        load("IN100", hyper())


def test_unknown_data_sets_are_told_the_known_ones(hyper: Callable[..., Hyper]) -> None:
    with pytest.raises(ValueError, match="dataset must be one of FashionMNIST, CIFAR10, CIFAR100, IN100, got 'MNIST'"):
        load("MNIST", hyper())


@pytest.mark.skipif("SHESHA_DATA" not in os.environ, reason="SHESHA_DATA names no folder with the real images")
@pytest.mark.parametrize("name", ["FashionMNIST", "CIFAR10"])
def test_the_real_images(name: str) -> None:
    pytest.importorskip("torch")
    found = load(name, Hyper(**hyperparameters(name, "VGG", "small")))  # type: ignore[arg-type]
    assert (len(found.train.labels), len(found.test.labels), found.n_classes) == (2000, 500, 10)
    assert np.bincount(found.test.labels).min() > 30
    assert 60 < found.train.take(np.arange(200)).mean() < 130
