"""Images: arrays, folders and downloads, settings and hyperparameters."""

from __future__ import annotations

import colorsys
import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from shesha_bench.domains import MissingDataError
from shesha_bench.vision import fingerprint, hyperparameters, images
from shesha_bench.vision.catalogue import DATA, NETWORKS, load
from shesha_bench.vision.images import ArrayImages, Hyper
from shesha_bench.vision.training import add_noise, class_colours, draw_dots, randomise_labels


def test_moved_images_are_cuts_from_the_bordered_image() -> None:
    pixels = np.random.default_rng(0).integers(1, 256, size=(1, 6, 6, 3)).astype(np.uint8)
    moved = ArrayImages(pixels, np.zeros(1, np.int64), padding=1).take(np.zeros(300, int), np.random.default_rng(1))
    bordered = np.pad(pixels[0], ((1, 1), (1, 1), (0, 0)))
    cuts = {}
    for top in range(3):
        for left in range(3):
            cut = bordered[top : top + 6, left : left + 6]
            cuts[cut.tobytes()] = (top, left, False)
            cuts[cut[:, ::-1].tobytes()] = (top, left, True)
    seen = [cuts[image.tobytes()] for image in moved]
    assert len(set(seen)) == len(cuts) == 18
    assert 110 < sum(mirrored for *_, mirrored in seen) < 190


def test_the_generator_decides_the_crops() -> None:
    pixels = np.random.default_rng(0).integers(256, size=(8, 10, 10)).astype(np.uint8)
    images, rows = ArrayImages(pixels, np.zeros(8, np.int64)), np.arange(8)
    first = images.take(rows, np.random.default_rng(2))
    np.testing.assert_array_equal(first, images.take(rows, np.random.default_rng(2)))
    assert (first != images.take(rows, np.random.default_rng(3))).any()
    np.testing.assert_array_equal(images.take(rows)[..., 2], pixels)


@pytest.mark.parametrize("shape", [(3, 8, 8), (3, 8, 8, 3)])
def test_reducing_averages_pixels(shape: tuple[int, ...]) -> None:
    pytest.importorskip("torch")
    pixels = np.random.default_rng(0).integers(256, size=shape).astype(np.uint8)
    images = ArrayImages(pixels, np.zeros(3, np.int64), padding=2)
    blocks = pixels.reshape(3, 4, 2, 4, 2, *shape[3:]).mean(axis=(2, 4))
    np.testing.assert_allclose(images.reduce(4).pixels, blocks, atol=0.5)
    assert images.reduce(4).padding == 2
    assert images.reduce(8) is images
    assert images.reduce(16) is images


Write = Callable[..., None]


def test_a_folder_of_small_images(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write_images: Write, hyper: Callable[..., Hyper]
) -> None:
    monkeypatch.setenv("SHESHA_DATA", str(tmp_path))
    write_images(tmp_path / "cifar100", ("train", "test"), ("apple", "bear", "cup"), (16, 16))
    found = load("CIFAR100", hyper())
    assert found.train.take(np.arange(6)).shape == (6, 16, 16, 3)
    assert found.test.labels.tolist() == [0, 0, 1, 1, 2, 2]


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


