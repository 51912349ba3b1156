"""Columns of a table that contain one vector per row: lists, text, raw bytes or records of numbers."""

from __future__ import annotations

import base64
import binascii
import importlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np

from shesha.support.device_arrays import array_shape, to_host
from shesha.support.types import Array

_NUMBER = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?|[+-]?(?:nan|inf|NaN|Infinity)|null|None|NULL"
_DECIMAL_COMMA = r"[+-]?\d+(?:,\d+)?(?:[eE][+-]?\d+)?"
_SEPARATORS = {",": rf"(?:{_NUMBER})(?:\s*,\s*(?:{_NUMBER}))*\s*,?", ";": rf"(?:{_NUMBER})(?:\s*;\s*(?:{_NUMBER}))*"}
_SEPARATORS |= {"|": rf"(?:{_NUMBER})(?:\s*\|\s*(?:{_NUMBER}))*", " ": rf"(?:{_NUMBER})(?:\s+(?:{_NUMBER}))*"}
_PATTERNS = {separator: re.compile(pattern) for separator, pattern in _SEPARATORS.items()}
_WITH_COMMAS = {
    ";": re.compile(rf"{_DECIMAL_COMMA}(?:\s*;\s*{_DECIMAL_COMMA})*"),
    " ": re.compile(rf"{_DECIMAL_COMMA}(?:\s+{_DECIMAL_COMMA})*"),
}
_BRACKETS = "[](){}<>"
_BARE = 4
"""Fewest numbers in a text without brackets that count as a vector; fewer are dates, coordinates or sizes."""
_WRAPPERS = re.compile(
    r"(?:np|numpy|torch)?\.?(?:float|int|uint|bfloat)\d*\(|(?:array|tensor)\(|,?\s*(?:d?type|device|grad_fn|requires_grad)=[^,)\]]*"
)
_LOST_AS_TEXT = {
    r"(?s)\s*(?:(?:array|tensor)\()?\[.*\.\.\.": (
        "contains vectors that NumPy shortened to '...' when it printed them, so values are lost"
    ),
    r"\{(?:\d+:[^,}]*,?)*\}/\d+$": "contains sparse vectors of pgvector; select them as dense ones (column::vector)",
}
"""Text of vectors that cannot be read, with the reason."""
SPARSE = "contains sparse vectors; save them as one matrix with scipy.sparse.save_npz"
"""Why the values of sparse vectors cannot be read without their positions."""
_BASE64 = re.compile(r"[A-Za-z0-9+/\-_]{16,}={0,2}")
_BITS, _HEX = re.compile(r"[01]{16,}"), re.compile(r"(\\x)?([0-9a-fA-F]{2}){8,}")
_FLOATS = (np.float32, np.float16, np.float64)
_MOST_SPREAD = 5.0
"""Largest standard deviation of the binary exponents of the values of a vector; wrong types have about 9 or more."""
_ONE_SIZE, _OF_EACH_SIGN = 0.7, 0.1
"""Standard deviation of the binary exponents below which values have one size, and smallest share of each sign."""
_CHUNK_BYTES = 1 << 25
_SHOWN = 40
_NUMPY_FILE, _PICKLE = b"\x93NUMPY", b"\x80"


@dataclass(frozen=True)
class Vectors:
    """How a column stores its vectors, as a sample of its values shows.

    `problem` says why the sample cannot be read; then there is no function to parse values.
    """

    form: str
    """Storage in words, such as 'text' or 'float32 bytes'; empty for lists."""
    parse: Callable[[Sequence[Any], str, int], Array] | None
    width: int = 0
    """Number of values of the first vector."""
    whole: bool = False
    """Whether the sample contains integers only, as token numbers and codes do."""
    problem: str = ""
    are_tokens: bool = False
    """Whether each value contains several vectors, of which there are other numbers in other rows."""


