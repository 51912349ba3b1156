"""Rows of a causal model's tokens."""

import numpy as np
import pytest

from shesha_studies.causal_lm_embeddings import POOLINGS, pooled


def test_each_way_is_that_of_the_tokens_there_are():
    rng = np.random.default_rng(0)
    lengths, states = (4, 1, 3), np.full((3, 4, 5), np.nan)
    texts = [rng.normal(size=(n, 5)) for n in lengths]
    for place, text in enumerate(texts):
        states[place, : len(text)] = text
    found = pooled(states)
    assert tuple(found) == POOLINGS
    for place, text in enumerate(texts):
        assert found["mean"][place] == pytest.approx(text.mean(axis=0))
        assert found["last token"][place] == pytest.approx(text[-1])
        assert found["later tokens"][place] == pytest.approx((text[1:] if len(text) > 1 else text).mean(axis=0))
