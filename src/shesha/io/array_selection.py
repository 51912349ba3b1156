"""Turn the arrays of a file into named representations, with short, distinct names."""

from __future__ import annotations

import math
import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from shesha.inputs import (
    NamedRows,
    Names,
    are_named_vectors,
    choose_condition,
    choose_identity,
    could_identify,
    identity_names,
    is_certain_identity,
    is_identity_name,
)
from shesha.inputs.column_words import ITEM, LAYER, TOKENS, label_like_names
from shesha.inputs.columns import Column
from shesha.inputs.identity import words_of
from shesha.inputs.matrix_shapes import is_one_hot
from shesha.inputs.quantised import as_bytes, decode, refuse_float_bits, refuse_neighbours, scale_names, zero_names
from shesha.inputs.table_columns import find_whole
from shesha.inputs.unsuited_tables import state_trial_table
from shesha.io.file_checks import UnreadableFileError, file_stem, require_memory
from shesha.support import files
from shesha.support.layer_axis import MASK, MOST_LAYERS, LayerAxis, Split, refuse_padding, refuse_tokens, split
from shesha.support.provenance import state, state_warning
from shesha.support.types import Array
from shesha.support.wording import in_natural_order, join_names, natural_key, visible_name


def short_paths(paths: Iterable[str | os.PathLike[str]], *, endings: bool = True) -> list[str]:
    """Return the last part of each path, with as many folders before it as are needed to be distinct.

    Without `endings`, file endings are left out unless they alone distinguish two paths. Repeated paths are numbered.

    Examples
    --------
    >>> short_paths(["run1/final/emb.npy", "run2/final/emb.npy", "old.npy"], endings=False)
    ['run1/final/emb', 'run2/final/emb', 'old']
    >>> short_paths(["base", "models/tuned"]), short_paths(["base", "base"])
    (['base', 'tuned'], ['base (1)', 'base (2)'])
    """
    whole = [Path(path) for path in paths]
    plain = whole if endings else [path.parent / file_stem(path) for path in whole]
    counts = Counter(plain)
    chosen = [path if counts[short] > 1 else short for path, short in zip(whole, plain, strict=True)]
    depths = [1] * len(chosen)
    while True:
        names = [Path(*path.parts[-depth:]).as_posix() for path, depth in zip(chosen, depths, strict=True)]
        uses = Counter(names)
        longer = [
            depth + 1 if uses[name] > 1 and depth < len(path.parts) else depth
            for name, path, depth in zip(names, chosen, depths, strict=True)
        ]
        if longer == depths:
            numbered = (
                f"{name} ({names[:i].count(name) + 1})" if uses[name] > 1 else name for i, name in enumerate(names)
            )
            return list(map(visible_name, numbered))
        depths = longer


def full_name(path: Path, short: str, name: str, taken: Container[str], *, alone: bool) -> str:
    """Return the name of an array, with the short or whole path of its file if needed to be unique."""
    full = name if alone else short if name == visible_name(file_stem(path)) else f"{short}:{name}"
    return visible_name(f"{path}:{name}") if full in taken else full


Keys = Sequence[str] | None
Value = TypeVar("Value")

_LABEL_KINDS = "fiubUST"
_NUMBERS_OF_ROWS = re.compile(
    r"(?:^|[./_])(?:(?:input|token|token_type|position|decoder_input)_ids|(?:k?nn_|neighbou?r_)?"
    r"(?:neighbou?rs?|idx|indices|ids))$",
    re.IGNORECASE,
)
"""Names of integers that number tokens, or the nearest neighbours of each row."""
_PRODUCTS = re.compile(
    r"(?:^|[./_])(?:logits?(?:_per_\w+)?|(?:cos(?:ine)?_?)?sim(?:ilarit(?:y|ies))?|scores?|gram|kernel)(?:_?matrix)?$",
    re.IGNORECASE,
)
"""Names of square matrices of the similarities between rows, such as CLIP returns beside its embeddings."""
_RECORDING = re.compile(
    r"(?:^|[./_-])(?:(?:spikes?|spike_?counts?|spks|firing_?rates?|psths?|rasters?|lfp|i?eeg|meg|ecog|d_?ff|calcium"
    r"|betas?|bold|fmri|voxels?|volumes?|neural|evoked)(?:$|[./_-])|(?:rates?|trials?|epochs?|responses?)$)",
    re.IGNORECASE,
)
"""Names of arrays of trials, neurons and times, or of voxels."""
_STACK = re.compile(
    r"(?:^|[./_\d])(?:layers?|hidden|activations?|embeddings?|(?:feature_?)?maps?|tokens?)", re.IGNORECASE
)
"""Names of arrays of layers, tokens or feature maps, whose first axis is the inputs."""
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


_ONE_ROW_PER_INPUT = (
    "numpy.moveaxis(X, AXIS, 0).reshape(X.shape[AXIS], -1), where AXIS is the number of the axis of the inputs"
)
_HINTS = {
    "pickled": "If you wrote the file yourself, save numpy.stack(numpy.load(FILE, allow_pickle=True)) instead",
    "complex": "Save the real and imaginary parts side by side, numpy.hstack([X.real, X.imag])",
    "only floats": "Pass layer_axis=None (--layer-axis none) if each row is one input, or the number of the layer axis",
    "; flatten it": f"Save {_ONE_ROW_PER_INPUT}",
}
"""How arrays can be saved so that they can be read, by a word of the reason why they cannot."""


