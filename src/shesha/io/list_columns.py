"""Data sets of Hugging Face and Arrow files, read batch by batch within the memory budget."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from shesha.inputs.columns import SAMPLE
from shesha.io.file_checks import (
    UnreadableFileError,
    optional,
    reading,
    require_memory,
    require_plain,
    require_plausible,
)
from shesha.io.tables import Table, arrow_table
from shesha.support.files import read_json
from shesha.support.memory import format_bytes, memory_budget
from shesha.support.wording import join_names

_KIND, _HEADER, _DATA, _BUFFERS, _COMPRESSION = 1, 2, 1, 2, 3
"""Numbers of fields in Arrow's tables Message, DictionaryBatch and RecordBatch."""
_BLOCKS, _BLOCK, _TAIL = (2, 3), 24, 10
"""Numbers of fields in Arrow's table Footer, bytes of a block in it, and bytes after it."""
_DICTIONARY = 2
"""Kind of a message that contains a dictionary."""


def arrow_schema(path: Path, file: Path) -> Any:
    """Return the names and types of the columns of an Arrow file."""
    with reading(path):
        return _reader(path, file).schema


def _reader(path: Path, file: Path, **options: Any) -> Any:
    ipc = optional("pyarrow.ipc", path)
    if _is_stream(file):
        return ipc.open_stream(_source(path, file), **options)
    return ipc.open_file(optional("pyarrow", path).memory_map(str(file)), **options)


def arrow_batches(path: Path, files: Sequence[Path], names: Sequence[str]) -> Iterator[Any]:
    """Yield record batches with the given columns, after checking how much each of them unpacks to."""
    pyarrow, ipc = optional("pyarrow", path), optional("pyarrow.ipc", path)
    for file in files:
        with reading(path):
            stream = _is_stream(file)
            messages = ipc.MessageReader.open_stream(_source(path, file)) if stream else _read_messages(path, file)
            _require_sizes(path, messages)
            schema = _reader(path, file).schema
            options = ipc.IpcReadOptions(included_fields=[schema.get_field_index(name) for name in names])
            reader = _reader(path, file, options=options)
            batches = iter(reader) if stream else map(reader.get_batch, range(reader.num_record_batches))
        while True:
            with reading(path):
                batch = next(batches, None)
                if batch is None:
                    break
                # Without this check, a damaged file would make the library read beyond its buffers.
                batch.validate(full=True)
                chosen = pyarrow.RecordBatch.from_arrays([batch.column(name) for name in names], names=list(names))
            yield chosen


def _is_stream(file: Path) -> bool:
    """Return whether the messages of a file follow one another; polars puts other bytes before the first."""
    with file.open("rb") as stream:
        start = stream.read(12)
    return start[:6] != b"ARROW1" or start[8:] == b"\xff\xff\xff\xff"


def _read_messages(path: Path, file: Path) -> Iterator[Any]:
    """Yield the batches and dictionaries to which the end of an Arrow file points."""
    ipc, source = optional("pyarrow.ipc", path), optional("pyarrow", path).memory_map(str(file))
    size = source.size()
    source.seek(size - _TAIL)
    length, mark = struct.unpack("<i6s", source.read(_TAIL))
    if mark != b"ARROW1" or not 0 < length <= size - _TAIL:
        raise UnreadableFileError(f"{path} must end like an Arrow file, got other bytes; write it again")
    source.seek(size - _TAIL - length)
    footer = source.read(length)
    for number in _BLOCKS:
        if not (field := _field(footer, _follow(footer, 0), number)):
            continue
        vector = _follow(footer, field)
        (count,) = struct.unpack_from("<I", footer, vector)
        for block in range(count):
            (start,) = struct.unpack_from("<q", footer, vector + 4 + _BLOCK * block)
            source.seek(start)
            yield ipc.read_message(source)


def _source(path: Path, file: Path) -> Any:
    """Memory-map an Arrow file at its first message; the file format is a stream between two marks."""
    source = optional("pyarrow", path).memory_map(str(file))
    with file.open("rb") as stream:
        source.seek(8 if stream.read(6) == b"ARROW1" else 0)
    return source


def _require_sizes(path: Path, messages: Any) -> None:
    for message in messages:
        if message.type in ("record batch", "dictionary") and message.body is not None:
            declared = _unpacked_bytes(bytes(message.metadata), message.body)
            require_plausible(path, "a batch", declared, message.body.size)
            if declared > memory_budget():
                raise UnreadableFileError(
                    f"a batch in {path} must fit the memory budget of {format_bytes(memory_budget())}, got "
                    f"{format_bytes(declared)}: write smaller batches, or raise SHESHA_MEMORY"
                )


