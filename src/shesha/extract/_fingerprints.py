"""Fingerprints of a model and its inputs, by which an interrupted run is recognised and resumed."""

from __future__ import annotations

import hashlib
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn

_SAMPLED = 1024
_WORDS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


class Digest:
    """A hash over a sequence of arrays and texts."""

    def __init__(self) -> None:
        self._hash = hashlib.blake2b(digest_size=16)

    def add_text(self, text: str) -> Self:
        """Add a text to the hash."""
        self._hash.update(f"{len(text)}:{text}".encode())
        return self

    def array(self, name: str, values: Any) -> Self:
        """Add an array with its name, type and shape to the hash, one chunk of rows at a time."""
        self.add_text(f"{name} {values.dtype} {tuple(values.shape)}")
        step = max(1, 2**20 // max(1, int(np.prod(values.shape[1:]))))
        for start in range(0, len(values), step):
            part = values[start : start + step]
            part = _bits(part).cpu().numpy() if isinstance(part, Tensor) else np.ascontiguousarray(part)
            self._hash.update(part.tobytes())
        return self

    def text(self) -> str:
        """Return the hash as hexadecimal digits."""
        return self._hash.hexdigest()


def model_fingerprint(model: nn.Module) -> str:
    """Return a fingerprint of a model's class and weights, without copying the weights.

    The bits of the entries are summed as integers. This sum is exact, and changes if any single entry changes. In
    addition, a sample of entries distinguishes most tensors that have the same entries in another order.
    """
    digest = Digest().add_text(f"{type(model).__module__}.{type(model).__qualname__}")
    for name, tensor in model.state_dict().items():
        if not isinstance(tensor, Tensor):
            continue
        bits = _bits(tensor.detach()).flatten()
        sample = bits[:: max(1, len(bits) // _SAMPLED)].cpu().numpy()
        total = int(bits.sum(dtype=torch.int64))
        digest.add_text(f"{name} {tensor.dtype} {tuple(tensor.shape)} {total}").array("sample", sample)
    return digest.text()


def _bits(tensor: Tensor) -> Tensor:
    """Return the entries of a tensor as integers with the same bits."""
    if tensor.is_complex():
        return _bits(torch.view_as_real(tensor.resolve_conj()))
    if not tensor.dtype.is_floating_point:
        return tensor
    return tensor.contiguous().view(_WORDS[tensor.element_size()])
