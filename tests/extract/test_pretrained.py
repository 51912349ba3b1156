"""Models that are loaded by name are the same at every start."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from shesha.extract._fingerprints import model_fingerprint  # noqa: E402
from shesha.extract.pretrained import find_source, load_model  # noqa: E402

SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}


def test_weights_that_a_folder_lacks_are_drawn_alike(tmp_path):
    config = transformers.BertConfig(**SIZES, vocab_size=12, max_position_embeddings=24)
    transformers.BertModel(config, add_pooling_layer=False).save_pretrained(tmp_path / "bare")
    state = torch.random.get_rng_state()
    first, second = (load_model("bare", find_source(str(tmp_path / "bare"))) for _ in range(2))
    assert first.pooler is not None and model_fingerprint(first) == model_fingerprint(second)
    assert torch.equal(torch.random.get_rng_state(), state)
