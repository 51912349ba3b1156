"""Read .json and .jsonl files of embeddings: responses of services, batch outputs, records and plain lists."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain, count
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np

from shesha.inputs import NamedRows, Names
from shesha.inputs.vector_columns import Vectors
from shesha.io._unsupported_formats import array_contents
from shesha.io.array_selection import Contents, Keys, NamedArrays, flatten, gather, in_memory, labels_of_arrays
from shesha.io.file_checks import (
    TOKENS,
    UnreadableFileError,
    file_ending,
    file_stem,
    open_bytes,
    reading,
    require_plain,
)
from shesha.io.tables import Table, contents_of_table, frame_table, labels_of_table
from shesha.support.layer_axis import LayerAxis
from shesha.support.memory import format_bytes, memory_budget
from shesha.support.provenance import state
from shesha.support.types import Array
from shesha.support.wording import natural_place, visible_name

_PER_OBJECT, _PER_VALUE = 72, 40
"""Bytes of memory that a list or dictionary, and any value, need when they are parsed."""
_IDS = ("custom_id", "key", "recordId", "record_id", "id")
"""Names of the identity of a response or record, of which the first one is used."""
_INSIDE = ("response", "body", "modelOutput", "result", "output")
"""Names under which a response is wrapped."""
_LISTS = ("data", "embeddings", "predictions", "points", "vectors", "results", "items", "records", "rows")
"""Names under which a response lists its records."""
_VECTORS = ("embedding", "values", "vector", "embeddings", "vectors")
"""Names under which a record of a response holds its vector."""
_BESIDE = {"ids": "id", "texts": "text", "documents": "document", "inputs": "input"}
"""Names of lists beside a list of vectors, with the names of their columns."""
_FEATURES = re.compile(r"(?:dim|d|f|feat|feature|x|v|pc|col|emb|embedding|latent|z)[_.\- ]?\d+", re.IGNORECASE)


@dataclass
class Records:
    """The records of a file: their columns, some of vectors, and the identities that their service stores."""

    columns: dict[str, list[Any]] = field(default_factory=dict)
    ids: list[Any] | None = None
    id_name: str = ""
    """Name of the identities, such as custom_id; empty for an index."""


def open_json(path: Path, keys: Keys, labels: str | Sequence[str] | None, layer_axis: LayerAxis) -> Contents:
    """Read a JSON file: a table of records, of which some columns may hold vectors, or nested arrays."""
    found = _parse(path)
    if isinstance(found, NamedArrays):
        return array_contents(path, found, keys, layer_axis)
    table, names = _as_table(path, found)
    return contents_of_table(path, table, keys, labels, layer_axis, names)


def labels_of_json(path: Path, column: str | None) -> Array | NamedRows:
    """Read one field of the records as labels."""
    found = _parse(path)
    if isinstance(found, NamedArrays):
        return labels_of_arrays(path, found, column)
    table, names = _as_table(path, found)
    labels = labels_of_table(path, table, column)
    return labels if names is None else NamedRows(np.asarray(labels), names)


def is_own_result(path: Path) -> bool:
    """Return whether a file holds numbers that this library wrote about data (`--json`, `save`), which are not data."""
    try:
        with path.open("rb") as stream:
            start = stream.read(64)
    except OSError:
        return False
    return start.startswith(b"{") and start[1:].lstrip().startswith(b'"shesha"')


def holds_embeddings(path: Path) -> bool:
    """Return whether a JSON file seems to contain vectors: many numbers in a row near its start."""
    if is_own_result(path):
        return False
    try:
        with open_bytes(path) as stream:
            start = stream.read(1 << 16)
    except (OSError, ValueError, EOFError):
        return False
    numbers = longest = 0
    for part in start.replace(b"[", b",").split(b","):
        text = part.strip(b" \r\n\t]}")
        numbers = numbers + 1 if text[:1].isdigit() or text[:1] == b"-" else 0
        longest = max(longest, numbers)
    return longest > 3 or b'"embedding"' in start


def _as_table(path: Path, records: Records) -> tuple[Table, Names | None]:
    """Return the records as a table, and the row names that a service stores."""
    import pandas as pd

    plain = {name: pd.Series(values, dtype=_dtype(values)) for name, values in records.columns.items()}
    table = frame_table(path, pd.DataFrame(plain))
    names = None
    if records.ids is not None:
        ids = np.array([str(value) for value in records.ids], dtype=object)
        names = Names.build(ids, records.id_name, chosen="format" if records.id_name else "")

    def vectors(name: str, found: Vectors) -> Array:
        values = records.columns[name]
        is_list = any(isinstance(value, np.ndarray) for value in values)
        return _stack(path, name, values) if is_list else table.vectors(name, found)

    return replace(table, vectors=vectors), names


def _dtype(values: Sequence[Any]) -> Any:
    """Return the type of a column: objects for lists, and whatever pandas infers for values."""
    nested = any(isinstance(value, np.ndarray | list | dict) for value in values)
    return object if nested or all(value is None for value in values) else None


def _stack(path: Path, name: str, values: Sequence[Any]) -> Array:
    """Stack vectors of equal length; a missing vector becomes a row of NaN."""
    shape: tuple[int, ...] | None = None
    for number, value in enumerate(values, 1):
        if isinstance(value, np.ndarray):
            shape = value.shape if shape is None else shape
            if value.shape != shape:
                nested = len(shape) == value.ndim == 2 and shape[1] == value.shape[1]
                raise UnreadableFileError(
                    f"JSON file {path} must contain vectors of one length as {name}, got {shape[0]} "
                    f"{'vectors' if nested else 'numbers'} at first and {value.shape[0]} in record {number}"
                    f"{TOKENS if nested else ''}"
                )
        elif value is not None:
            raise UnreadableFileError(
                f"JSON file {path} must contain a list of numbers as {name} of every record, got {str(value)[:40]!r} "
                f"in record {number}"
            )
    missing = sum(value is None for value in values)
    if missing:
        state(f"{file_stem(path)}: {missing} of {len(values)} records without {name}")
    empty = np.full(shape or (0,), np.nan)
    return np.stack([empty if value is None else value for value in values])


def _fields(record: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the fields of a record with their vectors; several vectors under one name become a field each."""
    for name, value in record.items():
        if (
            name in _VECTORS
            and isinstance(value, Mapping)
            and set(value) - {"values"}
            and _are_vectors([*value.values()])
        ):
            for own, vector in value.items():
                yield f"{name}.{own}", _vector(vector)
        else:
            yield str(name), _vector(value)


