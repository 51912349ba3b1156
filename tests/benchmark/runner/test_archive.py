"""Trained models on disk: what is saved is what is read, layer by layer."""

import numpy as np
import pytest

from shesha_bench.model_outcomes import Outcome
from shesha_bench.trained_models import Archive, model_key, reference

N = 6


@pytest.fixture
def kept(rng, tmp_path):
    """An archive with a model of three layers, and the layers."""
    layers = [rng.standard_normal((N, width)).astype(np.float32) for width in (4, 3, 5)]
    archive = Archive(tmp_path)
    archive.save("key", Outcome({"mean": layers}, np.eye(N), np.arange(N)), 2.5)
    return archive, layers


def test_layers_are_found_by_their_numbers_and_the_last_by_its_name_as_well(kept):
    archive, layers = kept
    assert archive.n_layers("key", "mean") == 3
    for number, layer in enumerate(layers):
        assert np.array_equal(archive.layer(reference("key", "mean", number)), layer)
    assert np.array_equal(archive.layer(reference("key", "mean")), layers[-1])
    assert model_key(reference("key", "mean", 1)) == "key"


def test_outputs_are_kept_with_the_seconds_of_training(kept):
    probabilities, labels, seconds = kept[0].outputs("key")
    assert np.array_equal(probabilities, np.eye(N))
    assert labels.tolist() == list(range(N))
    assert seconds == 2.5


def test_the_last_layer_is_a_map_of_one_position_beside_maps_only(rng, tmp_path):
    archive = Archive(tmp_path)
    maps = rng.standard_normal((N, 2, 2, 3)).astype(np.float32)
    last = rng.standard_normal((N, 5)).astype(np.float32)
    archive.save("key", Outcome({"": [maps, last]}, np.eye(N), np.arange(N)), 1.0)
    # Stored with channels last, returned as torch has them.
    assert np.array_equal(archive.layer("key//0"), np.moveaxis(maps, -1, 1))
    assert archive.layer("key//1").shape == (N, 5, 1, 1)
    assert np.array_equal(archive.layer("key//1")[:, :, 0, 0], last)
    assert np.array_equal(archive.layer("key//last"), last)


def test_models_that_are_missing_or_damaged_are_not_there(kept):
    archive, _ = kept
    assert archive.has("key") and not archive.has("other")
    path = archive.outcome_path("key")
    path.write_bytes(path.read_bytes()[:200])
    assert not archive.has("key")
    with pytest.raises(ValueError, match=r"model file must be complete, got .*; remove it to train again"):
        archive.n_layers("key", "mean")
