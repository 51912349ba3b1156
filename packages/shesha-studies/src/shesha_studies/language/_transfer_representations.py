"""Representations of sentences: layers of a causal model and of encoders, changed and untrained, and words."""

from __future__ import annotations

from functools import cache, lru_cache

import numpy as np

from shesha.support.types import Labels, Matrix
from shesha_studies.causal_lm_embeddings import CAUSAL, POOLINGS, pool_layers
from shesha_studies.external_data import sklearn, table
from shesha_studies.language._model_outputs import embedded, load, perturbed
from shesha_studies.language._tiny_gpt import TINY
from shesha_studies.language_models import MINILM, MPNET, untrained

SOURCE, TRAIN, TEST = 300, 600, 300
FAMILIES: dict[str, tuple[int, ...]] = {
    "random features": (8, 32, 128, 256, 512),
    "words": (8, 16, 64, 128, 256),
    "tiny GPT, untrained": (1, 2, 3),
    "tiny GPT": (1, 2, 3),
    "MiniLM": (1, 2, 3, 4, 5, 6),
    "MiniLM, noise 0.2": (2, 4),
    "MiniLM, noise 0.4": (2, 4, 6),
    "MiniLM, untrained": (2, 4, 6),
    "MPNet": (2, 4, 6, 8, 10, 12),
    CAUSAL: (6, 18, 30),
    f"{CAUSAL}, {POOLINGS[1]}": (6, 18, 30),
}
"""Parts of each family: numbers of features, or layers."""
_SETS = {
    "source": ("train_phrases_8000.csv", SOURCE),
    "train": ("train_sentences.csv", TRAIN),
    "test": ("validation.csv", TEST),
}
"""File and number of rows of each set."""


def read_labels(which: str) -> Labels:
    """Return the labels of "source" phrases, "train" or "test" sentences, half of each class."""
    return np.asarray(_choose_rows(which)[1])


def features(family: str, part: int) -> dict[str, Matrix]:
    """Return the rows of the three sets, of length 1."""
    if family in ("random features", "words"):
        return _word_features(family, part)
    if family.startswith(CAUSAL):
        pooling = family.partition(", ")[2] or POOLINGS[0]
        return {which: _unit(_causal(which)[pooling, part]) for which in _SETS}
    return {which: rows[part] for which, rows in _layers(family).items()}


def _choose_rows(which: str) -> tuple[list[str], Labels]:
    file, n = _SETS[which]
    rows = table("sst2", file)
    # Omit phrases of fewer than four words, which carry little meaning.
    rows = rows[[len(text.split()) >= 4 for text in rows["sentence"]]]
    half = rows.groupby("label").sample(n // 2, random_state=0).sample(frac=1.0, random_state=0)
    return half["sentence"].tolist(), half["label"].to_numpy(dtype=np.intp)


def _word_features(family: str, part: int) -> dict[str, Matrix]:
    """Weighted counts of words, in random directions or in those of greatest variance among the phrases."""
    texts = {which: _choose_rows(which)[0] for which in _SETS}
    counts = sklearn("feature_extraction.text").TfidfVectorizer().fit(texts["source"] + texts["train"])
    features = {which: counts.transform(sentences) for which, sentences in texts.items()}
    if family == "words":
        turned = sklearn("decomposition").TruncatedSVD(part, random_state=0).fit(features["source"])
        return {which: _unit(turned.transform(matrix)) for which, matrix in features.items()}
    directions = np.random.default_rng(part).standard_normal((features["source"].shape[1], part))
    return {which: _unit(np.maximum(0.0, matrix @ directions)) for which, matrix in features.items()}


def _unit(rows: Matrix) -> Matrix:
    # A sentence without a known word has a row of zeros, which is replaced by the mean row.
    rows = np.where(np.linalg.norm(rows, axis=1, keepdims=True) > 0, rows, rows.mean(axis=0))
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


@cache
def _causal(which: str) -> dict[tuple[str, int], Matrix]:
    return pool_layers(_choose_rows(which)[0], FAMILIES[CAUSAL])


@lru_cache(maxsize=1)
def _layers(family: str) -> dict[str, dict[int, Matrix]]:
    model = load(family if family in TINY else MPNET if family == "MPNet" else MINILM)
    if family == "MiniLM, untrained":
        model = untrained(model)
    prefix = "h" if family in TINY else "encoder.layer"
    names = {part: f"{prefix}.{part - 1}" for part in FAMILIES[family]}
    level = float(family.rpartition(" ")[2]) if "noise" in family else 0.0
    with perturbed(model.network, "noise", level, 0):
        matrices = {which: embedded(model, _choose_rows(which)[0], list(names.values())) for which in _SETS}
    return {which: {part: rows[name] for part, name in names.items()} for which, rows in matrices.items()}
