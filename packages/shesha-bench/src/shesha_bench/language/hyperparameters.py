"""Hyperparameters of the transformers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shesha_bench.hyperparameters import (
    NOT_NEGATIVE,
    POSITIVE,
    SHARE,
    SWITCH,
    Check,
    Hyperparameters,
    choice_of_words,
    count,
    option,
)


def _is_file(value: Any) -> bool:
    return isinstance(value, str) and value.endswith(".csv") and "/" not in value and "\\" not in value


@dataclass(frozen=True)
class Hyper(Hyperparameters):
    """Settings for training and extraction of a transformer, except data, architecture, setting and seed."""

    epochs: int = option(count(), 3)
    """Number of passes over the training rows."""
    steps: int | None = option(count(), None)
    """Number of updates of the weights; None means that `epochs` determines it."""
    batch_size: int = option(count(), 64)
    learning_rate: float = option(POSITIVE, 5e-5)
    """Highest learning rate, reached after the warm-up."""
    warmup: float = option(SHARE, 0.1)
    """Share of the updates during which the learning rate rises."""
    schedule: str = option(choice_of_words("linear", "cosine"), "linear")
    """How the learning rate falls to zero after the warm-up."""
    weight_decay: float = option(NOT_NEGATIVE, 0.0)
    max_length: int = option(count(8), 64)
    """Maximum number of tokens per row, including special tokens; longer rows are truncated."""
    evaluate_every: int | None = option(count(), None)
    """Number of updates between evaluations on the test rows, after which the best weights are kept; None keeps the
    last.
    """
    train_rows: int | None = option(count(), None)
    """Number of training rows to use; None uses all."""
    test_rows: int | None = option(count(), None)
    """Number of test rows to use; None uses all."""
    train_file: str | None = option(Check("the name of a csv file", _is_file), None)
    """Training file to use if the local folder contains samples; the full data sets have only one."""
    test_shortcut_rate: float | None = option(SHARE, None)
    """Share of the test rows whose shortcut names the true class; None uses the share of the most frequent class in
    training.
    """
    reduced: bool = option(SWITCH, False)
    """Whether to build a tiny network with random weights and words as tokens, which needs no pretrained files."""
