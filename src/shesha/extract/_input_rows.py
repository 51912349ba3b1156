"""The inputs of a model as rows that can be read in batches."""

from __future__ import annotations

import hashlib
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from shesha.support.device_arrays import to_host
from shesha.support.files import in_colour, read_bytes, read_image
from shesha.support.types import Index, instance

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


MASK = "attention_mask"
IDS = "input_ids"
_LOOKED_AT = 16
"""Number of items that the fingerprint of a data set includes; reading all items twice would be slow."""


@dataclass(frozen=True)
class Batch:
    """The arguments of a model for one batch, and the mask of valid tokens."""

    args: tuple[Any, ...] = ()
    named: dict[str, Any] = field(default_factory=dict)
    mask: Tensor | None = None


class InputRows(ABC):
    """Inputs that can be read in batches, in any order."""

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of inputs."""

    def lengths(self) -> Index | None:
        """Return the number of tokens per row, if rows differ in length and are padded batch by batch."""
        return None

    @abstractmethod
    def batch(self, chosen: Index, device: torch.device, dtype: torch.dtype) -> Batch:
        """Return some inputs as arguments of the model, with floats in the model's precision."""

    @abstractmethod
    def fingerprint(self) -> str:
        """Return a fingerprint that is equal for the same inputs in the same order."""


class ArrayRows(InputRows):
    """The rows of a single array, which is the model's only argument; `axis` numbers them."""

    def __init__(self, values: Any, axis: int = 0) -> None:
        array = _array(values, "inputs")
        if axis >= array.ndim:
            raise ValueError(f"batch_axis must be an axis of the inputs, of shape {tuple(array.shape)}, got {axis}")
        self.axis = axis
        self._values = array.movedim(axis, 0) if isinstance(array, Tensor) else np.moveaxis(array, axis, 0)

    def __len__(self) -> int:
        return len(self._values)

    def batch(self, chosen: Index, device: torch.device, dtype: torch.dtype) -> Batch:
        return Batch(args=(_tensor(self._values, chosen, device, dtype).movedim(0, self.axis),))

    def fingerprint(self) -> str:
        """Hash the array."""
        return Digest().array("inputs", self._values).text()


class FieldRows(InputRows):
    """Arrays by argument name, with equal numbers of rows, such as padded tokens or pixels."""

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self._fields = {name: _array(values, name) for name, values in fields.items()}
        counts = {name: len(values) for name, values in self._fields.items()}
        if len(set(counts.values())) > 1:
            raise ValueError(f"inputs must have equal numbers of rows in all fields, got {counts}")
        if MASK in self._fields:
            _require_tokens(torch.as_tensor(self._fields[MASK]).any(dim=1).cpu().numpy())

    def __len__(self) -> int:
        return len(next(iter(self._fields.values())))

    def mask(self) -> NDArray[np.bool_] | None:
        """Return the mask of valid tokens, if the inputs include one."""
        return np.asarray(to_host(self._fields[MASK])) != 0 if MASK in self._fields else None

    def batch(self, chosen: Index, device: torch.device, dtype: torch.dtype) -> Batch:
        """Return some rows of every array as a batch."""
        named = {name: _tensor(values, chosen, device, dtype) for name, values in self._fields.items()}
        return Batch(named=named, mask=named[MASK].bool() if MASK in named else None)

    def fingerprint(self) -> str:
        """Hash all arrays."""
        digest = Digest()
        for name, values in sorted(self._fields.items()):
            digest.array(name, values)
        return digest.text()