def test_what_torchvision_downloads_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hyper: Callable[..., Hyper]
) -> None:
    def download(root: str, train: bool, download: bool) -> SimpleNamespace:
        assert download and root == str(tmp_path / "cache")
        return SimpleNamespace(data=np.full((3, 16, 16, 3), 7 if train else 9, np.uint8), targets=[0, 1, 1])

    monkeypatch.delenv("SHESHA_DATA", raising=False)
    monkeypatch.setenv("SHESHA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(images, "require", lambda *_: SimpleNamespace(CIFAR10=download))
    found = load("CIFAR10", hyper())
    assert found.train.take(np.array([0])).max() == 7
    assert found.test.take(np.array([2])).min() == 9
    assert found.n_classes == 2


def test_imagenet_is_never_downloaded(monkeypatch: pytest.MonkeyPatch, hyper: Callable[..., Hyper]) -> None:
    monkeypatch.delenv("SHESHA_DATA", raising=False)
    with pytest.raises(MissingDataError, match=r"\$SHESHA_DATA/imagenet100 .*image-net.org.*agreed to its terms"):
        load("IN100", hyper())


@pytest.mark.skipif("SHESHA_DATA" not in os.environ, reason="SHESHA_DATA names no folder with the real images")
@pytest.mark.parametrize("name", ["FashionMNIST", "CIFAR10"])
def test_the_real_images(name: str) -> None:
    pytest.importorskip("torch")
    found = load(name, Hyper(**hyperparameters(name, "VGG", "small")))  # type: ignore[arg-type]
    assert (len(found.train.labels), len(found.test.labels), found.n_classes) == (2000, 500, 10)
    assert np.bincount(found.test.labels).min() > 30
    assert 60 < found.train.take(np.arange(200)).mean() < 130


def test_labels_are_replaced_by_classes_drawn_from_all() -> None:
    labels = np.arange(10_000) % 10
    changed = randomise_labels(labels, 0.5, 10, np.random.default_rng(0))
    # A tenth of the replacements draws the true class.
    assert 0.44 < (changed != labels).mean() < 0.46
    assert np.bincount(changed[changed != labels], minlength=10).min() > 350
    assert (labels == np.arange(10_000) % 10).all()


def test_the_number_of_labels_to_replace_is_rounded_down() -> None:
    labels = np.zeros(7, np.int64)
    changed = [randomise_labels(labels, 0.75, 10**9, np.random.default_rng(seed)) for seed in range(3)]
    assert [(row != 0).sum() for row in changed] == [5, 5, 5]
    assert (changed[0] != changed[1]).any()
    np.testing.assert_array_equal(randomise_labels(labels, 0.0, 5, np.random.default_rng(0)), labels)


@pytest.mark.parametrize("n_classes", [4, 10, 100])
def test_class_colours_are_evenly_spaced_hues(n_classes: int) -> None:
    colours = class_colours(n_classes)
    assert len({tuple(colour) for colour in colours.tolist()}) == n_classes
    hsv = np.array([colorsys.rgb_to_hsv(*(colour / 255)) for colour in colours])
    np.testing.assert_allclose(hsv[:, 0], np.arange(n_classes) / n_classes, atol=0.002)
    np.testing.assert_allclose(hsv[:, 1:], 1)


@pytest.mark.parametrize("degree", [0.0, 0.75, 1.0])
def test_dots_agree_with_the_class_as_often_as_they_should(degree: float) -> None:
    labels = np.arange(8000) % 5
    dots = draw_dots(labels, degree, 5, 32, 5, np.random.default_rng(0))
    # The others draw the true class in one case of five.
    assert (dots.classes == labels).mean() == pytest.approx(degree + (1 - degree) / 5, abs=0.02)


def test_a_dot_is_a_disc_of_the_class_colour_somewhere_in_the_image() -> None:
    labels = np.arange(200) % 3
    dots = draw_dots(labels, 1.0, 3, 12, 5, np.random.default_rng(1))
    rows = np.arange(50, 150)
    pixels = np.full((100, 12, 12, 3), 60, np.uint8)
    dots.paint(pixels, rows)
    painted = (pixels != 60).any(axis=-1)
    for image, mask, row in zip(pixels, painted, rows, strict=True):
        assert (image[mask] == class_colours(3)[labels[row]]).all()
        down, across = np.nonzero(mask)
        assert np.ptp(down) == np.ptp(across) == 4
        # A disc of five pixels' diameter lacks the four corners of its square.
        assert mask.sum() == 21
    assert painted.any(axis=0).sum() > 130


def test_dots_of_the_smallest_and_the_largest_diameter() -> None:
    for diameter, area in ((1, 1), (8, 52)):
        pixels = np.zeros((1, 8, 8, 3), np.uint8)
        draw_dots(np.zeros(1, np.int64), 1.0, 2, 8, diameter, np.random.default_rng(0)).paint(pixels, np.array([0]))
        assert pixels.any(axis=-1).sum() == area
    with pytest.raises(ValueError, match=r"hyper\['dot'\] must be at most the side of the images, 8, got 9"):
        draw_dots(np.zeros(1, np.int64), 1.0, 2, 8, 9, np.random.default_rng(0))


@pytest.mark.parametrize("degree", [0.05, 0.1])
def test_noise_has_variances_from_zero_to_the_highest(degree: float) -> None:
    torch = pytest.importorskip("torch")
    grey = torch.full((400, 3, 16, 16), 127.5)
    noisy = add_noise(grey, degree, torch.Generator().manual_seed(0))
    variances = (noisy - grey).var(dim=(1, 2, 3)).numpy()
    assert variances.max() < 4000 * degree * 1.2
    np.testing.assert_allclose(
        np.quantile(variances, [0.25, 0.5, 0.75]) / (4000 * degree), [0.25, 0.5, 0.75], atol=0.07
    )
    assert abs(float((noisy - grey).mean())) < 0.2
    assert (noisy != add_noise(grey, degree, torch.Generator().manual_seed(1))).any()


@pytest.mark.parametrize("suite", ["paper", "small"])
def test_every_model_of_a_suite_has_hyperparameters_that_are_complete(suite: str) -> None:
    found = [
        Hyper.check(hyperparameters(dataset, architecture, suite))
        for dataset, data in DATA.items()
        for architecture, network in NETWORKS.items()
        if suite in data.suites and suite in network.suites
    ]
    assert len(found) == {"paper": 2 * 7, "small": 2 * 3}[suite]


def test_the_papers_hyperparameters() -> None:
    cnn = Hyper.check(hyperparameters("IN100", "VGG19", "paper"))
    assert (cnn.optimiser, cnn.learning_rate, cnn.weight_decay, cnn.batch_size, cnn.epochs) == (
        "sgd",
        0.1,
        4e-5,
        128,
        200,
    )
    assert (cnn.image_size, cnn.extent, cnn.padding, cnn.dot) == (224, 7, 4, 5)
    vit = Hyper.check(hyperparameters("CIFAR100", "ViT B32", "paper"))
    assert (vit.optimiser, vit.learning_rate, vit.weight_decay, vit.batch_size, vit.epochs) == (
        "adamw",
        3e-3,
        0.1,
        512,
        300,
    )
    assert vit.image_size == 224
    assert Hyper.check(hyperparameters("CIFAR100", "RNet18", "paper")).image_size == 32
