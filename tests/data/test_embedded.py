"""The packaged data sets are what their sources say, and the network file is what its script makes."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

from shesha.data import digits, digits_network

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "make_digits_network.py"
CLASS_COUNTS = [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
"""Of the test set, as the UCI description lists them for the digits 0 to 9."""
UNITS = {"layer1": 96, "layer2": 64, "layer3": 32}
LAYERS = [f"{stage}_{layer}" for stage in ("init", "trained") for layer in UNITS]


def test_digits_are_the_uci_test_set():
    images, labels = digits()
    assert images.shape == (1797, 64)
    assert images.dtype == np.float64
    assert labels.dtype == np.int64
    assert np.bincount(labels).tolist() == CLASS_COUNTS
    assert np.array_equal(images, np.round(images))
    assert (images.min(), images.max()) == (0, 16)


def test_first_digit_is_the_first_row_of_the_uci_file():
    images, labels = digits()
    assert labels[:10].tolist() == list(range(10))
    assert images[0, :16].tolist() == [0, 0, 5, 13, 9, 1, 0, 0, 0, 0, 13, 15, 10, 15, 5, 0]


def test_no_digit_repeats_and_only_three_border_pixels_are_blank():
    images, _ = digits()
    assert len(np.unique(images, axis=0)) == len(images)
    assert np.flatnonzero(np.ptp(images, axis=0) == 0).tolist() == [0, 32, 39]


def test_callers_get_arrays_of_their_own():
    images, _ = digits()
    images[:] = -1
    assert digits()[0].min() == 0
    layers, _ = digits_network()
    layers.clear()
    assert list(digits_network()[0]) == LAYERS


def test_network_layers_come_in_reading_order_with_one_row_per_image():
    layers, labels = digits_network()
    assert list(layers) == LAYERS
    assert labels.shape == (900,)
    assert labels.dtype == np.int64
    assert set(labels.tolist()) == set(range(10))
    for name, layer in layers.items():
        assert layer.shape == (900, UNITS[name.split("_")[1]])
        assert layer.dtype == np.float64


@pytest.mark.parametrize("name", LAYERS)
def test_network_layers_are_not_degenerate(name):
    layer = digits_network()[0][name]
    assert np.isfinite(layer).all()
    assert np.abs(layer).max() < 1
    assert (np.abs(layer).max(axis=1) > 0.1).all()
    assert (layer.std(axis=0) > 0.01).all()
    assert len(np.unique(layer, axis=0)) == layer.shape[0]
    assert len(np.unique(layer, axis=1).T) == layer.shape[1]


def test_script_reproduces_the_shipped_activations(tmp_path):
    script = runpy.run_path(str(SCRIPT))
    arrays, accuracy = script["activations"]()
    layers, labels = digits_network()
    assert accuracy > 0.95
    assert list(arrays) == [*LAYERS, "labels"]
    assert np.array_equal(arrays["labels"], labels)
    for name, layer in layers.items():
        # Other machines sum in another order; the difference stays near one step of half precision.
        np.testing.assert_allclose(arrays[name].astype(np.float64), layer, rtol=0, atol=2e-2)

    script["save"](arrays, tmp_path / "network.npz")
    assert [path.name for path in tmp_path.iterdir()] == ["network.npz"]
    with np.load(tmp_path / "network.npz", allow_pickle=False) as stored:
        assert stored.files == list(arrays)
        assert all(np.array_equal(stored[name], arrays[name]) for name in arrays)


def test_script_gradients_agree_with_finite_differences():
    script = runpy.run_path(str(SCRIPT))
    rng = np.random.default_rng(0)
    network = script["Network"](rng)
    pixels, labels = rng.standard_normal((5, 64)) / 4, rng.integers(10, size=5)

    def loss() -> float:
        logits = network.logits(network.hidden(pixels)[-1])
        return float(np.mean(np.log(np.exp(logits).sum(axis=1)) - logits[np.arange(5), labels]))

    for parameter, gradient in zip(network.parameters, network.gradients(pixels, labels), strict=True):
        direction = rng.standard_normal(parameter.shape)
        parameter += 1e-5 * direction
        above = loss()
        parameter -= 2e-5 * direction
        below = loss()
        parameter += 1e-5 * direction
        assert (above - below) / 2e-5 == pytest.approx(np.sum(gradient * direction), rel=1e-6, abs=1e-9)


def test_training_makes_the_last_layer_easier_to_read():
    layers, labels = digits_network()
    untrained, trained = (_class_mean_accuracy(layers[f"{stage}_layer3"], labels) for stage in ("init", "trained"))
    assert trained > 0.9
    assert trained > untrained + 0.1


def _class_mean_accuracy(layer, labels):
    """Score each half of the rows by its nearest class mean of the other half."""
    even = np.arange(len(labels)) % 2 == 0
    hits = 0
    for fit in (even, ~even):
        means = np.array([layer[fit & (labels == digit)].mean(axis=0) for digit in range(10)])
        distances = np.linalg.norm(layer[~fit, None, :] - means, axis=2)
        hits += np.sum(distances.argmin(axis=1) == labels[~fit])
    return hits / len(labels)