class UnknownKeyError(ValueError):
    """A file contains no representation of the requested name."""


class UnknownColumnError(ValueError):
    """A file contains no labels of the requested name."""

    def __init__(self, path: Path, columns: Sequence[str], column: str) -> None:
        super().__init__(f"column must be among {join_names(columns)} in {path}, got {column!r}")
        self.columns = tuple(columns)


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
    flattened : dict of str to tuple of int
        The shapes of arrays of four dimensions, which were flattened to one row per entry of the first axis.
    row_names : Names, optional
        Row names from an index, obs_names, a column or array that is named like an identifier and has distinct values,
        or a first column of text; None if there are none.
    column_names : Names, optional
        Names of the features of all matrices, such as those of the columns of a table; None if there are none.
    names_by_array : dict of str to Names
        Row names of representations whose group of the file contains names of its own.
    whole : str
        Name of an array of documents or subjects that several rows share; empty if there is none.
    """

    representations: dict[str, Array]
    skipped: dict[str, str]
    labels_available: tuple[str, ...]
    split: dict[str, Split] = field(default_factory=dict)
    flattened: dict[str, tuple[int, ...]] = field(default_factory=dict)
    row_names: Names | None = field(default=None, compare=False)
    column_names: Names | None = field(default=None, compare=False)
    names_by_array: dict[str, Names] = field(default_factory=dict, compare=False)
    whole: str = field(default="", compare=False)

    def names_of(self, name: str) -> Names | None:
        """Return the row names of one representation: those of its group of the file, or those of the file."""
        return self.names_by_array.get(name, self.row_names)


@dataclass(frozen=True)
class StoredArray:
    """An array in a file, described before it is read; `refusal` says why it cannot be read, if so."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    load: Callable[[], Array]
    refusal: str | None = None
    has_known_axes: bool = False
    """Whether the axes are rows, layers and features, as their names in the file show."""

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
    guessed = layer_axis == "guess" and not array.has_known_axes
    if dimensions == 3 and guessed and (array.dtype.kind != "f" or array.shape[1] == 0):
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
    if isinstance(keys, list | tuple):
        keys = [visible_name(key) if isinstance(key, str) else key for key in keys]
    asked = [keys] if isinstance(keys, str) else keys if isinstance(keys, list | tuple) else []
    if not distances and not any(isinstance(key, str) and key in arrays for key in asked):
        arrays = _stack_trials(path, arrays)
    reasons = {name: why_not(array, layer_axis, distances) for name, array in arrays.items()}
    skipped = {name: reason for name, reason in reasons.items() if reason is not None}
    if keys is None:
        rest = {name: array for name, array in arrays.items() if name not in skipped}
        skipped |= _colours(rest) if distances else _find_by_products(path, rest)
    usable = {name: array for name, array in arrays.items() if name not in skipped}
    if not distances:
        _refuse_last_axis(path, usable, asked)
    if keys is None and not distances:
        refuse_parts(path, usable)
    stacked = {name: distances and _is_distances(array.shape) for name, array in usable.items()}
    splits = {
        name: split(
            array.shape,
            (0 if array.shape[1] == array.shape[2] else 2)
            if stacked[name]
            else 1
            if layer_axis == "guess" and array.has_known_axes
            else layer_axis,
        )
        for name, array in usable.items()
        if len(array.shape) == 3
    }
    offered = {name: splits[name].names(name) if name in splits else [name] for name in usable}
    origin = _origins(path, offered)
    chosen = [(key, *origin[key]) for key in choose(path, offered, skipped, keys)]
    used = dict.fromkeys(name for _, name, _ in chosen if name in splits)
    every_shape = {name: array.shape for name, array in arrays.items()}
    refuse_tokens(every_shape, [name for name in used if splits[name].guessed], f" in {path}")
    if layer_axis == "guess" and not distances:
        _require_known_axes(
            path, {name: usable[name].shape for _, name, _ in chosen if not usable[name].has_known_axes}
        )
    refuse_tokens(every_shape, [name for _, name, _ in chosen if len(arrays[name].shape) == 4], f" in {path}")
    for name in used:
        if sum(other == name for _, other, _ in chosen) > MOST_LAYERS:
            splits[name].require_few(f"{name} in {path}")
    loaded = {name: usable[name].load() for name in dict.fromkeys(name for _, name, _ in chosen)}
    for name in used:
        if splits[name].guessed and not distances:
            refuse_padding(f"{name} in {path}", loaded[name])
    if not distances:
        codes = [name for name, array in loaded.items() if array.dtype.itemsize == 1]
        loaded = {name: _decode_bytes(name, array, arrays) for name, array in loaded.items()}
        decoded = [name for name in codes if loaded[name].dtype.kind == "f"]
        for name, array in loaded.items() if keys is None else ():
            state_trial_table(array, name)
        for scale in [key for name in decoded for key in scale_names(skipped, name)]:
            skipped.pop(scale, None)
    for name in used:
        if splits[name].axis is not None and not stacked[name]:
            splits[name].state(name)
    representations = {
        key: splits[name].layer(loaded[name], layer) if name in splits else loaded[name] for key, name, layer in chosen
    }
    rows = {len(matrix) for matrix in representations.values()}
    columns = {matrix.shape[-1] for matrix in representations.values()}
    selected = {name for _, name, _ in chosen}
    labels = [name for name, array in arrays.items() if array.is_label_like and array.shape[0] in rows]
    own = {} if distances else _own_identifiers(arrays)
    # Identifiers of the rows of one matrix do not name those of another.
    shared = {name: array for name, array in arrays.items() if name not in own.values()}
    row_names = None if distances else _identity(shared, rows, selected)
    if not distances and len(rows) == 1:
        skipped |= _lengths_of_parts(arrays, next(iter(rows)))
    named = _names_of_matrices(arrays, representations, {key: (n, own[n]) for key, n, _ in chosen if n in own})
    skipped = {name: reason for name, reason in skipped.items() if not named or name not in own.values()}
    return Contents(
        representations,
        skipped,
        tuple(labels),
        split={name: splits[name] for name in used},
        row_names=row_names,
        column_names=None if distances or columns == rows else _identity(arrays, columns, selected),
        names_by_array={} if distances else _identities(shared, {key: name for key, name, _ in chosen}, rows) | named,
        whole="" if distances else find_whole(_as_columns(arrays, labels, row_names)),
    )


