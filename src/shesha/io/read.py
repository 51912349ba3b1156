"""Read representations and labels from files of any supported format."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from shesha.inputs import (
    NamedRows,
    Names,
    distinct_names,
    is_condition_name,
    is_identity_name,
    joined_values,
    require_order,
    require_same_conditions,
    validation as check,
)
from shesha.inputs.column_words import SIDE, is_design_name
from shesha.inputs.identity import describe_transposed, identity_names, words_of
from shesha.inputs.matrix_shapes import one_row_per_input
from shesha.inputs.table_columns import state_whole
from shesha.io._unsupported_formats import Format, unsupported
from shesha.io.array_selection import Contents, UnknownColumnError
from shesha.io.file_checks import UnreadableFileError, require_existing, require_file
from shesha.io.formats import find_format, formats, is_table
from shesha.io.tables import labels_of_table
from shesha.support import types as kinds
from shesha.support.files import is_stream
from shesha.support.layer_axis import LayerAxis, normalise_axis
from shesha.support.provenance import current_statements, ignore_statements, record_features, state, state_left_out
from shesha.support.types import Array, brief
from shesha.support.warnings import GuessedLayersWarning, RowNamesWarning, warn
from shesha.support.wording import join_items, join_names, visible_name

_LONGEST_HEAD = 10**8
"""Maximum header size of a valid safetensors file, in bytes."""


class ReadArrays(dict[str, Any]):
    """The arrays of a file, by name.

    Attributes
    ----------
    n_tokens : tuple of int or None
        Number of tokens of each input, which an audit checks as a covariate; None if the file does not record it.
    opened : mapping of Path to Contents
        The files, with what else they contain.
    """

    def __init__(
        self, arrays: Mapping[str, Any], n_tokens: tuple[int, ...] | None, opened: Mapping[Path, Any] | None = None
    ) -> None:
        super().__init__(arrays)
        self.n_tokens, self.opened = n_tokens, dict(opened or {})


def shared_token_counts(paths: Iterable[str | os.PathLike[str]]) -> tuple[int, ...] | None:
    """Return the numbers of tokens that files record; None if no file does or if they disagree.

    Examples
    --------
    >>> shared_token_counts(["missing.npy"]) is None
    True
    """
    files = [file for path in paths for file in _files(Path(path))]
    records = {counts for file in files if (counts := recorded_token_counts(file)) is not None}
    return records.pop() if len(records) == 1 else None


def recorded_token_counts(path: Path) -> tuple[int, ...] | None:
    """Return the number of tokens of each input from the metadata of a .safetensors file."""
    try:
        return tuple(int(count) for count in recorded_settings(path)["inputs"]["n_tokens"])
    except (ValueError, KeyError, TypeError):
        return None


def recorded_settings(path: Path) -> dict[str, Any]:
    """Return how a file was extracted, as its metadata record it; empty for other files."""
    # Damaged files are reported when their arrays are read; here, such a file simply has no record.
    with suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
        record = _record(path)
        return record if isinstance(record, dict) else {}
    return {}


def _record(path: Path) -> Any:
    if path.suffix != ".safetensors":
        raise ValueError("files of other formats contain no token counts")
    with path.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        if length > min(_LONGEST_HEAD, path.stat().st_size):
            raise ValueError("no header")
        return json.loads(json.loads(stream.read(length))["__metadata__"]["shesha"])


def _files(path: Path) -> list[Path]:
    """Return a file or store itself, or the files of any other directory."""
    inside = sorted(path.iterdir()) if path.is_dir() and path.suffix != ".zarr" else [path]
    return [file for file in inside if not is_stream(file)]


_PATTERNS = "pattern_descriptors/"
"""Group of the files of rsatoolbox with the names of the patterns."""


def _locate(path: str | os.PathLike[str], *, distances: bool = False) -> tuple[Path, Format]:
    """Check that a path exists and can be read, and return it with its format."""
    target = require_existing(path)
    found = find_format(target, distances=distances)
    if found is None:
        raise ValueError(unsupported(target, list(formats())))
    return target if found.folder else require_file(target), found


def open_file(
    path: str | os.PathLike[str],
    *,
    keys: Sequence[str] | None = None,
    labels_column: str | Sequence[str] | None = None,
    layer_axis: LayerAxis = "guess",
    distances: bool = False,
    ids: str | None = None,
    transpose: bool = False,
    flatten: bool = True,
) -> Contents:
    """Open the representations of a file, with a description of its other contents.

    Parameters
    ----------
    path : str or path
        A file or folder of any format that docs/files.md lists, or a file whose extension has a registered `reader`.
        Nothing is ever unpickled. A .npy file is memory-mapped, not loaded.
    keys : sequence of str, optional
        What to read, in this order: names of arrays (or of single layers, such as ``hidden[3]``), columns of a table,
        or ``X``, ``layers/NAME`` and ``obsm/KEY`` of AnnData. Default: all representations; for a table, all numeric
        columns that are not named like labels; for AnnData, the embeddings in obsm, or X if there are none.
    layer_axis : int, None or 'guess'
        Axis of a 3-D array along which its layers are stacked; each layer is a representation. None: the array is one
        representation of token sequences. 'guess': (rows, layers, features), or (layers, rows, features) if the first
        axis is at most a third as long as the second. With 'guess', only arrays of floats with at most 300 layers are
        split. The attribute `split` of the result describes how each array was read.
    labels_column : str or sequence of str, optional
        Columns of a table that contain labels and thus are not features.
    distances : bool
        Whether the arrays are distances between rows: square, condensed (1-D), or stacks (k, n, n) of square matrices.
    ids : str, optional
        Column, 1-D array or column of obs that identifies the rows, or several columns that do so together, separated
        by commas; the values must be distinct. Default: the index,
        or a column or array of distinct values that is named like one (id, doc_id, uuid, url, path, barcode, ...).
    transpose : bool
        Whether the features are in rows, such as genes, and the inputs in columns. The names of the columns then
        identify the rows of the result. In a table, `ids` names the column of the feature names.
    flatten : bool
        Whether feature maps (n, channels, height, width) become matrices with one row per input.

    Returns
    -------
    Contents
        The matrices in their stored number type, with NaN for missing values, and the skipped contents with reasons.

    Examples
    --------
    >>> import numpy as np, tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.npz"
    >>> np.savez(path, hidden=np.zeros((5, 2, 3)), label=np.arange(5))
    >>> found = open_file(path)
    >>> {name: matrix.shape for name, matrix in found.representations.items()}
    {'hidden[0]': (5, 3), 'hidden[1]': (5, 3)}
    >>> found.skipped
    {'label': 'is 1-D with shape (5,), so it may contain labels'}
    >>> found.labels_available
    ('label',)
    """
    if not isinstance(ids, str | None):
        raise TypeError(f"ids must be a name or None, got {brief(ids)}")
    distances, flatten = check.boolean(distances, "distances"), check.boolean(flatten, "flatten")
    if check.boolean(transpose, "transpose") and distances:
        raise ValueError("transpose must come with features, got distances between rows")
    target, file_format = _locate(path, distances=distances)
    axis = normalise_axis(layer_axis)
    named = (labels_column,) if isinstance(labels_column, str) else () if labels_column is None else labels_column
    columns = tuple(kinds.names(named, "labels_column"))
    if transpose and columns and file_format.table:
        raise ValueError(
            f"transpose must come with labels in a file of their own, got the columns {join_names(columns)} of {path}"
        )
    if distances and file_format.distances is not None:
        found = file_format.distances(target, keys)
    else:
        names_of_rows = () if ids is None else (ids, *(part.strip() for part in ids.split(",")))
        found = file_format.contents(target, keys, (*columns, *names_of_rows), axis)
        if found.whole not in (*columns, *names_of_rows):
            state_whole(found.whole)
    if not distances and keys is None and any(name.startswith(_PATTERNS) for name in found.skipped):
        raise UnreadableFileError(
            f"{path} must contain features, got the distances of rsatoolbox; pass --rdm to use them"
        )
    if flatten and not distances:
        flat = {
            name: array if array.ndim == 3 else one_row_per_input(array, name)
            for name, array in found.representations.items()
        }
        shapes = {name: tuple(array.shape) for name, array in found.representations.items() if array.ndim > 3}
        found = replace(found, representations=flat, flattened=shapes)
    if transpose:
        found = _transpose(target, found)
        ids = None if file_format.table else ids
    else:
        _warn_of_genes_in_rows(target, found)
        _state_neurons_in_rows(target, found)
        _warn_of_named_columns(target, found)
    if (names_of_columns := found.column_names) is not None:
        record_features(len(names_of_columns), lambda: names_of_columns.values)
    if ids is None:
        if found.row_names is not None and not found.row_names.columns:
            found.row_names.columns = _design_columns(target, found)
        return found
    names = _read_ids(target, file_format, ids)
    names.columns = _design_columns(target, found)
    for name, matrix in found.representations.items():
        if not distances and len(matrix) != len(names):
            raise ValueError(
                f"ids must name one value for each of the {len(matrix):,} rows of {name} in {path}, got {len(names):,} "
                f"in {ids!r}"
            )
    skipped = {name: reason for name, reason in found.skipped.items() if name != ids}
    return replace(found, skipped=skipped, row_names=names)


def _design_columns(path: Path, found: Contents) -> dict[str, Names]:
    """Return the columns, read when they are needed, that show whether rows of one name are other inputs."""

    def load(column: str) -> Array:
        unknown = np.full(len(next(iter(found.representations.values()))), "")
        try:
            labels: Any = read_labels(path, column)
        except (ValueError, TypeError, OSError):
            return unknown
        rows = found.row_names
        if isinstance(labels, NamedRows) and rows is not None and not labels.known.has_same_order(rows):
            value = dict(zip(labels.names.tolist(), np.asarray(labels).tolist(), strict=True))
            return np.array([value.get(name, "") for name in rows.values.tolist()], dtype=object)
        return np.asarray(labels) if np.shape(labels) == unknown.shape else unknown

    return {name: Names(partial(load, name)) for name in found.labels_available if is_design_name(name)}


def state_contents(
    path: Path,
    found: Contents,
    used: Iterable[str | None] = (),
    *,
    narrow: Mapping[str, str] | None = None,
    chosen: bool = False,
    named: bool = True,
) -> None:
    """State what was read from a file, what names its rows, and what was left out, except the contents in `used`.

    Tables state their columns when they are read. Files of which everything was read need no statement, since answers
    show names and sizes. `narrow` are representations that are not used. If the contents were `chosen`, only these are
    stated. Rows are not `named` if they are paired by position on request.
    """
    narrow = dict(narrow or {})
    notes = [] if chosen else [name for name in found.skipped if name.startswith("(")]
    for name in notes:
        state(f"{path.name}: {name[1:-1]} {found.skipped[name]}")
    if is_table(path):
        return state_left_out(path.name, narrow)
    taken = {name: array for name, array in found.representations.items() if name not in narrow}
    names = {one.column: one for one in map(found.names_of, taken) if one is not None and one.column}
    sizes = {matrix.shape[:2] for matrix in taken.values() if len(matrix.shape) > 1}
    rows, columns = ({size[axis] for size in sizes} for axis in (0, 1))
    left_out = narrow
    for name, why in () if chosen else found.skipped.items():
        if name not in {*used, *names, *notes, "Unnamed: 0"}:
            one = _ONE_AXIS.match(why)
            of_columns = one is not None and columns == {int(one[1])} and int(one[1]) not in rows
            left_out[name] = why + " of the columns, which --transpose makes rows" * of_columns
    naming = ""
    if names and named:
        naming = f"rows {'numbered' if all(one.counts_rows for one in names.values()) else 'named'} by "
        naming += join_names(names)
    stated = naming
    if not _is_stated(path, found):
        stated = f"{_describe_arrays(taken)}{f' ({naming})' if naming else ''}"
    if left_out:
        state_left_out(path.name, left_out, stated)
    elif naming:
        state(f"{path.name}: {stated}")
    return None


def _is_stated(path: Path, found: Contents) -> bool:
    """Return whether a format states what it read, as AnnData does, or how arrays are split into layers."""
    starts = tuple(f"{source}{name}" for name in found.representations for source in (f"{path.name}: ", ""))
    return bool(found.split) or any(statement.startswith(starts) for statement in current_statements())


def _describe_arrays(arrays: Mapping[str, Array]) -> str:
    """Return the names of arrays with their sizes, such as 'a, b, 40 x 8'."""
    by_size: dict[str, list[str]] = {}
    for name, array in arrays.items():
        by_size.setdefault(" x ".join(f"{length:,}" for length in array.shape), []).append(name)
    texts = [f"{join_items(names, most=_FEW_TAKEN)}, {size}" for size, names in by_size.items()]
    return "; ".join(texts[:_FEW_TAKEN]) + f"; {len(texts) - _FEW_TAKEN} more sizes" * (len(texts) > _FEW_TAKEN)


_FEW_TAKEN = 4
"""Number of arrays of one size that are named, and of sizes."""
_ONE_AXIS = re.compile(r"is 1-D with shape \((\d+),\)")


def _visible_labels(labels: Array | NamedRows) -> Array | NamedRows:
    """Replace control characters in labels of text by escapes."""
    values = np.asarray(labels)
    if values.dtype.kind not in "OU":
        return labels
    texts = values.tolist()
    visible = {text: visible_name(text) for text in dict.fromkeys(text for text in texts if isinstance(text, str))}
    if all(text == shown for text, shown in visible.items()):
        return labels
    escaped = np.array([visible.get(text, text) for text in texts], dtype=object if values.dtype.kind == "O" else None)
    return NamedRows(escaped, labels.known) if isinstance(labels, NamedRows) else escaped


def _transpose(path: Path, found: Contents) -> Contents:
    """Swap rows and columns, and their names."""
    for name, array in found.representations.items():
        if array.ndim != 2 or found.split:
            raise ValueError(f"transpose must be False unless every array is 2-D, got {name} of shape {array.shape}")
    turned = {name: array.T for name, array in found.representations.items()}
    sizes = dict.fromkeys(" x ".join(f"{length:,}" for length in array.shape) for array in turned.values())
    state(f"{path.name}: transposed to {join_names(sizes)}, as requested")
    return replace(
        found,
        representations=turned,
        labels_available=(),
        row_names=found.column_names,
        column_names=found.row_names,
    )


def _warn_of_genes_in_rows(path: Path, found: Contents) -> None:
    """Warn if rows are named like genes, and columns like cells."""
    if found.row_names is None or found.column_names is None or found.row_names.kind != "text":
        return
    text, features, inputs = describe_transposed(
        found.row_names.values.tolist(), found.column_names.values.tolist(), found.row_names.column
    )
    if text:
        remedy = f"to compare {inputs}, pass transpose=True"
        state(f"{path.name}: {text}; {remedy}")
        warn(f"{path.name}: {text}. Similarities are then between {features}; {remedy}", RowNamesWarning)


_TRACES = re.compile(r"F|Fneu|spks|(?i:d_?f_?f0?|delta_?f\w*|fluo\w*|calcium\w*|\w*traces?|raster|deconv\w*)")
"""Names of recordings, which most programs store with neurons in rows."""
_SAMPLING_RATE = re.compile(r"(?i)fs|fps|fr|s_?rate|(sampling|sample|frame|imaging)_?(rate|freq|frequency)")
_LONG = 2
"""How many times as many columns as rows show that columns may be times."""


def _state_neurons_in_rows(path: Path, found: Contents) -> None:
    """State which matrices may have neurons in rows and times in columns, by their names or a sampling rate."""
    rate = any(_SAMPLING_RATE.fullmatch(_leaf(name)) for name in found.skipped)
    for name, array in found.representations.items():
        if name in found.split or array.ndim != 2 or array.shape[1] < _LONG * len(array):
            continue
        if rate or _TRACES.fullmatch(_leaf(name)):
            rows, columns = (f"{length:,}" for length in array.shape)
            state(
                f"{path.name}: rows of {name} are read as {rows} inputs, columns as {columns} features. If rows are "
                "neurons and columns are times, pass transpose=True"
            )


_OF_FEATURES = re.compile(
    r"(gene|feature|var|channel|neuron|unit|voxel|vertex|roi|electrode|token|probe|column|dim|word|sensor|label)s?"
)
"""Words in names of identifiers of features rather than inputs."""


def _warn_of_named_columns(path: Path, found: Contents) -> None:
    """Warn if identifiers of inputs are as many as the columns, and nothing names the rows."""
    names = found.column_names
    if found.row_names is not None or names is None or not names.column or names.kind == "counted":
        return
    if any(map(_OF_FEATURES.fullmatch, words_of(names.column))) or not names.distinct:
        return
    shapes = {array.shape for array in found.representations.values()}
    if len(shapes) == 1:
        rows, columns = (f"{length:,}" for length in next(iter(shapes)))
        text = (
            f"{path.name}: {names.column} has {columns} entries, one per column rather than one for each of {rows} rows"
        )
        state(text)
        warn(f"{text}. If it names the inputs, pass transpose=True", RowNamesWarning)


def _leaf(name: str) -> str:
    return re.split(r"[./]", name)[-1]


def _read_ids(
    path: Path, file_format: Format, column: str, *, distinct: bool = True, others: Sequence[str] = ()
) -> Names:
    """Read the names of the rows from a column or array, or several separated by commas, which must be distinct.

    'index' stands for the names that the format stores, such as barcodes, which may repeat in each sample, or in a file
    without names for its only other column of identifiers; such a column of another file stands for stored names.
    """
    parts = [part.strip() for part in column.split(",")]
    try:
        values = np.asarray(file_format.labels(path, column))
    except ValueError as error:
        if len(parts) < 2:
            if (own := _stored_names(path, file_format, column, others)) is not None:
                return own if not distinct else distinct_names(own.values, f"the index of {path}", column)
            kind = ValueError if isinstance(error, UnknownColumnError) else type(error)
            raise kind(str(error).replace("column", "ids", 1).replace("labels", "ids", 1)) from error
        names = [_read_ids(path, file_format, part, distinct=False, others=parts) for part in parts]
        values = joined_values([one.values for one in names])
        column = " and ".join(parts)
    if not distinct:
        return Names.build(values)
    return distinct_names(values, f"{column!r} in {path}", column)


def _stored_names(path: Path, file_format: Format, column: str, others: Sequence[str]) -> Names | None:
    """Return what stands for a column of identifiers that a file lacks: its index, or for 'index' the only column."""
    if column != "index" and not is_identity_name(column):
        return None
    # A file that contains only labels has no representations.
    with suppress(ValueError), ignore_statements():
        own = file_format.contents(path, None, (), "guess").row_names
        if own is not None and not own.column:
            return own
    known = [name for name in identity_names(_label_columns(path, file_format)) if name not in others]
    return Names.build(file_format.labels(path, known[0])) if column == "index" and len(known) == 1 else None


def _label_columns(path: Path, file_format: Format) -> tuple[str, ...]:
    """Return the names of columns of labels, also of a file without a representation."""
    try:
        file_format.labels(path, "\0")
    except UnknownColumnError as error:
        return error.columns
    except (ValueError, OSError):
        pass
    return ()


def read(
    path: str | os.PathLike[str], *, keys: Sequence[str] | None = None, layer_axis: LayerAxis = "guess"
) -> dict[str, Array]:
    """Read the representations in a file, by name.

    Parameters
    ----------
    path, keys, layer_axis
        As for `open_file`. A warning names arrays whose shape contradicts (rows, layers, features).

    Returns
    -------
    dict of str to ndarray
        2-D arrays of real numbers, whose rows are inputs and whose columns are features. If a format holds a single
        array or table, it has the name of the file. The layers of a 3-D array ``hidden`` are ``hidden[0]``,
        ``hidden[1]`` and so on. The dictionary also has an attribute ``n_tokens``: the number of tokens per input, if
        an extraction recorded it, otherwise None.

    Examples
    --------
    >>> import numpy as np, tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.npy"
    >>> np.save(path, np.zeros((5, 3), dtype=np.float16))
    >>> {name: (matrix.shape, matrix.dtype) for name, matrix in read(path).items()}
    {'model': ((5, 3), dtype('float16'))}
    """
    contents = open_file(path, keys=keys, layer_axis=layer_axis)
    for name, split in contents.split.items():
        if split.against_default:
            warn(f"{name} in {path} is {split.describe()}", GuessedLayersWarning)
    return ReadArrays(contents.representations, shared_token_counts([path]))


def read_named(
    path: str | os.PathLike[str], *, layer_axis: LayerAxis = "guess", ids: str | None = None
) -> dict[str, Any]:
    """Read all representations in a file like `read`, with the row names if the file has them."""
    contents = open_file(path, layer_axis=layer_axis, ids=ids)
    state_contents(Path(path), contents)
    named = {
        name: array if (names := contents.names_of(name)) is None else NamedRows(array, names)
        for name, array in contents.representations.items()
    }
    return ReadArrays(named, shared_token_counts([path]))


def read_labels(path: str | os.PathLike[str], column: str | None = None, *, ids: str | None = None) -> Array:
    """Read one label per row.

    Parameters
    ----------
    path : str or path
        Any file that `read` accepts; a .txt file may have one label per line.
    column : str, optional
        Array or column that contains the labels. Default: the only candidate, or the only one that is named label,
        labels, y, class or target. For AnnData, name a column of obs; there is no default.
    ids : str, optional
        Column or array that identifies the rows, whose values must be distinct. The labels keep the order of the file.

    Returns
    -------
    ndarray
        1-D array of numbers, text or objects, in which missing labels are kept.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "rows.csv"
    >>> _ = path.write_text("sentence,label\\ngood,1\\nbad,0\\n")
    >>> read_labels(path).tolist()
    [1, 0]
    """
    return np.asarray(read_named_labels(path, column, ids=ids))


def label_reader(path: str | os.PathLike[str]) -> Callable[[str], Array]:
    """Return a function like `read_labels` for several columns of a file, which describes a table only once."""
    target, file_format = _locate(path)
    if file_format.describe is None:
        return partial(read_labels, path)
    describe = cache(partial(file_format.describe, target))
    return lambda column: np.asarray(_visible_labels(labels_of_table(target, describe(), column)))


def read_named_labels(
    path: str | os.PathLike[str], column: str | None = None, *, ids: str | None = None
) -> Array | NamedRows:
    """Read one label per row, with row names if the file has them, or those of the column `ids`."""
    if not isinstance(column, str | None):
        raise TypeError(f"column must be a name or None, got {brief(column)}")
    if not isinstance(ids, str | None):
        raise TypeError(f"ids must be a name or None, got {brief(ids)}")
    target, file_format = _locate(path)
    labels = _visible_labels(file_format.labels(target, column))
    return labels if ids is None else NamedRows(np.asarray(labels), _read_ids(target, file_format, ids))


_MOST_COLUMNS = 20
_MOST_ROWS = 1_000_000
_FIRST = 10


def check_column_orders(contents: Mapping[Path, Contents]) -> None:
    """Refuse to pair rows by position if two files have the same distinct texts in another order; warn of numbers."""
    files = list(contents.items())
    if len(files) < 2:
        return
    (first, a), (second, b) = files[:2]
    names, others = a.row_names, b.row_names
    matched = None
    if names is not None and others is not None and _decide(names, others):
        if names.chosen or not (names.distinct and others.distinct and names.has_same_names(others)):
            return
        matched = others.positions(names)
    n_rows = [len(next(iter(found.representations.values()), ())) for found in (a, b)]
    if n_rows[0] != n_rows[1] or n_rows[0] > _MOST_ROWS:
        return
    if matched is None:
        _require_readable_names({first.name: a, second.name: b})
    both = [name for name in a.labels_available if name in b.labels_available]
    both = [name for name in both if matched is None or is_condition_name(name)][:_MOST_COLUMNS]
    read = {column: (_names_from_column(first, column), _names_from_column(second, column)) for column in both}
    columns = {column: (one, other) for column, (one, other) in read.items() if one is not None and other is not None}
    where = f"in {first.name} and {second.name}"
    if names is not None and others is not None and not (names.column or names.distinct or others.distinct):
        columns = {"index": (names, others), **columns}
    if matched is None:
        require_order(columns, where, "pass {choice}; otherwise pass --by-position")
    else:
        moved = {column: (one, other.take(matched)) for column, (one, other) in columns.items() if not one.distinct}
        require_same_conditions(moved, where, "pass --by-position")


_READ_TWICE = 1 << 26
"""Bytes up to which a file is read once more, to look at its columns."""


def check_label_order(path: Path, file: Path) -> None:
    """Refuse to pair labels of another file with rows by position if both files have distinct values in another order.

    `path` contains the representations, and `file` the labels. Folders and large files are not read for this.
    """
    if path.is_dir() or path.stat().st_size > _READ_TWICE:
        return
    available: tuple[str, ...] = ()
    repeated: dict[str, tuple[Names, Names]] = {}
    # Faults of the representations are reported when they are read.
    with suppress(ValueError, OSError):
        opened = open_file(path)
        available, stored = opened.labels_available, opened.row_names
        if stored is not None and not stored.distinct:
            columns = [name for name in _label_columns(*_locate(file)) if name not in available]
            found = [(name, _names_from_column(file, name)) for name in columns[:_MOST_COLUMNS]]
            texts = set(stored.as_text().values)
            same = [(len(texts & set(one.as_text().values)), name, one) for name, one in found if one is not None]
            n_shared, name, one = max(same, key=lambda each: each[0], default=(0, "", stored))
            repeated = {name: (stored, one)} if 2 * n_shared > len(texts) else {}
    for column in [name for name in available if not SIDE.fit(name)][:_MOST_COLUMNS]:
        # The file of labels is the smaller one.
        others = _names_from_column(file, column)
        names = None if others is None else _names_from_column(path, column)
        if names is None or others is None:
            continue
        if names.distinct and is_identity_name(column):
            _require_one_label(others, f"{column!r} in {file.name}")
        if names.is_reordered(others):
            raise ValueError(
                f"column {column!r} has the same values in {path.name} and {file.name}, in another order, but nothing "
                f"else identifies the rows. If it does, pass --id {column}; otherwise pass --by-position"
            )
        if not (names.distinct or others.distinct):
            repeated[column] = names, others
    where = f"in {path.name} and {file.name}"
    require_order(repeated, where, "pass {choice}; otherwise pass --by-position")


def _require_one_label(names: Names, where: str) -> None:
    """Refuse labels of which several belong to one row, such as relevance judgements of several queries."""
    if not names.distinct:
        raise ValueError(
            f"labels must be one per row, got repeated values of {where} ({names.fault}); keep one label of each, or "
            "pass --by-position"
        )


def _require_readable_names(opened: Mapping[str, Contents]) -> None:
    """Refuse to pair rows by position if an array that is named like identifiers contains pickled objects."""
    for file, found in opened.items():
        name = next((name for name, why in found.skipped.items() if "pickled" in why and is_identity_name(name)), None)
        if found.row_names is None and name is not None:
            raise ValueError(
                f"{name} in {file} must be text or numbers to match rows, got pickled Python objects, which are never "
                f"read. Save numpy.array({name}, dtype=str) instead, or pass --by-position"
            )


def _decide(names: Names, others: Names) -> bool:
    """Return whether names decide how rows are paired, unlike numbers that only count the rows."""
    if (names.counts_rows and others.counts_rows) or not (names.distinct and others.distinct):
        return names.has_same_order(others) and not names.counts_rows
    return all(one.chosen or one.kind != "counted" for one in (names, others)) or names.has_same_names(others)


def _names_from_column(path: Path, column: str) -> Names | None:
    try:
        values = np.asarray(read_labels(path, column))
        # Vectors and records are data, not names.
        nested = any(np.ndim(value) > 0 or isinstance(value, Mapping) for value in values[:_FIRST])
        return None if values.ndim != 1 or nested else Names.build(values)
    except (ValueError, TypeError, OSError):
        return None