def find_vectors(sample: Sequence[Any]) -> Vectors | None:
    """Return how values of a sample are stored, or None if they are not vectors.

    Examples
    --------
    >>> find_vectors(["[0.5, 1]", "[2, 3]"]).width, find_vectors(["good", "bad"])
    (2, None)
    """
    present = [value for value in sample if not is_missing(value)]
    if not present:
        return None
    first = present[0]
    if isinstance(first, str):
        return _find_text(present)
    if isinstance(first, bytes | bytearray | memoryview):
        return _find_bytes([bytes(value) for value in present if isinstance(value, bytes | bytearray | memoryview)])
    if isinstance(first, Mapping):
        return _find_records(present)
    return _find_lists(present)


def is_missing(value: Any) -> bool:
    """Return whether a value means that the row has no vector: None, NaN, or an empty text or list."""
    if value is None or (isinstance(value, float) and value != value) or type(value).__name__ == "NAType":
        return True
    if isinstance(value, str):
        return value.strip(_BRACKETS + " \n").lower() in ("", "nan", "none", "null", "na", "n/a", "\\n")
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple):
        # Sparse rows have no length.
        return bool(shape) and shape[0] == 0
    return hasattr(value, "__len__") and len(value) == 0


def _find_lists(present: Sequence[Any]) -> Vectors | None:
    arrays = [value for value in present if isinstance(value, list | tuple) or hasattr(value, "shape")]
    if len(arrays) < len(present):
        return None
    try:
        shapes = [array_shape(value) for value in arrays]
        first = _to_array(arrays[0])
    except (ValueError, TypeError):
        return None
    if not all(shapes) or first.dtype.kind not in "fiub":
        return None
    other = next((shape for shape in shapes if shape != shapes[0]), None)
    problem = "" if other is None else f"contains lists of different lengths, {shapes[0]} and {other}"
    tokens = other is not None and all(len(shape) == 2 and shape[1] == shapes[0][-1] for shape in shapes)
    return Vectors(
        "", stack_lists, int(np.prod(shapes[0])), first.dtype.kind in "iub", problem=problem, are_tokens=tokens
    )


def stack_lists(values: Iterable[Any], name: str, first_row: int = 0) -> Array:
    """Stack lists of equal length, which become the rows of a matrix; missing ones become rows of NaN."""
    rows = [None if is_missing(entry) or array_shape(entry) == () else _to_array(entry) for entry in values]
    return _stack(rows, name, first_row)


def _to_array(entry: Any) -> Array:
    """Return a list as an array; decimal numbers of databases become floats."""
    array = np.asarray(to_host(entry))
    is_decimal = array.dtype.kind == "O" and all(isinstance(value, Decimal) for value in array.flat)
    return array.astype(float) if is_decimal else array


def _stack(rows: Sequence[Array | None], name: str, first_row: int) -> Array:
    present = [row for row in rows if row is not None]
    if not present:
        return np.full((len(rows), 0), np.nan)
    shape = present[0].shape
    odd = next((index for index, row in enumerate(rows) if row is not None and row.shape != shape), None)
    if odd is not None:
        first = next(index for index, row in enumerate(rows) if row is not None)
        raise ValueError(
            f"{name} must contain lists of one length, got shape {shape} in row {first + first_row} and "
            f"{rows[odd].shape} in row {odd + first_row}"  # type: ignore[union-attr]
        )
    stacked = np.stack(present)
    # A column of nested lists becomes an array of arrays, which must be converted again.
    stacked = stacked if stacked.dtype.kind != "O" else np.array(stacked.tolist())
    return insert_missing(stacked, np.array([row is not None for row in rows]))


def insert_missing(vectors: Array, present: Array) -> Array:
    """Return vectors with a row of NaN wherever `present` is false."""
    if present.all():
        return vectors
    filled = np.full((len(present), *vectors.shape[1:]), np.nan, dtype=np.result_type(vectors.dtype, np.float16))
    filled[present] = vectors
    return filled


