"""Small real data sets that are part of the package."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["digits", "digits_network"]


def digits() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return 1,797 images of handwritten digits, and the digit in each.

    The images are the test set of the UCI collection, written by 13 people. Each image has 8 by 8 pixels, row by row. A
    pixel is the number of inked points in a 4 by 4 block of the original bitmap. Three pixels at the border are blank
    in all images.

    Returns
    -------
    images : ndarray of shape (1797, 64)
        Whole numbers from 0 (blank) to 16 (full).
    labels : ndarray of shape (1797,)
        The digits, 0 to 9. Each digit occurs 174 to 183 times.

    References
    ----------
    E. Alpaydin and C. Kaynak, "Optical Recognition of Handwritten Digits", UCI Machine Learning Repository, 1998,
    https://doi.org/10.24432/C50P49, licence CC BY 4.0.

    Examples
    --------
    >>> images, labels = digits()
    >>> images.shape, int(labels[3])
    ((1797, 64), 3)
    >>> float(images.min()), float(images.max())
    (0.0, 16.0)
    """
    stored = _read("digits.npz")
    return stored["images"].astype(np.float64), stored["labels"].astype(np.int64)


def digits_network() -> tuple[dict[str, NDArray[np.float64]], NDArray[np.int64]]:
    """Return the layer activations of a small network for 900 digits, before and after training.

    The network has three hidden layers of 96, 64 and 32 tanh units. It was trained on 897 of the images of `digits`.
    The rows here are the other 900 images, drawn at random and in the order of `digits`. The network classifies 96 % of
    them correctly. The same people wrote both parts, so this accuracy does not apply to new writers.
    ``scripts/make_digits_network.py`` in the source repository makes the file.

    Returns
    -------
    layers : dict of str to ndarray of shape (900, n_units)
        ``init_layer1`` to ``init_layer3`` of the untrained network, then ``trained_layer1`` to ``trained_layer3`` of
        the trained one. All six have the same rows. Activations lie strictly between -1 and 1, in half precision.
    labels : ndarray of shape (900,)
        The digits, 0 to 9.

    References
    ----------
    Images: E. Alpaydin and C. Kaynak, "Optical Recognition of Handwritten Digits", UCI Machine Learning Repository,
    1998, https://doi.org/10.24432/C50P49, licence CC BY 4.0.

    Examples
    --------
    >>> layers, labels = digits_network()
    >>> for name, layer in layers.items():
    ...     print(name, layer.shape)
    init_layer1 (900, 96)
    init_layer2 (900, 64)
    init_layer3 (900, 32)
    trained_layer1 (900, 96)
    trained_layer2 (900, 64)
    trained_layer3 (900, 32)
    >>> labels.shape
    (900,)
    """
    stored = _read("digits_network.npz")
    labels = stored.pop("labels").astype(np.int64)
    return {name: layer.astype(np.float64) for name, layer in stored.items()}, labels


def _read(name: str) -> dict[str, NDArray[Any]]:
    """Return the arrays of a packaged file in the order in which they were written."""
    with (files("shesha.data") / name).open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        return {key: arrays[key] for key in arrays.files}
