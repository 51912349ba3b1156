"""Invalid and unusual values for testing: matrices, labels, numbers and words of many kinds."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

Value = Callable[[Any], Any]
"""Function that makes an invalid value from a valid one."""
WIDTHS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


def with_entry(good: Any, entry: Any, dtype: Any = None) -> Any:
    """Return an array with one entry replaced."""
    found = np.array(good, dtype=dtype)
    found.flat[found.size // 2 if found.size else 0 : found.size // 2 + 1] = entry
    return found


def read_only(good: Any) -> Any:
    """Return a read-only copy."""
    found = np.array(good)
    found.flags.writeable = False
    return found


def ragged(good: Any) -> Any:
    """Return lists of several lengths."""
    return [list(range(1 + row % 3)) for row in range(len(good))]


def masked(good: Any) -> Any:
    """Return a masked array in which every seventh entry is masked."""
    return np.ma.masked_array(good, mask=np.arange(np.size(good)).reshape(np.shape(good)) % 7 == 0)


def framed(good: Any, index: Any) -> Any:
    """Return a table with an index of one name per row."""
    return pd.DataFrame(np.asarray(good), index=index)


MATRICES: dict[str, Value] = {
    "np.matrix": lambda M: np.matrix(M),
    "object array": lambda M: np.asarray(M).astype(object),
    "object array with text": lambda M: with_entry(M, "text", object),
    "object array with None": lambda M: with_entry(M, None, object),
    "object array with a list": lambda M: pd.Series([[1.0, 2.0]] * len(M)).to_numpy(),
    "object array of ragged lists": lambda M: pd.Series(ragged(M)).to_numpy(),
    "ragged lists": ragged,
    "nested lists": lambda M: np.asarray(M).tolist(),
    "tuple of arrays": lambda M: tuple(np.asarray(M)),
    "list of text": lambda M: [["a"] * 3] * len(M),
    "one text among numbers": lambda M: [*np.asarray(M).tolist()[:-1], ["a"] * np.shape(M)[-1]],
    "0-d": lambda M: np.array(1.5),
    "no rows": lambda M: np.asarray(M)[:0],
    "one row": lambda M: np.asarray(M)[:1],
    "two rows": lambda M: np.asarray(M)[:2],
    "one row less": lambda M: np.asarray(M)[:-1],
    "no columns": lambda M: np.asarray(M)[:, :0],
    "one column": lambda M: np.asarray(M)[:, :1],
    "vector": lambda M: np.asarray(M)[:, 0],
    "column of each": lambda M: np.asarray(M)[..., None],
    "four axes": lambda M: np.asarray(M)[..., None, None],
    "five axes": lambda M: np.asarray(M)[..., None, None, None],
    "NaN": lambda M: with_entry(M, np.nan, float),
    "infinity": lambda M: with_entry(M, -np.inf, float),
    "all NaN": lambda M: np.full(np.shape(M), np.nan),
    "huge": lambda M: np.asarray(M) * 1e160,
    "largest": lambda M: np.sign(M) * np.finfo(float).max,
    "one huge": lambda M: with_entry(M, 1e300, float),
    "subnormal": lambda M: np.asarray(M) * 1e-310,
    "tiny": lambda M: np.asarray(M) * 1e-160,
    "zeros": lambda M: np.zeros(np.shape(M)),
    "negative zeros": lambda M: -np.zeros(np.shape(M)),
    "constant": lambda M: np.full(np.shape(M), 0.3),
    "two distinct rows": lambda M: np.asarray(M)[np.arange(len(M)) % 2],
    "one distinct row": lambda M: np.asarray(M)[np.zeros(len(M), dtype=int)],
    "large offset": lambda M: np.asarray(M) + 1e17,
    "huge whole numbers": lambda M: [[10**30 + column for column in range(3)] for _ in range(len(M))],
    "fractions": lambda M: [[Fraction(row + 1, 3), Fraction(1, 1 + row)] for row in range(len(M))],
    "decimals": lambda M: [[Decimal(row), Decimal("0.1")] for row in range(len(M))],
    "bool": lambda M: np.asarray(M) > 0,
    "float16": lambda M: np.asarray(M).astype(np.float16),
    "long double": lambda M: np.asarray(M).astype(np.longdouble),
    "complex": lambda M: np.asarray(M) * 1j,
    "text array": lambda M: np.asarray(M).astype(str),
    "bytes array": lambda M: np.asarray(M).astype("S8"),
    "dates": lambda M: np.full(np.shape(M), np.datetime64("2020-01-01")),
    "durations": lambda M: np.full(np.shape(M), np.timedelta64(3, "s")),
    "records": lambda M: np.zeros(np.shape(M), dtype=[("a", "f8"), ("b", "i4")]),
    "voids": lambda M: np.zeros(np.shape(M), dtype="V4"),
    "masked": masked,
    "masked, nothing hidden": lambda M: np.ma.masked_array(M),
    "read-only": read_only,
    "big-endian": lambda M: np.asarray(M).astype(">f8"),
    "Fortran order": lambda M: np.asfortranarray(M),
    "strided": lambda M: np.repeat(np.asarray(M), 2, axis=-1)[..., ::2],
    "reversed": lambda M: np.asarray(M)[::-1],
    "csr": lambda M: sparse.csr_matrix(M),
    "csc array": lambda M: sparse.csc_array(M),
    "coo": lambda M: sparse.coo_matrix(M),
    "sparse with NaN": lambda M: sparse.csr_matrix(with_entry(M, np.nan, float)),
    "list of sparse rows": lambda M: [sparse.csr_matrix(row) for row in np.asarray(M)],
    "frame": lambda M: pd.DataFrame(M),
    "frame, repeated names": lambda M: framed(M, ["a"] * len(M)),
    "frame, missing names": lambda M: framed(M, [None, *range(len(M) - 1)]),
    "frame, two levels": lambda M: framed(M, pd.MultiIndex.from_arrays([range(len(M)), ["a"] * len(M)])),
    "frame, dates as names": lambda M: framed(M, pd.date_range("2020", periods=len(M))),
    "frame with text": lambda M: framed(M, range(len(M))).assign(text="a"),
    "frame of nullable": lambda M: framed(M, range(len(M))).convert_dtypes(),
    "frame with pd.NA": lambda M: pd.DataFrame({"a": pd.array([1, None] * (len(M) // 2), dtype="Int64")}),
    "frame of categories": lambda M: framed(np.asarray(M) > 0, range(len(M))).astype("category"),
    "frame, repeated columns": lambda M: pd.DataFrame(np.asarray(M), columns=["a"] * np.shape(M)[1]),
    "frame without columns": lambda M: pd.DataFrame(index=range(len(M))),
    "series of lists": lambda M: pd.Series(np.asarray(M).tolist()),
    "series": lambda M: pd.Series(np.asarray(M)[:, 0]),
    "list of frames": lambda M: [pd.DataFrame(M), pd.DataFrame(M)],
    **{width: (lambda M, width=width: np.clip(np.asarray(M) * 20, 0, 100).astype(width)) for width in WIDTHS},
}
"""Functions of a valid matrix, by the name of the fault."""

LABELS: dict[str, Value] = {
    "lists as labels": lambda y: [[1, 2]] * len(y),
    "ragged lists as labels": ragged,
    "object array of lists": lambda y: pd.Series(ragged(y)).to_numpy(),
    "sets as labels": lambda y: [{1}] * len(y),
    "dicts as labels": lambda y: [{"a": 1}, {"a": 2}] * (len(y) // 2),
    "tuples as labels": lambda y: [(1, "a"), (2, "b")] * (len(y) // 2),
    "arrays as labels": lambda y: [np.arange(3)] * len(y),
    "objects as labels": lambda y: [object() for _ in y],
    "mixed kinds": lambda y: [1, "a"] * (len(y) // 2),
    "mixed kinds of objects": lambda y: np.array([1, "a", 2.5, True] * (len(y) // 4), dtype=object),
    "None among labels": lambda y: [None, *list(y)[1:]],
    "NaN among labels": lambda y: np.r_[np.nan, np.zeros(len(y) - 1)],
    "pd.NA among labels": lambda y: pd.array([pd.NA, *([1] * (len(y) - 1))], dtype="Int64"),
    "empty text": lambda y: ["", "a"] * (len(y) // 2),
    "bytes": lambda y: [b"a", b"b"] * (len(y) // 2),
    "not UTF-8": lambda y: ["\udcff", "b"] * (len(y) // 2),
    "one class": lambda y: ["a"] * len(y),
    "all distinct": lambda y: list(range(len(y))),
    "one of a class": lambda y: ["a"] + ["b"] * (len(y) - 1),
    "too few": lambda y: list(y)[:-1],
    "too many": lambda y: [*y, *y],
    "none": lambda y: [],
    "column": lambda y: np.asarray(y)[:, None],
    "matrix of labels": lambda y: np.matrix(np.arange(len(y)) % 2),
    "categories": lambda y: pd.Categorical(list(y)),
    "unused categories": lambda y: pd.Categorical(np.array(["a", "b"])[np.arange(len(y)) % 2], ["b", "c", "a"]),
    "series, other names": lambda y: pd.Series(list(y), index=[f"r{row}" for row in range(len(y))]),
    "series, repeated names": lambda y: pd.Series(list(y), index=[0] * len(y)),
    "frame of two": lambda y: pd.DataFrame({"a": list(y), "b": list(y)}),
    "dates as labels": lambda y: np.array(["2020", "2021"] * (len(y) // 2), dtype="datetime64[Y]"),
    "masked labels": lambda y: np.ma.masked_array(np.arange(len(y)) % 2, mask=np.arange(len(y)) < 3),
    "huge whole numbers": lambda y: [10**30, 2] * (len(y) // 2),
    "unsigned": lambda y: (np.arange(len(y)) % 2).astype(np.uint64),
    "negative": lambda y: -(np.arange(len(y)) % 2),
    "bool": lambda y: np.arange(len(y)) % 2 == 0,
    "halves": lambda y: (np.arange(len(y)) % 2).astype(np.float16),
    "complex": lambda y: np.arange(len(y)) % 2 * 1j,
    "iterator": lambda y: iter(list(y)),
    "dict": lambda y: dict(enumerate(y)),
    "set": lambda y: {1, 2},
}
"""Functions of valid labels, by the name of the fault."""


def with_column(change: Value) -> Value:
    """Return a function that changes one column of a table, which depends on its size."""

    def changed(table: Any) -> Any:
        place = len(table) % max(1, table.shape[1])
        columns = [table.iloc[:, at] for at in range(table.shape[1])]
        columns[place] = pd.Series(change(columns[place]), index=table.index)
        return pd.concat(columns, axis=1).set_axis(table.columns, axis=1)

    return changed


_COLUMNS: dict[str, Value] = {
    "text": lambda s: ["a", "b"] * (len(s) // 2) + ["c"] * (len(s) % 2),
    "numbers as text": lambda s: [str(row) for row in range(len(s))],
    "mixed kinds": lambda s: [1, "a", None, 2.5, *s[4:]],
    "NaN": lambda s: np.nan,
    "None": lambda s: [None] * len(s),
    "one NaN": lambda s: [np.nan, *s[1:]],
    "pd.NA": lambda s: pd.array([pd.NA, *([1] * (len(s) - 1))], dtype="Int64"),
    "one infinity": lambda s: [np.inf, *s[1:]],
    "huge": lambda s: 1e300 * np.arange(len(s)),
    "huge whole numbers": lambda s: [10**30 + row for row in range(len(s))],
    "bool": lambda s: np.arange(len(s)) % 2 == 0,
    "complex": lambda s: 1j * np.arange(len(s)),
    "lists": lambda s: [[1, 2]] * len(s),
    "masked": lambda s: [np.ma.masked] * len(s),
    "dates": lambda s: pd.date_range("2020", periods=len(s)),
    "durations": lambda s: pd.to_timedelta(np.arange(len(s)), unit="s"),
    "decimals": lambda s: [Decimal(row) for row in range(len(s))],
    "categories": lambda s: pd.Categorical([f"{value}" for value in s]),
    "constant": lambda s: 1.0,
    "negative": lambda s: -np.arange(1.0, len(s) + 1),
}
TABLES: dict[str, Value] = {
    **{f"column of {name}": with_column(change) for name, change in _COLUMNS.items()},
    "no rows": lambda T: T.iloc[:0],
    "one row": lambda T: T.iloc[:1],
    "two rows": lambda T: T.iloc[:2],
    "no columns": lambda T: T.iloc[:, :0],
    "a column less": lambda T: T.drop(columns=T.columns[len(T) % max(1, T.shape[1])]),
    "repeated columns": lambda T: pd.concat([T, T], axis=1),
    "repeated rows": lambda T: pd.concat([T, T]),
    "same name of all rows": lambda T: T.set_axis(["a"] * len(T)),
    "missing name of a row": lambda T: T.set_axis([None, *range(len(T) - 1)]),
    "two levels": lambda T: T.set_axis(pd.MultiIndex.from_arrays([range(len(T)), ["a"] * len(T)])),
    "columns by number": lambda T: T.set_axis(range(T.shape[1]), axis=1),
    "transposed": lambda T: T.T,
    "as text": lambda T: T.astype(str),
    "as objects": lambda T: T.astype(object),
    "array": lambda T: T.to_numpy(),
    "dict": lambda T: {name: T[name].tolist() for name in T},
    "records": lambda T: T.to_records(),
}
"""Functions of a valid table, by the name of the fault."""

SCALARS: dict[str, Value] = {
    **{f"np.{width}": (lambda good, width=width: np.dtype(width).type(_whole(good))) for width in WIDTHS},
    **{f"np.{name}": (lambda good, name=name: np.dtype(name).type(_number(good))) for name in ("float16", "float32")},
    **{
        repr(value): (lambda good, value=value: value)
        for value in (
            *(None, True, False, 0, 1, 2, -1, -0.0, 0.5, 3.0, 2.5, 1e-320, 1e308, -1e308),
            *(float("nan"), float("inf"), float("-inf"), 2**31, 2**63 - 1, 2**63, 2**70, -(2**70)),
            *("", "text", "\udcff", "nan", "5", b"x", (), [], {}, [3], (1, "a"), {"a": 1}, {1, 2}, 1j),
            *(Fraction(1, 3), Decimal("0.5"), np.bool_(True), np.str_("cosine"), np.float64("nan"), pd.NA, pd.NaT),
        )
    },
    "10**400": lambda good: 10**400,
    "object": lambda good: object(),
    "module": lambda good: np,
    "0-d": lambda good: np.array(_number(good)),
    "1-d": lambda good: np.array([1.0, 2.0]),
    "date": lambda good: np.datetime64("2020-01-01"),
    "list of lists": lambda good: [[1], [1, 2]],
    "iterator": lambda good: iter(()),
}
"""Functions of a valid number or word, by the name of the fault."""


def _number(good: Any) -> float:
    return float(good) if isinstance(good, int | float) and abs(good) < 1e4 else 3.0


def _whole(good: Any) -> int:
    return min(int(_number(good)), 100)


def pool(good: Any) -> dict[str, Value]:
    """Return the invalid values that replace a valid one, by its kind."""
    if isinstance(good, np.ndarray):
        return MATRICES if good.ndim > 1 else LABELS
    if isinstance(good, pd.DataFrame):
        return TABLES
    return SCALARS