class TokenRows(InputRows):
    """Rows of tokens with different lengths, right-padded to the longest row in each batch."""

    def __init__(self, fields: Mapping[str, Sequence[Sequence[int]]], pad: int = 0) -> None:
        self._fields = {name: [_tokens(row, name) for row in rows] for name, rows in fields.items()}
        self._pad = pad
        ids = self._fields[IDS] if IDS in self._fields else next(iter(self._fields.values()))
        self._lengths = np.array([len(row) for row in ids], dtype=np.intp)
        _require_tokens(self._lengths > 0)
        for name, rows in self._fields.items():
            if [len(row) for row in rows] != self._lengths.tolist():
                raise ValueError(
                    f"inputs must have as many tokens per row in each field, got different numbers in {name!r}"
                )

    def __len__(self) -> int:
        return len(self._lengths)

    @property
    def largest_token(self) -> int:
        """The largest number of a token."""
        return max((int(row.max()) for row in self._fields.get(IDS, ())), default=0)

    def share_of(self, token: int) -> float:
        """Return the share of a token among all tokens."""
        n_found = sum(int((row == token).sum()) for row in self._fields.get(IDS, ()))
        return n_found / max(1, int(self._lengths.sum()))

    def lengths(self) -> Index:
        """Return the number of tokens per row."""
        return self._lengths

    def batch(self, chosen: Index, device: torch.device, dtype: torch.dtype) -> Batch:
        """Return some rows, padded, as a batch."""
        lengths = self._lengths[chosen]
        mask = np.arange(lengths.max()) < lengths[:, None]
        named = {}
        for name in dict.fromkeys([*self._fields, MASK]):
            padded = np.full(mask.shape, self._pad if name == IDS else 0, dtype=np.int64)
            rows = self._fields.get(name)
            padded[mask] = 1 if rows is None else np.concatenate([rows[row] for row in chosen])
            named[name] = torch.from_numpy(padded).to(device)
        return Batch(named=named, mask=named[MASK].bool())

    def fingerprint(self) -> str:
        """Hash all tokens."""
        digest = Digest().array("lengths", self._lengths)
        for name, rows in sorted(self._fields.items()):
            digest.array(name, np.concatenate(rows))
        return digest.text()


class ItemRows(InputRows):
    """A data set with a length and numbered items; the first element of a tuple is the input."""

    def __init__(self, items: Any) -> None:
        self._items = items

    def __len__(self) -> int:
        return len(self._items)

    def batch(self, chosen: Index, device: torch.device, dtype: torch.dtype) -> Batch:
        """Read some items and stack them to a batch."""
        items = [self._item(int(row)) for row in chosen]
        if isinstance(items[0], Mapping):
            fields = {name: _stack([item.get(name) for item in items], name) for name in items[0]}
            return FieldRows(fields).batch(np.arange(len(items)), device, dtype)
        return Batch(args=(_stack(items, "input_ids").to(device),))

    def fingerprint(self) -> str:
        """Hash a few evenly spaced items."""
        digest = Digest().add_text(str(len(self)))
        for row in np.unique(np.linspace(0, len(self) - 1, _LOOKED_AT).astype(int)):
            item = self._item(int(row))
            for name, value in item.items() if isinstance(item, Mapping) else [("input", item)]:
                digest.array(f"{row} {name}", np.asarray(torch.as_tensor(value).cpu()))
        return digest.text()

    def _item(self, row: int) -> Any:
        item = self._items[row]
        return item[0] if isinstance(item, tuple) else item


def token_counts(rows: InputRows) -> list[int] | None:
    """Return the number of tokens in each input, without padding; None if unknown."""
    mask = rows.mask() if isinstance(rows, FieldRows) else None
    counts = rows.lengths() if mask is None else mask.sum(axis=1)
    return None if counts is None else [int(count) for count in counts]


def make_rows(inputs: Any, pad: int = 0, axis: int = 0) -> InputRows:
    """Return the rows of inputs in any supported form.

    Parameters
    ----------
    inputs : array, mapping or data set
        One array or tensor, a mapping of arrays, a mapping of lists of token lists, a data set, or a list of tensors.
    pad : int
        Token with which shorter rows are padded.
    axis : int
        Axis of a single array that numbers the inputs.
    """
    if axis and not _is_single_array(inputs):
        raise ValueError(f"batch_axis must be 0 unless the inputs are one array, got {axis}")
    rows = ArrayRows(inputs, axis) if axis else _kind(inputs, pad)
    if len(rows) == 0:
        raise ValueError("inputs must contain at least one row, got none")
    return rows


_GRAPH = "edge_index"
"""Field of the graphs of PyTorch Geometric."""


def _is_graph(item: Any) -> bool:
    return _GRAPH in item if isinstance(item, Mapping) else hasattr(item, _GRAPH)


def _kind(inputs: Any, pad: int) -> InputRows:
    if _is_graph(inputs) or (isinstance(inputs, Sequence) and len(inputs) and _is_graph(inputs[0])):
        raise TypeError(
            f"inputs must be arrays with a row per input, got graphs ({_GRAPH}). Run the model yourself, keep the "
            "output of a module with its register_forward_hook, and pass this as a matrix: it has a row per node "
            "before pooling, and a row per graph after it"
        )
    if isinstance(inputs, str | bytes) or (
        isinstance(inputs, Sequence) and any(isinstance(item, str) for item in inputs)
    ):
        raise TypeError("inputs must be arguments of the model, got text; for texts, use encode(model, texts)")
    if isinstance(inputs, Mapping):
        if not inputs:
            raise ValueError("inputs must contain at least one field, got none")
        ragged = all(isinstance(rows, list | tuple) and all(map(_is_row, rows)) for rows in inputs.values())
        return TokenRows(inputs, pad) if ragged else FieldRows(inputs)
    if _is_single_array(inputs):
        return ArrayRows(inputs)
    if _are_token_lists(inputs):
        return TokenRows({name: [entry.get(name) for entry in inputs] for name in inputs[0]}, pad)
    if hasattr(inputs, "__len__") and hasattr(inputs, "__getitem__"):
        return ItemRows(inputs)
    raise TypeError(
        "inputs must be an array, a mapping of arrays, or have a length and numbered items, "
        f"got {type(inputs).__name__}{_DATASET * hasattr(inputs, 'dataset')}"
    )


