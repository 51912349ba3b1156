"""Load the images for training and extraction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shesha_bench.array_hash import hash_arrays
from shesha_bench.vision.catalogue import CATALOGUE
from shesha_bench.vision.hyperparameters import Hyper
from shesha_bench.vision.images import Images

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
    """Read a data set.

    Parameters
    ----------
    dataset : str
        "FashionMNIST", "CIFAR10", "CIFAR100", "IN100", or module:name of your own images.
    hyper : Hyper
        Hyperparameters, of which four are used. `train_rows` and `test_rows` are the numbers of images to use, selected
        at random but identically for all models; None uses all images. `image_size` is the side length to which
        photographs of IN100 are cropped and scaled, and to which larger images of other data sets are reduced.
        `padding` is how far a training image is shifted at most.

    Returns
    -------
    Dataset
        Training and test images, whose labels start at 0.

    Raises
    ------
    MissingDataError
        If the data are neither in the local folder nor available from their source.
    ValueError
        If the data set is unknown, a file has invalid contents, or there are fewer images than requested.
    """
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