def _find_records(present: Sequence[Mapping[str, Any]]) -> Vectors | None:
    """Find vectors in records: their numeric fields, or their only field with a list."""
    fields = list(present[0])
    if {"indices", "values"} <= set(fields):
        return Vectors("", None, problem=SPARSE)
    lists = [field for field in fields if isinstance(present[0][field], list | tuple | np.ndarray)]
    if len(lists) == 1:
        inner = find_vectors([record.get(lists[0]) for record in present])
        if inner is None or inner.parse is None:
            return inner
        parse = inner.parse

        def field_values(values: Sequence[Any], name: str, row: int) -> Array:
            return parse([None if is_missing(value) else value.get(lists[0]) for value in values], name, row)

        return Vectors(f"field {lists[0]}", field_values, inner.width, inner.whole, inner.problem)
    numeric = [field for field in fields if isinstance(present[0][field], int | float | np.number)]
    if len(numeric) < 2 or len(numeric) < len(fields):
        return None

    def records(values: Sequence[Any], name: str, row: int) -> Array:
        return stack_lists([None if is_missing(v) else [v.get(f) for f in numeric] for v in values], name, row)

    return Vectors("records", records, len(numeric))


def _find_bytes(present: Sequence[bytes]) -> Vectors | None:
    if present[0].startswith(_NUMPY_FILE):
        return None if not all(v.startswith(_NUMPY_FILE) for v in present) else _unreadable("contains .npy files")
    if present[0].startswith(_PICKLE) and present[0].endswith(b"."):
        return _unreadable("contains Python pickles, which are never read")
    lengths = {len(value) for value in present}
    if len(lengths) > 1:
        return _unreadable(f"contains bytes of different lengths, {len(present[0])} and {max(lengths)}")
    dtype = _float_type(present)
    if dtype is None:
        return _unreadable(
            f"contains {len(present[0])} bytes per row that are not float16, bfloat16, float32 or float64"
        )

    is_wide = dtype is np.float16 and _are_bfloat16(b"".join(present))

    def parse(values: Sequence[Any], name: str, first_row: int) -> Array:
        read = partial(np.frombuffer, dtype=np.uint16 if is_wide else dtype)
        rows = [None if is_missing(value) else to_float32(read(value)) if is_wide else read(value) for value in values]
        return _stack(rows, name, first_row)

    form = "bfloat16" if is_wide else f"{np.dtype(dtype)}"
    return Vectors(f"{form} bytes", parse, len(present[0]) // np.dtype(dtype).itemsize)


def _are_bfloat16(joined: bytes) -> bool:
    """Return whether bytes that can be float16 are the bfloat16 of values with both signs and of different sizes.

    As float16, these have nearly one size, because its exponent has three bits fewer. Values of bfloat16 below 2 then
    have sizes between 0.1 and 2, however small they are.
    """
    halves = np.abs(np.frombuffer(joined, np.float16).astype(np.float64))
    values = to_float32(np.frombuffer(joined, np.uint16)).astype(np.float64)
    if not (np.isfinite(values).all() and halves.all() and _OF_EACH_SIGN < (values < 0).mean() < 1 - _OF_EACH_SIGN):
        return False
    spread, narrow = (float(np.std(np.log2(sizes))) for sizes in (np.abs(values), halves))
    return narrow < _ONE_SIZE < spread < _MOST_SPREAD


def to_float32(halves: Array) -> Array:
    """Convert bfloat16 values, given as 16-bit integers, to the float32 values whose upper halves they are."""
    widened = halves.astype(np.uint32)
    widened <<= 16
    return widened.view(np.float32)


def _unreadable(problem: str) -> Vectors:
    return Vectors("", None, problem=problem)


def _float_type(present: Sequence[bytes]) -> Any:
    """Return the float type whose values have similar magnitudes, which no other type gives; None if there is none."""
    joined, spreads = b"".join(present), {}
    for dtype in _FLOATS:
        if len(present[0]) % np.dtype(dtype).itemsize or len(present[0]) < 2 * np.dtype(dtype).itemsize:
            continue
        raw = np.frombuffer(joined, dtype)
        if not np.isfinite(raw).all():
            continue
        values = raw.astype(np.float64)
        if not values.any() or np.abs(values).max() > 1e6:
            continue
        spreads[dtype] = float(np.std(np.log2(np.abs(values[values != 0]))))
    best = min(spreads, key=lambda dtype: spreads[dtype], default=None)
    return best if best is not None and spreads[best] < _MOST_SPREAD else None


def _find_text(present: Sequence[Any]) -> Vectors | None:
    texts = [value for value in present if isinstance(value, str)]
    if len(texts) < len(present):
        return None
    problem = next((why for mark, why in _LOST_AS_TEXT.items() if any(re.match(mark, text) for text in texts)), None)
    if problem is not None:
        return _unreadable(problem)
    if all(text.startswith(("{", "[{")) and ":" in text for text in texts):
        return _find_json(texts)
    layouts = [_TextLayout.find(text) for text in texts]
    known = [layout for layout in layouts if layout is not None]
    if len(known) * 2 > len(texts):
        layout = known[0]
        widths = {len(layout.tokens(text)) for text, found in zip(texts, layouts, strict=True) if found is not None}
        problem = ""
        if len(known) < len(texts):
            odd = layouts.index(None)
            problem = f"contains vectors as text, but not in row {odd}: {quote_start(texts[odd])}"
        elif len(widths) > 1:
            problem = f"contains vectors of different lengths as text, from {min(widths)} to {max(widths)} numbers"
        whole = not layout.decimal_comma and all("." not in text and "e" not in text.lower() for text in texts)
        tokens = len(widths) > 1 and all(text.lstrip().startswith("[[") for text in texts)
        return Vectors("text", layout.parse, max(widths), whole, problem=problem, are_tokens=tokens)
    if all(map(_BITS.fullmatch, texts)):
        return _find_bits(texts)
    if all(map(_HEX.fullmatch, texts)):
        return _find_encoded(texts, lambda text: bytes.fromhex(text.removeprefix("\\x")))
    if all(_BASE64.fullmatch(text) and len(text) % 4 == 0 for text in texts):
        return _find_encoded(texts, base64.b64decode)
    return None


def _find_bits(texts: Sequence[str]) -> Vectors:
    """Find signs that a database wrote as texts of 0 and 1."""
    widths = {len(text) for text in texts}
    if len(widths) > 1:
        return _unreadable(f"contains bits of different lengths as text, from {min(widths)} to {max(widths)}")

    def parse(values: Sequence[Any], name: str, first_row: int) -> Array:
        rows = [None if is_missing(value) else 2 * np.array([*map(int, value)], np.float32) - 1 for value in values]
        return _stack(rows, name, first_row)

    return Vectors("bits as text, read as signs", parse, widths.pop())


def _find_encoded(texts: Sequence[str], decode: Callable[[str], bytes]) -> Vectors | None:
    """Find vectors whose bytes were written as text."""
    try:
        found = _find_bytes([decode(text) for text in texts])
    except (ValueError, binascii.Error):
        return None
    if found is None or found.parse is None:
        return None
    inner = found.parse

    def parse(values: Sequence[Any], name: str, first_row: int) -> Array:
        return inner([None if is_missing(value) else decode(value) for value in values], name, first_row)

    return Vectors(f"{found.form} as text", parse, found.width)


def _find_json(texts: Sequence[str]) -> Vectors | None:
    try:
        found = find_vectors([json.loads(text) for text in texts])
    except ValueError:
        return None
    if found is None or found.parse is None:
        return None
    inner = found.parse

    def parse(values: Sequence[Any], name: str, first_row: int) -> Array:
        try:
            return inner([None if is_missing(value) else json.loads(value) for value in values], name, first_row)
        except (ValueError, AttributeError) as error:
            raise ValueError(f"{name} must contain JSON of one kind in every row ({error})") from error

    return Vectors("JSON text", parse, found.width, found.whole, found.problem)


def quote_start(text: str) -> str:
    """Return the start of a text, in quotes."""
    return repr(text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "...")


@dataclass(frozen=True)
class _TextLayout:
    """How a vector is written as text."""

    separator: str
    decimal_comma: bool
    wrapped: bool
    """Whether numbers stand in calls such as np.float32(0.5) or array([...])."""
    n_inner: int
    """Number of inner lists of a nested list; 0 if the list is flat."""

    @classmethod
    def find(cls, text: str) -> _TextLayout | None:
        wrapped = "(" in text and _WRAPPERS.search(text) is not None
        plain = _unwrap(text) if wrapped else text
        bracketed = plain.strip()[:1] in "[({<" if plain.strip() else False
        flat = _strip_brackets(plain)
        n_inner = max(0, plain.count("[") - 1)
        for patterns, comma in ((_PATTERNS, False), (_WITH_COMMAS, True)):
            for separator, pattern in patterns.items():
                if pattern.fullmatch(flat):
                    layout = cls(separator, comma, wrapped, n_inner if n_inner > 1 else 0)
                    if len(layout.tokens(text)) >= (1 if bracketed else _BARE):
                        return layout
        return None

    def tokens(self, text: str) -> list[str]:
        """Return the numbers of a vector as text."""
        flat = _strip_brackets(_unwrap(text) if self.wrapped else text)
        parts = flat.split() if self.separator == " " else flat.rstrip(self.separator + " ").split(self.separator)
        return [part.strip().replace(",", ".") if self.decimal_comma else part.strip() for part in parts]

    def parse(self, values: Sequence[Any], name: str, first_row: int = 0) -> Array:
        """Return the vectors of many rows, in pieces."""
        blocks: list[Array] = []
        width, start = 0, 0
        while start < len(values):
            stop, n_bytes = start, 0
            while stop < len(values) and n_bytes < _CHUNK_BYTES:
                n_bytes += len(values[stop]) if isinstance(values[stop], str) else 1
                stop += 1
            block = self._block(values[start:stop], name, first_row + start, width)
            width = width or block.shape[1]
            blocks.append(block if block.shape[1] == width else np.full((len(block), width), np.nan))
            start = stop
        vectors = np.concatenate([b if b.shape[1] == width else np.full((len(b), width), np.nan) for b in blocks])
        return vectors.reshape(len(vectors), self.n_inner, -1) if self.n_inner else vectors

    def _block(self, values: Sequence[Any], name: str, first_row: int, width: int) -> Array:
        present = np.array([not is_missing(value) for value in values])
        texts = [value for value, is_there in zip(values, present, strict=True) if is_there]
        if not texts:
            return np.full((len(values), width), np.nan)
        _require_whole(texts, name, (first_row + np.flatnonzero(present)).tolist())
        numbers = self._fast(texts, width) if all(isinstance(text, str) for text in texts) else None
        if numbers is None:
            numbers = self._slow(texts, name, (first_row + np.flatnonzero(present)).tolist(), width)
        return insert_missing(numbers, present)

    def _fast(self, texts: list[str], width: int) -> Array | None:
        """Parse many rows at once; return None if a row does not fit, so that the slow way can name it."""
        if self.n_inner and any(text.count("[") != self.n_inner + 1 for text in texts):
            return None
        joined = _ROW_END.join(_unwrap(text) for text in texts) if self.wrapped else _ROW_END.join(texts)
        try:
            raw = joined.encode("ascii")
        except UnicodeEncodeError:
            return None
        if self.separator == " ":
            lines = raw.translate(_TO_SPACE).split(_ROW_END.encode())
            cleaned = b"\n".join(b",".join(line.split()) for line in lines)
            cleaned = cleaned.replace(b",", b".").replace(b" ", b",") if self.decimal_comma else cleaned
        else:
            cleaned = raw.translate(_TABLES[self.separator, self.decimal_comma], _DELETED)
        return _parse_lines(cleaned, len(texts), width)

    def _slow(self, texts: Sequence[Any], name: str, rows: Sequence[int], width: int) -> Array:
        vectors = []
        for row, text in zip(rows, texts, strict=True):
            try:
                vector = [_number(token) for token in self.tokens(text)]
            except (ValueError, TypeError, AttributeError, OverflowError):
                raise ValueError(
                    f"{name} must contain a vector in every row, got {quote_start(str(text))} in row {row}"
                ) from None
            width = width or len(vector)
            inner = text.count("[") - 1 if self.n_inner else 0
            if len(vector) != width or (self.n_inner and inner != self.n_inner):
                raise ValueError(
                    f"{name} must contain vectors of one length, got {width} numbers in row {rows[0]} and "
                    f"{len(vector)} in row {row}"
                )
            vectors.append(vector)
        return np.array(vectors)


_CLOSED_BY = {"[": "]", "(": ")", "{": "}"}


def _require_whole(texts: Sequence[Any], name: str, rows: Sequence[int]) -> None:
    """Refuse texts that open a bracket and do not close it, as those that a spreadsheet has cut off."""
    for row, text in zip(rows, texts, strict=True):
        if not isinstance(text, str) or text[-1:] == _CLOSED_BY.get(text[:1]):
            continue
        plain = text.strip()
        if (end := _CLOSED_BY.get(plain[:1])) and plain[-1:] != end:
            raise ValueError(
                f"{name} must contain whole vectors, got {len(text):,} characters in row {row} that begin with "
                f"{plain[0]} and do not end with {end}, as after a spreadsheet cut them off, whose cells hold 32,767 "
                "characters; export the vectors again, without it"
            )


_ROW_END = "\x1e"
_DELETED = (_BRACKETS + "\"' \t\r\n").encode()
_TO_SPACE = bytes.maketrans((_BRACKETS + "\"'\t\r\n").encode(), b" " * (len(_BRACKETS) + 5))
_TABLES = {
    (separator, comma): bytes.maketrans(*((_ROW_END + "," + separator).encode(), b"\n.,"))
    if comma
    else bytes.maketrans((_ROW_END + separator).encode(), b"\n,")
    for separator in (",", ";", "|")
    for comma in (False, True)
}


def _number(token: str) -> float:
    return np.nan if token in ("null", "None", "NULL") else float(token)


def _unwrap(text: str) -> str:
    return _WRAPPERS.sub("", text)


def _strip_brackets(text: str) -> str:
    return re.sub(r"[\[\](){}<>\"']", " ", text).strip()


def _parse_lines(cleaned: bytes, n_rows: int, width: int) -> Array | None:
    """Parse lines of numbers separated by commas; return None if they are not a matrix."""
    columns = width or cleaned.partition(b"\n")[0].count(b",") + 1
    try:
        csv, arrow = importlib.import_module("pyarrow.csv"), importlib.import_module("pyarrow")
    except ImportError:
        return _parse_with_numpy(cleaned, n_rows, columns)
    names = [str(column) for column in range(columns)]
    nulls = ["", "nan", "NaN", "null", "None", "NULL"]
    try:
        table = csv.read_csv(
            arrow.BufferReader(cleaned),
            read_options=csv.ReadOptions(column_names=names, block_size=max(1 << 22, len(cleaned) // 4)),
            parse_options=csv.ParseOptions(quote_char=False, ignore_empty_lines=False),
            convert_options=csv.ConvertOptions(column_types=dict.fromkeys(names, arrow.float64()), null_values=nulls),
        )
    except arrow.ArrowInvalid:
        return None
    if table.num_rows != n_rows:
        return None
    values = np.empty((n_rows, columns))
    for column, name in enumerate(names):
        values[:, column] = table[name].to_numpy()
    return values


def _parse_with_numpy(cleaned: bytes, n_rows: int, columns: int) -> Array | None:
    lines = cleaned.split(b"\n")
    if len(lines) != n_rows or any(line.count(b",") != columns - 1 for line in lines):
        return None
    try:
        return np.array([_number(token) for token in cleaned.decode().replace("\n", ",").split(",")]).reshape(
            n_rows, -1
        )
    except ValueError:
        return None