def _refuse_last_axis(path: Path, arrays: Mapping[str, StoredArray], asked: Sequence[Any]) -> None:
    """Refuse arrays of volumes, such as betas of a brain, whose inputs are along the last axis."""
    for name, array in arrays.items():
        volumes = [other for other, one in arrays.items() if len(array.shape) == 4 and one.shape == array.shape[:3]]
        if volumes and (not asked or name in asked) and array.shape[3] > 1:
            raise UnreadableFileError(
                f"{name} in {path} must have one row per input, got shape {array.shape}, whose first three axes are a "
                f"volume, as that of {volumes[0]} shows. Save numpy.moveaxis({name}, 3, 0).reshape({array.shape[3]}, "
                "-1), without places that have no value"
            )


def _lengths_of_parts(arrays: Mapping[str, StoredArray], n_rows: int) -> dict[str, str]:
    """Warn of an array with the numbers of rows, or the first rows, of documents whose tokens or chunks are the rows.

    Return what it is, by its name.
    """
    for name, array in arrays.items():
        n = array.shape[0] if array.is_label_like else 0
        if array.dtype.kind not in "iu" or not _FEWEST_PARTS <= n <= n_rows / 2 + 1 or _SIZES.search(name):
            continue
        values = np.asarray(array.load()).astype(np.int64)
        are_starts = values[0] == 0 and values[-1] <= n_rows and bool((np.diff(values) > 0).all())
        what = "the first rows" if are_starts and _STARTS.search(name) else ""
        what = "the numbers of rows" if int(values.sum()) == n_rows and int(values.min()) > 0 else what
        if what:
            state_warning(
                f"{name} has {what} of parts, so that rows seem to be tokens or chunks of documents, which resemble "
                "one another: average the rows of each, or declare them as groups"
            )
            return {name: f"is 1-D with {what} of parts"}
    return {}


_FEWEST_PARTS = 4
_STARTS = re.compile(r"offset|start|first|ptr|boundar|splits|cu_?seq", re.IGNORECASE)
_SIZES = re.compile(r"cluster|class|label|bin|hist", re.IGNORECASE)
"""Smallest number of documents whose lengths are recognised, names of arrays of their first rows, and names of numbers
of rows that need not follow one another."""


def _as_columns(arrays: Mapping[str, StoredArray], labels: Iterable[str], row_names: Names | None) -> list[Column]:
    """Return arrays of one value per row as columns, without the one that identifies the rows."""
    identity = row_names.column if row_names is not None and row_names.distinct else ""

    def column(name: str, array: StoredArray) -> Column:
        return Column(name, "text" if array.dtype.kind in "UST" else "numbers", "", list, lambda: plain(array.load()))

    return [column(name, arrays[name]) for name in labels if name != identity]


def _identities(arrays: Mapping[str, StoredArray], chosen: Mapping[str, str], n_rows: set[int]) -> dict[str, Names]:
    """Return the row names of each representation whose group contains some, if there are several such groups."""
    found = {}
    for group in dict.fromkeys(map(_group, chosen.values())):
        inside = {name: array for name, array in arrays.items() if _group(name) == group}
        found[group] = _identity(inside, n_rows, set(inside) & set(chosen.values()))
    own = {group: names for group, names in found.items() if names is not None}
    return {key: own[_group(name)] for key, name in chosen.items() if _group(name) in own} if len(own) > 1 else {}


