"""Vectors in binary files: .fvecs and its kin, the files of big-ann-benchmarks, and word2vec's binary format."""

from __future__ import annotations

import mmap
from functools import partial
from pathlib import Path

import numpy as np

from shesha.inputs import Names
from shesha.io.array_selection import NamedArrays, StoredArray
from shesha.io.file_checks import UnreadableFileError, file_stem, reading, require_memory
from shesha.io.torch_files import is_zip, torch_arrays
from shesha.support.types import Array

_VECS = {".fvecs": "<f4", ".bvecs": "|u1", ".ivecs": "<i4"}
_BINS = {".fbin": "<f4", ".u8bin": "|u1", ".i8bin": "|i1", ".ibin": "<i4", ".hbin": "<f2"}
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


def bin_arrays(path: Path) -> dict[str, StoredArray]:
    """Describe a .fbin, .u8bin, .i8bin, .ibin or .hbin file: two numbers, rows and features, then the values."""
    kind, size = np.dtype(_BINS[path.suffix.lower()]), path.stat().st_size
    with reading(path), path.open("rb") as stream:
        rows, width = (int.from_bytes(stream.read(4), "little") for _ in range(2))
    if 8 + rows * width * kind.itemsize != size:
        raise UnreadableFileError(
            f"{path.suffix} file {path} must contain as many values as it declares, got {rows:,} x {width:,} {kind} in "
            f"{size:,} bytes"
        )
    load = partial(np.memmap, path, kind, "r", 8, (rows, width))
    return {file_stem(path): StoredArray((rows, width), kind, load)}


def bin_file_arrays(path: Path) -> NamedArrays:
    """Describe a .bin file: word vectors, or tensors of PyTorch."""
    return torch_arrays(path) if is_zip(path) else word2vec_arrays(path)


def _header(path: Path) -> tuple[int, int, int] | None:
    """Return rows, features and the position of the first word."""
    with path.open("rb") as stream:
        line = stream.readline(64)
    fields = line.split()
    if not line.endswith(b"\n") or len(fields) != 2 or not all(field.isdigit() for field in fields):
        return None
    return int(fields[0]), int(fields[1]), len(line)


def word2vec_arrays(path: Path) -> NamedArrays:
    """Describe the vectors of a binary word2vec file; its words become the row names."""
    header = _header(path)
    if header is None:
        raise UnreadableFileError(_not_word2vec(path))
    rows, width, start = header
    size = path.stat().st_size
    if not width or rows * (4 * width + 1) > size:
        raise UnreadableFileError(
            f"word2vec file {path} must contain the vectors that it declares, got {rows:,} x {width:,} in "
            f"{size:,} bytes"
        )
    found: list[tuple[Array, Array]] = []

    def parsed() -> tuple[Array, Array]:
        if not found:
            found.append(_words_and_vectors(path, rows, width, start))
        return found[0]

    stored = StoredArray((rows, width), np.dtype("<f4"), lambda: parsed()[1])
    return NamedArrays({file_stem(path): stored}, Names(lambda: parsed()[0], column="word", chosen="format"))


def _not_word2vec(path: Path) -> str:
    with path.open("rb") as stream:
        start = stream.read(8)
    if start.startswith(_FASTTEXT):
        return (
            f"fastText model {path} must be converted to its vectors; to convert it:\n"
            f"    import gensim.models.fasttext\n"
            f"    gensim.models.fasttext.load_facebook_vectors({str(path)!r})"
            f".save_word2vec_format({str(path.with_suffix('.vec'))!r})"
        )
    width = "768  # the number of features"
    return (
        f".bin file {path} must begin with the numbers of words and features, as word2vec writes it, got bytes of an "
        f"unknown shape; to convert it:\n    import numpy; n_features = {width}\n"
        f"    numpy.save({str(path.with_suffix('.npy'))!r}, numpy.fromfile({str(path)!r}, dtype='float32')"
        ".reshape(-1, n_features))"
    )


def _words_and_vectors(path: Path, rows: int, width: int, start: int) -> tuple[Array, Array]:
    require_memory(path, file_stem(path), (rows, width), np.dtype("f4"), "write fewer words")
    vectors, words, n_bytes = np.empty((rows, width), np.float32), [], 4 * width
    with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
        for row in range(rows):
            end = data.find(b" ", start)
            if end < 0 or end + 1 + n_bytes > len(data):
                raise UnreadableFileError(
                    f"word2vec file {path} must contain {rows:,} vectors as it declares, got {row:,}; write it again"
                )
            # The original program ends each vector with a line feed, gensim does not.
            words.append(data[start:end].lstrip(b"\n").decode("utf-8", "replace"))
            vectors[row] = np.frombuffer(data[end + 1 : end + 1 + n_bytes], "<f4")
            start = end + 1 + n_bytes
    return np.array(words, dtype=object), vectors
