"""Files of vectors: binary (.fvecs) and text (GloVe, word2vec, fastText, numbers)."""

from __future__ import annotations

import re
import shlex
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice, takewhile
from pathlib import Path
from typing import Any

import numpy as np

from shesha.inputs import NamedRows, Names
from shesha.io._unsupported_formats import array_contents, convert_numbers, is_faiss
from shesha.io.array_selection import Contents, Keys, NamedArrays, StoredArray, read_lines, refused
from shesha.io.file_checks import UnreadableFileError, file_stem, open_bytes, reading, require_memory
from shesha.io.tables import contents_of_table, csv_table, labels_of_table
from shesha.io.torch_files import is_zip, torch_arrays
from shesha.support.layer_axis import LayerAxis
from shesha.support.types import Array

_VECS = {".fvecs": "<f4", ".bvecs": "|u1", ".ivecs": "<i4"}
_FASTTEXT = (793712314).to_bytes(4, "little")
_BLOCK = 1 << 16
"""Number of vectors that are checked at a time."""


def vecs_arrays(path: Path) -> dict[str, StoredArray]:
    """Describe a .fvecs, .bvecs or .ivecs file, in which each vector follows its length; it stays on disk."""
    kind = np.dtype(_VECS[path.suffix.lower()])
    size = path.stat().st_size
    with reading(path), path.open("rb") as stream:
        width = int.from_bytes(stream.read(4), "little", signed=True)
    n_bytes = 4 + width * kind.itemsize
    if width < 1 or size % n_bytes:
        raise UnreadableFileError(
            f"{path.suffix} file {path} must contain vectors that each follow their length, got a first length of "
            f"{width:,} in {size:,} bytes"
        )
    shape = (size // n_bytes, width)
    if path.suffix.lower() == ".ivecs":
        return {file_stem(path): refused("contains the row numbers of nearest neighbours, not vectors")}
    return {file_stem(path): StoredArray(shape, kind, partial(_vecs, path, kind, shape))}


def _vecs(path: Path, kind: np.dtype[np.generic], shape: tuple[int, int]) -> Array:
    rows, width = shape
    with reading(path):
        table = np.memmap(path, dtype=[("length", "<i4"), ("vector", kind, (width,))], mode="r", shape=(rows,))
    for start in range(0, rows, _BLOCK):
        lengths = table["length"][start : start + _BLOCK]
        if (other := np.flatnonzero(lengths != width)).size:
            raise UnreadableFileError(
                f"{path.suffix} file {path} must contain vectors of one length, got {width} and "
                f"{int(lengths[other[0]])} in vector {start + int(other[0]) + 1}"
            )
    vectors: Array = table["vector"]
    return vectors


def bin_file_arrays(path: Path) -> NamedArrays:
    """Describe the tensors of PyTorch in a .bin file; other files are refused, with lines that convert them."""
    if is_zip(path):
        return torch_arrays(path)
    raise UnreadableFileError(_to_convert(path))


def _to_convert(path: Path) -> str:
    with path.open("rb") as stream:
        start = stream.readline(64)
    save = f".save_word2vec_format({str(path.with_suffix('.vec'))!r})"
    if start.startswith(_FASTTEXT):
        return (
            f"fastText model {path} must be converted to its vectors; to convert it:\n"
            f"    import gensim.models.fasttext\n"
            f"    gensim.models.fasttext.load_facebook_vectors({str(path)!r}){save}"
        )
    if re.fullmatch(rb"\d+ \d+\s", start):
        return (
            f"binary word2vec file {path} must be converted to text; to convert it:\n"
            f"    import gensim.models\n"
            f"    gensim.models.KeyedVectors.load_word2vec_format({str(path)!r}, binary=True){save}"
        )
    return (
        f".bin file {path} must contain tensors of PyTorch, got bytes of "
        f"{'an index of FAISS' if is_faiss(path) else 'an unknown shape'}{convert_numbers(path)}"
    )


_LOOKED_AT = 20
"""Number of lines from which the layout is inferred."""
_LONGEST = 1 << 24
"""Largest number of bytes in a line."""
_TEXT_BLOCK = 1 << 22
"""Number of bytes of text that are parse at a time."""
_SEPARATORS = {"table": "\t", "table with spaces": " "}
_NUMBER = re.compile(rb"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|nan|inf(?:inity)?)", re.IGNORECASE)


def open_text_vectors(path: Path, keys: Keys, labels: str | Sequence[str] | None, layer_axis: LayerAxis) -> Contents:
    """Read a text file of word vectors, of plain numbers, or of a table with column names."""
    layout = _layout(path)
    if layout in _SEPARATORS:
        return contents_of_table(path, csv_table(path, _SEPARATORS[layout]), keys, labels, layer_axis)
    if layout == "lines":
        if any(b"\0B" in line for line in _top(path)[:1]):
            sides = f"ark:{path}", f"ark,t:{path.with_suffix('.txt')}"
            raise UnreadableFileError(
                f"binary archive of Kaldi {path} must be converted to text; to convert it:\n"
                f"    {shlex.join(['copy-vector', *sides])}"
            )
        raise UnreadableFileError(
            f"text file {path} must contain a vector in each line (numbers, or a word and numbers) or a table, got "
            "lines of text"
        )
    return array_contents(path, _vectors(path, layout), keys, layer_axis)


def labels_of_text(path: Path, column: str | None) -> Array | NamedRows:
    """Read one label per line, or a column of a table."""
    if column is not None and (layout := _layout(path)) in _SEPARATORS:
        return labels_of_table(path, csv_table(path, _SEPARATORS[layout]), column)
    return read_lines(path, column)


def holds_vectors(path: Path) -> bool:
    """Return whether a text file contains more than lines of text."""
    try:
        return _layout(path) in ("numbers", "words")
    except (OSError, ValueError):
        return False


def _layout(path: Path) -> str:
    """Return 'words' (a word, then numbers), 'numbers', 'lines', or 'table' or 'table with spaces' (with names)."""
    lines = _first_lines(path)
    declared = bool(lines) and _read_header(lines) is not None
    body = [line.split() for line in (lines[1:] if declared else lines)]
    if body and all(map(_are_numbers, body)) and len(set(map(len, body))) == 1 and len(body[0]) > 1:
        return "words" if declared or _are_names([fields[0] for fields in body], body) else "numbers"
    # R gives the names of rows no name of their own.
    if len(lines) > 1 and not any(map(_NUMBER.fullmatch, lines[0].split())):
        if 1 < lines[0].count(b"\t") in (lines[1].count(b"\t"), lines[1].count(b"\t") - 1):
            # Words and numbers below a line without any number are a table, whose first column names the rows.
            return "table"
        header, *rows = [re.sub(rb'"[^"]*"', b"quoted", line).split() for line in lines]
        widths = {len(fields) - len(header) for fields in rows}
        plain = not any(mark in lines[0] for mark in (b"\t", b",", b";"))
        if plain and len(header) > 1 and widths in ({0}, {1}) and _n_numbers(rows) > 1:
            return "table with spaces"
    if body and (_n_numbers(body) > 1 or declared):
        return "words"
    separated = any(0 < lines[0].count(mark) == lines[1].count(mark) for mark in (b"\t", b",", b";") if len(lines) > 1)
    return "table" if separated else "lines"


def _n_numbers(body: Sequence[Sequence[bytes]]) -> int:
    """Return how many numbers most lines end with; words may contain spaces, or be numbers."""
    counts = [len(list(takewhile(_NUMBER.fullmatch, reversed(fields[1:])))) for fields in body]
    usual, n_lines = Counter(counts).most_common(1)[0]
    return usual if 2 * n_lines > len(counts) else 0


def _are_names(first: Sequence[bytes], body: Sequence[Sequence[bytes]]) -> bool:
    """Return whether the first numbers name the rows: they are whole and distinct, and the others are not whole."""
    whole = all(field.isdigit() for field in first) and len(set(first)) == len(first) > 1
    return whole and all(any(not field.lstrip(b"-").isdigit() for field in fields[1:]) for fields in body)


def _first_lines(path: Path) -> list[bytes]:
    lines = _top(path)
    return [_strip_brackets(line) for line in lines[_n_comments(lines) :] if line.strip()]


def _strip_brackets(line: bytes) -> bytes:
    """Return a line without the brackets that the text archives of Kaldi put around a vector."""
    return re.sub(rb"\s\[\s(.*)\]\s*$", rb" \1", line) if line.rstrip().endswith(b"]") else line


def _top(path: Path) -> list[bytes]:
    with reading(path), open_bytes(path) as stream:
        return list(islice(iter(lambda: stream.readline(_LONGEST), b""), _LOOKED_AT))


def _n_comments(lines: Sequence[bytes]) -> int:
    """Return how many lines at the top are comments, as numpy.savetxt writes them; a vector may be that of '#'."""
    comments = takewhile(
        lambda line: line.startswith(b"#") and not _are_numbers(line.strip(b"# \r\n").split() or [b"text"]), lines
    )
    return len(list(comments))


def _read_header(lines: Sequence[bytes]) -> tuple[int, int] | None:
    """Return the numbers of words and features in the first line, if it is the header of word2vec and fastText."""
    first = lines[0].split()
    if len(first) != 2 or not all(field.isdigit() for field in first) or len(lines) < 2:
        return None
    rows, width = map(int, first)
    return (rows, width) if len(lines[1].split()) > width > 0 else None


def _are_numbers(fields: Sequence[bytes]) -> bool:
    return all(_NUMBER.fullmatch(field) for field in fields)


def _vectors(path: Path, layout: str) -> NamedArrays:
    """Describe the vectors of a file, which is parse when the first values or words are used."""
    declared = _read_header(_first_lines(path))
    if declared is not None and 2 * declared[0] * declared[1] > (path.stat().st_size << 10):
        raise UnreadableFileError(
            f"word2vec file {path} must contain the vectors that it declares, got {declared[0]:,} x {declared[1]:,} in "
            f"{path.stat().st_size:,} bytes"
        )
    width = declared[1] if declared else _width(path, layout)
    words, matrix = _parse(
        path, width, has_words=layout == "words", skip=_n_comments(_top(path)) + (declared is not None)
    )
    if declared is not None and len(matrix) != declared[0]:
        raise UnreadableFileError(
            f"word2vec file {path} must contain {declared[0]:,} vectors as it declares, got {len(matrix):,}"
        )
    stored = StoredArray(matrix.shape, matrix.dtype, lambda: matrix)
    names = None if words is None else Names.build(words, "word", chosen="format")
    return NamedArrays({file_stem(path): stored}, names)


def _width(path: Path, layout: str) -> int:
    body = [line.split() for line in _first_lines(path)]
    return len(body[0]) if layout == "numbers" else _n_numbers(body)


def _parse(path: Path, width: int, *, has_words: bool, skip: int) -> tuple[Array | None, Array]:
    """Parse the lines in blocks; the numbers of a line are its last `width` fields."""
    words: list[str] = []
    blocks: list[Array] = []
    number = skip
    for lines in _blocks(path, skip):
        texts = []
        for line in lines:
            number += 1
            word, _, rest = line.partition(b" ") if has_words else (b"", b"", line)
            if has_words and (not rest or b"\t" in word or rest.count(b" ") != width - 1):
                word, rest = _split(path, line, width, number)
            words.append(word.decode("utf-8", "replace"))
            texts.append(rest)
        blocks.append(_numbers(path, texts, width, number - len(lines), counted=has_words))
        rows = sum(map(len, blocks))
        require_memory(path, file_stem(path), (rows, width), np.dtype(float), "write fewer vectors")
    matrix = np.concatenate(blocks) if blocks else np.empty((0, width))
    return (np.array(words, dtype=object) if has_words else None), matrix


def _blocks(path: Path, skip: int) -> Iterator[list[bytes]]:
    """Yield the lines that are not empty, a few megabytes at a time, below the first `skip` lines."""
    with open_bytes(path) as stream:
        with reading(path):
            for _ in range(skip):
                stream.readline(_LONGEST)
        while True:
            with reading(path):
                lines = stream.readlines(_TEXT_BLOCK)
            if not lines:
                return
            yield [_strip_brackets(line).strip() for line in lines if line.strip()]


def _split(path: Path, line: bytes, width: int, number: int) -> tuple[bytes, bytes]:
    """Split a line whose word contains spaces, or whose separators are tabs."""
    fields = line.rsplit(None, width)
    # A number at the end of a word rather shows that the line has more numbers than the others.
    if (
        len(fields) != width + 1
        or not _are_numbers(fields[1:])
        or _are_numbers(fields[0].split()[1:][-1:] or [b"word"])
    ):
        start = line[:40].decode("utf-8", "replace")
        raise UnreadableFileError(
            f"text file {path} must contain a word and {width} numbers in every line, got {start!r} in line {number}"
        )
    return fields[0], b" ".join(fields[1:])


def _numbers(path: Path, texts: Sequence[bytes], width: int, before: int, *, counted: bool) -> Array:
    """Parse numbers of several lines at once; if that fails, name the line."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        try:
            values: Array = np.fromstring(b" ".join(texts), dtype=float, sep=" ")
        except (DeprecationWarning, ValueError):
            values = np.empty(0)
    if values.size == len(texts) * width and (counted or all(len(text.split()) == width for text in texts)):
        return values.reshape(-1, width)
    for row, text in enumerate(texts, before + 1):
        fields: list[Any] = text.split()
        if len(fields) != width or not _are_numbers(fields):
            raise UnreadableFileError(
                f"text file {path} must contain {width} numbers in every line, got {len(fields)} fields in line {row}: "
                f"{text[:40].decode('utf-8', 'replace')!r}"
            )
    return np.array([[float(field) for field in text.split()] for text in texts]).reshape(-1, width)
