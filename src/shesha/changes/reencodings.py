"""Re-encode the same inputs with the unchanged model, to measure the noise floor of a diff."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from shesha.support.types import Array

_BATCH = 32


def reencodings(model: Any, data: Sequence[Any], options: Mapping[str, Any]) -> Iterator[dict[str, Array]]:
    """Re-encode with another batch size and input order, then in half precision (bfloat16).

    These are the most common differences between encodings by one model. Dropout is always off.

    Parameters
    ----------
    model : str, path or torch.nn.Module
        The model, its name, or the folder that contains it.
    data : sequence
        Inputs of the model.
    options : mapping
        Options of `shesha.extract.encode` that were used for the first encoding.
    """
    from shesha.extract import encode

    size = int(options.get("batch_size", _BATCH))
    others = {**options, "batch_size": max(1, size // 4) if size > 1 else 4}
    backwards = encode(model, list(reversed(data)), **others)
    yield {name: array[::-1] for name, array in backwards.items()}
    half = _half_precision(model)
    if half is not None:
        yield dict(encode(half, data, **options))


def _half_precision(model: Any) -> Any:
    """Return a copy of the model in half precision, or None for a timm model given by name."""
    import torch

    from shesha.extract.pretrained import TIMM, find_source, load_model

    if isinstance(model, str | os.PathLike):
        name = os.fspath(model)
        if name.startswith(TIMM):
            return None
        return load_model(name, find_source(name)).to(torch.bfloat16)
    return copy.deepcopy(model).to(torch.bfloat16)
