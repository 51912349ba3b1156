"""Small models with the habits that make extraction go wrong, and tiny transformers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch")
nn = torch.nn


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Tiny networks lose more by waiting for threads than they gain."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


class Block(nn.Module):
    """Adds a linear map, with dropout."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.map = nn.Linear(width, width)
        self.dropout = nn.Dropout(0.5)

    def forward(self, x):
        return x + self.dropout(self.map(x))


class Tower(nn.Module):
    """Two blocks under the names of an encoder."""

    def __init__(self, width: int = 4, depth: int = 2) -> None:
        super().__init__()
        self.encoder = nn.Module()
        self.encoder.layer = nn.ModuleList(Block(width) for _ in range(depth))

    def forward(self, x):
        for block in self.encoder.layer:
            x = block(x)
        return x


@pytest.fixture
def tower() -> Any:
    torch.manual_seed(0)
    return Tower()


@pytest.fixture
def bert() -> Callable[..., Any]:
    """Make a BERT of two layers and sixteen features with random weights."""
    transformers = pytest.importorskip("transformers")

    def make(seed: int = 0, **options: Any) -> Any:
        torch.manual_seed(seed)
        sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}
        config = transformers.BertConfig(**sizes, vocab_size=40, max_position_embeddings=24, **options)
        return transformers.BertModel(config, add_pooling_layer=False)

    return make


@pytest.fixture
def tokens() -> dict[str, list[list[int]]]:
    """Rows of tokens of several lengths, as a tokenizer returns them."""
    lengths = (5, 2, 9, 1, 7, 3, 4)
    return {"input_ids": [[1 + (7 * row + place) % 39 for place in range(n)] for row, n in enumerate(lengths)]}