_DATASET = "; pass its .dataset, because a loader may shuffle the rows"


def _is_single_array(inputs: Any) -> bool:
    return isinstance(inputs, Tensor) or hasattr(inputs, "__array__")


def _are_token_lists(inputs: Any) -> bool:
    """Return whether the inputs are tokenizer outputs, one mapping of lists of numbers per text."""
    if not isinstance(inputs, list | tuple) or not inputs:
        return False
    return all(isinstance(entry, Mapping) and entry and all(map(_is_row, entry.values())) for entry in inputs)


def _tokens(row: Any, name: str) -> NDArray[np.int64]:
    tokens = to_host(row, name)
    if tokens.ndim != 1 or (tokens.size and tokens.dtype.kind not in "iub"):
        raise TypeError(f"inputs must contain lists of whole numbers in {name!r}, got {row!r}")
    return tokens.astype(np.int64)


def _stack(items: Sequence[Any], name: str) -> Tensor:
    """Stack items of one shape to a batch."""
    try:
        tensors = [torch.as_tensor(item) for item in items]
    except (ValueError, TypeError, RuntimeError) as error:
        raise TypeError(f"inputs must be items that torch can convert to a tensor, got other items: {error}") from error
    other = next((tensor for tensor in tensors if tensor.shape != tensors[0].shape), None)
    if other is not None:
        raise ValueError(
            f"inputs must be items of one shape, got {tuple(tensors[0].shape)} and {tuple(other.shape)}; to pad "
            f"token lists of different lengths, pass {{{name!r}: inputs}}"
        )
    return torch.stack(tensors)


def _is_row(row: Any) -> bool:
    return isinstance(row, list | tuple) or (isinstance(row, np.ndarray) and row.ndim == 1)


def _array(values: Any, name: str) -> Any:
    """Return an array or tensor that has rows; memory-mapped files stay on disk."""
    array = values if isinstance(values, Tensor) else np.asanyarray(values)
    if array.ndim == 0:
        raise ValueError(f"{name} must have one entry per row, got a single value")
    if not isinstance(array, Tensor) and array.dtype.kind not in "fiub":
        raise TypeError(f"{name} must contain numbers, got an array of dtype {array.dtype}")
    return array


def _tensor(values: Any, chosen: Index, device: torch.device, dtype: torch.dtype) -> Tensor:
    if isinstance(values, Tensor):
        return values[torch.from_numpy(chosen).to(values.device)].to(device)
    batch = torch.from_numpy(np.ascontiguousarray(values[chosen]))
    # NumPy defaults to double precision, but models do not.
    return batch.to(device, dtype) if batch.is_floating_point() else batch.to(device)


def _require_tokens(there: NDArray[np.bool_]) -> None:
    empty = np.flatnonzero(~there)
    if len(empty):
        numbers = ", ".join(map(str, empty[:5])) + (", ..." if len(empty) > 5 else "")
        raise ValueError(f"inputs must have at least one token per row, got none in rows {numbers}")


_UNLIMITED = 10**9
"""Token limit from which on a tokenizer counts as unlimited."""
_FIELDS = (IDS, "token_type_ids")


def check_texts(data: Any) -> list[str]:
    """Check that the data are texts, and return them as a list of strings."""
    if isinstance(data, str):
        raise TypeError("data must be a sequence of texts or images, got a single text")
    texts = list(data)
    bad = next((number for number, text in enumerate(texts) if not isinstance(text, str)), None)
    if bad is not None:
        raise TypeError(f"data must contain texts only, got {_what(texts[bad])} in row {bad}")
    return [str(text) for text in texts]


def _what(value: Any) -> str:
    """Describe an entry that is not a text; None, NaN and NA count as missing."""
    from pandas import isna

    return "none" if np.ndim(value) == 0 and isna(value) else type(value).__name__


