"""Next-word predictions of a causal model from its states."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shesha.support.types import Labels, Matrix

if TYPE_CHECKING:
    from shesha_studies.language_models import Model

_MOST_AT_ONCE = 1024
"""Number of tokens whose scores for all words are in memory at the same time: 200 MB for 50,000 words."""


def rows_of(states: Any) -> Matrix:
    """Return one row of length 1 per text: the mean over its tokens; states are NaN after the end of a text."""
    rows = np.nanmean(np.asarray(states, dtype=np.float64), axis=1)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def next_words(model: Model, texts: list[str], states: Any) -> tuple[Labels, Labels]:
    """Return the predicted and the actual word after each word, without unknown words.

    Words are scored by the unchanged embedding, so that only changes of the states have an effect.
    """
    import torch

    there = ~np.isnan(states[..., 0])
    ids = [np.asarray(tokens)[:n] for tokens, n in zip(model.reader(texts)["input_ids"], there.sum(1), strict=True)]
    before, after = _after_first(ids)
    kept = after != (model.reader.unk_token_id if model.reader.unk_token_id is not None else -1)
    vectors, predictions = states[there][before][kept], []
    with torch.inference_mode():
        for start in range(0, len(vectors), _MOST_AT_ONCE):
            scores = torch.from_numpy(vectors[start : start + _MOST_AT_ONCE]) @ model.head.T
            predictions.append(scores.argmax(-1).numpy())
    return np.concatenate(predictions), after[kept]


def _after_first(ids: list[Labels]) -> tuple[Labels, Labels]:
    """Return the positions of all tokens that another token follows in the text, and the tokens that follow."""
    flat, ends = np.concatenate(ids), np.cumsum([len(tokens) for tokens in ids])
    before = np.setdiff1d(np.arange(len(flat)), ends - 1)
    return before, flat[before + 1]