def _has_named_vectors(record: Mapping[str, Any]) -> bool:
    """Return whether a record has several vectors, each under a name of its own."""
    return any(isinstance(value, np.ndarray) and name.partition(".")[0] in _VECTORS for name, value in record.items())


def _vector(value: Any) -> Any:
    """Return a list of numbers, nested to any depth, as an array; any other value as it is."""
    if isinstance(value, Mapping) and isinstance(value.get("values"), list) and "indices" not in value:
        value = value["values"]
    if isinstance(value, str) and value[:1] == "[" and value[-1:] == "]":
        with suppress(ValueError, RecursionError):
            value = json.loads(value)
    if not isinstance(value, list) or not value:
        return value
    try:
        array = np.asarray(value)
        if array.dtype.kind == "O" and not any(isinstance(item, str | dict) for item in value):
            array = np.asarray(value, dtype=float)
    except (ValueError, TypeError, OverflowError):
        return value
    return array if array.dtype.kind in "fiub" else value


def _decode_text(text: Any) -> Any:
    """Return float32 values that a service sent as base64 text; any other value as it is."""
    if not isinstance(text, str):
        return text
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return text
    return np.frombuffer(data, "<f4") if data and len(data) % 4 == 0 else text


_PARTS = re.compile(
    r"(?P<family>(?:(?:.*[-_.])?(?:resp(?:onse)?s?|batch|chunks?|parts?|shards?|pages?|outputs?|results?)[-_.]?)?)\d+"
    r"(?P<end>(?:[-_.](?:outputs?|results?|responses?))?)",
    re.IGNORECASE,
)
"""Names of the files in which a program stored one batch of embeddings after another."""


