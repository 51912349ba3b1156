"""Collect the representations to audit, from arrays or from files that are opened only when needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from shesha.auditing.fingerprinted_representation import Subject
from shesha.comparison.input_manifest import Files, IndexedInput, index_file, index_files
from shesha.comparison.input_manifest import Index as Contents
from shesha.comparison.representation_locations import InFile
from shesha.inputs.matrix_shapes import one_row_per_input
from shesha.io.memory_mapped_copies import copy_large_files
from shesha.runs import ResultStore
from shesha.support import argument_types as kinds
from shesha.support.layer_axis import LayerAxis, split_layers
from shesha.support.warnings import MeasureWarning, warn
from shesha.views import rows_or_distances


def stored_subjects(
    representations: Any, layer_axis: LayerAxis, store: ResultStore, ids: str | None = None
) -> dict[str, Subject]:
    """Describe each array or file under its name; skip unreadable files with a warning."""
    files = _find_files(representations, layer_axis)
    if files is None:
        return _mapping_subjects(representations, layer_axis, store, ids)
    return _file_subjects(files if ids is None else replace(files, ids=ids), store)


def map_large_files(representations: Any, stack: ExitStack) -> Any:
    """Replace files that neither fit in memory nor can be memory-mapped with temporary copies, and warn."""
    is_path_list = (
        isinstance(representations, list | tuple) and bool(representations) and all(map(kinds.is_path, representations))
    )
    if not is_path_list and not kinds.is_path(representations):
        return representations
    paths = representations if is_path_list else [representations]
    copies = copy_large_files(
        stack.enter_context, [Path(path) for path in paths], lambda text: warn(text, MeasureWarning)
    )
    used = [new if new != Path(old) else old for new, old in zip(copies, paths, strict=True)]
    return used if is_path_list else used[0]


def _find_files(representations: Any, layer_axis: LayerAxis) -> Files | None:
    """Return the input as `Files` if it consists of paths, or None if it consists of arrays."""
    if isinstance(representations, Files):
        return representations
    if kinds.is_path(representations):
        return Files([representations], layer_axis=layer_axis, as_it_is=True, flatten=True)
    is_list = isinstance(representations, Sequence) and not isinstance(representations, str) and len(representations)
    if is_list and all(map(kinds.is_path, representations)):
        return Files(list(representations), layer_axis=layer_axis, as_it_is=True, flatten=True)
    return None


def _file_subjects(files: Files, store: ResultStore) -> dict[str, Subject]:
    """Describe each file; skip unreadable ones with a warning."""
    index = index_files(files, store)
    index.warn_of_left_out()
    if not index.known:
        reasons = "; ".join(f"{path}: {reason}" for path, reason in index.left_out.items())
        raise ValueError(f"representations must contain at least one readable array, got none; {reasons}".rstrip("; "))
    return {name: _subject_from_index(known) for name, known in index.known.items()}


def _mapping_subjects(
    representations: Any, layer_axis: LayerAxis, store: ResultStore, ids: str | None
) -> dict[str, Subject]:
    """Describe each named array and each array in a named file."""
    named = representations if isinstance(representations, Mapping) else {"X": representations}
    if not named:
        raise ValueError("representations must contain at least one matrix, got none")
    index, subjects, repeated = Contents(), dict[str, Subject](), list[str]()
    for label, value in split_layers(named, layer_axis).items():
        new = _array_subjects(str(label), value, layer_axis, store, index, ids)
        repeated += [repr(name) for name in new if name in subjects]
        subjects |= new
    if repeated:
        raise ValueError(f"representations must have distinct names, got {', '.join(repeated)} more than once")
    index.warn_of_left_out()
    if not subjects:
        raise ValueError(f"representations must contain at least one readable array, got {index.left_out}")
    return subjects


def _array_subjects(
    name: str, value: Any, layer_axis: LayerAxis, store: ResultStore, index: Contents, ids: str | None
) -> dict[str, Subject]:
    if kinds.is_path(value):
        files = Files([Path(value)], layer_axis=layer_axis, as_it_is=True, flatten=True, ids=ids)
        return {key: _subject_from_index(known) for key, known in index_file(name, files, store, index).items()}
    value = one_row_per_input(value, name)
    return {name: Subject.in_memory(rows_or_distances(value, name, min_rows=0, min_columns=0))}


def _subject_from_index(entry: IndexedInput) -> Subject:
    assert isinstance(entry.place, InFile)
    return Subject(entry.place, entry.shape, entry.fingerprint, entry.names)
