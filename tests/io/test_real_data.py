"""A published file as it is: sentence embeddings of every layer of a small language model, with labels."""

import os
from pathlib import Path

import numpy as np
import pytest

from shesha import io as files


@pytest.fixture
def minilm():
    path = Path(os.environ.get("SHESHA_DATA", "nowhere")) / "minilm_sst2" / "minilm_l6_sst2_validation.npz"
    if not path.is_file():
        pytest.skip("SHESHA_DATA must name a folder with minilm_sst2/minilm_l6_sst2_validation.npz")
    return path


def test_every_layer_is_a_representation(minilm):
    found = files.open_file(minilm)
    assert list(found.representations) == [f"embeddings[{layer}]" for layer in range(7)]
    assert {matrix.shape for matrix in found.representations.values()} == {(872, 384)}
    assert {matrix.dtype for matrix in found.representations.values()} == {np.dtype(np.float16)}
    assert found.labels_available == ("label",)
    labels = files.read_labels(minilm)
    assert labels.shape == (872,)
    assert set(labels.tolist()) == {0, 1}