def json_parts(path: Path) -> list[Path]:
    """List the files of a folder, in natural order, if they are numbered batches of embeddings; otherwise none."""
    if not path.is_dir():
        return []
    files = [file for file in path.iterdir() if not file.name.startswith((".", "_")) and file.is_file()]
    names = [_PARTS.fullmatch(file_stem(file)) for file in files]
    kinds = {(name["family"], name["end"], file_ending(file)) for name, file in zip(names, files, strict=True) if name}
    one = len(files) > 1 and all(names) and len(kinds) == 1 and file_ending(files[0]).startswith((".json", ".ndjson"))
    files = sorted(files, key=natural_place) if one else []
    return files if files and holds_embeddings(files[0]) and holds_embeddings(files[-1]) else []


def _documents(path: Path) -> Iterator[Any]:
    """Yield the documents of a file, or the records of its only document if this is a list."""
    document = None if file_ending(path).startswith((".jsonl", ".ndjson")) else _document(path)
    if document is None:
        yield from _lines(path)
    else:
        yield from document if isinstance(document, list) else [document]


def _parse(path: Path) -> Records | NamedArrays:
    if files := json_parts(path):
        require_plain(path, files)
        state(f"{path.name}: {len(files)} files as one table")
        return _collect(path, chain.from_iterable(map(_documents, files)))
    document = None if file_ending(path).startswith((".jsonl", ".ndjson")) else _document(path)
    if document is None:
        return _collect(path, _lines(path))
    if isinstance(document, list) and document and isinstance(document[0], Mapping):
        return _collect(path, document)
    if isinstance(document, list):
        _require_rectangle(path, document)
        array = _vector(document)
        if isinstance(array, np.ndarray):
            return NamedArrays({file_stem(path): in_memory(array)})
    if isinstance(document, Mapping):
        if set(document) == {"schema", "data"} and isinstance(document["data"], list):
            return _collect(path, document["data"])
        if "columns" not in document and _response(document) is not None:
            return _collect(path, [document])
        if (table := _table(document)) is not None:
            return table
    if not isinstance(document, list | Mapping):
        raise UnreadableFileError(f"JSON file {path} must contain a list or an object, got {type(document).__name__}")
    with reading(path):
        return gather(path, flatten(path, document, lambda _: None))


def _require_rectangle(path: Path, rows: Sequence[Any]) -> None:
    lengths = [len(row) if isinstance(row, list) else None for row in rows]
    if lengths and lengths[0] is not None and len(set(lengths)) > 1:
        other = next(number for number, length in enumerate(lengths) if length != lengths[0])
        nested = isinstance(rows[0][0], list) if rows[0] else False
        raise UnreadableFileError(
            f"JSON file {path} must contain vectors of one length, got {lengths[0]} {'lists' if nested else 'numbers'} "
            f"in row 1 and {'no list' if lengths[other] is None else lengths[other]} in row {other + 1}"
            f"{TOKENS if nested else ''}"
        )


def _table(document: Mapping[str, Any]) -> Records | None:
    """Return the columns of a table that pandas or datasets wrote as one object; None for other objects."""
    values = list(document.values())
    if isinstance(document.get("columns"), list) and isinstance(document.get("data"), list):
        rows = [[_vector(value) for value in row] for row in document["data"]]
        names = list(map(str, document["columns"]))
        columns = {name: [row[i] for row in rows] for i, name in enumerate(names)}
        return Records(columns, _own_names(document.get("index")))
    if len(values) > 1 and all(isinstance(value, Mapping) and value for value in values):
        keys, outer = list(values[0]), list(document)
        plain = any(not isinstance(item, list | dict) for value in values for item in value.values())
        if plain and all(list(value) == keys for value in values):
            counted = outer == [str(i) for i in range(len(outer))] != keys
            if counted or (all(map(_FEATURES.fullmatch, keys)) and not all(map(_FEATURES.fullmatch, outer))):
                # Rows by name, of columns by name.
                return Records({key: [_vector(value[key]) for value in values] for key in keys}, _own_names(outer))
            columns = {name: list(map(_vector, value.values())) for name, value in document.items()}
            return Records(columns, _own_names(keys))
    if not values or not all(isinstance(value, list) for value in values) or len(set(map(len, values))) != 1:
        return None
    nested = any(isinstance(item, list | str) for value in values for item in value[:1])
    if nested or all(map(_FEATURES.fullmatch, document)):
        return Records({name: [_vector(item) for item in value] for name, value in document.items()})
    return None


