"""Tokenize texts as in the model's training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shesha.extract._input_rows import IDS, TokenRows, make_rows

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
    """Return the tokens of texts, and the number of texts that were truncated."""
    if chat:
        texts = [_as_message(tokenizer, text) for text in texts]
    limit = {} if max_tokens is None else {"truncation": True, "max_length": max_tokens}
    # The chat template already adds the special tokens.
    options = {"add_special_tokens": not chat, "padding": False}
    encoded = tokenizer(list(texts), **options, **limit)
    rows = make_rows({name: encoded[name] for name in _FIELDS if name in encoded}, pad)
    assert isinstance(rows, TokenRows)
    lengths = rows.lengths()
    assert lengths is not None
    if max_tokens is None or not (full := np.flatnonzero(lengths >= max_tokens)).size:
        return rows, 0
    # Texts that just fit are as long as truncated ones, so their whole length is needed. A warning about long texts
    # would be misleading here.
    whole = tokenizer([texts[int(row)] for row in full], **options, truncation=False, verbose=False)[IDS]
    return rows, sum(len(tokens) > max_tokens for tokens in whole)


def prompt_length(prompt: str, tokenizer: Any) -> int:
    """Return the number of tokens that a prompt adds at the beginning, with special tokens before it."""
    tokens = tokenizer([prompt])[IDS][0]
    return len(tokens) - (len(tokens) > 0 and tokens[-1] in tokenizer.all_special_ids)


def _as_message(tokenizer: Any, text: str) -> str:
    message = [{"role": "user", "content": text}]
    return str(tokenizer.apply_chat_template(message, tokenize=False, add_generation_prompt=True))


def token_limit(tokenizer: Any, model: Any, declared: int | None) -> int | None:
    """Return the token limit that a sentence encoder declares, or that of the tokenizer, at most the model's.

    None means that there is no limit.
    """
    own = getattr(tokenizer, "model_max_length", None) if declared is None else declared
    limits = (own, getattr(getattr(model, "config", None), "max_position_embeddings", None))
    known = [int(limit) for limit in limits if limit is not None and 0 < limit < _UNLIMITED]
    return min(known, default=None)
