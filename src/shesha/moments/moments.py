"""Exact sums over the rows of representations that may not fit in memory, in one pass that can be resumed."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from shesha.io.file_checks import UnreadableFileError, reading
from shesha.io.large_matrices import require_same_ids
from shesha.moments.row_sources import describe_side, open_side, read_chunks, stream
from shesha.moments.summed_views import SummedRepresentation
from shesha.moments.sums import (
    MOST_PARTS,
    Accumulator,
    FirstRows,
    SideSums,
    Sums,
    all_pairs,
    check_batch,
    compact_parts,
    merge_all,
    require_finite,
    storage_rounding,
)
from shesha.support import types as kinds
from shesha.support.device_arrays import to_dense
from shesha.support.files import open_regular, replacing
from shesha.support.thread_locks import Locked
from shesha.support.types import Array, Matrix, Vector

FORMAT = "shesha moments 1"


class DamagedStateError(ValueError):
    """Raised if a file does not contain complete moments."""


def save(path: str | os.PathLike[str], state: Accumulator, header: Mapping[str, Any]) -> None:
    """Write everything that is needed to resume a pass."""
    arrays: dict[str, Array] = {}
    for place, part in enumerate([*state.parts, *([] if state.current is None else [state.current])]):
        arrays |= _part_arrays(f"part {place}", part)
    pending = state.join_pending() if state.n_pending else []
    for place, side in enumerate(pending):
        arrays[f"pending {place}"] = to_dense(side)
    description = dict(header) | {
        "format": FORMAT,
        "widths": list(state.widths),
        "pairs": [list(pair) for pair in state.pairs],
        "n_parts": len(state.parts),
        "has_current": state.current is not None,
        "n_pending": state.n_pending,
        "part_rows": state.part_rows,
        "n_rows": state.n_rows,
    }
    arrays["header"] = np.frombuffer(json.dumps(description).encode(), dtype=np.uint8)
    with replacing(kinds.path(path, "path")) as draft, draft.open("wb") as stream:
        np.savez(stream, **arrays)  # type: ignore[arg-type]


def load(path: str | os.PathLike[str]) -> tuple[Accumulator, dict[str, Any]]:
    """Read a file that `save` wrote.

    Raises
    ------
    DamagedStateError
        If the file is incomplete or damaged, or if it has another format.
    """
    place = kinds.path(path, "path")
    with open_regular(place) as stream:
        try:
            with reading(place), np.load(stream, allow_pickle=False) as arrays:
                header = json.loads(bytes(arrays["header"]))
                if header["format"] == FORMAT:
                    return _state(arrays, header), header
        except UnreadableFileError as error:
            raise DamagedStateError(
                f"{place} must contain moments that shesha.Moments.save wrote, got a file that is damaged or has "
                "another "
                "format; sum over the rows again"
            ) from error
    raise DamagedStateError(f"{place} must be in the format {FORMAT!r}, got {header['format']!r:.60}")


def _state(arrays: Any, header: Mapping[str, Any]) -> Accumulator:
    widths = tuple(int(width) for width in header["widths"])
    pairs = [(int(i), int(j)) for i, j in header["pairs"]]
    count = header["n_parts"] + bool(header["has_current"])
    parts = [_part(arrays, f"part {place}", widths, pairs) for place in range(count)]
    pending = [tuple(arrays[f"pending {place}"] for place in range(len(widths)))] if header["n_pending"] else []
    accumulator = Accumulator(
        widths,
        pairs,
        parts[: header["n_parts"]],
        current=parts[-1] if header["has_current"] else None,
        pending=pending,
        n_pending=int(header["n_pending"]),
        part_rows=int(header["part_rows"]),
    )
    if accumulator.n_rows != header["n_rows"] or any(
        len(side) != accumulator.n_pending for side in pending[:1] for side in side
    ):
        raise ValueError("rows are missing")
    return accumulator


def _part_arrays(name: str, part: Sums) -> dict[str, Array]:
    arrays: dict[str, Array] = {f"{name} n": np.array(part.n_rows)}
    for i, side in enumerate(part.sides):
        arrays[f"{name} side {i}"] = side.products
        arrays[f"{name} mean {i}"] = np.stack([side.origin, side.offset])
        arrays[f"{name} unit {i}"] = np.array(side.unit)
    return arrays | {f"{name} cross {i} {j}": block for (i, j), block in part.cross.items()}


def _part(arrays: Any, name: str, widths: tuple[int, ...], pairs: list[tuple[int, int]]) -> Sums:
    sides = []
    for i, width in enumerate(widths):
        mean, products = arrays[f"{name} mean {i}"], arrays[f"{name} side {i}"]
        _require_shape(mean, (2, width))
        _require_shape(products, (width + 1, width + 1))
        sides.append(SideSums(mean[0], mean[1], float(arrays[f"{name} unit {i}"]), products))
    cross = {}
    for i, j in pairs:
        cross[i, j] = arrays[f"{name} cross {i} {j}"]
        _require_shape(cross[i, j], (widths[i] + 1, widths[j] + 1))
    return Sums(int(arrays[f"{name} n"]), tuple(sides), cross)


def _require_shape(array: Array, shape: tuple[int, ...]) -> None:
    if array.shape != shape or array.dtype != np.float64 or not np.isfinite(array).all():
        raise ValueError(f"array must have shape {shape}, got {array.shape}")


class Moments(Locked):
    """Counts, means and products of rows, accumulated batch by batch.

    Pass this object to `shesha.compare` in place of the arrays to compute linear measures over any number of rows. Sums
    are accumulated in double precision about means that follow the data, so that offsets cost no precision. The result
    does not depend on the batch size. For intervals, the products of all features are stored separately for up to 64
    parts of the rows, or for fewer parts if they would take more than a quarter of the memory budget.

    Parameters
    ----------
    names : pair of str
        Names of the two representations.

    Examples
    --------
    >>> import shesha
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((5000, 8))
    >>> Y = X @ rng.standard_normal((8, 6)) + rng.standard_normal((5000, 6))
    >>> moments = Moments()
    >>> for start in range(0, 5000, 100):
    ...     moments.update(X[start : start + 100], Y[start : start + 100])
    >>> len(moments)
    5000
    >>> streamed = shesha.compare(moments, "CKA")["CKA"].value
    >>> abs(streamed - shesha.compare(X, Y, "CKA")["CKA"].value) < 1e-12
    True
    """

    def __init__(self, names: Sequence[str] = ("X", "Y")) -> None:
        super().__init__()
        side_names = tuple(str(name) for name in kinds.sequence(names, "names"))
        if len(side_names) < 2 or len(set(side_names)) < len(side_names):
            raise ValueError(f"names must be two different names, got {names!r}")
        self.names = side_names
        self._state: Accumulator | None = None
        self._precisions = [0.0] * len(side_names)
        self._first_rows = FirstRows()

    def update(self, *sides: Any) -> None:
        """Add a batch in which row i of every matrix belongs to the same input.

        Several threads may add batches at the same time; the batches are then added one after another.

        Parameters
        ----------
        *sides : arrays of shape (n_rows, n_features)
            One matrix per name: a NumPy array, a torch tensor (multiplied on its device) or a SciPy sparse matrix.

        Raises
        ------
        ValueError
            If shapes do not match or entries are not finite; no row of the batch is then counted.
        """
        if len(sides) != len(self.names):
            raise TypeError(f"sides must be {len(self.names)} matrices, one for each name, got {len(sides)}")
        with self._lock:
            batch = check_batch(sides, self.names, None if self._state is None else self._state.widths)
            self._add(batch, checked=False)

    def _add(self, sides: list[Any], *, checked: bool) -> None:
        if not int(sides[0].shape[0]):
            return
        if not checked:
            require_finite(sides, self.names, len(self))
        state = self._state
        if state is None:
            widths = tuple(int(side.shape[1]) for side in sides)
            state = Accumulator(widths, all_pairs(len(widths)))
        restore = state.snapshot()
        try:
            state.add(sides)
            self._state = state
        except BaseException:
            # A batch is counted either completely or not at all, even after an interruption such as Ctrl-C.
            restore()
            raise
        self.note_precision(sides)
        self._first_rows.add(sides)

    def merge(self, other: Moments) -> Moments:
        """Return the moments over the rows of both objects, which are not changed.

        The result does not depend on the order of merging, up to rounding.

        Raises
        ------
        ValueError
            If names or widths differ.
        """
        if not isinstance(other, Moments):
            raise TypeError(f"other must be Moments, got {type(other).__name__}")
        if other.names != self.names:
            raise ValueError(f"names must be {', '.join(self.names)}, got {', '.join(other.names)}")
        states = [moments._state for moments in (self, other) if moments._state is not None]
        if len({state.widths for state in states}) > 1:
            raise ValueError(f"widths must be {self.widths}, got {other.widths}")
        merged = Moments(self.names)
        parts = [part for state in states for part in state.parts_with_pending()]
        merged._precisions = [max(pair) for pair in zip(self._precisions, other._precisions, strict=True)]
        merged._first_rows = FirstRows(self.dependence or other.dependence)
        if states:
            merged._state = Accumulator(states[0].widths, states[0].pairs, compact_parts(parts, MOST_PARTS))
            merged._state.part_rows = max(merged._state.part_rows, *(part.n_rows for part in merged._state.parts))
        return merged

    @classmethod
    def of(
        cls,
        *sources: Any,
        names: Sequence[str] = ("X", "Y"),
        state: str | os.PathLike[str] | None = None,
    ) -> Moments:
        """Sum over all rows of two representations, or of a stream of batches, in one pass.

        Parameters
        ----------
        *sources
            Two representations: arrays, memory maps, sparse matrices, or paths of .npy, .zarr and .parquet files, which
            are read in chunks of rows. Alternatively, a single iterable of batches, which are tuples (x, y) or dicts,
            such as a torch `DataLoader` or `dataset.iter(batch_size=...)`.
        names : pair of str
            Names of the two representations.
        state : path, optional
            File to which the sums over arrays or files are written from time to time, on Ctrl-C and on errors;
            repeating the call resumes from it. The file is kept at the end and can be loaded. By default, no file is
            written.

        Raises
        ------
        ValueError
            If the numbers of rows differ, an entry is not finite, or the state file belongs to other data.
        """
        fresh = cls(names)
        if len(sources) == 1:
            if state is not None:
                raise ValueError("state must be None with a stream of batches, got a path; call save() between batches")
            return _count_stream(fresh, sources[0])
        return _count_sides(fresh, sources, state)

    def add_unchecked(self, sides: list[Any]) -> None:
        """Add rows whose entries are not checked first, but while they are summed."""
        before = len(self)
        try:
            self._add(sides, checked=True)
        except ValueError:
            # Raise a clearer error, which names the rows that are not finite.
            require_finite(sides, self.names, before)
            raise

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the moments to an .npz file atomically; `load` reads the file."""
        self.save_with_source(path, [])

    def save_with_source(self, path: str | os.PathLike[str], source: list[Any]) -> None:
        """Write the moments together with a description of their source."""
        if self._state is None:
            raise ValueError("moments must have at least one row to be saved, got none")
        header = {
            "names": list(self.names),
            "precisions": self._precisions,
            "dependence": self.dependence,
            "source": source,
        }
        save(path, self._state, header)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Moments:
        """Read moments from a file that `save` wrote; nothing is unpickled.

        Raises
        ------
        ValueError
            If the file is damaged or does not contain moments.
        """
        return cls.load_with_header(path)[0]

    @classmethod
    def load_with_header(cls, path: str | os.PathLike[str]) -> tuple[Moments, dict[str, Any]]:
        """Read moments and the other values that were saved with them."""
        state, header = load(path)
        moments = cls(header["names"])
        moments._state = state
        moments._precisions = [float(precision) for precision in header["precisions"]]
        moments._first_rows = FirstRows(str(header.get("dependence", "")))
        return moments, header

    def __len__(self) -> int:
        """Return the number of rows that have been counted."""
        return 0 if self._state is None else self._state.n_rows

    @property
    def widths(self) -> tuple[int, ...]:
        """Number of features of each representation; empty before the first batch."""
        return () if self._state is None else self._state.widths

    @property
    def dependence(self) -> str:
        """Signs that the first rows depend on one another on all sides; empty if there are none."""
        return self._first_rows.signs

    def parts(self) -> list[Sums]:
        """Return the sums over consecutive parts of the rows; the jackknife leaves out one part at a time."""
        if self._state is None:
            raise ValueError("moments must have at least one row, got none; call update() first")
        return self._state.parts_with_pending()

    def precision(self, place: int) -> float:
        """Relative rounding error of one side's input, as the largest over all batches."""
        return self._precisions[place] or float(np.finfo(np.float64).eps)

    def side(self, name: str) -> SummedRepresentation:
        """Return one representation, for use with `shesha.descriptors` such as the effective rank."""
        place = self._place(name)
        return SummedRepresentation(merge_all(self.parts()), place, self.precision(place))

    def mean(self, name: str) -> Vector:
        """Return the mean row of one representation."""
        return merge_all(self.parts()).sides[self._place(name)].mean

    def covariance(self, name: str, other: str | None = None) -> Matrix:
        """Return the covariances between features, within one representation or across two (divided by n - 1)."""
        first, second = self._place(name), self._place(name if other is None else other)
        sums = merge_all(self.parts())
        if sums.n_rows < 2:
            raise ValueError("moments must have at least two rows for a covariance, got one")
        units = sums.sides[first].unit * sums.sides[second].unit
        return np.asarray(sums.cross_products(first, second)[:-1, :-1] * (units / (sums.n_rows - 1)))

    def _place(self, name: str) -> int:
        if name not in self.names:
            raise ValueError(f"name must be one of {', '.join(self.names)}, got {name!r}")
        return self.names.index(name)

    def note_precision(self, sides: Sequence[Any]) -> None:
        """Update the largest relative rounding error of each side's input."""
        for place, side in enumerate(sides):
            self._precisions[place] = max(self._precisions[place], storage_rounding(side))

    def __repr__(self) -> str:
        """Return a summary as text."""
        widths = " and ".join(f"{name} ({width:,})" for name, width in zip(self.names, self.widths, strict=False))
        return f"Moments of {len(self):,} rows" + (f": {widths} features" if widths else "")


