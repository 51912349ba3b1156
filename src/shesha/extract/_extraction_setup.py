"""Prepare the inputs and the pooling for a model, and record the choices that were made."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import nn

from shesha.extract import pretrained
from shesha.extract._input_rows import (
    Digest,
    ImageRows,
    InputRows,
    Process,
    TokenRows,
    are_images,
    check_texts,
    has_class_token,
    image_processor,
    prompt_length,
    token_limit,
    token_rows,
)
from shesha.extract.pooling import Pool, Pooled, either, pool_name, pooling, pooling_after_prompt
from shesha.extract.pretrained import (
    ADAPTER,
    CONFIG,
    TIMM,
    Source,
    find_source,
    input_network,
    is_causal,
    load_model,
    load_reader,
)
from shesha.extract.sentence_encoder import SentenceEncoder, read_sentence_encoder, sentence_encoder_parts
from shesha.extract.torch_modules import unwrap_model
from shesha.support.provenance import state, state_warning
from shesha.support.wording import count


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
    encoder: SentenceEncoder | None = None
    """What a sentence encoder does before and after its network; None for other models."""


def open_model(model: str | os.PathLike[str] | nn.Module, data: Sequence[Any], reader: Any) -> Opened:
    """Load a model and its reader, unless they are already loaded."""
    kind = "images" if are_images(data) else "texts"
    if isinstance(model, nn.Module):
        if (parts := sentence_encoder_parts(model)) is not None:
            network, tokenizer, own = parts
            return Opened(network, model, reader or tokenizer, None, name=_model_id(network), encoder=own)
        model, _ = unwrap_model(model)
        model_id = _model_id(model)
        # If a reader is given, the folder is used only for token limits and pooling, so it need not have a
        # configuration.
        there = any((Path(model_id) / file).is_file() for file in (CONFIG, ADAPTER))
        source = find_source(model_id) if model_id and (reader is None or there) else None
        encoder = read_sentence_encoder(source) if kind == "texts" else None
        return Opened(
            input_network(model, kind), model, reader or _reader(source, kind), source, name=model_id, encoder=encoder
        )
    if not isinstance(model, str | os.PathLike):
        raise TypeError(f"model must be a name, a path or a torch module, got {type(model).__name__}")
    name = os.fspath(model)
    if name.startswith(TIMM):
        if kind == "texts":
            raise ValueError(f"data must be images for {name}, got texts; pass paths of image files as pathlib.Path")
        network, process = pretrained.load(name.removeprefix(TIMM))
        return Opened(network, network, reader or process, None, name)
    source = find_source(name)
    full_model = load_model(name, source)
    encoder = read_sentence_encoder(source) if kind == "texts" else None
    network = input_network(full_model, kind)
    return Opened(network, full_model, reader or _reader(source, kind), source, name=name, encoder=encoder)


def _model_id(model: nn.Module) -> str:
    return str(getattr(getattr(model, "config", None), "name_or_path", "") or "")


def _reader(source: Source | None, kind: str) -> Any:
    if source is None:
        raise ValueError(f"reader must be given for {kind} if the model has no known source, got None")
    return load_reader(source, kind)


@dataclass(frozen=True)
class Prepared:
    """The inputs as rows, the pooling, and a record of the choices.

    Attributes
    ----------
    embedding : function or None
        Function that computes the embedding of a sentence encoder from the states of its tokens.
    problem : str
        Why a sentence encoder has no embedding here; empty if it has one, or if the model is none.
    """

    rows: InputRows
    pooled: Pooled
    settings: dict[str, Any]
    embedding: Pooled | None = None
    problem: str = ""


def prepare_rows(
    opened: Opened, data: Sequence[Any], pool: Any, chat: bool | None, max_tokens: int | None, prompt: str | None
) -> Prepared:
    """Return the inputs as rows, the pooling, and a record of the choices."""
    if are_images(data):
        if prompt:
            raise ValueError(f"prompt must be None for images, got {prompt!r}")
        return Prepared(*_images(opened, data, pool))
    texts, tokenizer, encoder = check_texts(data), opened.reader, opened.encoder
    templated = getattr(tokenizer, "chat_template", None) is not None
    if chat and not templated:
        raise ValueError("chat must be False or None for a tokenizer without a chat template, got True")
    as_chat = chat if chat is not None else templated and encoder is None
    limit = max_tokens or token_limit(tokenizer, opened.network, encoder.max_tokens if encoder else None)
    name, start = (encoder or SentenceEncoder("mean")).prompt(prompt)
    pad = getattr(tokenizer, "pad_token_id", None) or 0
    inputs = texts if encoder is None else [_as_encoded(start + text, encoder) for text in texts]
    rows, cut = token_rows(inputs, tokenizer, chat=as_chat, max_tokens=limit, pad=pad)
    _require_known_tokens(rows, opened.network)
    way: Pool = pool
    if isinstance(pool, str) and pool == "auto":
        way = encoder.pool if encoder is not None else "last" if is_causal(opened.network) else "mean"
    pooled = pooling(way)
    if encoder is not None and start and not encoder.prompt_pooled and isinstance(way, str):
        pooled = pooling_after_prompt(way, prompt_length(_as_encoded(start, encoder), tokenizer))
    digest = Digest()
    for text in texts:
        digest.add_text(text)
    settings = {
        "reader": type(tokenizer).__name__,
        # Unlike the fingerprint of the inputs, this does not depend on the tokenizer.
        "texts": digest.text(),
        "chat_template": "user message" if as_chat else None,
        "prompt": start or None,
        "max_tokens": limit,
        "cut_off": cut,
        "pool": way,
    }
    model = (Path(opened.name).name if opened.name else "") or type(opened.whole).__name__
    state(f"{model}: {count(len(texts), 'text')}, pooling {pool_name(way) or 'none'}")
    if name is not None:
        state(f"{model}: prompt {settings['prompt']!r} ({name})")
    elif encoder is not None and any(encoder.prompts.values()):
        state(f"{model}: no prompt of {', '.join(encoder.prompts)}")
    if as_chat:
        state(f"{model}: texts in the chat template")
    _warn_of_unknown_tokens(rows, tokenizer, model)
    if cut:
        state(f"{model}: {cut:,} of {len(texts):,} texts were cut at {limit:,} tokens")
    if encoder is None or pool != "auto":
        return Prepared(rows, pooled, settings)
    if encoder.problem:
        return Prepared(rows, pooled, settings, problem=encoder.problem)
    settings["embedding"] = ", ".join([str(way), *encoder.labels])
    return Prepared(rows, pooled, settings, encoder.embed(pooled))


def _require_known_tokens(rows: TokenRows, network: nn.Module) -> None:
    """Refuse the tokenizer of another model, or a damaged one, whose tokens have no embedding."""
    embeddings = getattr(network, "get_input_embeddings", lambda: None)()
    n_tokens, largest = getattr(embeddings, "num_embeddings", None), rows.largest_token
    if n_tokens is not None and largest >= n_tokens:
        raise ValueError(f"reader must be the tokenizer of the model, got token {largest} for {n_tokens} tokens")


_MANY_UNKNOWN = 0.05


def _warn_of_unknown_tokens(rows: TokenRows, tokenizer: Any, model: str) -> None:
    """Warn if a tokenizer lacks many words of the texts, which then all have one vector."""
    unknown = getattr(tokenizer, "unk_token_id", None)
    others = [getattr(tokenizer, f"{kind}_token_id", None) for kind in ("eos", "bos", "pad", "cls", "sep")]
    if unknown is not None and unknown not in others and (share := rows.share_of(unknown)) > _MANY_UNKNOWN:
        state_warning(
            f"{model}: {share:.0%} of the tokens are {tokenizer.unk_token}, because the tokenizer does not know the "
            "words, so texts that differ only in them have the same vectors"
        )


def _as_encoded(text: str, encoder: SentenceEncoder) -> str:
    """Return a text as a sentence encoder passes it to its tokenizer."""
    return text.strip().lower() if encoder.lower_case else text.strip()


def _images(opened: Opened, images: Sequence[Any], pool: Any) -> tuple[InputRows, Pooled, dict[str, Any]]:
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
