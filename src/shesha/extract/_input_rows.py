"""The inputs of a model as rows that can be read in batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from shesha.extract._fingerprints import Digest
from shesha.support.device_arrays import to_host
from shesha.support.types import Index

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


class Rows(Protocol):
    """Inputs that can be read in batches, in any order."""

    def __len__(self) -> int:
        """Return the number of inputs."""
        ...

    def lengths(self) -> Index | None:
        """Return the number of tokens per row, if rows differ in length and are padded batch by batch."""
        ...

    def batch(self, chosen: Index, device: torch.device, dtype: torch.dtype) -> Batch:
        """Return some inputs as arguments of the model, with floats in the model's precision."""
        ...

    def fingerprint(self) -> str:
        """Return a fingerprint that is equal for the same inputs in the same order."""
        ...


class ArrayRows:
    """The rows of a single array, which is the model's only argument; `axis` numbers them."""

    def __init__(self, values: Any, axis: int = 0) -> None:
        array = _array(values, "inputs")
        if axis >= array.ndim:
            raise ValueError(f"batch_axis must be an axis of the inputs, of shape {tuple(array.shape)}, got {axis}")
        self.axis = axis
        self._values = array.movedim(axis, 0) if isinstance(array, Tensor) else np.moveaxis(array, axis, 0)

    def __len__(self) -> int:
        return len(self._values)

    def lengths(self) -> Index | None:
        """Return None, because all rows have the same length."""
        return None

    def batch(self, chosen: Index, device: torch.device, dtype: torch.dtype) -> Batch:
        """Return some rows as a batch."""
        return Batch(args=(_tensor(self._values, chosen, device, dtype).movedim(0, self.axis),))

    def fingerprint(self) -> str:
        """Hash the array."""
        return Digest().array("inputs", self._values).text()


class FieldRows:
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

    def lengths(self) -> Index | None:
        """Return None, because existing padding is kept."""
        return None

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


class TokenRows:
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

    def lengths(self) -> Index | None:
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


class ItemRows:
    """A data set with a length and numbered items; the first element of a tuple is the input."""

    def __init__(self, items: Any) -> None:
        self._items = items

    def __len__(self) -> int:
        return len(self._items)

    def lengths(self) -> Index | None:
        """Return None, because lengths are unknown until the items are read."""
        return None

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


def token_counts(rows: Rows) -> list[int] | None:
    """Return the number of tokens in each input, without padding; None if unknown."""
    mask = rows.mask() if isinstance(rows, FieldRows) else None
    counts = rows.lengths() if mask is None else mask.sum(axis=1)
    return None if counts is None else [int(count) for count in counts]


def make_rows(inputs: Any, pad: int = 0, axis: int = 0) -> Rows:
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


def _kind(inputs: Any, pad: int) -> Rows:
    if isinstance(inputs, str | bytes) or (
        isinstance(inputs, Sequence) and any(isinstance(item, str) for item in inputs)
    ):
        raise TypeError("inputs must be arguments of the model, got text; for texts, use encode(model, texts)")
    if isinstance(inputs, Mapping):
        if not inputs:
            raise ValueError("inputs must contain at least one field, got none")
        return TokenRows(inputs, pad) if all(map(_is_ragged, inputs.values())) else FieldRows(inputs)
    if _is_single_array(inputs):
        return ArrayRows(inputs)
    if _are_token_lists(inputs):
        return TokenRows({name: [entry.get(name) for entry in inputs] for name in inputs[0]}, pad)
    if hasattr(inputs, "__len__") and hasattr(inputs, "__getitem__"):
        return ItemRows(inputs)
    raise TypeError(
        "inputs must be an array, a mapping of arrays, or have a length and numbered items, "
        f"got {type(inputs).__name__}"
    )


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


def _is_ragged(values: Any) -> bool:
    return isinstance(values, list | tuple) and all(_is_row(row) for row in values)


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
