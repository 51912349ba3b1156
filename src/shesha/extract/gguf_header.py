"""The header of a GGUF file, which is checked before a network is built from it."""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import IO

from shesha.support.files import open_regular

_FORMATS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_TEXT, _ARRAY, _DEEPEST = 8, 9, 4
"""Types of values, and how deeply arrays may be nested."""


def read_gguf_numbers(file: Path) -> dict[str, int]:
    """Return the whole numbers in the header by name; raise ValueError if the file does not contain what it declares.

    Readers of the format trust the declared numbers of entries, so a damaged header would exhaust memory or time.
    """
    with open_regular(file, "model") as stream:
        try:
            return _Header(stream).numbers()
        except (ValueError, struct.error, KeyError) as error:
            raise ValueError(f"model must be an undamaged GGUF file, got {file}: {error}") from error


class _Header:
    """Reads the header from start to end, and never more than the file contains."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream, self._left = stream, os.fstat(stream.fileno()).st_size
        if self._take(4) != b"GGUF":
            raise ValueError("it does not begin with GGUF")
        version = self._take(4)
        self._order = "<" if version[:2] != b"\0\0" else ">"

    def numbers(self) -> dict[str, int]:
        """Read all entries and the descriptions of all tensors, and return the whole numbers among the entries."""
        n_tensors, n_entries = self._number("Q"), self._number("Q")
        found: dict[str, int] = {}
        for _ in range(n_entries):
            name, value = self._text(), self._value(self._number("I"))
            if value is not None:
                found[name] = value
        for _ in range(n_tensors):
            self._text()
            self._skip(8 * self._number("I") + 12)
        return found

    def _value(self, kind: int, depth: int = 0) -> int | None:
        """Read a value, and return it if it is a whole number."""
        if kind == _TEXT:
            self._text()
        elif kind == _ARRAY and depth < _DEEPEST:
            inner, length = self._number("I"), self._number("Q")
            if inner in _FORMATS:
                self._skip(length * struct.calcsize(_FORMATS[inner]))
                return None
            for _ in range(length):
                self._value(inner, depth + 1)
        elif kind in _FORMATS:
            value = self._number(_FORMATS[kind])
            return value if type(value) is int else None
        else:
            raise ValueError(f"it contains a value of the unknown type {kind}")
        return None

    def _number(self, form: str) -> int:
        (value,) = struct.unpack(self._order + form, self._take(struct.calcsize(form)))
        return value  # type: ignore[no-any-return]

    def _text(self) -> str:
        return self._take(self._number("Q")).decode("utf-8", "replace")

    def _take(self, n_bytes: int) -> bytes:
        self._require(n_bytes)
        return self._stream.read(n_bytes)

    def _skip(self, n_bytes: int) -> None:
        self._require(n_bytes)
        self._stream.seek(n_bytes, os.SEEK_CUR)

    def _require(self, n_bytes: int) -> None:
        self._left -= n_bytes
        if self._left < 0:
            raise ValueError("it ends within its header")
