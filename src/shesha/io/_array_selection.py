"""Turn the arrays of a file into named representations."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeGuard, TypeVar

import numpy as np

from shesha.inputs import Names, choose_identity, could_identify, identity_names, is_certain_identity
from shesha.inputs.quantised import as_bytes, decode
from shesha.io.file_checks import UnreadableFileError
from shesha.support.item_lists import join_names
from shesha.support.layer_axis import MOST_LAYERS, LayerAxis, Split, split
from shesha.support.plurals import count
from shesha.support.provenance import state
from shesha.support.types import Array
from shesha.support.visible_text import visible_name

Keys = Sequence[str] | None
Value = TypeVar("Value")

_LABEL_KINDS = "fiubUST"
_SEPARATORS = re.compile(r"[/.]")
"""Characters between the parts of a name, such as of an array in a group."""
_UNUSABLE_KINDS = {
    "O": "pickled Python objects, which are never read",
    "U": "text, not numbers",
    "S": "text, not numbers",
    "T": "text, not numbers",
    "c": "complex numbers, not real ones",
    "V": "records, not numbers",
    "M": "dates, not numbers",
    "m": "durations, not numbers",
}


@dataclass(frozen=True)
class Contents:
    """The representations in a file, and a description of its other contents.

    Attributes
    ----------
    representations : dict of str to ndarray
        2-D arrays of real numbers by name, in the order of the keys, or in the order of the file if no keys were
        passed.
    skipped : dict of str to str
        Names of contents that are not representations, each with the reason.
    labels_available : tuple of str
        Names that `read_labels` accepts as `column`.
    split : dict of str to Split
        How each 3-D array was divided into layers; `describe()` returns this as text.
    row_names : Names, optional
        Row names from an index, obs_names, a column or array that is named like an identifier and has distinct values,
        or a first column of text; None if there are none.
    column_names : Names, optional
        Names of the features of all matrices, such as those of the columns of a table; None if there are none.
    """

    representations: dict[str, Array]
    skipped: dict[str, str]
    labels_available: tuple[str, ...]
    split: dict[str, Split] = field(default_factory=dict)
    row_names: Names | None = field(default=None, compare=False)
    column_names: Names | None = field(default=None, compare=False)


@dataclass(frozen=True)
class StoredArray:
    """An array in a file, described before it is read; `refusal` says why it cannot be read, if so."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    load: Callable[[], Array]
    refusal: str | None = None

    @property
    def is_label_like(self) -> bool:
        """Whether the array could contain one label per row."""
        return self.refusal is None and len(self.shape) == 1 and self.dtype.kind in _LABEL_KINDS


def why_not(array: StoredArray, layer_axis: LayerAxis = "guess", distances: bool = False) -> str | None:
    """Return why an array is not a representation (or, if `distances`, not distances); None if it is."""
    if array.refusal is not None:
        return array.refusal
    if array.dtype.kind in _UNUSABLE_KINDS:
        return f"contains {_UNUSABLE_KINDS[array.dtype.kind]}"
    if distances and _is_distances(array.shape):
        return None
    dimensions = len(array.shape)
    shape = f"is {dimensions}-D with shape {array.shape}"
    if dimensions == 0:
        return "is a single value"
    if dimensions == 1:
        return f"{shape}, so it may contain labels"
    if dimensions > 4 or (dimensions == 4 and array.dtype.kind != "f"):
        return f"{shape}; flatten it to (rows, features)"
    # Hidden states are floats; 3-D integer arrays, such as images, are not stacks of layers.
    if dimensions == 3 and layer_axis == "guess" and (array.dtype.kind != "f" or array.shape[1] == 0):
        return f"{shape} and {array.dtype} values; only floats are split into layers, so flatten it to (rows, features)"
    return None


def _is_distances(shape: tuple[int, ...]) -> bool:
    """Return whether an array could be a condensed triangle or a stack of square matrices, along the last axis too."""
    if len(shape) == 1:
        n = math.isqrt(2 * shape[0]) + 1
        return shape[0] > 0 and n * (n - 1) == 2 * shape[0]
    return len(shape) == 3 and (shape[1] == shape[2] or shape[0] == shape[1])


def contents(
    path: Path,
    arrays: Mapping[str, StoredArray],
    keys: Keys,
    layer_axis: LayerAxis = "guess",
    distances: bool = False,
) -> Contents:
    """Read those arrays that are representations; 3-D arrays are split into layers."""
    arrays = visible_names(path, arrays)
    keys = [visible_name(key) if isinstance(key, str) else key for key in keys] if _is_listing(keys) else keys
    reasons = {name: why_not(array, layer_axis, distances) for name, array in arrays.items()}
    skipped = {name: reason for name, reason in reasons.items() if reason is not None}
    usable = {name: array for name, array in arrays.items() if name not in skipped}
    stacked = {name: distances and _is_distances(array.shape) for name, array in usable.items()}
    splits = {
        name: split(array.shape, (0 if array.shape[1] == array.shape[2] else 2) if stacked[name] else layer_axis)
        for name, array in usable.items()
        if len(array.shape) == 3
    }
    offered = {name: splits[name].names(name) if name in splits else [name] for name in usable}
    origin = _origins(path, offered)
    chosen = [(key, *origin[key]) for key in choose(path, offered, skipped, keys)]
    used = dict.fromkeys(name for _, name, _ in chosen if name in splits)
    for name in used:
        if sum(other == name for _, other, _ in chosen) > MOST_LAYERS:
            splits[name].require_few(f"{name} in {path}")
    loaded = {name: usable[name].load() for name in dict.fromkeys(name for _, name, _ in chosen)}
    if not distances:
        loaded = {name: _decoded(name, array, arrays) for name, array in loaded.items()}
    for name in used:
        if splits[name].axis is not None and not stacked[name]:
            sizes = " x ".join(f"{length:,}" for length in splits[name].shape)
            state(f"{name}: {count(splits[name].n_layers, 'layer')} along axis {splits[name].axis} of {sizes}")
    representations = {
        key: splits[name].layer(loaded[name], layer) if name in splits else loaded[name] for key, name, layer in chosen
    }
    rows = {len(matrix) for matrix in representations.values()}
    columns = {matrix.shape[-1] for matrix in representations.values()}
    selected = {name for _, name, _ in chosen}
    labels = (name for name, array in arrays.items() if array.is_label_like and array.shape[0] in rows)
    return Contents(
        representations,
        skipped,
        tuple(labels),
        {name: splits[name] for name in used},
        None if distances else _identity(arrays, rows, selected),
        None if distances or columns == rows else _identity(arrays, columns, selected),
    )


