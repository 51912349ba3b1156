"""Hyperparameters of vision models: what a suite gives, and what is refused."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from shesha_bench.vision import hyperparameters
from shesha_bench.vision.catalogue import DATA, NETWORKS
from shesha_bench.vision.hyperparameters import Hyper


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


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("CIFAR10", "ResNet", "large"), "suite must be one of paper, small, got 'large'"),
        (
            ("IN100", "ResNet", "small"),
            "dataset must be one of FashionMNIST, CIFAR10 in the suite 'small', got 'IN100'",
        ),
        (("IN100", "ViT", "paper"), "architecture must be one of RNet18, .* in the suite 'paper', got 'ViT'"),
    ],
)
def test_names_that_a_suite_does_not_have(names: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        hyperparameters(*names)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epochs": 0}, r"hyper\['epochs'\] must be a whole number of at least 1, got 0"),
        ({"batch_size": 2.5}, r"hyper\['batch_size'\] must be a whole number of at least 1, got 2.5"),
        ({"image_size": None}, r"hyper\['image_size'\] must be .* got None"),
        ({"padding": -1}, r"hyper\['padding'\] must be a whole number of at least 0, got -1"),
        ({"warmup": 1.0}, r"hyper\['warmup'\] must be a number of at least 0 and below 1, got 1.0"),
        ({"learning_rate": float("nan")}, r"hyper\['learning_rate'\] must be a number .* got nan"),
        ({"optimiser": "adam"}, r"hyper\['optimiser'\] must be one of sgd, adamw, got 'adam'"),
        ({"reduced": 1}, r"hyper\['reduced'\] must be True or False, got 1"),
        ({"momentum": 0.5}, "hyper must have names among epochs, .*, got momentum"),
    ],
)
def test_values_that_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Hyper.check({**hyperparameters("CIFAR10", "VGG", "small"), **change})


def test_lacking_names_are_listed() -> None:
    with pytest.raises(ValueError, match=r"hyper must also contain epochs, .*, extent, got nothing"):
        Hyper.check({})


def test_hyperparameters_come_without_torch() -> None:
    code = "import sys, shesha_bench.vision; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