_SAVE_EVERY = 60.0
"""Seconds between two writes of the state during a long pass."""
State = str | os.PathLike[str] | None


def _count_sides(fresh: Moments, sources: Sequence[Any], state: State) -> Moments:
    """Sum over the rows of arrays and files, in chunks."""
    sides = [open_side(side, name) for side, name in zip(sources, fresh.names, strict=True)]
    check_batch([side[:0] for side in sides], fresh.names, None)
    first, second = sides[0].shape[0], sides[1].shape[0]
    if first != second:
        names = fresh.names
        raise ValueError(f"{names[1]} must have as many rows as {names[0]} ({first:,}), got {second:,}")
    require_same_ids(dict(zip(fresh.names, sides, strict=True)))
    source = [describe_side(side) for side in sides]
    moments, counted = _resume(fresh, state)
    if counted is not None and counted != source:
        raise ValueError(
            f"state must belong to the same data, got {state}, which belongs to other data; use a new file"
        )
    return _count(moments, read_chunks(sides, len(moments)), state, source)


def _count_stream(fresh: Moments, batches: Iterable[Any]) -> Moments:
    """Sum over the batches that a loader or a generator yields."""
    if isinstance(batches, str | os.PathLike) or kinds.is_array(batches):
        kind = type(batches).__name__
        raise TypeError(f"Moments.of needs two representations, or one iterable of batches, got one {kind}")
    moments = _count(fresh, stream(batches, fresh.names), None, [])
    if not len(moments):
        raise ValueError("batches must contain at least one row, got an empty stream")
    return moments


def _resume(fresh: Moments, state: State) -> tuple[Moments, list[Any] | None]:
    """Return the saved sums, or fresh ones without a file, and the description of the saved sums' source."""
    if state is None or not Path(state).exists():
        return fresh, None
    moments, header = fresh.load_with_header(state)
    if moments.names != fresh.names:
        raise ValueError(
            f"state must contain sums of {', '.join(fresh.names)}, got {state} with sums of {', '.join(moments.names)}"
        )
    return moments, header.get("source", [])


def _count(moments: Moments, batches: Iterable[list[Any]], state: State, source: list[Any]) -> Moments:
    last = time.monotonic()
    try:
        for sides in batches:
            moments.add_unchecked(check_batch(sides, moments.names, moments.widths or None))
            if state is not None and time.monotonic() - last > _SAVE_EVERY:
                moments.save_with_source(state, source)
                last = time.monotonic()
    except BaseException:
        # After Ctrl-C, an error in the loader or a batch with NaN, save everything that was counted before.
        if state is not None and len(moments):
            moments.save_with_source(state, source)
        raise
    if state is not None and len(moments):
        moments.save_with_source(state, source)
    return moments
