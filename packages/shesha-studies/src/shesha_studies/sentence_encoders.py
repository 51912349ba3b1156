"""The available sentence encoders: layers of MiniLM, trained or untrained, and five encoders of words."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from functools import cache
from itertools import chain

import numpy as np

from shesha.support.types import Matrix
from shesha_studies.external_data import library, read_arrays
from shesha_studies.language_models import minilm, randomise_weights
from shesha_studies.sentences import Text, read_set

WIDTH = 384
N_LAYERS = 6
WORDS = ("counts, mixed", "weighted counts, mixed", "counts of one length, mixed", "trigrams", "word vectors")
FAMILIES = ("MiniLM, mean", "MiniLM, first token", "untrained, mean", "untrained, first token", "words")
ENCODERS = (
    *(f"words: {name}" for name in WORDS),
    *(
        f"{kind}, {pooling}: layer {layer}"
        for kind in ("MiniLM", "untrained")
        for pooling, first in (("mean", 0), ("first token", 1))
        for layer in range(first, N_LAYERS + 1)
    ),
)


def encode_sentences(sentences: str, encoder: str) -> Matrix:
    """Return the rows of a set of sentences by an encoder."""
    texts, _ = read_set(sentences)
    family, _, which = encoder.partition(": ")
    if family == "words":
        return _words(texts)[which]
    return _transformer(texts, family.partition(",")[0])[encoder]


@cache
def _transformer(texts: tuple[Text, ...], kind: str) -> dict[str, Matrix]:
    """Encode by layers 0 to 6 (mean over tokens) or 1 to 6 (first token) of MiniLM, trained or untrained."""
    model = minilm() if kind == "MiniLM" else randomise_weights(minilm())
    layers: dict[str, list[Matrix]] = {}
    for start in range(0, len(texts), 50):
        first, second = map(list, zip(*texts[start : start + 50], strict=True))
        pair = second if any(second) else None
        tokens = model.reader(first, pair, padding=True, truncation=True, max_length=128, return_tensors="pt")
        with library("torch").no_grad():
            states = model.network(**tokens, output_hidden_states=True).hidden_states
        mask = tokens["attention_mask"][:, :, None]
        for depth, state in enumerate(states):
            mean = (state * mask).sum(1) / mask.sum(1)
            layers.setdefault(f"{kind}, mean: layer {depth}", []).append(mean.numpy())
            layers.setdefault(f"{kind}, first token: layer {depth}", []).append(state[:, 0].numpy())
    return {name: np.concatenate(parts).astype(np.float64) for name, parts in layers.items()}


@cache
def _words(texts: tuple[Text, ...]) -> dict[str, Matrix]:
    """Encode without word order: counts, weighted counts, counts of one length, trigrams or word vectors."""
    bags = [f"{first} {second}".lower().split() for first, second in texts]
    known = sorted(set(chain(*bags)))
    counts = np.array([[bag.count(word) for word in known] for bag in bags], dtype=np.float64)
    weighted = counts * np.log(len(bags) / (counts > 0).sum(axis=0))
    lengths = np.linalg.norm(counts, axis=1, keepdims=True)
    mix = np.random.default_rng(0).standard_normal((counts.shape[1], WIDTH)) / np.sqrt(WIDTH)
    mixed = (counts @ mix, weighted @ mix, counts / lengths @ mix)
    return dict(zip(WORDS, (*mixed, _trigrams(bags), _vectors(bags)), strict=True))


def _vectors(bags: Sequence[Sequence[str]]) -> Matrix:
    """Return the mean of the word vectors; words without a vector count as zeros."""
    arrays = read_arrays("word2vec_1000", "word2vec_1000.npz")
    vectors = dict(zip(arrays["words"].tolist(), arrays["vectors"], strict=True))
    unknown = np.zeros(300)
    return np.array([np.mean([vectors.get(word, unknown) for word in bag], axis=0) for bag in bags], dtype=np.float64)


def _trigrams(bags: Sequence[Sequence[str]]) -> Matrix:
    """Return counts of three-letter sequences, hashed into as many features as the other encoders have."""
    counts = np.zeros((len(bags), WIDTH))
    for row, bag in zip(counts, bags, strict=True):
        text = " ".join(bag)
        for start in range(len(text) - 2):
            row[zlib.crc32(text[start : start + 3].encode()) % WIDTH] += 1
    return counts