def _own_names(index: Any) -> list[Any] | None:
    """Return an index, unless it only numbers the rows."""
    if not isinstance(index, list) or [str(value) for value in index] == [str(i) for i in range(len(index))]:
        return None
    return index


def _document(path: Path) -> Any:
    """Parse a file that is one document; None if it is a document in every line."""
    with reading(path), open_bytes(path) as stream:
        text = stream.read()
    _require_room(path, text)
    try:
        return json.loads(text)
    except RecursionError as error:
        raise UnreadableFileError(f"JSON file {path} must not be nested so deeply, got too many levels") from error
    except ValueError as error:
        # Many files with one document per line have the ending .json.
        if str(error).startswith("Extra data") and b"\n" in text:
            return None
        with reading(path):
            raise


def _require_room(path: Path, text: bytes) -> None:
    """Refuse text whose values would not fit the memory: a few bytes of text can become a large object."""
    need = _PER_OBJECT * (text.count(b"[") + text.count(b"{")) + _PER_VALUE * text.count(b",") + len(text)
    if need > memory_budget():
        raise UnreadableFileError(
            f"JSON file {path} must fit the memory budget of {format_bytes(memory_budget())}, got values of up to "
            f"{format_bytes(need)}: write one record per line (.jsonl), use .npy or .parquet, or raise SHESHA_MEMORY"
        )


def _lines(path: Path) -> Iterator[Any]:
    """Parse one document per line; bulk files of Elasticsearch have a line with the identifier before each document."""
    action: Mapping[str, Any] = {}
    with open_bytes(path) as stream:
        for number in count(1):
            with reading(path):
                line = stream.readline()
            if not line:
                return
            if not line.strip():
                continue
            _require_room(path, line)
            try:
                document = json.loads(line)
            except (ValueError, RecursionError) as error:
                start = line[:40].decode("utf-8", "replace")
                raise UnreadableFileError(
                    f"JSON file {path} must contain one document per line, got {start!r} in line {number}"
                ) from error
            if _is_bulk_action(document):
                action = next(iter(document.values()))
                continue
            named = "_id" in action and isinstance(document, Mapping)
            yield {**document, "_id": action["_id"]} if named else document
            action = {}


def _is_bulk_action(document: Any) -> bool:
    """Return whether a line of a bulk file says what to do with the document in the next line."""
    if not isinstance(document, Mapping) or len(document) != 1 or next(iter(document)) not in ("index", "create"):
        return False
    action = next(iter(document.values()))
    return isinstance(action, Mapping) and all(key.startswith("_") for key in action)


def _collect(path: Path, documents: Iterable[Any]) -> Records | NamedArrays:
    """Return the records of all documents; identities of responses name the rows."""
    rows: list[dict[str, Any]] = []
    ids: list[Any] = []
    id_name = ""
    lists: list[Any] = []
    size = 0
    for document in documents:
        if isinstance(document, Mapping):
            response = _response(document)
            batch = response is not None and (
                _reports_on_request(document) or any(isinstance(document.get(n), Mapping) for n in _INSIDE)
            )
            named = next((name for name in _IDS if name in document), None) if batch else None
            own = None if named is None else document[named]
            new = [dict(_fields(document))] if response is None else response
            for number, row in enumerate(new):
                inner_name = None if response is None else next((name for name in _IDS if name in row), None)
                inner = None if inner_name is None else row.pop(inner_name)
                id_name = id_name or named or inner_name or ""
                ids.append(inner if own is None else own if len(new) == 1 else f"{own}[{number}]")
                rows.append(row)
                size += sum(value.nbytes if isinstance(value, np.ndarray) else _PER_VALUE for value in row.values())
        elif isinstance(document, list):
            lists.append(_vector(document))
            size += 8 * len(document)
        else:
            raise UnreadableFileError(f"JSON file {path} must contain objects or lists, got {document!r:.40}")
        if size > memory_budget():
            raise UnreadableFileError(
                f"JSON file {path} must fit the memory budget of {format_bytes(memory_budget())}, got more: use .npy "
                "or .parquet, or raise SHESHA_MEMORY"
            )
    if lists and rows:
        raise UnreadableFileError(f"JSON file {path} must contain either objects or lists, got both")
    if lists:
        return NamedArrays({file_stem(path): in_memory(_stack(path, "vector", lists))})
    if rows and all(set(row) == {"index", "embedding"} for row in rows):
        # Answers to parallel requests come in any order, with the number of the request.
        numbers = [row["index"] for row in rows]
        if sorted(map(str, numbers)) == sorted(map(str, range(len(rows)))):
            state(f"{file_stem(path)}: records in the order of their index")
            rows = [{"embedding": row["embedding"]} for row in sorted(rows, key=lambda row: int(row["index"]))]
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {visible_name(name): [row.get(name) for row in rows] for name in names}
    for name, values in columns.items():
        # A list of one vector in each record is this vector.
        vectors = [
            value[0] for value in values if isinstance(value, np.ndarray) and value.ndim == 2 and len(value) == 1
        ]
        if len(vectors) == len(values):
            columns[name] = vectors
    return Records(columns, ids if any(own is not None for own in ids) else None, id_name)


