"""Flatten nested dictionaries and lists of arrays, and gather files that hold one vector per item."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from shesha.inputs import Names
from shesha.io._array_selection import Keys, StoredArray, why_not
from shesha.io.file_checks import UnreadableFileError, require_memory
from shesha.io.file_endings import file_stem
from shesha.support.item_lists import join_names
from shesha.support.provenance import state
from shesha.support.types import Array

_FEWEST_ITEMS = 3
"""Smallest number of vectors that are gathered into a matrix, if each is an array of its own."""
_DEEPEST = 50
"""Largest depth of nested dictionaries and lists."""
_WEIGHTS = re.compile(r"(?:^|[./_])(?:weight|bias|kernel|gamma|beta|lora_[AB])(?:[./_]\w+)?(?::0)?$")
Leaf = Callable[[Any], StoredArray | None]


class NamedArrays(dict[str, StoredArray]):
    """Arrays by name, with the row names that the format stores, and the arrays that are read only on request."""

    def __init__(
        self, arrays: Mapping[str, StoredArray], row_names: Names | None = None, on_request: Iterable[str] = ()
    ) -> None:
        super().__init__(arrays)
        self.row_names, self.on_request = row_names, frozenset(on_request)


def in_memory(array: Array) -> StoredArray:
    """Describe an array in memory."""
    return StoredArray(array.shape, array.dtype, lambda: array)


def refused(reason: str) -> StoredArray:
    """Describe content that is not an array, with the reason why it cannot be used."""
    return StoredArray((), np.dtype("V1"), lambda: np.empty(0), reason)


def flatten(path: Path, tree: Any, leaf: Leaf) -> NamedArrays:
    """Describe the arrays in nested dictionaries and lists, by their keys joined by dots.

    Parameters
    ----------
    path : path
        File that contains them.
    tree : object
        Dictionaries, lists and tuples, to any depth.
    leaf : callable
        Function that describes an array, or returns None for any other object.
    """
    arrays: dict[str, StoredArray] = {}

    def visit(name: str, node: Any, depth: int) -> None:
        if depth > _DEEPEST:
            raise UnreadableFileError(f"{path} must be nested at most {_DEEPEST} levels deep, got more at {name[:60]}")
        found = _describe(node, leaf)
        if found is None and isinstance(node, Mapping):
            for key, value in node.items():
                visit(f"{name}.{key}" if name else str(key), value, depth + 1)
        elif found is None and isinstance(node, list | tuple) and not (columns := _columns(node)):
            for number, value in enumerate(node):
                visit(f"{name or file_stem(path)}[{number}]", value, depth + 1)
        elif found is None and isinstance(node, list | tuple):
            for key, values in columns.items():
                visit(f"{name}.{key}" if name else key, values, depth + 1)
        else:
            own = name or file_stem(path)
            if own in arrays:
                raise UnreadableFileError(f"names in {path} must be distinct, got {own!r} twice")
            arrays[own] = found or refused(f"contains {type(node).__name__}, not an array")

    visit("", tree, 0)
    return NamedArrays(arrays)


def _describe(node: Any, leaf: Leaf) -> StoredArray | None:
    """Describe an array, a list of numbers or texts, or a list of vectors of equal length."""
    if (found := leaf(node)) is not None:
        return found
    if isinstance(node, str | bool | int | float):
        return in_memory(np.asarray(node))
    if not isinstance(node, list | tuple) or not node:
        return None
    if all(isinstance(value, str) or value is None for value in node):
        return in_memory(np.array(["" if value is None else value for value in node]))
    if all(isinstance(value, int | float) for value in node):
        return in_memory(np.asarray(node))
    if all(isinstance(value, list) for value in node):
        try:
            array = np.asarray(node)
        except (ValueError, OverflowError):
            return None
        return in_memory(array) if array.dtype.kind in "fiub" else None
    parts = [leaf(value) for value in node]
    vectors = [part for part in parts if part is not None and part.refusal is None and len(part.shape) == 1]
    scalars = [part for part in parts if part is not None and part.shape == () and part.dtype.kind in "fiubU"]
    if len(scalars) == len(node):
        return in_memory(np.array([part.load() for part in scalars]))
    if len(vectors) == len(node) >= _FEWEST_ITEMS and len({part.shape for part in vectors}) == 1:
        return _stack(vectors)
    return None


def _columns(records: Sequence[Any]) -> dict[str, list[Any]]:
    """Return a list of dictionaries with the same keys as lists by key; an empty dictionary for other lists."""
    if len(records) < _FEWEST_ITEMS or not all(isinstance(record, Mapping) for record in records):
        return {}
    keys = list(records[0])
    if any(list(record) != keys for record in records):
        return {}
    return {str(key): [record[key] for record in records] for key in keys}


def _stack(parts: Sequence[StoredArray]) -> StoredArray:
    shape = (len(parts), int(np.prod(parts[0].shape)))
    dtype = np.result_type(*{part.dtype for part in parts})
    return StoredArray(
        shape, dtype, lambda: np.stack([np.ravel(part.load()) for part in parts]).astype(dtype, copy=False)
    )


def gather(path: Path, arrays: Mapping[str, StoredArray], separators: str = ".") -> NamedArrays:
    """Stack arrays that are one vector each into matrices, whose rows are named by the items.

    Both ``group.item`` and ``item.group`` are recognised; the items are the more numerous ones.
    """
    vectors = {name: array for name, array in arrays.items() if _is_vector(array)}
    matrices = [name for name, array in arrays.items() if name not in vectors and why_not(array) is None]
    if len(vectors) < _FEWEST_ITEMS or matrices:
        return NamedArrays(arrays)
    widths = Counter(int(np.prod(array.shape)) for array in vectors.values())
    split = {name: _split(name, separators) for name in vectors}
    groups, items = _by(split, 0), _by(split, 1)
    if max(map(len, items.values())) > max(map(len, groups.values())):
        split, groups = {name: (item, group) for name, (group, item) in split.items()}, items
    gathered, members = {}, set()
    for group, names in groups.items():
        if len(names) >= _FEWEST_ITEMS:
            _require_equal(path, {name: vectors[name] for name in names}, widths)
            gathered[group or file_stem(path)] = {split[name][1]: vectors[name] for name in names}
            members.update(names)
    if not gathered:
        return NamedArrays(arrays)
    first = list(next(iter(gathered.values())))
    for group, rows in gathered.items():
        if set(rows) != set(first):
            raise UnreadableFileError(
                f"{path} must contain the same items in every group, got {len(rows)} in {group} and {len(first)} in "
                f"{next(iter(gathered))}"
            )
    for group in gathered:
        state(f"{group}: one vector of each of {len(first)} items")
    stacked = {group: _gathered(path, group, [rows[item] for item in first]) for group, rows in gathered.items()}
    rest = {name: array for name, array in arrays.items() if name not in members and name not in stacked}
    return NamedArrays(stacked | rest, Names.build(np.array(first, dtype=object), "key", chosen="format"))


def _by(split: Mapping[str, tuple[str, str]], part: int) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for name, parts in split.items():
        found[parts[part]].append(name)
    return found


def _split(name: str, separators: str) -> tuple[str, str]:
    """Return the group and the item in a name."""
    listed = re.fullmatch(r"(.*)\[(\d+)\]", name)
    if listed:
        return listed[1], listed[2]
    place = max(map(name.rfind, separators))
    return (name[:place], name[place + 1 :]) if place > 0 else ("", name)


def _is_vector(array: StoredArray) -> bool:
    """Return whether an array could be the vector of one item: one row of floats."""
    single = len(array.shape) == 1 or (len(array.shape) == 2 and array.shape[0] == 1)
    return array.refusal is None and array.dtype.kind == "f" and single and array.shape[-1] > 1


def _require_equal(path: Path, vectors: Mapping[str, StoredArray], widths: Counter[int]) -> None:
    """Refuse vectors of different lengths, and name one that differs."""
    usual = widths.most_common(1)[0][0]
    other = next((name for name, array in vectors.items() if int(np.prod(array.shape)) != usual), None)
    if other is not None:
        raise UnreadableFileError(
            f"{path} must contain vectors of one length to be one matrix, got {usual} numbers in most and "
            f"{int(np.prod(vectors[other].shape))} in {other}"
        )


def _gathered(path: Path, name: str, parts: Sequence[StoredArray]) -> StoredArray:
    stacked = _stack(parts)

    def load() -> Array:
        require_memory(path, name, stacked.shape, stacked.dtype, "write fewer items")
        return stacked.load()

    return StoredArray(stacked.shape, stacked.dtype, load)


def refuse_weights(path: Path, arrays: Mapping[str, StoredArray], keys: Keys) -> None:
    """Refuse the parameters of a model, which are not representations of inputs, unless keys name some."""
    if keys is not None:
        return
    matrices = [name for name, array in arrays.items() if len(array.shape) >= 2 and array.refusal is None]
    weights = [name for name in matrices if _WEIGHTS.search(name)]
    if len(weights) > 1 and 2 * len(weights) > len(matrices):
        raise UnreadableFileError(
            f"{path} must contain representations, got the weights of a model ({join_names(weights[:3])}, ...): "
            "compute the model's outputs with `shesha extract`, or name single matrices with keys= (--key)"
        )


def to_float32(halves: Array) -> Array:
    """Convert bfloat16 values, given as 16-bit integers, to the float32 values whose upper halves they are."""
    widened = halves.astype(np.uint32)
    widened <<= 16
    return widened.view(np.float32)


def strings(values: Iterable[Any]) -> Array:
    """Return texts, given as text or bytes, as an array of text."""
    return np.array([value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value) for value in values])
