"""Chunks of Zarr arrays that unpack to far more than they declare are refused before they are unpacked."""

import numpy as np
import pytest

from shesha.io import file_checks, open_file
from shesha.io.file_checks import UnreadableFileError

zarr = pytest.importorskip("zarr")
numcodecs = pytest.importorskip("numcodecs")

CODECS = {
    "zlib": lambda: numcodecs.Zlib(),
    "gzip": lambda: numcodecs.GZip(),
    "bz2": lambda: numcodecs.BZ2(),
    "lzma": lambda: numcodecs.LZMA(),
    "zstd": lambda: numcodecs.Zstd(),
    "blosc": lambda: numcodecs.Blosc(),
    "lz4": lambda: numcodecs.LZ4(),
}


@pytest.fixture(autouse=True)
def small_limit(monkeypatch):
    """So that a bomb of two megabytes is one."""
    monkeypatch.setattr(file_checks, "_HARMLESS", 1 << 20)


@pytest.fixture(params=CODECS)
def stored(request, tmp_path, rng):
    """A store of one array in the second format, and its codec."""
    rows = rng.standard_normal((40, 8))
    codec = CODECS[request.param]()
    folder = tmp_path / "rows.zarr"
    array = zarr.create_array(
        str(folder), shape=rows.shape, chunks=(20, 8), dtype="f8", zarr_format=2, compressors=codec
    )
    array[...] = rows
    return folder, rows, codec


def test_chunks_of_the_declared_size_are_read(stored):
    folder, rows, _ = stored
    (found,) = open_file(folder).representations.values()
    np.testing.assert_array_equal(found, rows)


def test_a_chunk_that_unpacks_to_more_is_refused_and_named(stored):
    folder, _, codec = stored
    (folder / "1.0").write_bytes(bytes(codec.encode(bytes(2 << 20))))
    with pytest.raises(UnreadableFileError, match=r"must unpack to chunks of \(20, 8\), got 1\.0, which unpacks to"):
        open_file(folder)


def test_a_chunk_of_format_three_is_refused_as_well(tmp_path, rng):
    folder = tmp_path / "rows.zarr"
    array = zarr.create_array(str(folder), shape=(40, 8), chunks=(20, 8), dtype="f8")
    array[...] = rng.standard_normal((40, 8))
    chunk = next(file for file in folder.rglob("*") if file.is_file() and file.name != "zarr.json")
    chunk.write_bytes(bytes(numcodecs.Zstd().encode(bytes(2 << 20))))
    with pytest.raises(UnreadableFileError, match="which unpacks to"):
        open_file(folder)


def test_a_header_of_zstandard_that_hides_its_size_is_seen_through(tmp_path):
    # One frame without a content size: ten blocks of 128 KiB, each one byte repeated.
    blocks = b"".join((131072 << 3 | 1 << 1 | (at == 9)).to_bytes(3, "little") + b"\0" for at in range(10))
    file = tmp_path / "chunk"
    file.write_bytes(b"\x28\xb5\x2f\xfd" + bytes([0x00, 0x58]) + blocks)
    assert file_checks._zstd_size(file.read_bytes(), 1 << 20) == 10 * 131072


def sharded(folder, rows, **codecs):
    array = zarr.create_array(str(folder), shape=rows.shape, chunks=(10, 8), shards=(20, 8), dtype="f8", **codecs)
    array[...] = rows
    return [file for file in sorted(folder.rglob("*")) if file.is_file() and file.name != "zarr.json"]


def shard(pieces, *, at_end=True):
    """The bytes of a shard of two inner chunks, with its index and the room of its checksum."""
    start, entries = 0 if at_end else 36, []
    for piece in pieces:
        entries += [start, len(piece)]
        start += len(piece)
    index = np.array(entries, dtype="<u8").tobytes() + bytes(4)
    return b"".join([*pieces, index] if at_end else [index, *pieces])


INNER = {
    "gzip": (lambda: zarr.codecs.GzipCodec(), lambda data: numcodecs.GZip().encode(data)),
    "zstd": (lambda: zarr.codecs.ZstdCodec(), lambda data: numcodecs.Zstd().encode(data)),
    "blosc": (lambda: zarr.codecs.BloscCodec(), lambda data: numcodecs.Blosc().encode(data)),
}


@pytest.mark.parametrize("inner", INNER)
def test_shards_are_looked_into(tmp_path, rng, inner):
    rows = rng.standard_normal((40, 8))
    codec, pack = INNER[inner]
    files = sharded(tmp_path / "rows.zarr", rows, compressors=codec())
    (found,) = open_file(tmp_path / "rows.zarr").representations.values()
    np.testing.assert_array_equal(found, rows)
    files[1].write_bytes(shard([bytes(pack(bytes(640))), bytes(pack(bytes(2 << 20)))]))
    with pytest.raises(UnreadableFileError, match=r"must unpack to chunks of \(20, 8\), got c.1.0, which unpacks to"):
        open_file(tmp_path / "rows.zarr")


def test_an_index_at_the_start_of_a_shard_is_read_there(tmp_path, rng):
    codecs = zarr.codecs.ShardingCodec(
        chunk_shape=(10, 8), codecs=[zarr.codecs.BytesCodec(), zarr.codecs.GzipCodec()], index_location="start"
    )
    folder, rows = tmp_path / "rows.zarr", rng.standard_normal((40, 8))
    array = zarr.create_array(str(folder), shape=(40, 8), chunks=(20, 8), dtype="f8", serializer=codecs, compressors=())
    array[...] = rows
    (found,) = open_file(folder).representations.values()
    np.testing.assert_array_equal(found, rows)
    bomb = bytes(numcodecs.GZip().encode(bytes(2 << 20)))
    next(folder.rglob("c/0/0")).write_bytes(shard([bomb, b""], at_end=False))
    with pytest.raises(UnreadableFileError, match="which unpacks to"):
        open_file(folder)


def test_what_is_compressed_twice_is_refused(tmp_path, rng):
    twice = [zarr.codecs.GzipCodec(), zarr.codecs.ZstdCodec()]
    array = zarr.create_array(str(tmp_path / "rows.zarr"), shape=(40, 8), chunks=(20, 8), dtype="f8", compressors=twice)
    array[...] = rng.standard_normal((40, 8))
    with pytest.raises(UnreadableFileError, match=r"must be compressed once, .*, got gzip and zstd; store it again"):
        open_file(tmp_path / "rows.zarr")


@pytest.mark.parametrize("name", ["gzip", "bz2", "lzma", "zstd"])
def test_a_bomb_behind_a_harmless_stream_is_seen(name):
    codec = CODECS[name]()
    both = bytes(codec.encode(bytes(100))) + bytes(codec.encode(bytes(2 << 20)))
    assert file_checks._SIZES[name](both, 1 << 10) > 1 << 10