def _response(document: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """Return the records in the response of an embedding service; None if a document is not one.

    A failed request in a batch output is a record without a vector.
    """
    inside, wrapped = document, False
    while name := next((name for name in _INSIDE if isinstance(inside.get(name), Mapping)), None):
        inside, wrapped = inside[name], True
    for name in _LISTS:
        value = inside.get(name)
        if name == "embeddings" and isinstance(value, Mapping) and all(map(_are_vectors, value.values())) and value:
            # One list of vectors per number type, as Cohere sends them.
            return _as_records(inside, {str(kind): vectors for kind, vectors in value.items()})
        if name in ("embeddings", "data", "vectors") and _are_vectors(value):
            return _as_records(inside, {"embedding": value})
        if isinstance(value, Mapping) and value and all(isinstance(record, Mapping) for record in value.values()):
            # Pinecone lists fetched records by their identities.
            value = [{"id": key} | dict(record) for key, record in value.items()]
        if isinstance(value, list) and value and all(isinstance(record, Mapping) for record in value):
            records = [_plain(record) for record in value]
            if any(isinstance(record.get("embedding"), np.ndarray) or _has_named_vectors(record) for record in records):
                if all(isinstance(record.get("index"), int) for record in value):
                    records = [records[i] for i in np.argsort([record["index"] for record in value], kind="stable")]
                return records
    failed = _reports_on_request(document)
    if wrapped or failed or set(document) <= {"embedding", "object", "model", "usage", "inputTextTokenCount"}:
        record = _plain(inside) if wrapped or not failed else {}
        vector = record.get("embedding")
        if isinstance(vector, np.ndarray):
            return [{"embedding": vector}]
        return [{"embedding": None}] if failed else None
    return None


def _reports_on_request(document: Mapping[str, Any]) -> bool:
    """Return whether a line of a batch output reports on a request, which may have failed."""
    return any(name in document for name in _IDS) and "error" in document and "response" in document


def _are_vectors(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list) and bool(value) and all(isinstance(row, list) and row for row in value)


def _as_records(response: Mapping[str, Any], vectors: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Return vectors as records, with the texts or names that a response lists beside them."""
    n_rows = len(next(iter(vectors.values())))
    more = {
        column: response[name]
        for name, column in _BESIDE.items()
        if isinstance(response.get(name), list) and len(response[name]) == n_rows
    }
    records = [{name: _vector(rows[i]) for name, rows in vectors.items() if i < len(rows)} for i in range(n_rows)]
    return [record | {name: values[i] for name, values in more.items()} for i, record in enumerate(records)]


def _plain(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record with its vector as `embedding`, without the parts that services add."""
    found = {name: value for name, value in _fields(record) if name not in ("object", "index")}
    for name in _VECTORS:
        vector = _decode_text(found.get(name)) if name == "embedding" else found.get(name)
        if isinstance(vector, np.ndarray):
            del found[name]
            return {"embedding": vector} | found
    return found