def _unpacked_bytes(metadata: bytes, body: Any) -> int:
    """Return the bytes of a batch after unpacking: each compressed buffer begins with its unpacked length."""
    message = _follow(metadata, 0)
    batch = _follow(metadata, _field(metadata, message, _HEADER))
    if metadata[_field(metadata, message, _KIND)] == _DICTIONARY:
        batch = _follow(metadata, _field(metadata, batch, _DATA))
    if not _field(metadata, batch, _COMPRESSION):
        return int(body.size)
    vector = _follow(metadata, _field(metadata, batch, _BUFFERS))
    (count,) = struct.unpack_from("<I", metadata, vector)
    total = 0
    for number in range(count):
        start, length = struct.unpack_from("<qq", metadata, vector + 4 + 16 * number)
        if length:
            (unpacked,) = struct.unpack_from("<q", body, start)
            # A length of -1 marks a buffer that is stored as it is.
            total += length if unpacked < 0 else unpacked
    return total


def _follow(metadata: bytes, place: int) -> int:
    """Return the place to which an offset in a flatbuffer points."""
    return place + int(struct.unpack_from("<I", metadata, place)[0])


def _field(metadata: bytes, table: int, number: int) -> int:
    """Return the place of a field in a table of a flatbuffer; 0 if the field is absent."""
    layout = table - struct.unpack_from("<i", metadata, table)[0]
    (size,) = struct.unpack_from("<H", metadata, layout)
    offset = struct.unpack_from("<H", metadata, layout + 4 + 2 * number)[0] if 4 + 2 * number < size else 0
    return int(table + offset) if offset else 0


_ROWS = 4096
"""Number of rows that are unpacked at a time."""
_STATE, _SPLITS = "state.json", "dataset_dict.json"


def is_dataset(path: Path) -> bool:
    """Return whether `save_to_disk` wrote this directory, as a data set or as several splits of one."""
    return path.is_dir() and any((path / name).is_file() for name in (_STATE, _SPLITS))


def dataset_table(path: Path) -> Table:
    """Describe the columns of a data set, or of an Arrow file."""
    files = _arrow_files(path)
    schema = arrow_schema(path, files[0])

    def batches(name: str) -> Iterator[Any]:
        for batch in arrow_batches(path, files, [name]):
            for start in range(0, len(batch), _ROWS):
                column = batch.column(0)[start : start + _ROWS]
                yield getattr(column, "storage", column)

    def head(name: str) -> list[Any]:
        first = next((batch for batch in batches(name) if batch.null_count < len(batch)), ())
        return [value.as_py() for value in first[:SAMPLE]] if len(first) else []

    def read(names: Sequence[str]) -> Any:
        found, n_bytes = [], 0
        for batch in arrow_batches(path, files, names):
            found.append(batch)
            n_bytes += batch.nbytes
            require_memory(path, join_names(names), (n_bytes,), np.dtype("u1"), "name fewer columns")
        chosen = optional("pyarrow", path).schema([schema.field(name) for name in names])
        with reading(path):
            return optional("pyarrow", path).Table.from_batches(found, chosen).to_pandas(ignore_metadata=True)

    return arrow_table(path, schema, read, head, batches)


def _arrow_files(path: Path) -> list[Path]:
    """List the parts of a data set in order; a file is its own single part."""
    if path.is_file():
        return [path]
    if (path / _SPLITS).is_file():
        with reading(path):
            splits = [str(name) for name in read_json(path / _SPLITS)["splits"]]
        raise UnreadableFileError(
            f"{path} must be one split of a data set, got the splits {join_names(splits)}; pass {path}/NAME"
        )
    with reading(path):
        state = read_json(path / _STATE)
        names = [str(entry["filename"]) for entry in state["_data_files"]]
        chosen = bool(state.get("_indices_data_files") or state.get("_indices_files"))
    if chosen:
        raise UnreadableFileError(
            f"{path} must contain its rows in order, got indices that select rows; "
            "call flatten_indices() before save_to_disk"
        )
    if not names or any(Path(name).name != name or not (path / name).is_file() for name in names):
        raise UnreadableFileError(f"{path} must contain the files that {_STATE} names, got {join_names(names)}")
    files = [path / name for name in names]
    require_plain(path, files)
    return files
