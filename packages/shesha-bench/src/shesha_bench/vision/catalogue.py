"""The image data sets and networks of the benchmark, with one entry for each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from shesha_bench.catalogue import Catalogue, Override, Plain
from shesha_bench.domains import hash_arrays
from shesha_bench.vision.images import Hyper, ImageData, ImageNetwork, Images, Parts, array_set, photographs


def _builder(builder: str, *arguments: Any) -> Callable[[int, Hyper, bool], Parts]:
    """Return a build function that calls `builder` of networks.py, and so needs torch only then."""

    def build(n_classes: int, hyper: Hyper, pretrained: bool) -> Parts:
        from shesha_bench.vision import networks

        parts: Parts = getattr(networks, builder)(n_classes, hyper, pretrained, *arguments)
        return parts

    return build


_SMALL: dict[str, Plain] = {
    "train_rows": 2000,
    "test_rows": 500,
    "image_size": 16,
    "extent": 2,
    # A quarter of the paper's shift at half its resolution, because few epochs hardly benefit from larger shifts.
    "padding": 1,
    "dot": 3,
}
_SMALL_CNN: dict[str, Plain] = {
    "optimiser": "sgd",
    "learning_rate": 0.03,
    "weight_decay": 4e-5,
    "batch_size": 64,
    "epochs": 7,
    "warmup": 0.1,
}
_SMALL_VIT: dict[str, Plain] = {
    "optimiser": "adamw",
    "learning_rate": 1e-3,
    "weight_decay": 0.1,
    "batch_size": 32,
    "epochs": 6,
    "warmup": 0.1,
    "image_size": 16,
}
_CNN: dict[str, Plain] = {
    "optimiser": "sgd",
    "learning_rate": 0.1,
    "weight_decay": 4e-5,
    "batch_size": 128,
    "epochs": 200,
    "warmup": 0.0,
}
_VIT: dict[str, Plain] = {
    "optimiser": "adamw",
    "learning_rate": 3e-3,
    "weight_decay": 0.1,
    "batch_size": 512,
    "epochs": 300,
    "warmup": 0.1,
    # Images of any size are resized to the 224 pixels of the pretrained patch embedding.
    "image_size": 224,
    "extent": 7,
}


def _resnet(depth: int) -> ImageNetwork:
    return ImageNetwork(build=_builder("resnet_parts", depth), hyper=_CNN, suites=("paper",))


def _vgg(depth: int) -> ImageNetwork:
    # For images of 32 pixels, the last maps of a VGG have 2 x 2 pixels, so pooling to 4 x 4 would repeat values.
    overrides = {"CIFAR100": Override(hyper={"extent": 2})}
    return ImageNetwork(build=_builder("vgg_parts", depth), hyper=_CNN, overrides=overrides, suites=("paper",))


def _vit(name: str) -> ImageNetwork:
    return ImageNetwork(build=_builder("vit_parts", name), hyper=_VIT, suites=("paper",), tokens=True)


DATA = {
    "FashionMNIST": ImageData(
        read=array_set("fashion_mnist", "fashion_mnist_subset.npz", "FashionMNIST"),
        hyper={**_SMALL, "image_size": 14},
        suites=("small",),
    ),
    "CIFAR10": ImageData(read=array_set("cifar10", "cifar10_subset.npz", "CIFAR10"), hyper=_SMALL, suites=("small",)),
    "CIFAR100": ImageData(
        read=array_set("cifar100", None, "CIFAR100"), hyper={"image_size": 32, "extent": 4}, suites=("paper",)
    ),
    "IN100": ImageData(read=photographs, hyper={"image_size": 224, "extent": 7}, suites=("paper",)),
}
NETWORKS = {
    "ResNet": ImageNetwork(build=_builder("small_resnet_parts"), hyper=_SMALL_CNN, suites=("small",)),
    "VGG": ImageNetwork(build=_builder("small_vgg_parts"), hyper={**_SMALL_CNN, "epochs": 9}, suites=("small",)),
    "ViT": ImageNetwork(build=_builder("small_vit_parts"), hyper=_SMALL_VIT, suites=("small",), tokens=True),
    "RNet18": _resnet(18),
    "RNet34": _resnet(34),
    "RNet101": _resnet(101),
    "VGG11": _vgg(11),
    "VGG19": _vgg(19),
    "ViT B32": _vit("ViT B32"),
    "ViT L32": _vit("ViT L32"),
}
CATALOGUE = Catalogue(
    domain="vision",
    data=DATA,
    networks=NETWORKS,
    hyper=Hyper,
    # These are the levels S, M and Max of the noise; the paper also leaves out its levels L (0.75) and Off.
    degrees={"label_randomization": (0, 0.5, 0.75), "shortcut": (0, 0.75, 1), "augmentation": (0.25, 0.5, 1)},
    sizes={"paper": (10, 5, 10), "small": (8, 4, 4)},
)


SUBSET_SEED = 2024


@dataclass(frozen=True)
class Dataset:
    """Images for training, and test images from which representations are extracted."""

    train: Images
    test: Images
    n_classes: int

    def fingerprint(self) -> str:
        """Hash everything that training and extraction use."""
        return hash_arrays(self.train.fingerprint(), self.test.fingerprint(), str(self.n_classes))


def load(dataset: str, hyper: Hyper) -> Dataset:
    """Read the images of a data set; the hyperparameters select rows, size and padding."""
    train, test = CATALOGUE.dataset(dataset).read(hyper)
    n_classes = int(train.labels.max()) + 1
    if test.labels.max() >= n_classes:
        raise ValueError(f"{dataset}: test labels must be below {n_classes}, got {test.labels.max()}")
    return Dataset(
        _subsample(train, hyper.train_rows, "train_rows"), _subsample(test, hyper.test_rows, "test_rows"), n_classes
    )


def _subsample(images: Images, n_rows: int | None, name: str) -> Images:
    if n_rows is None:
        return images
    n_images = len(images.labels)
    if n_rows > n_images:
        raise ValueError(f"{name} must be at most the number of images, {n_images}, got {n_rows}")
    return images.subset(np.sort(np.random.default_rng(SUBSET_SEED).choice(n_images, n_rows, replace=False)))