def _is_listing(keys: Keys) -> TypeGuard[Sequence[str]]:
    return isinstance(keys, list | tuple)


def visible_names(path: Path, contents: Mapping[str, Value]) -> Mapping[str, Value]:
    """Return contents by names without control characters, which could change a terminal or forge lines."""
    if all(name == visible_name(name) for name in contents):
        return contents
    named = {visible_name(name): value for name, value in contents.items()}
    if len(named) < len(contents):
        raise UnreadableFileError(f"{path} must have distinct names, got several that differ in control characters")
    return named


def _decoded(name: str, array: Array, arrays: Mapping[str, StoredArray]) -> Array:
    """Decode vectors that are stored as bytes."""
    array = as_bytes(array, name)
    if array.ndim != 2 or array.dtype not in (np.uint8, np.int8):
        return array
    small = [key for key, other in arrays.items() if other.refusal is None and other.dtype.kind == "f" and key != name]
    fitting = [key for key in small if math.prod(arrays[key].shape) <= 2 * max(array.shape)]
    return decode(array, name, {key: arrays[key].load() for key in fitting})


def _identity(arrays: Mapping[str, StoredArray], n_rows: set[int], chosen: set[str]) -> Names | None:
    """Return the row names from the first 1-D array that is named like them and has distinct values.

    An array in a group of a file belongs to the matrices of this group, not to those of other groups.
    """
    groups, all_groups = (
        set(map(_group, names)) for names in (chosen, (n for n in arrays if len(arrays[n].shape) > 1))
    )
    others = (all_groups if len(groups) > 1 else all_groups - groups) - {""}
    fitting = [name for name, array in arrays.items() if array.is_label_like and n_rows == {array.shape[0]}]
    candidates = [name for name in fitting if _group(name) not in others]
    by_leaf = {name: _SEPARATORS.split(name)[-1] for name in candidates}
    ordered = [
        name for leaf in dict.fromkeys(identity_names(by_leaf.values())) for name in candidates if by_leaf[name] == leaf
    ]
    ordered.sort(key=lambda name: _group(name) not in groups)
    chosen_name = choose_identity(ordered, lambda name: arrays[name].load())
    if chosen_name is not None:
        return Names(arrays[chosen_name].load, column=chosen_name)
    repeated = [name for name in candidates if is_certain_identity(name) and could_identify(arrays[name].load())]
    return Names(arrays[repeated[0]].load, column=repeated[0]) if repeated else None


def _group(name: str) -> str:
    """Return the group of an array, such as 'train' of 'train/features'."""
    return name[: -len(_SEPARATORS.split(name)[-1])].rstrip("/.")


def _origins(path: Path, offered: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, int]]:
    """Map the name of each representation to the array and the layer that it comes from."""
    origin: dict[str, tuple[str, int]] = {}
    for name, layers in offered.items():
        for layer, representation in enumerate(layers):
            if representation in origin:
                raise UnreadableFileError(f"names in {path} must be distinct, got {representation!r} twice")
            origin[representation] = name, layer
    return origin


def choose(path: Path, offered: Mapping[str, Sequence[str]], skipped: Mapping[str, str], keys: Keys) -> list[str]:
    """Return the names that match the keys, or all names; the key of a 3-D array matches all its layers."""
    everything = [name for names in offered.values() for name in names]
    if not everything:
        listing = join_names(f"{name} ({reason})" for name, reason in skipped.items())
        raise UnreadableFileError(
            f"{path} must contain a 2-D array (rows, features), a 3-D array (rows, layers, features) or numeric "
            f"columns, got {listing}"
        )
    if keys is None:
        return everything
    single = dict.fromkeys(everything)
    chosen: dict[str, None] = {}
    for key in _check_names(keys):
        if key not in offered and key not in single:
            raise ValueError(_refusal(path, key, everything, skipped))
        chosen |= dict.fromkeys(offered.get(key, [key]))
    return list(chosen)


def _check_names(keys: Iterable[str]) -> list[str]:
    if isinstance(keys, str) or not isinstance(keys, Iterable) or getattr(keys, "ndim", 1) == 0:
        raise TypeError(f"keys must be a sequence of names, got {keys!r}")
    names = list(keys)
    if not all(isinstance(name, str) for name in names):
        raise TypeError(f"keys must be a sequence of names, got {keys!r}")
    if not names:
        raise ValueError("keys must contain at least one name, got none; leave out keys= to read everything")
    return names


def _refusal(path: Path, key: str, known: Iterable[str], skipped: Mapping[str, str]) -> str:
    """Return the error message for an unknown key, which lists the known names."""
    reason = f", which cannot be used because it {skipped[key]}" if key in skipped else ""
    return f"keys must be among {join_names(known)} in {path}, got {key!r}{reason}"
