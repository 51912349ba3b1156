"""The result of an extraction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shesha.support.types import Array


class Activations(dict[str, Array]):
    """A dict with one array per layer, in the order in which the layers ran.

    Attributes
    ----------
    info : dict of str to any
        How the arrays were made: model and weights, inputs, pooling, batch size, precision, order of the inputs, and
        versions. An output file contains the same information as metadata.

    Examples
    --------
    >>> import numpy as np
    >>> Activations({"a": np.zeros((3, 2))}, {"pool": "mean"})
    Activations of 3 inputs: a (3, 2)
    """

    def __init__(self, arrays: Mapping[str, Array], info: Mapping[str, Any]) -> None:
        super().__init__(arrays)
        self.info = dict(info)

    def __repr__(self) -> str:
        """Return the layers and their shapes."""
        n_rows = next((len(array) for array in self.values()), 0)
        shapes = ", ".join(f"{name} {array.shape}" for name, array in self.items())
        return f"Activations of {n_rows:,} inputs: {shapes}"

    @property
    def n_tokens(self) -> tuple[int, ...] | None:
        """Number of tokens of each input, if there are tokens; audits check it as a covariate."""
        counts = self.info.get("inputs", {}).get("n_tokens")
        return None if counts is None else tuple(counts)

    def describe(self) -> str:
        """Return a one-line description of how the arrays were made."""
        return "; ".join(f"{name.replace('_', ' ')} {self.info[name]}" for name in _TOLD if self.info.get(name))


_TOLD = (
    "model",
    "reader",
    "pool",
    "embedding",
    "chat_template",
    "prompt",
    "max_tokens",
    "cut_off",
    "batch_size",
    "order",
    "dtype",
)
"""Entries of `info` that `describe` shows."""
