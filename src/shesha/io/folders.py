"""Folders that are one input: parts of a table, one vector per file, and the folders of Cell Ranger."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from shesha.inputs import Names, is_identity_name
from shesha.inputs.columns import Column
from shesha.inputs.vector_columns import Vectors
from shesha.io._unsupported_formats import Format, array_format, table_format
from shesha.io.array_selection import NamedArrays, StoredArray, in_memory, read_lines, stack_vectors
from shesha.io.file_checks import UnreadableFileError, file_stem, require_plain
from shesha.io.json_vectors import labels_of_json
from shesha.io.large_matrices import npy_arrays
from shesha.io.list_columns import dataset_table, is_dataset
from shesha.io.single_cell_files import is_tenx_folder, tenx_folder_arrays
from shesha.io.tables import Table, csv_table, parquet_table, stack_blocks
from shesha.io.torch_files import torch_item
from shesha.support.provenance import state
from shesha.support.types import Array
from shesha.support.wording import join_names, natural_key, natural_place

_PART = re.compile(
    r"(?P<split>.*?)[-_.]?\d+-of-\d+.*|part[-_.]?\d+.*|\d{4,}|(.*[-_.])?(part|chunk|shard)[-_.]?\d+|data[-_]?\d+",
    re.IGNORECASE,
)
"""Names of parts, as the hub of Hugging Face, Spark, Dask and pandas write them."""
_PARTITION = re.compile(r"[^=]+=[^=]*")
_TABLES = (".parquet", ".arrow", ".feather")
_TEXT_TABLES = {".csv": ",", ".tsv": "\t"}
_TABLE_OF: Mapping[str, Callable[[Path], Table]] = {
    ".parquet": parquet_table,
    **{ending: partial(csv_table, separator=separator) for ending, separator in _TEXT_TABLES.items()},
}
_ITEMS: Mapping[str, Callable[[Path], Mapping[str, StoredArray]]] = {
    ".npy": npy_arrays,
    ".pt": torch_item,
    ".pth": torch_item,
}
_NOTES = ("", ".txt", ".json", ".jsonl", ".csv", ".tsv", ".md", ".log", ".yaml", ".yml", ".crc", ".html")
"""Endings of files that describe the others."""
_PEEKED = 3
_MOST_FILES = 1_000_000


def _data_files(path: Path) -> list[Path]:
    """List the files of a folder that are not hidden, in natural order."""
    if not path.is_dir():
        return []
    files = [file for file in path.iterdir() if not file.name.startswith((".", "_")) and file.is_file()]
    return sorted(files, key=natural_place)


def _tables_inside(path: Path) -> list[Path]:
    """List the parts of a table in a folder or its partitions; an empty list if a folder is not one table."""
    files = _data_files(path)
    tables = [file for file in files if file.suffix.lower() in _TABLES]
    if tables:
        kinds = {file.suffix.lower() for file in tables}
        if len(tables) == 1 and all(file in tables or file.suffix.lower() in _NOTES for file in files):
            return tables
        stems = [file.stem for file in tables]
        are_parts = all(map(_PART.fullmatch, stems)) or _are_counted(stems)
        return tables if len(kinds) == 1 and are_parts else []
    texts = [file for file in files if file.suffix.lower() in _TEXT_TABLES]
    # Text tables with other numbers, such as 0001.csv, may be those of subjects.
    named = all(re.search(r"part|chunk|shard|-of-", file.stem, re.IGNORECASE) for file in texts)
    if len(texts) > 1 and named and len({file.suffix for file in texts}) == 1:
        return texts if all(_PART.fullmatch(file.stem) for file in texts) else []
    if not path.is_dir() or (files and any(file.suffix.lower() not in _NOTES for file in files)):
        return []
    folders = [folder for folder in path.iterdir() if folder.is_dir() and not folder.name.startswith((".", "_"))]
    if folders and all(_PARTITION.fullmatch(folder.name) for folder in folders):
        ordered = sorted(folders, key=lambda folder: natural_key(folder.name))
        return [file for folder in ordered for file in _all_tables(folder)]
    return _tables_inside(folders[0]) if len(folders) == 1 else []


def _are_counted(stems: Sequence[str]) -> bool:
    """Return whether names are the numbers from 0 or 1 on, as of the files of one export."""
    numbers = sorted(int(stem) for stem in stems if stem.isdecimal())
    return len(numbers) == len(stems) > 1 and numbers[0] in (0, 1) and numbers[-1] - numbers[0] == len(stems) - 1


def _all_tables(path: Path) -> list[Path]:
    own = [file for file in _data_files(path) if file.suffix.lower() in _TABLES]
    folders = [folder for folder in path.iterdir() if folder.is_dir() and _PARTITION.fullmatch(folder.name)]
    return own + [
        file for folder in sorted(folders, key=lambda one: natural_key(one.name)) for file in _all_tables(folder)
    ]


def _table(path: Path) -> Table:
    """Describe the columns of all parts as those of one table."""
    files = _tables_inside(path)
    require_plain(path, files)
    splits = dict.fromkeys(match["split"] for file in files if (match := _PART.fullmatch(file.stem)) and match["split"])
    if len(splits) > 1:
        raise UnreadableFileError(
            f"folder {path} must contain the parts of one split, got {join_names(splits)}: move each split into "
            "a folder of its own"
        )
    _require_all_parts(path, files)
    parts = [_TABLE_OF.get(file.suffix.lower(), dataset_table)(file) for file in files]
    first = parts[0]
    for file, part in zip(files, parts, strict=True):
        if part.names != first.names or [c.kind for c in part.columns] != [c.kind for c in first.columns]:
            raise UnreadableFileError(
                f"folder {path} must contain parts with the same columns, got {join_names(part.names)} in "
                f"{file.name} and {join_names(first.names)} in {files[0].name}"
            )
    places = [[part for part in file.relative_to(path).parts[:-1] if _PARTITION.fullmatch(part)] for file in files]
    partitions = [dict(part.partition("=")[::2] for part in parts) for parts in places]
    keys = [key for key in partitions[0] if key not in first.names]

    def read(names: Sequence[str]) -> Any:
        import pandas as pd

        frames = []
        for part, values in zip(parts, partitions, strict=True):
            stored = [name for name in names if name not in keys]
            frame = part.read(stored or [*first.names[:1]])
            frames.append(frame.assign(**{key: values.get(key) for key in keys if key in names})[list(names)])
        return pd.concat(frames, ignore_index=True)

    def values(name: str) -> Array:
        return np.asarray(read([name])[name])

    def vectors(name: str, found: Vectors) -> Array:
        return stack_blocks([part.vectors(name, found) for part in parts])

    columns = [replace(column, values=partial(values, column.name)) for column in first.columns]
    folders = [Column(key, "other", "text", list, values=list, refusal="is the name of a folder") for key in keys]
    if len(files) > 1:
        state(f"{path.name}: {len(files)} parts as one table")
    return Table((*columns, *folders), read, vectors, first.index)


def _require_all_parts(path: Path, files: Sequence[Path]) -> None:
    """Refuse a folder that lacks some of the parts that the file names count."""
    counts = {int(match[1]) for file in files if (match := re.search(r"-of-(\d+)", file.stem))}
    if counts and counts != {len(files)}:
        raise UnreadableFileError(
            f"folder {path} must contain all {max(counts)} parts that the file names count, got {len(files)}"
        )


def _items(path: Path) -> list[Path]:
    """List the files of a folder if each seems to hold one vector, otherwise return an empty list."""
    files = _data_files(path)
    items = [file for file in files if file.suffix.lower() in _ITEMS]
    kinds = {file.suffix.lower() for file in items}
    others = [file for file in files if file not in set(items) and file.suffix.lower() not in _NOTES]
    if len(items) < _PEEKED or len(kinds) != 1 or others:
        return []
    try:
        peeked = [_vectors(file) for file in (items[0], items[len(items) // 2], items[-1])]
    except (OSError, ValueError, ImportError):
        return []
    return items if all(peeked) and all(set(found) == set(peeked[0]) for found in peeked) else []


def _vectors(file: Path) -> dict[str, StoredArray]:
    """Describe the vectors in the file of one item; an empty dictionary if it contains a matrix."""
    arrays = _ITEMS[file.suffix.lower()](file)
    widths = {array.shape[-1] for array in arrays.values() if len(array.shape) == 1 and array.dtype.kind == "f"}
    rows = {name: array for name, array in arrays.items() if len(array.shape) < 2 or array.shape[0] == 1}
    # A file may hold the tokens of an input as well as their mean.
    if any(len(one.shape) > 2 or one.shape[-1] not in widths for name, one in arrays.items() if name not in rows):
        return {}
    own = file_stem(file)
    return {
        "" if name == own else name: array
        for name, array in rows.items()
        if array.refusal is None and array.shape and array.shape[-1] > 1
        # Vectors are floats or codes of one byte.
        if array.dtype.kind == "f" or (array.dtype.kind in "iu" and array.dtype.itemsize == 1)
    }


def item_arrays(path: Path) -> NamedArrays:
    """Describe the matrices whose rows are the vectors in the files of a folder, named by the files."""
    files = _items(path)
    if len(files) > _MOST_FILES:
        raise UnreadableFileError(f"folder {path} must contain at most {_MOST_FILES:,} files, got {len(files):,}")
    require_plain(path, files)
    first = _vectors(files[0])
    found: dict[str, list[StoredArray]] = {name: [] for name in first}
    for file in files:
        vectors = _vectors(file)
        for name, expected in first.items():
            if name not in vectors or vectors[name].shape != expected.shape:
                got = vectors[name].shape if name in vectors else "none"
                raise UnreadableFileError(
                    f"folder {path} must contain one vector of {expected.shape[-1]} numbers per file, got {got} in "
                    f"{file.name}"
                )
            found[name].append(vectors[name])
    state(f"{path.name}: {len(files)} files of one vector each")
    names = np.array([file_stem(file) for file in files], dtype=object)
    return NamedArrays(
        {
            name or file_stem(path): stack_vectors(path, name or "the vectors", vectors)
            for name, vectors in found.items()
        },
        Names.build(names, "file name", chosen="format"),
    )


def _columns(file: Path, separator: str) -> dict[str, Any]:
    """Return the columns of a text table that are not numbers with decimals."""
    table = csv_table(file, separator)
    frame = table.read(table.named_columns)
    return {str(name): column.astype(str) for name, column in frame.items() if column.dtype.kind != "f"}


_NAMES: Mapping[str, Callable[[Path], Mapping[str, Any]]] = {
    ".npy": lambda file: {file.stem: next(iter(npy_arrays(file).values())).load()},
    ".txt": lambda file: {"id" if file.with_suffix(".npy").is_file() else file.stem: read_lines(file, None)},
    ".json": lambda file: {file.stem: labels_of_json(file, None)},
    ".csv": partial(_columns, separator=","),
    ".tsv": partial(_columns, separator="\t"),
}
"""Functions that read the names of rows from a file beside the matrices, by its ending."""
_METADATA = re.compile(r"(meta(_?data)?|index|items|rows|documents|docs)", re.IGNORECASE)
"""Names of tables that describe the rows of the matrices beside them."""


def _names_rows(file: Path) -> bool:
    """Return whether a file seems to hold the names of rows: by its name, or by the first line of a table."""
    ending = file.suffix.lower()
    if ending not in (".csv", ".tsv"):
        return ending in _NAMES and is_identity_name(file.stem)
    if not _METADATA.fullmatch(file.stem):
        return False
    with file.open("rb") as stream:
        head = stream.readline(1 << 16).decode("utf-8", "replace")
    return any(is_identity_name(name.strip(' "\r\n\ufeff')) for name in head.split("," if ending == ".csv" else "\t"))


def _is_list(file: Path) -> bool:
    """Return whether a text file has as many distinct lines as the matrix of the same name has rows."""
    if file.stat().st_size > _LARGEST_LIST:
        return False
    try:
        lines = read_lines(file, None)
        return (
            len(set(lines.tolist())) == len(lines) == next(iter(npy_arrays(file.with_suffix(".npy")).values())).shape[0]
        )
    except (OSError, ValueError):
        return False


_LARGEST_LIST = 1 << 26
"""Bytes up to which a list beside a matrix is read to see whether it names the rows."""


def _names_beside(path: Path) -> list[Path]:
    """List the files of a folder of .npy matrices that seem to hold the names of their rows, such as ids.txt."""
    files = _data_files(path)
    names = [file for file in files if _names_rows(file)]
    matrices = [file for file in files if file.suffix.lower() == ".npy"]
    if not names and len(matrices) == 1 and (listed := matrices[0].with_suffix(".txt")) in files and _is_list(listed):
        # Many programs write the nodes or inputs to a text file with the name of the matrix.
        names = [listed]
    others = [file for file in files if file not in names and file.suffix.lower() not in _NOTES]
    return names if others and all(file.suffix.lower() == ".npy" for file in others) else []


def matrices_with_names(path: Path) -> NamedArrays:
    """Describe the .npy files of a folder, with the names of the rows in a file beside them."""
    beside = _names_beside(path)
    files = [file for file in _data_files(path) if file.suffix.lower() == ".npy" and file not in beside]
    require_plain(path, [*beside, *files])
    arrays = {file.stem: next(iter(npy_arrays(file).values())) for file in files}
    about = {name: np.asarray(values) for file in beside for name, values in _NAMES[file.suffix.lower()](file).items()}
    about = {name: values.astype(str) if values.dtype.kind == "O" else values for name, values in about.items()}
    return NamedArrays({name: in_memory(values) for name, values in about.items() if name not in arrays} | arrays)


_SUITE2P = ("F.npy", "spks.npy", "Fneu.npy")
"""Files of suite2p with one row per region: fluorescence, events, and the fluorescence around the region."""
_SPIKES = (("spike_times.npy", "spike_clusters.npy", 30000), ("spikes.times.npy", "spikes.clusters.npy", 1))
"""Files of times and clusters of spikes, of Kilosort and phy or of ALF, and the usual number of units in a second."""


def is_suite2p_folder(path: Path) -> bool:
    """Return whether a folder contains the traces of suite2p, and which of them are cells."""
    return (path / "iscell.npy").is_file() and any((path / name).is_file() for name in _SUITE2P)


def suite2p_arrays(path: Path) -> NamedArrays:
    """Describe traces of cells as times x cells; regions that are no cells are left out."""
    files = [path / name for name in (*_SUITE2P, "iscell.npy") if (path / name).is_file()]
    require_plain(path, files)
    arrays = {file.stem: next(iter(npy_arrays(file).values())) for file in files}
    verdicts = arrays.pop("iscell").load()
    cells = np.flatnonzero(verdicts[:, 0] if verdicts.ndim == 2 else verdicts)
    state(f"{path.name}: {len(cells)} of {len(verdicts)} regions are cells (iscell.npy); rows are times")

    def load(trace: StoredArray) -> Array:
        return np.ascontiguousarray(trace.load()[cells].T)

    for name, trace in arrays.items():
        if len(trace.shape) != 2 or trace.shape[0] != len(verdicts):
            raise UnreadableFileError(
                f"folder {path} must contain one row for each of the {len(verdicts):,} regions, got {trace.shape} in "
                f"{name}.npy"
            )
    traces = {
        name: StoredArray((trace.shape[1], len(cells)), trace.dtype, partial(load, trace))
        for name, trace in arrays.items()
    }
    return NamedArrays(traces, on_request=["Fneu"] if len(traces) > 1 else [])


def is_spike_folder(path: Path) -> bool:
    """Return whether a folder contains the spikes that Kilosort or phy wrote."""
    return any((path / times).is_file() and (path / clusters).is_file() for times, clusters, _ in _SPIKES)


def refuse_spikes(path: Path) -> NamedArrays:
    """Refuse a folder of spikes, which lacks the trials."""
    times, clusters, rate = next(files for files in _SPIKES if (path / files[0]).is_file())
    raise UnreadableFileError(
        f"folder {path} must contain arrays of trials or inputs, got the spikes of a sorter; to count them:\n"
        f"    import numpy, shesha\n"
        f"    times = numpy.load({str(path / times)!r}).ravel() / {rate}  # seconds, by the sampling rate\n"
        f"    clusters = numpy.load({str(path / clusters)!r})\n"
        f"    counts = shesha.neuro.spike_counts(times, ONSETS, clusters=clusters)\n"
        f"    numpy.save({str(path.with_name(f'{path.name}_counts.npy'))!r}, counts)"
    )


FOLDERS: list[tuple[Callable[[Path], bool], Format]] = [
    (is_suite2p_folder, replace(array_format(suite2p_arrays), folder=True)),
    (is_spike_folder, replace(array_format(refuse_spikes), folder=True)),
    (is_dataset, replace(table_format(dataset_table), folder=True)),
    (is_tenx_folder, replace(array_format(tenx_folder_arrays), folder=True)),
    (lambda path: bool(_tables_inside(path)), replace(table_format(_table), folder=True)),
    (lambda path: bool(_names_beside(path)), replace(array_format(matrices_with_names), folder=True)),
]
"""Folders that are one input, each with the function that recognises it."""
ITEMS = replace(array_format(item_arrays), folder=True)
"""The format of folders with one vector per file, which could also be distances."""


def holds_items(path: Path) -> bool:
    """Return whether a folder contains one vector per file."""
    return bool(_items(path))
