"""Prepare the inputs and the pooling for a model, and record the choices that were made."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import nn

from shesha.extract import _timm_loading
from shesha.extract._images import ImageRows, Process, are_images, has_class_token, image_processor
from shesha.extract._input_rows import Rows
from shesha.extract._texts import check_texts, recommended_pooling, token_limit, token_rows
from shesha.extract.pooling import Pool, Pooled, either, pooling
from shesha.extract.pretrained import (
    CONFIG,
    TIMM,
    Source,
    find_source,
    input_network,
    is_causal,
    load_model,
    load_reader,
)


@dataclass(frozen=True)
class Opened:
    """A network and the reader (tokenizer or image processor) of its inputs.

    Attributes
    ----------
    whole : torch.nn.Module
        The model that contains the network.
    """

    network: nn.Module
    whole: nn.Module
    reader: Any
    source: Source | None
    name: str


def open_model(model: str | os.PathLike[str] | nn.Module, data: Sequence[Any], reader: Any) -> Opened:
    """Load a model and its reader, unless they are already loaded."""
    kind = "images" if are_images(data) else "texts"
    if isinstance(model, nn.Module):
        model_id = getattr(getattr(model, "config", None), "name_or_path", "")
        # If a reader is given, the folder is used only for token limits and pooling, so it need not have a
        # configuration.
        source = find_source(model_id) if model_id and (reader is None or (Path(model_id) / CONFIG).is_file()) else None
        return Opened(input_network(model, kind), model, reader or _reader(source, kind), source, model_id)
    if not isinstance(model, str | os.PathLike):
        raise TypeError(f"model must be a name, a path or a torch module, got {type(model).__name__}")
    name = os.fspath(model)
    if name.startswith(TIMM):
        if kind == "texts":
            raise ValueError(f"data must be images for {name}, got texts; pass paths of image files as pathlib.Path")
        network, process = _timm_loading.load(name.removeprefix(TIMM))
        return Opened(network, network, reader or process, None, name)
    source = find_source(name)
    full_model = load_model(name, source)
    return Opened(input_network(full_model, kind), full_model, reader or _reader(source, kind), source, name)


def _reader(source: Source | None, kind: str) -> Any:
    if source is None:
        raise ValueError(f"reader must be given for {kind} if the model has no known source, got None")
    return load_reader(source, kind)


def prepare_rows(
    found: Opened, data: Sequence[Any], pool: Any, chat: bool | None, max_tokens: int | None
) -> tuple[Rows, Pooled, dict[str, Any]]:
    """Return the inputs as rows, the pooling, and a record of the choices."""
    if are_images(data):
        return _images(found, data, pool)
    return _texts(found, check_texts(data), pool, chat, max_tokens)


def _texts(
    opened: Opened, texts: list[str], pool: Any, chat: bool | None, max_tokens: int | None
) -> tuple[Rows, Pooled, dict[str, Any]]:
    tokenizer = opened.reader
    templated = getattr(tokenizer, "chat_template", None) is not None
    if chat and not templated:
        raise ValueError("chat must be False or None for a tokenizer without a chat template, got True")
    as_chat = templated if chat is None else chat
    limit = max_tokens or token_limit(tokenizer, opened.network, opened.source)
    pad = getattr(tokenizer, "pad_token_id", None) or 0
    rows, cut = token_rows(texts, tokenizer, chat=as_chat, max_tokens=limit, pad=pad)
    way: Pool = _text_pool(opened) if pool == "auto" else pool
    settings = {
        "reader": type(tokenizer).__name__,
        "chat_template": "user message" if as_chat else None,
        "max_tokens": limit,
        "cut_off": cut,
        "pool": way,
    }
    return rows, pooling(way), settings


def _text_pool(opened: Opened) -> Any:
    return recommended_pooling(opened.source) or ("last" if is_causal(opened.network) else "mean")


def _images(opened: Opened, images: Sequence[Any], pool: Any) -> tuple[Rows, Pooled, dict[str, Any]]:
    reader = opened.reader
    from_transformers = hasattr(reader, "image_processor_type") or hasattr(reader, "preprocess")
    process: Process = image_processor(reader) if from_transformers else reader
    argument = "pixel_values" if hasattr(opened.network, "config") else None
    info = {"reader": getattr(reader, "__name__", type(reader).__name__)}
    rows = ImageRows(images, process, argument)
    if pool != "auto":
        return rows, pooling(pool), info
    way: Pool = "cls" if has_class_token(opened.network) else "mean"
    return rows, either(pooling(way)), {**info, "pool": f"{way} of tokens, mean over positions of feature maps"}
