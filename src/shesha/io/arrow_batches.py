"""Read Arrow files batch by batch; batches that unpack to more than the memory budget are refused."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from shesha.io.file_checks import UnreadableFileError, optional, reading, require_plausible
from shesha.support.memory import memory_budget, readable

_KIND, _HEADER, _DATA, _BUFFERS, _COMPRESSION = 1, 2, 1, 2, 3
"""Numbers of fields in Arrow's tables Message, DictionaryBatch and RecordBatch."""
_DICTIONARY = 2
"""Kind of a message that contains a dictionary."""


def arrow_schema(path: Path, file: Path) -> Any:
    """Return the names and types of the columns of an Arrow file."""
    with reading(path):
        return optional("pyarrow.ipc", path).open_stream(_source(path, file)).schema


def arrow_batches(path: Path, files: Sequence[Path], names: Sequence[str]) -> Iterator[Any]:
    """Yield record batches with the given columns, after checking how much each of them unpacks to."""
    pyarrow, ipc = optional("pyarrow", path), optional("pyarrow.ipc", path)
    for file in files:
        with reading(path):
            _require_sizes(path, ipc.MessageReader.open_stream(_source(path, file)))
            schema = ipc.open_stream(_source(path, file)).schema
            options = ipc.IpcReadOptions(included_fields=[schema.get_field_index(name) for name in names])
            batches = iter(ipc.open_stream(_source(path, file), options=options))
        while True:
            with reading(path):
                batch = next(batches, None)
                if batch is None:
                    break
                # Without this check, a damaged file would make the library read beyond its buffers.
                batch.validate(full=True)
                chosen = pyarrow.RecordBatch.from_arrays([batch.column(name) for name in names], names=list(names))
            yield chosen


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
                    f"a batch in {path} must fit the memory budget of {readable(memory_budget())}, got "
                    f"{readable(declared)}: write smaller batches, or raise SHESHA_MEMORY"
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
