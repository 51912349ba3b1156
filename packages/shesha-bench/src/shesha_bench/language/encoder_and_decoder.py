"""Transformers as classifiers: encoders with a linear head, and decoders that name the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from shesha.extract.pooling import Pooled, cls, last, mean
from shesha_bench.language.tokens import Batch

Read = tuple[Tensor, Tensor]
"""Logits of shape (n_rows, n_outputs), and the last hidden states, of shape (n_rows, n_tokens, n_features)."""


class Encoder(nn.Module):
    """A bidirectional transformer with a linear classifier on its pooler or, without one, its first token."""

    poolings: ClassVar[Mapping[str, Pooled]] = {"cls": cls, "mean": mean}
    """Poolings: the first token, and the mean over all tokens except padding."""

    def __init__(self, body: Any, n_outputs: int, n_shortcuts: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.body = body
        if n_shortcuts:
            _extend(body, n_shortcuts)
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(body.config.hidden_size, n_outputs)
        nn.init.normal_(self.head.weight, std=0.02)
        nn.init.zeros_(self.head.bias)

    def forward(self, batch: Batch) -> Read:
        """Return the logits and the last hidden states."""
        out = self.body(input_ids=batch.ids, attention_mask=batch.mask, token_type_ids=batch.types)
        states = out.last_hidden_state
        pooled = getattr(out, "pooler_output", None)
        return self.head(self.dropout(states[:, 0] if pooled is None else pooled)), states

    def loss(self, batch: Batch, targets: Tensor) -> Tensor:
        """Return the mean cross-entropy over the classes."""
        return nn.functional.cross_entropy(self(batch)[0], targets)


class Decoder(nn.Module):
    """A causal language model whose answer is one of a few tokens."""

    options: Tensor
    poolings: ClassVar[Mapping[str, Pooled]] = {"cls": last}
    """Pooling: the last token, from which the answer is predicted."""

    def __init__(self, body: Any, options: Sequence[int]) -> None:
        super().__init__()
        self.body = body
        self.register_buffer("options", torch.tensor(options), persistent=False)

    def forward(self, batch: Batch) -> Read:
        """Return the logits of the options and the last hidden states."""
        words, states = self._read(batch)
        return words[:, self.options], states

    def loss(self, batch: Batch, targets: Tensor) -> Tensor:
        """Return the mean cross-entropy of the answer, over all tokens of the vocabulary."""
        return nn.functional.cross_entropy(self._read(batch)[0], self.options[targets])

    def _read(self, batch: Batch) -> Read:
        out = self.body.model(input_ids=batch.ids, attention_mask=batch.mask, use_cache=False)
        states = out.last_hidden_state
        return self.body.lm_head(last(states, batch.mask)), states


def _extend(body: Any, n_tokens: int) -> None:
    old = body.get_input_embeddings()
    new = nn.Embedding(old.num_embeddings + n_tokens, old.embedding_dim, padding_idx=old.padding_idx)
    with torch.no_grad():
        nn.init.normal_(new.weight, std=0.02)
        new.weight[: old.num_embeddings] = old.weight
    body.set_input_embeddings(new)
    body.config.vocab_size = new.num_embeddings
