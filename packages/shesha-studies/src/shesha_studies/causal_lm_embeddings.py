"""Embeddings of sentences by the layers of a causal language model, with three poolings, and by encoders."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from shesha.support.types import Array, Matrix
from shesha_studies.language_models import smollm2
from shesha_studies.sentence_encoders import encode_sentences
from shesha_studies.sentences import read_set

CAUSAL = "SmolLM2"
DEPTHS = tuple(range(3, 31, 3))
POOLINGS = ("mean", "later tokens", "last token")
"""Poolings: all tokens, as published; all but the first, whose state is long and similar in every text; the last
token."""
CAUSAL_FAMILIES = tuple(f"{CAUSAL}, {pooling}" for pooling in POOLINGS)
CAUSAL_ENCODERS = tuple(f"{family}: layer {depth}" for family in CAUSAL_FAMILIES for depth in DEPTHS)
SINK = (
    "The first token of a causal model is an attention sink. From the middle layers on, the norm of its state is a "
    "hundred times that of other tokens, and the state is nearly the same in every sentence. A mean over all tokens "
    'is therefore mostly this state, divided by the number of tokens. The pooling "later tokens" omits the first '
    "token."
)
_AT_ONCE, _MOST_TOKENS = 100, 128


def encoder_rows(sentences: str, encoder: str) -> Matrix:
    """Return the rows of a set of sentences by an encoder or by a layer of the causal model."""
    family, _, layer = encoder.partition(": layer ")
    if family not in CAUSAL_FAMILIES:
        return encode_sentences(sentences, encoder)
    return _of_set(sentences)[family.partition(", ")[2], int(layer)]


@cache
def _of_set(sentences: str) -> dict[tuple[str, int], Matrix]:
    return pool_layers([" ".join(filter(None, text)) for text in read_set(sentences)[0]], DEPTHS)


def pool_layers(texts: Sequence[str], depths: Sequence[int]) -> dict[tuple[str, int], Matrix]:
    """Return the rows of texts by pooling and number of blocks passed."""
    from shesha.extract import encode

    model = smollm2()
    names = {depth: f"layers.{depth - 1}" for depth in depths}
    layers: dict[tuple[str, int], list[Matrix]] = {}
    # Process a few texts at a time, because the token states of all texts would take gigabytes.
    for start in range(0, len(texts), _AT_ONCE):
        some = list(texts[start : start + _AT_ONCE])
        options = {"pool": None, "reader": model.reader, "chat": False, "max_tokens": _MOST_TOKENS}
        states = encode(model.network, some, list(names.values()), **options)
        for depth, name in names.items():
            for pooling, rows in pooled(states[name]).items():
                layers.setdefault((pooling, depth), []).append(rows)
    return {key: np.concatenate(parts) for key, parts in layers.items()}


def pooled(states: Array) -> dict[str, Matrix]:
    """Pool states (n, n_tokens, d) into one row per text, in three ways; states are NaN after the end of a text."""
    import torch

    from shesha.extract.pooling import last, later, mean

    tensor = torch.from_numpy(np.asarray(states, dtype=np.float64))
    mask = ~tensor[..., 0].isnan()
    return {name: pool(tensor, mask).numpy() for name, pool in zip(POOLINGS, (mean, later, last), strict=True)}
