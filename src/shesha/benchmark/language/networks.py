"""Transformers that classify: encoders with a head on the first token, and decoders that name the answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from shesha.benchmark.language.tokens import Batch

Read = tuple[Tensor, tuple[Tensor, ...]]
"""Logits of shape (n_rows, n_outputs), and hidden states of shape (n_rows, n_tokens, n_features), layer by layer."""


class Encoder(nn.Module):
    """A bidirectional transformer with a linear classifier on its first token, or on its pooler where it has one."""

    def __init__(self, body: Any, n_outputs: int, n_shortcuts: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.body = body
        if n_shortcuts:
            _extend(body, n_shortcuts)
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(body.config.hidden_size, n_outputs)
        nn.init.normal_(self.head.weight, std=0.02)
        nn.init.zeros_(self.head.bias)

    def forward(self, batch: Batch, all_layers: bool = False) -> Read:
        """Return the logits and the hidden states of all layers, or of the last one."""
        out = self.body(
            input_ids=batch.ids,
            attention_mask=batch.mask,
            token_type_ids=batch.types,
            output_hidden_states=all_layers,
        )
        last = out.last_hidden_state
        pooled = getattr(out, "pooler_output", None)
        logits = self.head(self.dropout(last[:, 0] if pooled is None else pooled))
        return logits, out.hidden_states if all_layers else (last,)

    def loss(self, batch: Batch, targets: Tensor) -> Tensor:
        """Return the mean cross-entropy of the classes."""
        return nn.functional.cross_entropy(self(batch)[0], targets)

    @staticmethod
    def pooled(states: Tensor, mask: Tensor) -> dict[str, Tensor]:
        """Return one vector per row: of the first token, and the mean over all tokens but the padding."""
        weights = mask.unsqueeze(-1).to(states.dtype)
        return {"cls": states[:, 0], "mean": (states * weights).sum(dim=1) / weights.sum(dim=1)}


class Decoder(nn.Module):
    """A causal language model that answers with one of a few tokens."""

    options: Tensor

    def __init__(self, body: Any, options: Sequence[int]) -> None:
        super().__init__()
        self.body = body
        self.register_buffer("options", torch.tensor(options), persistent=False)

    def forward(self, batch: Batch, all_layers: bool = False) -> Read:
        """Return the logits of the options and the hidden states of all layers, or of the last one."""
        words, states = self._read(batch, all_layers)
        return words[:, self.options], states

    def loss(self, batch: Batch, targets: Tensor) -> Tensor:
        """Return the mean cross-entropy of the answer among all tokens."""
        return nn.functional.cross_entropy(self._read(batch, False)[0], self.options[targets])

    @staticmethod
    def pooled(states: Tensor, mask: Tensor) -> dict[str, Tensor]:
        """Return one vector per row: of the last token, which decides the answer."""
        return {"cls": _last(states, mask)}

    def _read(self, batch: Batch, all_layers: bool) -> Read:
        out = self.body.model(
            input_ids=batch.ids, attention_mask=batch.mask, output_hidden_states=all_layers, use_cache=False
        )
        last = out.last_hidden_state
        return self.body.lm_head(_last(last, batch.mask)), out.hidden_states if all_layers else (last,)


def _last(states: Tensor, mask: Tensor) -> Tensor:
    return states[torch.arange(len(states), device=states.device), mask.sum(dim=1) - 1]


def _extend(body: Any, n_tokens: int) -> None:
    old = body.get_input_embeddings()
    new = nn.Embedding(old.num_embeddings + n_tokens, old.embedding_dim, padding_idx=old.padding_idx)
    with torch.no_grad():
        nn.init.normal_(new.weight, std=0.02)
        new.weight[: old.num_embeddings] = old.weight
    body.set_input_embeddings(new)
    body.config.vocab_size = new.num_embeddings
