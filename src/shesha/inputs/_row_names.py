"""Row names, taken from a column or array of identifiers, an index, obs_names, or the first column of a table."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Literal
from uuid import UUID

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shesha.support.device_arrays import array_shape, to_host
from shesha.support.item_lists import join_items
from shesha.support.types import Array
from shesha.support.visible_text import visible_name

Chosen = Literal["", "column", "format"]
Kind = Literal["text", "numbered", "counted"]
"""Kinds of names: text, integers that may be positions in another table, or consecutive integers."""


class Names:
    """Row names, which are read only when two representations have names.

    Parameters
    ----------
    load : callable
        Function that returns the names, one per row.
    doubtful : bool
        Whether the names are only a guess, because they come from the first column of a table.
    column : str
        Name of the column or array of identifiers that contains the names, such as 'id'. Integers in it identify rows
        as text does; other integers, such as the default index of pandas, may be mere row numbers.
    chosen : {'', 'column', 'format'}
        Who says that even numbers that only count the rows identify them: nobody, a user who named the column, or the
        format, such as the names of files.
    """

    def __init__(
        self, load: Callable[[], ArrayLike], *, doubtful: bool = False, column: str = "", chosen: Chosen = ""
    ) -> None:
        self._load, self.doubtful, self.column, self.chosen = load, doubtful, column, chosen

    @classmethod
    def build(cls, values: ArrayLike, column: str = "", *, chosen: Chosen = "") -> Names:
        """Build names from values in memory."""
        return cls(lambda: values, column=column, chosen=chosen)

    @classmethod
    def lazy(cls, record: Sequence[Any], load: Callable[[], ArrayLike], *, chosen: Chosen = "") -> Names:
        """Build names from a stored summary; the names themselves are loaded only if rows must be reordered."""
        *outline, doubtful, column = record
        names = cls(load, doubtful=doubtful, column=column, chosen=chosen)
        names.__dict__["outline"] = tuple(outline)
        return names

    @property
    def record(self) -> list[Any]:
        """The summary from which `lazy` builds names, as plain values."""
        return [*self.outline, self.doubtful, self.column]

    @cached_property
    def values(self) -> NDArray[Any]:
        """The names: integers, or text in an array of objects; text is empty where a name is missing."""
        return _comparable(np.asarray(self._load()))

    @cached_property
    def outline(self) -> tuple[str, int, bool, str, str]:
        """Kind, number, whether all are distinct and present, and hashes of the names in this and in sorted order."""
        values = self.values
        ordered = np.sort(values)
        distinct = bool((ordered[1:] != ordered[:-1]).all()) and not (len(ordered) and ordered[0] == "")
        return self._kind(values), len(values), distinct, _hash(values), _hash(ordered)

    @property
    def kind(self) -> Kind:
        """The kind of the names."""
        return self.outline[0]  # type: ignore[return-value]

    @property
    def distinct(self) -> bool:
        """Whether every row has a name of its own."""
        return self.outline[2]

    @property
    def certain(self) -> bool:
        """Whether the names identify rows, unlike row numbers and the texts of a first column."""
        return not self.doubtful and (bool(self.column) or self.kind == "text")

    @property
    def counts_rows(self) -> bool:
        """Whether the names are 0, 1, 2, ... or 1, 2, 3, ... in this order, and no user chose them as identifiers."""
        return not self.chosen and self.kind == "counted" and len(self) > 0 and self.values[0] in (0, 1)

    @property
    def word(self) -> str:
        """What the names are called in messages: their column, or 'name'."""
        return self.column or "name"

    @property
    def fault(self) -> str:
        """Which names are missing or repeated, or an empty string if every row has a name of its own."""
        values = self.values
        if self.distinct:
            return ""
        missing = np.flatnonzero(values == "") if values.dtype.kind == "O" else np.empty(0, dtype=np.intp)
        if len(missing):
            return f"none in row {missing[0]}" + f" and {len(missing) - 1:,} more" * (len(missing) > 1)
        names, counts = np.unique(values, return_counts=True)
        first = names[counts > 1][0]
        more = int((counts > 1).sum()) - 1
        return f"{first} in rows {join_items(np.flatnonzero(values == first))}" + f" and {more:,} more repeats" * (
            more > 0
        )

    def __len__(self) -> int:
        return self.outline[1]

    def has_same_order(self, other: Names) -> bool:
        """Return whether row i has the same name in both."""
        return self.outline[3] == other.outline[3]

    def has_same_names(self, other: Names) -> bool:
        """Return whether both contain the same names, in any order."""
        return self.outline[4] == other.outline[4]

    def positions(self, other: Names) -> NDArray[np.intp]:
        """Return the position of each of the other names among these names."""
        place, other_place = np.argsort(self.values, kind="stable"), np.argsort(other.values, kind="stable")
        order = np.empty(len(place), dtype=np.intp)
        order[other_place] = place
        return order

    def take(self, rows: NDArray[np.intp]) -> Names:
        """Return the names of the given rows."""
        return Names(lambda: self.values[rows], doubtful=self.doubtful, column=self.column, chosen=self.chosen)

    def as_text(self) -> Names:
        """Return the same names as text, to compare them with names of which some are not numbers."""
        names = Names(lambda: self.values, doubtful=self.doubtful, column=self.column, chosen=self.chosen)
        names.__dict__["values"] = self.values.astype(str).astype(object)
        return names

    @staticmethod
    def _kind(values: NDArray[Any]) -> Kind:
        if values.dtype.kind not in "iu":
            return "text"
        # Slices of a table keep the table's row numbers, but two slices are compared by position.
        return "counted" if len(values) == 0 or (np.diff(values) == 1).all() else "numbered"


_NUMBER = re.compile(r"-?\d{1,18}", re.ASCII)
"""Text that is an integer which certainly fits into 64 bits."""
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII | re.IGNORECASE)
_LARGEST = 10**18


def _comparable(array: NDArray[Any]) -> NDArray[Any]:
    """Return names in a form that does not depend on their storage: 7, 7.0, '7', b'7' and '007' are one name.

    Numbers with leading zeros stay text if some of them would no longer be distinct.
    """
    if array.dtype.kind in "iu" and (array.size == 0 or max(abs(int(array.min())), abs(int(array.max()))) < _LARGEST):
        return array.astype(np.int64)
    if array.dtype.kind in "mM":
        array = _format_times(array)
    text = [_as_text(value) for value in array.tolist()]
    if text and all(map(_NUMBER.fullmatch, text)):
        numbers = np.array(text, dtype=np.int64)
        if len(np.unique(numbers)) == len(set(text)):
            return numbers
    if text and all(map(_UUID.fullmatch, text)):
        text = [value.lower() for value in text]
    names = np.empty(len(text), dtype=object)
    names[:] = text
    return names


def _as_text(value: Any) -> str:
    """Return a name as text, without surrounding spaces; empty if it is missing."""
    if value is None or (isinstance(value, float) and value != value) or type(value).__name__ in ("NAType", "NaTType"):
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, bytes):
        text = value.decode(errors="replace").strip()
        if (text or not value) and text.isprintable() and "\ufffd" not in text:
            return text
        return str(UUID(bytes=value)) if len(value) == 16 else value.hex()
    return visible_name(str(value).strip())


def _format_times(times: NDArray[Any]) -> NDArray[Any]:
    """Return times as text that does not depend on their unit, which differs between versions of pandas."""
    if times.dtype.kind == "m":
        return np.asarray((times / np.timedelta64(1, "s")).astype(str))
    seconds = times.astype("datetime64[s]")
    exact = times if np.datetime_data(times.dtype)[0] in ("ms", "us", "ns", "ps", "fs", "as") else seconds
    return np.array([text.rstrip("0").rstrip(".") if "." in text else text for text in exact.astype(str)])


def _hash(values: NDArray[Any]) -> str:
    digest = hashlib.sha256(values.dtype.kind.encode())
    if values.dtype.kind in "iu":
        digest.update(np.ascontiguousarray(values, dtype=np.int64).tobytes())
    else:
        digest.update("\0".join(values.tolist()).encode(errors="surrogatepass"))
    return digest.hexdigest()[:24]


class NamedRows:
    """An array with row names, by which its rows are matched with those of other arrays.

    Parameters
    ----------
    values : array of shape (n_samples, n_features) or (n_samples,)
        A representation or labels. Sparse matrices of SciPy stay sparse.
    names : array of shape (n_samples,)
        One name per row, as text or numbers. Repeated names do not identify rows.

    Examples
    --------
    >>> named = NamedRows([[1.0, 2.0], [3.0, 4.0]], ["cell 7", "cell 9"])
    >>> named, named.names.tolist()
    (NamedRows(shape (2, 2)), ['cell 7', 'cell 9'])
    >>> NamedRows([[1.0, 2.0]], ["cell 7", "cell 9"])
    Traceback (most recent call last):
    ValueError: names must be one per row (1), got shape (2,)
    """

    def __init__(self, values: Any, names: ArrayLike | Names) -> None:
        self.values = values if hasattr(values, "shape") else to_host(values, "values")
        self.known = names if isinstance(names, Names) else Names.build(to_host(names, "names"), "name")
        """Names of the rows; names in a file are read only when needed."""
        if not isinstance(names, Names) and (not self.shape or array_shape(names) != self.shape[:1]):
            raise ValueError(f"names must be one per row ({(self.shape or (0,))[0]}), got shape {array_shape(names)}")

    @property
    def names(self) -> Array:
        """One name per row, as integers or text."""
        return self.known.values

    def __repr__(self) -> str:
        return f"NamedRows(shape {self.shape})"

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the values."""
        return tuple(self.values.shape)

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def dtype(self) -> Any:
        """Data type of the values."""
        return self.values.dtype

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """Return the values, without the names."""
        dense = self.values.toarray() if hasattr(self.values, "toarray") else self.values
        return np.array(dense, dtype=dtype, copy=copy)