def token_rows(
    texts: Sequence[str], tokenizer: Any, *, chat: bool, max_tokens: int | None, pad: int
) -> tuple[TokenRows, int]:
    """Return the tokens of texts, and the number of texts that were truncated."""
    if chat:
        texts = [_as_message(tokenizer, text) for text in texts]
    limit = {} if max_tokens is None else {"truncation": True, "max_length": max_tokens}
    # The chat template already adds the special tokens.
    options = {"add_special_tokens": not chat, "padding": False}
    encoded = _encode(tokenizer, list(texts), **options, **limit)
    rows = make_rows({name: encoded[name] for name in _FIELDS if name in encoded}, pad)
    assert isinstance(rows, TokenRows)
    lengths = rows.lengths()
    if max_tokens is None or not (full := np.flatnonzero(lengths >= max_tokens)).size:
        return rows, 0
    # Texts that just fit are as long as truncated ones, so their whole length is needed. A warning about long texts
    # would be misleading here.
    whole = _encode(tokenizer, [texts[int(row)] for row in full], **options, truncation=False, verbose=False)[IDS]
    return rows, sum(len(tokens) > max_tokens for tokens in whole)


def prompt_length(prompt: str, tokenizer: Any) -> int:
    """Return the number of tokens that a prompt adds at the beginning, with special tokens before it."""
    tokens = _encode(tokenizer, [prompt])[IDS][0]
    return len(tokens) - (len(tokens) > 0 and tokens[-1] in tokenizer.all_special_ids)


def _encode(tokenizer: Any, texts: list[str], **options: Any) -> Any:
    try:
        return tokenizer(texts, **options)
    except Exception as error:
        # The library of tokenizers raises Exception itself, for example if a vocabulary lacks the unknown token.
        if type(error) is not Exception:
            raise
        raise ValueError(f"tokenizer must be able to encode the texts, got an error: {error}") from error


def _as_message(tokenizer: Any, text: str) -> str:
    message = [{"role": "user", "content": text}]
    return str(tokenizer.apply_chat_template(message, tokenize=False, add_generation_prompt=True))


def token_limit(tokenizer: Any, model: Any, declared: int | None) -> int | None:
    """Return the token limit that a sentence encoder declares, or that of the tokenizer, at most the model's.

    None means that there is no limit.
    """
    own = getattr(tokenizer, "model_max_length", None) if declared is None else declared
    limits = (own, getattr(getattr(model, "config", None), "max_position_embeddings", None))
    name, expected = "token limit of the model", "a number"
    known = [instance(limit, (int, float), name, expected) for limit in limits if limit is not None]
    return min((int(limit) for limit in known if 0 < limit < _UNLIMITED), default=None)


Process = Callable[[list[Any]], torch.Tensor]
"""Function that takes images and returns pixels of shape (n, 3, height, width)."""


class ImageRows(InputRows):
    """Images in memory (arrays or Pillow images), or in files that are opened batch by batch."""

    def __init__(self, images: Sequence[Any], process: Process, argument: str | None) -> None:
        self._images, self._process, self._argument = list(images), process, argument

    def __len__(self) -> int:
        return len(self._images)

    def batch(self, chosen: Index, device: torch.device, dtype: torch.dtype) -> Batch:
        """Open some images and return their pixels."""
        pixels = self._process([open_image(self._images[row]) for row in chosen]).to(device, dtype)
        return Batch(named={self._argument: pixels}) if self._argument else Batch(args=(pixels,))

    def fingerprint(self) -> str:
        """Hash the pixels of images in memory and the bytes of files."""
        digest = Digest()
        for number, image in enumerate(self._images):
            if isinstance(image, str | os.PathLike):
                digest.array(str(number), np.frombuffer(read_bytes(Path(image), "image"), dtype=np.uint8))
            else:
                digest.array(str(number), np.asarray(image))
        return digest.text()


def open_image(image: Any) -> Any:
    """Return an image with three colour channels, opened if it is a file."""
    if isinstance(image, str | os.PathLike):
        return read_image(Path(image))
    return in_colour(image) if hasattr(image, "convert") else np.asarray(image)


def are_images(data: Any) -> bool:
    """Return whether the data are images; strings are texts, and path objects name image files."""
    return not any(isinstance(item, str) for item in data)


def image_processor(processor: Any) -> Process:
    """Return a function that computes pixels with a transformers image processor."""
    return lambda images: torch.as_tensor(processor(images=images, return_tensors="pt")["pixel_values"])


def has_class_token(model: torch.nn.Module) -> bool:
    """Return whether the model has a class token, which represents the whole image."""
    return any(name.split(".")[-1] in ("cls_token", "class_embedding") for name, _ in model.named_parameters())