def _require_known_axes(path: Path, shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Refuse recordings and arrays of MATLAB of which nothing shows that the first of several axes is the inputs."""
    for name, shape in shapes.items():
        what = "the name of a recording" if _RECORDING.search(name) else ""
        if not what and path.suffix == ".mat" and not _STACK.search(name):
            what = "axes that nothing names"
        if not what or sum(length > 1 for length in shape) < 3:
            continue
        per_time = ", or layer_axis=2 for one representation per time" * (len(shape) == 3)
        raise ValueError(
            f"{name} in {path} must be (rows, features), got {shape} and {what}. If the first axis is the trials, pass "
            f"layer_axis=None to use all neurons and times of a trial as features{per_time}. Otherwise save "
            f"{_ONE_ROW_PER_INPUT}"
        )


def visible_names(path: Path, contents: Mapping[str, Value]) -> Mapping[str, Value]:
    """Return contents by names without control characters, which could change a terminal or forge lines."""
    if all(name == visible_name(name) for name in contents):
        return contents
    named = {visible_name(name): value for name, value in contents.items()}
    if len(named) < len(contents):
        raise UnreadableFileError(f"{path} must have distinct names, got several that differ in control characters")
    return named


def _decode_bytes(name: str, array: Array, arrays: Mapping[str, StoredArray]) -> Array:
    """Decode vectors that are stored as bytes, and refuse the bits of floats."""
    refuse_float_bits(array, name)
    refuse_neighbours(array, name)
    array = as_bytes(array, name)
    if array.ndim != 2 or array.dtype not in (np.uint8, np.int8):
        return array
    # Most libraries store zero points as integers; integers with other names may be properties of the rows.
    zeros = zero_names(arrays, name)
    able = {key: "fiu" if key in zeros else "f" for key in arrays if key != name and arrays[key].refusal is None}
    small = [key for key, kinds in able.items() if arrays[key].dtype.kind in kinds]
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
    if chosen_name is None:
        chosen_name = choose_condition(candidates, lambda name: arrays[name].load())
    if chosen_name is not None:
        return Names(arrays[chosen_name].load, column=chosen_name)
    repeated = [name for name in candidates if is_certain_identity(name) and could_identify(arrays[name].load())]
    return Names(arrays[repeated[0]].load, column=repeated[0]) if repeated else None


_JOINTS = ("_", "-", ".", "/")
"""Characters between the name of a matrix and what an array contains about it."""
_OF_OTHERS = re.compile(
    r"k?nn|neighbou?rs?|nearest|ranks?|sort(ed)?|argsort|genes?|features?|vars?|channels?|neurons?|columns?|dims?"
    r"|class(es)?|labels?|\d+"
)
"""Words in names of arrays of neighbours, features or classes rather than rows."""


def _own_identifiers(arrays: Mapping[str, StoredArray]) -> dict[str, str]:
    """Return, for each matrix, the array with the identifiers of its rows, such as expert_0_token_idx for expert_0.

    The result is empty unless several matrices have such arrays, because one of them may name the rows of all.
    """
    matrices = sorted((n for n, a in arrays.items() if a.refusal is None and len(a.shape) > 1), key=len, reverse=True)
    own: dict[str, list[str]] = defaultdict(list)
    for name, array in arrays.items():
        matrix = next((one for one in matrices if array.is_label_like and _rest_of_name(name, one)), None)
        if matrix is None or array.shape[0] not in arrays[matrix].shape[: len(arrays[matrix].shape) - 1]:
            continue
        rest = _rest_of_name(name, matrix)
        words = words_of(rest)
        is_identifier = is_identity_name(rest) or words[-1:] in (["names"], ["indices"], ["keys"])
        if is_identifier and not any(map(_OF_OTHERS.fullmatch, words)):
            own[matrix].append(name)
    found = {matrix: choose_identity(names, lambda name: arrays[name].load()) for matrix, names in own.items()}
    known = {matrix: name for matrix, name in found.items() if name is not None}
    return known if len(known) > 1 else {}


def _rest_of_name(name: str, matrix: str) -> str:
    """Return what a name has before or after the name of a matrix, such as 'token_idx'; empty if it lacks the name."""
    if name.startswith(tuple(f"{matrix}{joint}" for joint in _JOINTS)):
        return name[len(matrix) + 1 :]
    return name[: -len(matrix) - 1] if name.endswith(tuple(f"{joint}{matrix}" for joint in _JOINTS)) else ""


def _names_of_matrices(
    arrays: Mapping[str, StoredArray], matrices: Mapping[str, Array], own: Mapping[str, tuple[str, str]]
) -> dict[str, Names]:
    """Return the names of the rows of representations from the arrays of identifiers of their matrices.

    Matrices of different sizes that share no identifier, as of training and test data, are not to be matched.
    """
    rest = {key: _rest_of_name(identifiers, matrix) for key, (matrix, identifiers) in own.items()}
    named = {
        key: Names(arrays[name].load, column=rest[key] if len(set(rest.values())) == 1 else name, chosen="format")
        for key, (_, name) in own.items()
        if arrays[name].shape[0] == len(matrices[key])
    }
    lengths = {len(names) for names in named.values()}
    common = set.intersection(*(set(names.as_text().values) for names in named.values())) if named else set()
    return named if len(lengths) == 1 or common else {}


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
        hints = (f". {hint}" for text, hint in _HINTS.items() if any(text in reason for reason in skipped.values()))
        raise UnreadableFileError(
            f"{path} must contain a 2-D array (rows, features), a 3-D array (rows, layers, features) or numeric "
            f"columns, got {listing}{''.join(hints)}"
        )
    if keys is None:
        return everything
    single = dict.fromkeys(everything)
    chosen: dict[str, None] = {}
    for key in check_names(keys):
        if key not in offered and key not in single:
            # A UMAP is called 'X_umap' or 'umap', and most names are known by their last part.
            ends = (f"/{key}", f".{key}", f"/X_{key}")
            known = {name for name in (*offered, *single, *skipped) if name.endswith(ends)}
            key = known.pop() if len(known) == 1 else key
        if key not in offered and key not in single:
            reason = f", which cannot be used because it {skipped[key]}" if key in skipped else ""
            raise UnknownKeyError(f"keys must be among {join_names(everything)} in {path}, got {key!r}{reason}")
        chosen |= dict.fromkeys(offered.get(key, [key]))
    return list(chosen)


def check_names(keys: Iterable[str]) -> list[str]:
    """Check that keys are a sequence of at least one name."""
    if isinstance(keys, str) or not isinstance(keys, Iterable) or getattr(keys, "ndim", 1) != 1:
        raise TypeError(f"keys must be a sequence of names, got {keys!r}")
    names = list(keys)
    if not all(isinstance(name, str) for name in names):
        raise TypeError(f"keys must be a sequence of names, got {keys!r}")
    if not names:
        raise ValueError("keys must contain at least one name, got none; leave out keys= to read everything")
    return names


_MANY, _SPREAD = 8, 3
"""Numbers of matrices, and of their numbers of rows, from which on each seems to belong to one input.

Of matrices that are named like inputs, the smaller number suffices if they have different numbers of rows.
"""


def _hold_one_input_each(matrices: Mapping[str, Any]) -> bool:
    """Return whether matrices differ in their numbers of rows, but not of columns, as the tokens of inputs do."""
    rows, columns = (Counter(array.shape[axis] for array in matrices.values()) for axis in (0, 1))
    usual = max(rows.values(), default=0)
    return len(matrices) >= _MANY and len(columns) == 1 and len(rows) >= _SPREAD and 2 * usual <= len(matrices)


_MOST_MODELS = 20
"""Number of numbered matrices of the same rows from which on the answer states that each is a representation."""
_TRIAL = re.compile(r"(?:trials?|sweeps?)(?:_?data)?", re.IGNORECASE)
"""Names of lists with one matrix for each trial."""


def _stack_trials(path: Path, arrays: Mapping[str, StoredArray]) -> Mapping[str, StoredArray]:
    """Return lists of equal matrices that are one trial each as matrices with a row for each trial.

    They are named like trials, or the file has as many classes, which repeat, and none for the rows of the matrices.
    """
    lists: dict[str, list[str]] = defaultdict(list)
    for name, array in arrays.items():
        if len(array.shape) == 2 and array.refusal is None and (found := re.fullmatch(r"(.+)\[\d+\]", name)):
            lists[found[1]].append(name)
    stacked: dict[str, StoredArray] = {}
    for group, names in lists.items():
        parts = [arrays[name] for name in names]
        word = _SEPARATORS.split(group)[-1]
        rows = {part.shape[0] for part in parts}
        classes = dict.fromkeys((len(names), *rows), "")
        for name, array in arrays.items():
            if (
                len(names) >= _MANY
                and array.is_label_like
                and array.shape[0] in classes
                and not LAYER.fit_one_word(name)
            ):
                values = plain(array.load()).tolist()
                classes[array.shape[0]] += name if len(set(values)) < len(values) else ""
        beside, *others = classes.values()
        is_evidence = beside and not any(others) and len(names) not in rows
        if LAYER.fit_last_word(word) or not (_TRIAL.fullmatch(word) or is_evidence):
            continue
        shapes = {part.shape for part in parts}
        if len(shapes) > 1:
            raise UnreadableFileError(
                f"{group} in {path} must be matrices of one shape, because each is a trial, got {len(names)} of "
                f"{' or '.join(' x '.join(map(str, shape)) for shape in sorted(shapes)[:3])}; cut all to the same times"
            )
        stacked[group] = stack_vectors(path, group, parts)
        size = " x ".join(map(str, parts[0].shape))
        evidence = f", as many as there are entries of {beside}" if beside else ""
        state(f"{group}: {len(names)} matrices of {size}{evidence}, each read as one row (trial)")
    if not stacked:
        return arrays
    members = {name for group in stacked for name in lists[group]}
    arrays = stacked | {name: array for name, array in arrays.items() if name not in members}
    matrices = [name for name, array in arrays.items() if len(array.shape) == 2]
    about = [name for name in matrices if _ABOUT_TRIALS.fullmatch(_SEPARATORS.split(name)[-1])]
    return arrays | dict.fromkeys(about, refused("describes the trials"))


_ABOUT_TRIALS = re.compile(r"times?|timestamps?|(?:sample|trial)_?info", re.IGNORECASE)
"""Names of arrays beside trials that describe them."""
_RANGE = "#-#"
_NAMED_MATRIX = re.compile(r"(?:^|[./_-])(?:embeddings?|embs?|vectors?|features?|feats?)[./_-]?#")
_NAMED_PART = re.compile(r"(?:^|[./_-])(?:batch|chunk|part|shard|rank|worker)e?s?\W?_?#")


def refuse_parts(path: Path | str, matrices: Mapping[str, Any]) -> None:
    """Refuse numbered batches of rows, which are parts of one matrix: by their name, or if only the last is shorter."""
    parts: dict[str, list[str]] = defaultdict(list)
    for name, array in matrices.items():
        if len(array.shape) != 2:
            continue
        numbers = re.search(r"(\d+)[^\d\[]+(\d+)\D*$", name)
        if numbers is not None and abs(int(numbers[2]) - int(numbers[1]) - array.shape[0]) <= 1:
            parts[f"{name[: numbers.start()]}{_RANGE}"].append(name)
        elif (template := re.sub(r"\d+(?=\D*$)", "#", name)) != name:
            parts[template].append(name)
    if all(len(array.shape) == 2 for array in matrices.values()):
        parts = {"[#]": list(matrices)} if _hold_one_input_each(matrices) else parts
    lists = [template for template in parts if template.endswith("[#]")]
    for template, names in parts.items():
        rows = [matrices[name].shape[0] for name in names]
        if len(names) < 2 or len({matrices[name].shape[1] for name in names}) > 1:
            continue
        is_layer, enough = LAYER.fit_one_word(template), _MANY if len(set(rows)) == 1 else _SPREAD
        shorter = len(names) > 2 and len(set(rows[:-1])) == 1 and rows[-1] < rows[0]
        is_item = len(names) >= enough and ITEM.fit_one_word(template) and not is_layer and not shorter
        if is_item or (template.endswith("[#]") and len(set(rows[:-1])) > 1):
            raise UnreadableFileError(
                f"{path} must contain one matrix for all inputs, got {len(names)} matrices of "
                f"{' to '.join(map(str, sorted({min(rows), max(rows)})))} rows, which look like the "
                f"tokens or times of one input each ({names[0]}, ...). Average the rows of each; or concatenate all of "
                "them, if each token is to be a row; or name those to read with keys= (--key)"
            )
        # Over several files, these are also the layers of 3-D arrays.
        is_list = bool(lists) and template == lists[0] and isinstance(path, Path)
        many = len(names) > _MOST_MODELS and not is_layer
        if set(rows) == {rows[0]} and (is_list or many or _NAMED_MATRIX.search(template)):
            state(
                f"{names[0]} to {names[-1]} are read as {len(names)} representations of the same {rows[0]:,} rows; if "
                "they are parts of one matrix, save them as one (numpy.concatenate), and if each is one input, such as "
                "a trial, as its rows (numpy.stack(PARTS).reshape(len(PARTS), -1))"
                + ", or the mean of each if its rows are tokens"
                * many
            )
        if shorter or template.endswith(_RANGE) or _NAMED_PART.search(template):
            shards = (
                ", compare two folders of consecutive rows with --shards"
                if str(path).startswith("the files of ")
                else ""
            )
            raise UnreadableFileError(
                f"{path} must contain one array for each representation, got {names[0]} to {names[-1]} with "
                f"{join_names(map(str, rows))} rows, which look like parts of one. Save them as one array "
                f"(numpy.concatenate){shards}, or name those to read with keys= (--key)"
            )


def _find_by_products(path: Path, matrices: Mapping[str, StoredArray]) -> dict[str, str]:
    """Return masks, numbers of tokens, similarities of rows, and lists of neighbours, which lie beside others."""
    numbers = [n for n, a in matrices.items() if _NUMBERS_OF_ROWS.search(n) and a.dtype.kind in "iu"]
    shapes = {matrices[name].shape for name in numbers}
    found = {name: "is a mask" for name in matrices if MASK.search(name)}
    found |= dict.fromkeys(numbers, "numbers tokens or rows")
    lengths = {array.shape[0] for name, array in matrices.items() if array.shape and not _PRODUCTS.search(name)}
    found |= {
        name: "contains similarities of rows"
        for name, array in matrices.items()
        if _PRODUCTS.search(name) and len(array.shape) == 2 and array.shape[0] == array.shape[1] in lengths
    }
    found |= {
        name: "contains the distances of neighbours"
        for name, array in matrices.items()
        if array.shape in shapes and re.search(r"(?:^|[./_])(?:distances?|dists?)$", name, re.IGNORECASE)
    }
    if len(found) == len(matrices):
        if tokens := [n for n, a in matrices.items() if a.dtype.kind in "iu" and TOKENS.fit(_SEPARATORS.split(n)[-1])]:
            raise UnreadableFileError(
                f"{path} must contain vectors, got only what a model encodes in {join_names(tokens)}; encode the "
                "inputs first (shesha extract), or choose arrays with keys="
            )
        return {}
    return {name: f"{reason}; it is read only if keys= names it" for name, reason in found.items()}


def _colours(arrays: Mapping[str, StoredArray]) -> dict[str, str]:
    """Return colours for figures, which the RSA toolbox of MATLAB stores beside distances."""
    found = [name for name in arrays if re.search(r"(?:^|[./_])colou?rs?$", name, re.IGNORECASE)]
    return dict.fromkeys(found, "is a colour") if len(found) < len(arrays) else {}


_FEWEST_ITEMS = 3
"""Smallest number of vectors that are gathered into a matrix, if each is an array of its own."""
_DEEPEST = 50
"""Largest depth of nested dictionaries and lists."""
_WEIGHTS = re.compile(
    r"(?:^|[./_])(?:weight|bias|kernel|gamma|beta|lora_[AB]|exp_avg|momentum_buffer)(?:[./_]\w+)?(?::0)?$"
    r"|(?:^|/)vars/\d+$"
)
"""Names of the weights of models, and of what optimisers store about each weight."""
_BATCH = re.compile(r"(?:batch|step|shard|chunk|rank)(?:_?(?:idx|index|id|number|no|nr))?", re.IGNORECASE)
"""Keys of numbers of batches, in a list with one dictionary for each batch."""
Leaf = Callable[[Any], StoredArray | None]


class NamedArrays(dict[str, StoredArray]):
    """Arrays by name, with the row names that the format stores, and the arrays that are read only on request.

    The row names are those of all arrays, or, by array, those of arrays that have different rows.
    """

    def __init__(
        self,
        arrays: Mapping[str, StoredArray],
        row_names: Names | Mapping[str, Names] | None = None,
        on_request: Iterable[str] = (),
    ) -> None:
        super().__init__(arrays)
        self.names_by_array = (
            {visible_name(k): v for k, v in row_names.items()} if isinstance(row_names, Mapping) else {}
        )
        self.row_names = None if isinstance(row_names, Mapping) else row_names
        self.on_request = frozenset(on_request)


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
        if are_named_vectors(node):
            arrays[f"{name}.names" if name else "names"] = in_memory(np.array([own for own, _ in node]))
            node = [vector for _, vector in node]
        found = _describe(path, node, leaf)
        if found is None and isinstance(node, Mapping):
            for key, value in node.items():
                visit(f"{name}.{key}" if name else str(key), value, depth + 1)
        elif found is None and isinstance(node, list | tuple) and not (columns := _columns(node, leaf)):
            for number, value in enumerate(node):
                visit(f"{name or file_stem(path)}[{number}]", value, depth + 1)
        elif found is None and isinstance(node, list | tuple):
            # The name marks the parts of one matrix, which are refused.
            part = ".batch" * any(map(_BATCH.fullmatch, columns))
            for key, values in columns.items():
                visit(f"{name}.{key}{part}" if name else f"{key}{part}", values, depth + 1)
        else:
            own = name or file_stem(path)
            if own in arrays:
                raise UnreadableFileError(f"names in {path} must be distinct, got {own!r} twice")
            arrays[own] = found or refused(f"contains {type(node).__name__}, not an array")

    visit("", tree, 0)
    return NamedArrays(arrays)


def _describe(path: Path, node: Any, leaf: Leaf) -> StoredArray | None:
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
        return stack_vectors(path, "a list of vectors", vectors)
    return None


def _columns(records: Sequence[Any], leaf: Leaf) -> dict[str, list[Any]]:
    """Return a list of dictionaries with the same keys as lists by key; an empty dictionary for other lists.

    Tuples of the vectors and the labels of a batch are such records as well, with numbers as keys.
    """
    if len(records) < _FEWEST_ITEMS:
        return {}
    if all(isinstance(record, tuple) and len(record) == len(records[0]) for record in records):
        first = [leaf(value) for value in records[0]]
        shapes = [array.shape for array in first if array is not None]
        is_batch = len(shapes) == len(first) and len({len(shape) for shape in shapes}) > 1
        if is_batch and len({shape[:1] for shape in shapes}) == 1 and shapes[0][:1]:
            records = [dict(enumerate(record)) for record in records]
    if not all(isinstance(record, Mapping) for record in records):
        return {}
    keys = list(records[0])
    if any(list(record) != keys for record in records):
        return {}
    return {str(key): [record[key] for record in records] for key in keys}


def in_order(path: Path, arrays: Mapping[str, StoredArray]) -> dict[str, StoredArray]:
    """Return arrays with layer_2 before layer_10 if their file has them sorted as text, as trees of JAX do."""
    names = in_natural_order(list(arrays), natural_key)
    if names != list(arrays):
        state(f"{path.name}: arrays in the order of their numbers")
    return {name: arrays[name] for name in names}


def stack_vectors(path: Path, name: str, parts: Sequence[StoredArray]) -> StoredArray:
    """Describe vectors of one length as the rows of a matrix."""
    shape = (len(parts), int(np.prod(parts[0].shape)))
    dtype = np.result_type(*{part.dtype for part in parts})

    def load() -> Array:
        require_memory(path, name, shape, dtype, "write fewer items")
        matrix = np.empty(shape, dtype)
        for row, part in enumerate(parts):
            matrix[row] = np.ravel(part.load())
        return matrix

    return StoredArray(shape, dtype, load)


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
    groups, items = _group_names(split, 0), _group_names(split, 1)
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
    same = all(set(rows) == set(first) for rows in gathered.values())
    order: dict[str, list[str]] = {group: first if same else list(rows) for group, rows in gathered.items()}
    for group, kept in order.items():
        state(f"{group}: one vector of each of {len(kept)} items")
    stacked = {
        group: stack_vectors(path, group, [rows[item] for item in order[group]]) for group, rows in gathered.items()
    }
    rest = {name: array for name, array in arrays.items() if name not in members and name not in stacked}
    own = {group: Names.build(np.array(kept, dtype=object), "key", chosen="format") for group, kept in order.items()}
    return NamedArrays(stacked | rest, next(iter(own.values())) if same else own)


def _group_names(split: Mapping[str, tuple[str, str]], part: int) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for name, parts in split.items():
        found[parts[part]].append(name)
    return found


def _split(name: str, separators: str) -> tuple[str, str]:
    """Return the group and the item in a name."""
    listed = re.fullmatch(r"(.*)\[(\d+)\]", name)
    if listed:
        return listed[1], listed[2]
    place = -1 if separators == "." and "/" in name else max(map(name.rfind, separators))
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


def strings(values: Iterable[Any]) -> Array:
    """Return texts, given as text or bytes, as an array of text."""
    return np.array([value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value) for value in values])


def pick(path: Path, candidates: Sequence[str], column: str | None) -> str:
    """Return the requested column, the sole candidate, or the sole one with a name like 'label'."""
    if column is not None:
        # Most names are known by their last part.
        ends = [name for name in candidates if name.endswith((f"/{column}", f".{column}"))]
        if column not in candidates and len(ends) != 1:
            raise UnknownColumnError(path, candidates, column)
        return column if column in candidates else ends[0]
    others = [name for name in candidates if not is_identity_name(name)]
    likely = next((names for names in (candidates, others) if len(names) == 1), label_like_names(candidates))
    if len(likely) != 1:
        raise ValueError(f"column must be given for {path}, one of {join_names(candidates)}, got None")
    return likely[0]


def labels_of_arrays(path: Path, arrays: Mapping[str, StoredArray], column: str | None) -> Array | NamedRows:
    """Read the labels from the arrays of a file, with the names of their rows if another array contains these."""
    arrays = visible_names(path, arrays)
    candidates = [name for name, array in arrays.items() if array.is_label_like]
    if column is not None and column in arrays and column not in candidates:
        values = (
            arrays[column].load() if len(arrays[column].shape) == 2 and arrays[column].dtype.kind in "fiub" else None
        )
        if values is not None and is_one_hot(values):
            state(f"{column}: one-hot labels, read as {values.shape[1]} classes")
            return np.asarray(np.argmax(values, axis=1))
        raise ValueError(
            f"column must be among the 1-D arrays of {path}, got {column!r}, {_label_hint(arrays[column])}; save one "
            "label per row"
        )
    parts = [name for name in candidates if column is not None and re.fullmatch(rf"{re.escape(column)}\[\d+\]", name)]
    if len(parts) > 1 and column not in arrays:
        # A list with the labels of each batch. If the rows are not as many, this is refused later.
        state(f"{column}: {len(parts)} arrays as one, in their order")
        return np.concatenate([plain(arrays[name].load()) for name in parts])
    if not candidates:
        listing = join_names(f"{name} ({_label_hint(array)})" for name, array in arrays.items())
        raise UnreadableFileError(f"{path} must contain labels as a 1-D array, got {listing}")
    chosen = pick(path, candidates, column)
    labels = plain(arrays[chosen].load())
    aside = {chosen, *_own_identifiers(arrays).values()}
    others = {name: array for name, array in arrays.items() if name not in aside}
    names = _identity(others, {len(labels)}, {chosen})
    return labels if names is None else NamedRows(labels, names)


def _label_hint(array: StoredArray) -> str:
    return f"which {why_not(array) or f'has shape {array.shape}'}"


def plain(labels: Array) -> Array:
    """Return labels with text of variable length as ordinary strings."""
    return np.array(labels.tolist(), dtype=str) if labels.dtype.kind == "T" else labels


_HEADING = re.compile(
    r"(.*[ _.])?(labels?|class(es)?|y|target|condition|category|cluster|group|type|species|batch|subject|participant"
    r"|donor|animal|session|run|stim(ulus)?|treatment|genotype|annotation|leiden|louvain|celltype|perturbation|gene|phase|task"
    r"|topic|language|site|sex|split|fold|block|state|status|name)s?",
    re.IGNORECASE,
)
"""Names of columns of labels."""


def _has_heading(lines: Sequence[str]) -> bool:
    """Return whether the first line of a list of labels names them: by its word, or because all others are numbers."""
    first, others = lines[:1], [line for line in lines[1:] if line]
    if not first or not others or first[0] in others:
        return False
    numbers = [re.fullmatch(r"[-+]?\d+([.]\d*)?", line) is not None for line in (*first, *others)]
    repeated = len(set(others)) < len(others)
    return (not numbers[0] and all(numbers[1:])) or (repeated and _HEADING.fullmatch(first[0]) is not None)


def read_lines(path: Path, column: str | None) -> Array:
    """Read one label per line; an empty line means a missing label."""
    if column is not None:
        raise ValueError(f"column must be None for {path}, which has one label per line, got {column!r}")
    try:
        lines = [line.strip() for line in files.read_lines(path)]
    except ValueError as error:
        raise UnreadableFileError(str(error)) from error
    while lines and not lines[-1]:
        lines.pop()
    if _has_heading(lines):
        state(f"{path.name}: first line {lines[0]!r} read as a heading")
        lines = lines[1:]
    if not lines:
        raise UnreadableFileError(f"{path} must contain one label per line, got only empty lines")
    return np.array(lines) if all(lines) else np.array([line or None for line in lines], dtype=object)
