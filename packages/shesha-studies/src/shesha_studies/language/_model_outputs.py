"""Models by name, their outputs after a change of their weights, and their next-word predictions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd

from shesha.support.types import Array, Labels, Matrix
from shesha_studies.external_data import PUBLISHED
from shesha_studies.framework.published_checks import Table
from shesha_studies.framework.study_decorator import Unreachable
from shesha_studies.language._tiny_gpt import TINY, tiny
from shesha_studies.language_models import MINILM, MPNET, SMOLLM2, Model, minilm, mpnet, open_model, smollm2
from shesha_studies.sentences import PROMPT_SETS, prompts

_PACKAGED = {MINILM: minilm, MPNET: mpnet, SMOLLM2: smollm2}
_MOST_TOKENS = 128
_WORDS_AT_ONCE = 1024
"""Number of tokens whose scores for all words are in memory at the same time: 200 MB for 50,000 words."""


@lru_cache(maxsize=2)
def load(name: str) -> Model:
    """Load a model by name, from a package or from local files that transformers finds."""
    if name in TINY:
        return tiny(name)
    if name in _PACKAGED:
        return _PACKAGED[name]()
    try:
        return open_model(name, {"local_files_only": True}, "norm")
    except OSError:
        raise Unreachable(f"weights of {name} are not in the cache of transformers (`hf download {name}`)") from None


def stand_in(rows: Table, least: int) -> str:
    """Return the most realistic model with at least a number of rows: a language model, an encoder, or one trained
    here."""
    sizes = rows.groupby("model").size()
    return next((name for name in (SMOLLM2, MINILM) if sizes.get(name, 0) >= least), TINY[0])


def embed_texts(
    model: Model, texts: Sequence[str], layers: Sequence[str], *, batch_size: int = 32
) -> dict[str, Matrix]:
    """Return one row of length 1 per text and layer: the mean over its tokens."""
    matrices = _encode_texts(model, texts, layers, "mean", batch_size)
    return {name: _unit(np.asarray(matrices[name], dtype=np.float64)) for name in layers}


def prompt_rows(model: Model) -> dict[str, Matrix]:
    """Return the rows of the final layer for each set of prompts."""
    texts = {kind: prompts(kind) for kind in PROMPT_SETS}
    matrix = embed_texts(model, list(chain(*texts.values())), [model.final])[model.final]
    ends = np.cumsum([len(group) for group in texts.values()])
    return dict(zip(texts, np.split(matrix, ends[:-1]), strict=True))


def last_states(model: Model, texts: Sequence[str]) -> Array:
    """Return the last hidden state of each token, of shape (n, n_tokens, d), NaN after the end of a text."""
    return np.asarray(_encode_texts(model, texts, [model.final], None, 32)[model.final])


def _encode_texts(model: Model, texts: Sequence[str], layers: Sequence[str], pool: Any, batch_size: int) -> Any:
    from shesha.extract import encode

    options: dict[str, Any] = {"chat": False, "max_tokens": _MOST_TOKENS, "batch_size": batch_size}
    return encode(model.network, list(texts), list(layers), pool=pool, reader=model.reader, **options)


def _unit(rows: Matrix) -> Matrix:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def perturb_weights(network: Any, kind: str, amount: float, seed: int) -> AbstractContextManager[None]:
    """Change a network's weights as the published experiments do, until the end of the block.

    The amount is the level of "noise", or that of random adapters in the attention projections: their "rank" (with
    scale 0.01) or their "scale" (with rank 8). "precision" rounds weights to bfloat16 (amount 16) or float16 (11).
    """
    from shesha.drift import perturb

    if kind == "none" or amount == 0:
        return nullcontext()
    changes: dict[str, Callable[[], AbstractContextManager[None]]] = {
        "noise": lambda: perturb.gaussian_noise(network, amount, seed=seed),
        "rank": lambda: perturb.lora(network, int(amount), 0.01, seed=seed),
        "scale": lambda: perturb.lora(network, 8, amount, seed=seed),
        "int8": lambda: perturb.int8(network),
        "nf4": lambda: perturb.nf4(network),
        "precision": lambda: _round_weights(network, amount),
    }
    return changes[kind]()


def change_name(kind: str, amount: float) -> str:
    """Return the name of a change in published tables."""
    return kind if kind in ("int8", "nf4") else f"{kind} {amount:g}"


def published_models(file: str, column: str) -> dict[str, str]:
    """Return a column of a published table of models, by the names of the models."""
    lines = pd.read_csv(PUBLISHED / file, comment="#")
    return dict(lines.loc[lines.number == column, ["row", "published"]].to_numpy())


@contextmanager
def _round_weights(network: Any, amount: float) -> Iterator[None]:
    import torch

    kind = torch.bfloat16 if amount == 16 else torch.float16
    kept = {name: values.clone() for name, values in network.state_dict().items() if values.is_floating_point()}
    with torch.no_grad():
        for values in network.parameters():
            values.copy_(values.to(kind))
    try:
        yield
    finally:
        network.load_state_dict(kept, strict=False)


def mean_states(states: Any) -> Matrix:
    """Return one row of length 1 per text: the mean over its tokens; states are NaN after the end of a text."""
    return _unit(np.nanmean(np.asarray(states, dtype=np.float64), axis=1))


def next_words(model: Model, texts: list[str], states: Any) -> tuple[Labels, Labels]:
    """Return the predicted and the actual word after each word, without unknown words.

    Words are scored by the unchanged embedding, so that only changes of the states have an effect.
    """
    import torch

    there = ~np.isnan(states[..., 0])
    lengths = there.sum(axis=1)
    ids = [np.asarray(tokens)[:n] for tokens, n in zip(model.reader(texts)["input_ids"], lengths, strict=True)]
    flat = np.concatenate(ids)
    before = np.setdiff1d(np.arange(len(flat)), np.cumsum(lengths) - 1)
    after = flat[before + 1]
    kept = after != (model.reader.unk_token_id if model.reader.unk_token_id is not None else -1)
    vectors, predictions = states[there][before][kept], []
    with torch.inference_mode():
        for start in range(0, len(vectors), _WORDS_AT_ONCE):
            scores = torch.from_numpy(vectors[start : start + _WORDS_AT_ONCE]) @ model.head.T
            predictions.append(scores.argmax(-1).numpy())
    return np.concatenate(predictions), after[kept]
