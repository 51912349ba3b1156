"""Output files that are filled batch by batch, so that an interrupted run can resume."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import filelock
import numpy as np

from shesha.support import files
from shesha.support.files import open_regular, read_json, require_no_link
from shesha.support.types import Array, Index

ENDING = ".safetensors"
ABOUT = "shesha"
"""Metadata entry of a file that describes how its arrays were made."""
_CODES = {"float32": "F32", "float64": "F64"}


@dataclass(frozen=True)
class Region:
    """Where in a file one array is, with its shape and type."""

    file: Path
    offset: int
    shape: tuple[int, ...]
    dtype: str

    @property
    def row_bytes(self) -> int:
        """Number of bytes of one row."""
        return int(np.prod(self.shape[1:], dtype=np.int64)) * np.dtype(self.dtype).itemsize

    @property
    def n_bytes(self) -> int:
        """Number of bytes of all rows."""
        return self.shape[0] * self.row_bytes

    def memory_map(self) -> Array:
        """Return the array, memory-mapped from the file."""
        array: Array = np.memmap(self.file, dtype=self.dtype, mode="r", offset=self.offset, shape=self.shape)
        return array


def regions(file: Path, arrays: Mapping[str, tuple[tuple[int, ...], str]], about: str) -> dict[str, Region]:
    """Return where each array is in a file."""
    start = len(_safetensors_head(arrays, about))
    named_regions = {}
    for name, (shape, dtype) in arrays.items():
        named_regions[name] = Region(file, start, shape, dtype)
        start += named_regions[name].n_bytes
    return named_regions


def require_inside(file: Path, arrays: Mapping[str, tuple[tuple[int, ...], str]], about: str) -> dict[str, Region]:
    """Return the regions of arrays that a file describes; raise ValueError if one is not inside the file."""
    for name, (shape, dtype) in arrays.items():
        if dtype not in _CODES or not all(isinstance(size, int) and size > 0 for size in shape):
            raise ValueError(f"arrays must be matrices of numbers inside {file}, got {name!r:.60}: {shape!r:.60}")
    require_no_link(file, "array")
    named_regions = regions(file, arrays, about)
    size = file.stat().st_size
    for name, region in named_regions.items():
        if region.offset + region.n_bytes > size:
            raise ValueError(f"{file} must be complete, got fewer bytes than {name!r:.60} needs")
    return named_regions


def lay_out(file: Path, arrays: Mapping[str, tuple[tuple[int, ...], str]], about: str) -> dict[str, Region]:
    """Create the file, with space for all rows."""
    named_regions = regions(file, arrays, about)
    with file.open("wb") as stream:
        stream.write(_safetensors_head(arrays, about))
        stream.truncate(stream.tell() + sum(region.n_bytes for region in named_regions.values()))
    return named_regions


def _safetensors_head(arrays: Mapping[str, tuple[tuple[int, ...], str]], about: str) -> bytes:
    header: dict[str, Any] = {"__metadata__": {ABOUT: about}}
    end = 0
    for name, (shape, dtype) in arrays.items():
        start, end = end, end + Region(Path(), 0, shape, dtype).n_bytes
        header[name] = {"dtype": _CODES[dtype], "shape": list(shape), "data_offsets": [start, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text


class Activations(dict[str, Array]):
    """A dict with one array per layer, in the order in which the layers ran.

    Attributes
    ----------
    info : dict of str to any
        How the arrays were made: model and weights, inputs, pooling, batch size, precision, order of the inputs, and
        versions. An output file contains the same information as metadata.

    Examples
    --------
    >>> import numpy as np
    >>> Activations({"a": np.zeros((3, 2))}, {"pool": "mean"})
    Activations of 3 inputs: a (3, 2)
    """

    def __init__(self, arrays: Mapping[str, Array], info: Mapping[str, Any]) -> None:
        super().__init__(arrays)
        self.info = dict(info)

    def __repr__(self) -> str:
        """Return the layers and their shapes."""
        n_rows = next((len(array) for array in self.values()), 0)
        shapes = ", ".join(f"{name} {array.shape}" for name, array in self.items())
        return f"Activations of {n_rows:,} inputs: {shapes}"

    @property
    def n_tokens(self) -> tuple[int, ...] | None:
        """Number of tokens of each input, if there are tokens; audits check it as a covariate."""
        counts = self.info.get("inputs", {}).get("n_tokens")
        return None if counts is None else tuple(counts)

    def describe(self) -> str:
        """Return a one-line description of how the arrays were made."""
        return "; ".join(f"{name.replace('_', ' ')} {self.info[name]}" for name in _TOLD if self.info.get(name))


_TOLD = (
    "model",
    "reader",
    "pool",
    "embedding",
    "chat_template",
    "prompt",
    "max_tokens",
    "cut_off",
    "batch_size",
    "order",
    "dtype",
    "outputs",
)
"""Entries of `info` that `describe` shows."""


UNFINISHED = ".unfinished"
"""Suffix of the folder that holds an incomplete file."""
_PROGRESS = "progress.json"
_SYNC_SECONDS = 1.0
"""Minimum time in seconds between records of progress; a crash loses the work since the last one."""


class Draft:
    """An incomplete output file."""

    def __init__(self, target: Path, about: Mapping[str, Any], n_rows: int) -> None:
        self._target, self._about, self._n_rows = target, dict(about), n_rows
        self._folder = target.with_name(target.name + UNFINISHED)
        self._place = self._folder / target.name
        self._regions: dict[str, Region] = {}
        self._stream: IO[bytes] | None = None
        self._synced = time.monotonic()
        self.done = 0
        """Number of batches that the file contains so far."""
        self._resume()

    def write(self, chosen: Index, values: Mapping[str, Array], row_shapes: Mapping[str, tuple[int, ...]]) -> None:
        """Write the rows of a batch to their final positions."""
        if not self._regions:
            self._lay_out(values, row_shapes)
        for name, rows in values.items():
            self._write(self._regions[name], chosen, rows)
        self.done += 1
        if time.monotonic() - self._synced >= _SYNC_SECONDS:
            self._note()

    def finish(self) -> None:
        """Move the completed file to its target path."""
        self._note()
        self._close()
        self._place.replace(self._target)
        shutil.rmtree(self._folder)

    def leave(self) -> None:
        """Stop before the end; keep partial work for a later run, but remove a draft without any."""
        if self._folder.exists():
            if self.done:
                self._note()
            else:
                shutil.rmtree(self._folder)
        self._close()

    def _close(self) -> None:
        if self._stream is not None:
            self._stream.close()
        self._stream = None

    def _resume(self) -> None:
        file = self._folder / _PROGRESS
        if not (file.exists() and self._place.exists()):
            return
        progress = read_json(file, "progress of an extraction", follow_links=False)
        try:
            require_same(progress["about"], self._about, self._folder)
            arrays = {name: (tuple(shape), dtype) for name, (shape, dtype) in progress["arrays"].items()}
            self._regions = require_inside(self._place, arrays, self._text())
            self.done = int(progress["done"])
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(
                f"out must be new or contain the same extraction, got {self._folder}, which is damaged "
                f"({type(error).__name__}: {error}); remove the folder"
            ) from error

    def _lay_out(self, values: Mapping[str, Array], row_shapes: Mapping[str, tuple[int, ...]]) -> None:
        arrays = {name: ((self._n_rows, *row_shapes[name]), rows.dtype.name) for name, rows in values.items()}
        self._regions = lay_out(self._place, arrays, self._text())

    def _write(self, region: Region, chosen: Index, rows: Array) -> None:
        order = np.argsort(chosen)
        places, sorted_rows = chosen[order], np.ascontiguousarray(rows[order])
        self._stream = stream = self._stream or region.file.open("r+b")
        # Write adjacent rows together.
        starts = np.flatnonzero(np.diff(places, prepend=places[0] - 2) != 1)
        for start, end in zip(starts, [*starts[1:], len(places)], strict=True):
            stream.seek(region.offset + int(places[start]) * region.row_bytes)
            stream.write(sorted_rows[start:end].data)

    def _note(self) -> None:
        """Record the progress, once the bytes are on disk."""
        if self._stream is not None:
            self._stream.flush()
            os.fsync(self._stream.fileno())
        arrays = {name: (region.shape, region.dtype) for name, region in self._regions.items()}
        note = {"about": self._about, "arrays": arrays, "done": self.done}
        files.write_text(self._folder / _PROGRESS, json.dumps(note))
        self._synced = time.monotonic()

    def _text(self) -> str:
        return json.dumps(self._about, sort_keys=True)


@contextmanager
def open_draft(target: Path, about: Mapping[str, Any], n_rows: int) -> Iterator[Draft]:
    """Yield the draft of a file, locked against other processes."""
    folder = target.with_name(target.name + UNFINISHED)
    _make_folder(folder)
    lock = filelock.FileLock(folder / "lock")
    try:
        lock.acquire(timeout=0)
    except filelock.Timeout as error:
        raise ValueError(f"out must not be in use by another process, got {target}") from error
    try:
        draft = Draft(target, about, n_rows)
        try:
            yield draft
        finally:
            draft.leave()
    finally:
        lock.release()


def _make_folder(folder: Path) -> None:
    """Make the folder of a draft, or check that nothing in it leads out of it."""
    folder.mkdir(exist_ok=True)
    for place in (folder, *folder.rglob("*")):
        if place.is_symlink() or not (place.is_dir() or place.is_file()):
            raise ValueError(f"out must have a draft of plain files, got a link, a pipe or a device: {place}")


def read_finished(target: Path) -> tuple[dict[str, Any], dict[str, Array]] | None:
    """Return the metadata and memory-mapped arrays of a complete file; None if there is none."""
    if not os.path.lexists(target):
        return None
    other = f"out must be new, got {target}, which has other contents"
    try:
        about, arrays = _safetensors_contents(target)
        if about is None:
            raise FileExistsError(other)
        named_regions = require_inside(target, arrays, json.dumps(about, sort_keys=True))
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise FileExistsError(f"{other} ({type(error).__name__}: {error})") from error
    return about, {name: region.memory_map() for name, region in named_regions.items()}


def require_same(stored: Mapping[str, Any], asked: Mapping[str, Any], where: Path) -> None:
    """Refuse to resume with another model, other inputs or other options."""
    plain = json.loads(json.dumps(asked))
    other = [name for name in dict.fromkeys([*plain, *stored]) if plain.get(name) != stored.get(name)]
    if other:
        raise ValueError(
            f"out must be new or contain the same extraction, got {where}, which differs in {', '.join(other)}; "
            "remove the file, or choose another name"
        )


def output_path(out: str | os.PathLike[str]) -> Path:
    """Check the path of the output file and return it."""
    target = Path(out)
    if target.suffix != ENDING:
        raise ValueError(f"out must end in {ENDING}, got {str(target)!r}")
    if not target.absolute().parent.is_dir():
        raise FileNotFoundError(f"the folder of out must exist, got {target}")
    return target


def _safetensors_contents(path: Path) -> tuple[Any, dict[str, tuple[tuple[int, ...], str]]]:
    from shesha.io.torch_files import safetensors_arrays

    tensors = safetensors_arrays(path)
    with open_regular(path, "out") as stream:
        header = json.loads(stream.read(int.from_bytes(stream.read(8), "little")))
    text = header.get("__metadata__", {}).get(ABOUT)
    return text and json.loads(text), {name: (tensor.shape, tensor.dtype.name) for name, tensor in tensors.items()}
