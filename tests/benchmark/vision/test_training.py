"""Training and extraction: shapes, settings, reproducibility, and that something is learnt."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shesha_bench import vision
from shesha_bench.catalogue import Model, Setting

torch = pytest.importorskip("torch")

from shesha_bench.vision import training  # noqa: E402
from shesha_bench.vision.images import ArrayImages  # noqa: E402

Make = Callable[..., Model]
SMALL = ("ResNet", "VGG", "ViT")
TORCHVISION = ("RNet18", "RNet34", "RNet101", "VGG11", "VGG19")


def check(model: Model, n_layers: int) -> None:
    """Train a model, extract it, and look at what comes out."""
    outcome = vision.extract(model, vision.fit(model))
    layers = outcome.representations[""]
    assert len(layers) == n_layers
    assert layers[-1].ndim == 2
    assert all(len(layer) == 12 and layer.dtype == np.float32 and np.isfinite(layer).all() for layer in layers)
    assert outcome.probabilities.shape == (12, 4)
    assert outcome.probabilities.dtype == np.float64
    np.testing.assert_allclose(outcome.probabilities.sum(axis=1), 1)
    np.testing.assert_array_equal(outcome.labels, np.arange(12) % 4)


@pytest.mark.usefixtures("cifar")
@pytest.mark.parametrize("architecture", SMALL)
@pytest.mark.parametrize("setting", [(), ("labels", 0.5), ("shortcut", 0.75), ("augmentation", 0.5)])
def test_the_small_networks(architecture: str, setting: tuple[Any, ...], model: Make) -> None:
    every = 4 if architecture == "ViT" else 6
    check(model(architecture, *setting), 1 if setting else every)


@pytest.mark.usefixtures("cifar", "torchvision")
@pytest.mark.parametrize(
    "architecture", [pytest.param(name, marks=pytest.mark.slow) if name == "RNet101" else name for name in TORCHVISION]
)
def test_the_papers_convolutional_networks(architecture: str, model: Make) -> None:
    # After five poolings nothing is left of fewer than 32 pixels.
    enlarged = 32 if architecture.startswith("VGG") else 16
    check(model(architecture, dataset="CIFAR100", image_size=enlarged, train_rows=4), 6)


def test_photographs_in_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write_images: Callable[..., None], model: Make
) -> None:
    monkeypatch.setenv("SHESHA_DATA", str(tmp_path))
    write_images(tmp_path / "imagenet100", ("train", "val"), ("a", "b", "c", "d"), (30, 24), n=3)
    one = model("VGG", "shortcut", 1.0, dataset="IN100", batch_size=8)
    outcome = vision.extract(one, vision.fit(one))
    assert outcome.labels.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]


@pytest.mark.usefixtures("cifar")
@pytest.mark.parametrize("setting", [(), ("labels", 0.5), ("shortcut", 0.75), ("augmentation", 0.5)])
def test_the_same_seed_gives_the_same_weights(setting: tuple[Any, ...], model: Make) -> None:
    before = torch.random.get_rng_state()
    first, again = (vision.fit(model("VGG", *setting)) for _ in range(2))
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert all(weight.device.type == "cpu" for weight in first.values())
    assert torch.equal(before, torch.random.get_rng_state())
    other = vision.fit(model("VGG", *setting, seed=1))
    assert not torch.equal(first["body.head.weight"], other["body.head.weight"])


@pytest.mark.usefixtures("cifar")
def test_every_setting_changes_the_training(model: Make) -> None:
    settings = ((), ("labels", 0.5), ("labels", 0.75), ("shortcut", 0.0), ("shortcut", 1.0))
    settings = (*settings, ("augmentation", 0.25), ("augmentation", 1.0))
    heads = [vision.fit(model("VGG", *setting))["body.head.weight"].numpy().tobytes() for setting in settings]
    assert len(set(heads)) == len(settings)


@pytest.mark.usefixtures("cifar")
def test_the_dots_of_the_test_images_are_the_same_for_all(model: Make) -> None:
    weights = vision.fit(model("VGG"))
    plain, *dotted = (
        vision.extract(model("VGG", *setting, seed=seed), weights).probabilities
        for setting, seed in (((), 0), (("shortcut", 0.0), 0), (("shortcut", 1.0), 3))
    )
    np.testing.assert_array_equal(dotted[0], dotted[1])
    assert (plain != dotted[0]).any()


@pytest.mark.usefixtures("cifar")
def test_weights_of_another_network(model: Make) -> None:
    weights = vision.fit(model("VGG"))
    with pytest.raises(ValueError, match="weights must be a state dict of ResNet on CIFAR10, standard, seed 0, got"):
        vision.extract(model("ResNet"), weights)
    weights["body.head.weight"] = weights["body.head.weight"][:2]
    with pytest.raises(ValueError, match="weights must be a state dict of VGG on CIFAR10"):
        vision.extract(model("VGG"), weights)


@pytest.mark.usefixtures("cifar")
def test_a_training_that_diverges_says_so(model: Make) -> None:
    with pytest.raises(ArithmeticError, match="the training of VGG on CIFAR10, standard, seed 0 diverged in epoch 1"):
        vision.fit(model("VGG", learning_rate=1e30, warmup=0.0))


def test_a_leaked_class_is_learnt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: Make) -> None:
    (tmp_path / "cifar10").mkdir()
    pixels, labels = np.full((400, 16, 16, 3), 90, np.uint8), np.arange(400) % 2
    arrays = {"x_train": pixels, "y_train": labels, "x_test": pixels, "y_test": labels}
    np.savez(tmp_path / "cifar10" / "cifar10_subset.npz", **arrays)
    monkeypatch.setenv("SHESHA_DATA", str(tmp_path))
    one = model("VGG", "shortcut", 1.0, epochs=3, dot=5)
    outcome = vision.extract(one, vision.fit(one))
    # Images tell nothing but the dots, whose colours are random now: the network follows them, right half of the time.
    assert outcome.probabilities.max(axis=1).mean() > 0.9
    assert 0.4 < outcome.accuracy < 0.6


def test_channel_statistics_are_those_of_the_pixels() -> None:
    pixels = np.random.default_rng(0).integers(256, size=(1100, 4, 4, 3)).astype(np.uint8)
    pixels[..., 2] = 51
    mean, sd = training.channel_statistics(ArrayImages(pixels, np.zeros(1100, np.int64)))
    np.testing.assert_allclose(mean, pixels.mean(axis=(0, 1, 2)) / 255)
    np.testing.assert_allclose(sd[:2], pixels.std(axis=(0, 1, 2))[:2] / 255)
    assert sd[2] == 1


@pytest.mark.skipif("SHESHA_DATA" not in os.environ, reason="SHESHA_DATA names no folder with the real images")
@pytest.mark.parametrize(("dataset", "least"), [("CIFAR10", 0.3)])
def test_the_small_suite_learns_the_real_images(dataset: str, least: float) -> None:
    short = {**vision.hyperparameters(dataset, "VGG", "small"), "epochs": 4}
    one = Model("vision", dataset, "VGG", Setting(), 0, short)
    assert vision.extract(one, vision.fit(one)).accuracy > least
