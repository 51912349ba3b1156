"""Small image data sets that the tests write, and models to train on them."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shesha_bench.catalogue import Model, Setting
from shesha_bench.vision import hyperparameters
from shesha_bench.vision.catalogue import NETWORKS
from shesha_bench.vision.images import Hyper

N_TRAIN, N_TEST, N_CLASSES = 40, 12, 4


@pytest.fixture
def cifar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write images of 16 pixels that stand for CIFAR-10 and CIFAR-100, and return the folder of the data."""
    rng = np.random.default_rng(5)
    arrays = {}
    for part, n in (("train", N_TRAIN), ("test", N_TEST)):
        arrays[f"x_{part}"] = rng.integers(256, size=(n, 16, 16, 3)).astype(np.uint8)
        arrays[f"y_{part}"] = (np.arange(n) % N_CLASSES).astype(np.int16)
    for folder, file in (("cifar10", "cifar10_subset.npz"), ("cifar100", "images.npz")):
        (tmp_path / folder).mkdir()
        np.savez(tmp_path / folder / file, **arrays)
    monkeypatch.setenv("SHESHA_DATA", str(tmp_path))
    return tmp_path


@pytest.fixture
def write_images() -> Callable[..., None]:
    """Write image files into a folder per part and class."""
    image = pytest.importorskip("PIL.Image")

    def write(place: Path, parts: tuple[str, ...], classes: tuple[str, ...], size: tuple[int, int], n: int = 2) -> None:
        rng = np.random.default_rng(6)
        for part in parts:
            for name in classes:
                (place / part / name).mkdir(parents=True)
                for number in range(n):
                    pixels = rng.integers(256, size=(size[1], size[0], 3)).astype(np.uint8)
                    image.fromarray(pixels).save(place / part / name / f"{number}.png")

    return write


@pytest.fixture
def hyper() -> Callable[..., Hyper]:
    """Give hyperparameters of a short training."""

    def make(**changes: Any) -> Hyper:
        values: dict[str, Any] = {
            "epochs": 1,
            "batch_size": 16,
            "learning_rate": 0.01,
            "weight_decay": 0.0,
            "optimiser": "sgd",
            "image_size": 16,
            "extent": 2,
        }
        return Hyper(**{**values, **changes})

    return make


@pytest.fixture
def model() -> Callable[..., Model]:
    """Give a model that is trained for one epoch on images of 16 pixels."""

    def make(architecture: str, *setting: Any, seed: int = 0, dataset: str = "CIFAR10", **changes: Any) -> Model:
        paper = NETWORKS[architecture].suites == ("paper",)
        values = hyperparameters(
            *(("CIFAR100", architecture, "paper") if paper else ("CIFAR10", architecture, "small"))
        )
        short = {"epochs": 1, "batch_size": 16, "train_rows": None, "test_rows": None, "image_size": 16, "extent": 2}
        hyper = {**values, **short, "reduced": True, **changes}
        return Model("vision", dataset, architecture, Setting(*setting), seed, hyper)

    return make


BESIDE = Path(sys.prefix) / "torchvision"
"""Where `make test` puts torchvision: one built for another torch would break transformers in the environment."""


@pytest.fixture(scope="session")
def torchvision() -> None:
    """Skip where torchvision is not installed, here or beside."""
    if importlib.util.find_spec("torchvision") is None and BESIDE.is_dir():
        sys.path.append(str(BESIDE))
    pytest.importorskip("torch")
    try:
        _import_torchvision()
    except ImportError as error:
        pytest.skip(f"torchvision cannot be imported: {error}")


def _import_torchvision() -> None:
    try:
        importlib.import_module("torchvision")
    except RuntimeError:
        # Built for another torch, it lacks its compiled operators. The networks use none of them, but importing names
        # some, so they have to have a signature.
        import torch

        for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
            del sys.modules[name]
        library = torch.library.Library("torchvision", "DEF")
        for name in ("nms", "qnms"):
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        LIBRARIES.append(library)
        importlib.import_module("torchvision")


LIBRARIES: list[Any] = []
"""What was defined lives as long as its library."""


@pytest.fixture
def vit() -> None:
    """Skip where transformers is not installed, or its ViT cannot be imported."""
    transformers = pytest.importorskip("transformers")
    try:
        assert transformers.ViTForImageClassification
    except ImportError as error:
        pytest.skip(f"transformers' ViT cannot be imported: {error}")
