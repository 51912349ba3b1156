"""Exact sums over the rows of representations that may not fit in memory, for linear measures."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from shesha.moments import state_files as files
from shesha.moments.batch_checks import FirstRows, check_batch, require_finite, storage_rounding
from shesha.moments.jackknife_accumulator import MOST_PARTS, Accumulator, compact_parts
from shesha.moments.resumable_pass import count_dask, count_sides, count_stream
from shesha.moments.row_panel_sums import all_pairs
from shesha.moments.row_register import RowRegister
from shesha.moments.row_sources import is_dask
from shesha.moments.summed_views import SummedRepresentation
from shesha.moments.sums import Sums, merge_all
from shesha.support import argument_types as kinds
from shesha.support.types import Matrix, Vector


class Moments:
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
        side_names = tuple(str(name) for name in kinds.sequence(names, "names"))
        if len(side_names) < 2 or len(set(side_names)) < len(side_names):
            raise ValueError(f"names must be two different names, got {names!r}")
        self.names = side_names
        self._state: Accumulator | None = None
        self._register = RowRegister()
        self._named_rows: bool | None = None
        self._precisions = [0.0] * len(side_names)
        self._first_rows = FirstRows()
        self._lock = threading.RLock()

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the lock, which cannot be copied to another process."""
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the sums, with a lock of their own."""
        self.__dict__.update(state, _lock=threading.RLock())

    def update(self, *sides: Any, rows: ArrayLike | None = None) -> None:
        """Add a batch in which row i of every matrix belongs to the same input.

        Several threads may add batches at the same time; the batches are then added one after another.

        Parameters
        ----------
        *sides : arrays of shape (n_rows, n_features)
            One matrix per name: a NumPy array, a torch tensor (multiplied on its device) or a SciPy sparse matrix.
        rows : array of shape (n_rows,), optional
            Identifiers of the rows, as whole numbers or text. Rows whose identifiers were counted before are left out,
            because distributed samplers repeat rows to balance processes. By default, all rows are counted.

        Raises
        ------
        ValueError
            If shapes do not match or entries are not finite; no row of the batch is then counted.
        """
        if len(sides) != len(self.names):
            raise TypeError(f"sides must be {len(self.names)} matrices, one for each name, got {len(sides)}")
        with self._lock:
            batch = check_batch(sides, self.names, None if self._state is None else self._state.widths)
            self._add(batch, rows, checked=False)

    def _add(self, sides: list[Any], rows: ArrayLike | None, *, checked: bool) -> None:
        n = int(sides[0].shape[0])
        if not n:
            return
        if not checked:
            require_finite(sides, self.names, len(self))
        if self._named_rows not in (None, rows is not None):
            raise ValueError("rows must be given for all batches or for none, got batches with and without rows")
        register = self._register
        if rows is not None:
            kept, codes = self._register.new_rows(rows, n)
            sides = [side[kept] for side in sides] if len(kept) < n else sides
            register = self._register.count(codes, n)
        state = self._state
        if state is None:
            widths = tuple(int(side.shape[1]) for side in sides)
            state = Accumulator(widths, all_pairs(len(widths)))
        restore = state.snapshot()
        try:
            state.add(sides)
            self._state, self._register, self._named_rows = state, register, rows is not None
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
            If names or widths differ, if both objects contain the same row, or if only one has row identifiers.
        """
        if not isinstance(other, Moments):
            raise TypeError(f"other must be Moments, got {type(other).__name__}")
        if other.names != self.names:
            raise ValueError(f"names must be {', '.join(self.names)}, got {', '.join(other.names)}")
        states = [moments._state for moments in (self, other) if moments._state is not None]
        if len({state.widths for state in states}) > 1:
            raise ValueError(f"widths must be {self.widths}, got {other.widths}")
        if None not in (self._named_rows, other._named_rows) and self._named_rows != other._named_rows:
            raise ValueError("rows must have identifiers in both or in none, got identifiers in one only")
        merged = Moments(self.names)
        parts = [part for state in states for part in state.parts_with_pending()]
        merged._named_rows = self._named_rows if self._named_rows is not None else other._named_rows
        merged._register = self._register.join(other._register)
        merged._precisions = [max(pair) for pair in zip(self._precisions, other._precisions, strict=True)]
        merged._first_rows = FirstRows(self.dependence or other.dependence)
        if states:
            merged.set_parts(states[0], parts)
        return merged

    def set_parts(self, like: Accumulator, parts: Sequence[Sums]) -> None:
        """Set the state to consecutive parts that were summed by other processes."""
        self._state = Accumulator(like.widths, like.pairs, compact_parts(parts, MOST_PARTS))
        self._state.part_rows = max(self._state.part_rows, *(part.n_rows for part in self._state.parts))

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
            Two representations: arrays, memory maps, sparse matrices, Dask arrays (summed by the workers), or paths of
            .npy, .zarr and .parquet files, which are read in chunks of rows. Alternatively, a single iterable of
            batches, which are tuples (x, y) or dicts, such as a torch `DataLoader` or `dataset.iter(batch_size=...)`.
        names : pair of str
            Names of the two representations.
        state : path, optional
            File to which the sums are written from time to time, on Ctrl-C and on errors; repeating the call resumes
            from it. The file is kept at the end and can be loaded. By default, no file is written.

        Raises
        ------
        ValueError
            If the numbers of rows differ, an entry is not finite, or the state file belongs to other data.
        """
        fresh = cls(names)
        if len(sources) == 1:
            return count_stream(fresh, sources[0], state)
        if all(is_dask(side) for side in sources):
            return count_dask(fresh, sources, state)
        return count_sides(fresh, sources, state)

    def add_unchecked(self, sides: list[Any]) -> None:
        """Add rows whose entries are not checked first, but while they are summed."""
        before = len(self)
        try:
            self._add(sides, None, checked=True)
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
            "named_rows": self._named_rows,
            "precisions": self._precisions,
            "dependence": self.dependence,
            "source": source,
        }
        files.save(path, self._state, header, self._register)

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
        state, header, register = files.load(path)
        moments = cls(header["names"])
        moments._state, moments._register, moments._named_rows = state, register, header["named_rows"]
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

    @property
    def n_repeated(self) -> int:
        """Number of rows that were left out because their identifiers had been counted before."""
        return self._register.n_repeated

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
