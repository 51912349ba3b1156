"""Tokenize texts as in the model's training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shesha.extract._input_rows import IDS, TokenRows, make_rows
from shesha.extract.pretrained import Source, read_json

_UNLIMITED = 10**9
"""Token limit from which on a tokenizer counts as unlimited."""
_FIELDS = (IDS, "token_type_ids")


def check_texts(data: Any) -> list[str]:
    """Check that the data are texts, and return them as a list of strings."""
    if isinstance(data, str):
        raise TypeError("data must be a sequence of texts or images, got a single text")
    texts = list(data)
    bad = next((number for number, text in enumerate(texts) if not isinstance(text, str)), None)
    if bad is not None:
        raise TypeError(f"data must contain texts only, got {_what(texts[bad])} in row {bad}")
    return [str(text) for text in texts]


def _what(value: Any) -> str:
    """Describe an entry that is not a text; None, NaN and NA count as missing."""
    from pandas import isna

    return "none" if np.ndim(value) == 0 and isna(value) else type(value).__name__


def token_rows(
    texts: Sequence[str], tokenizer: Any, *, chat: bool, max_tokens: int | None, pad: int
) -> tuple[TokenRows, int]:
    """Return the tokens of texts, and the number of texts that reach the limit and may have been truncated."""
    if chat:
        texts = [_as_message(tokenizer, text) for text in texts]
    limit = {} if max_tokens is None else {"truncation": True, "max_length": max_tokens}
    # The chat template already adds the special tokens.
    encoded = tokenizer(list(texts), add_special_tokens=not chat, padding=False, **limit)
    rows = make_rows({name: encoded[name] for name in _FIELDS if name in encoded}, pad)
    assert isinstance(rows, TokenRows)
    lengths = rows.lengths()
    assert lengths is not None
    return rows, 0 if max_tokens is None else int((lengths >= max_tokens).sum())


def _as_message(tokenizer: Any, text: str) -> str:
    message = [{"role": "user", "content": text}]
    return str(tokenizer.apply_chat_template(message, tokenize=False, add_generation_prompt=True))


def token_limit(tokenizer: Any, model: Any, source: Source | None) -> int | None:
    """Return the smallest token limit of the model, its tokenizer and its folder; None if there is none."""
    limits = (
        getattr(tokenizer, "model_max_length", None),
        getattr(getattr(model, "config", None), "max_position_embeddings", None),
        read_json(source, "sentence_bert_config.json").get("max_seq_length"),
    )
    known = [int(limit) for limit in limits if limit is not None and 0 < limit < _UNLIMITED]
    return min(known, default=None)


def recommended_pooling(source: Source | None) -> str | None:
    """Return the pooling that the files of a sentence encoder declare, or None."""
    modes = read_json(source, "1_Pooling", "config.json")
    names = {"cls": "cls_token", "mean": "mean_tokens", "last": "lasttoken"}
    return next((pool for pool, name in names.items() if modes.get(f"pooling_mode_{name}")), None)
