"""Convert tables and arrays of other libraries to NumPy, without importing these libraries."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from shesha.inputs.class_labels import FEATURE_TYPES, state_feature_types
from shesha.inputs.column_words import is_design_name
from shesha.inputs.columns import SAMPLE, Column, pandas_columns
from shesha.inputs.identity import NamedRows, Names, choose_identity, identity_names
from shesha.inputs.quantised import as_bytes, decode, refuse_float_bits, refuse_neighbours, scale_columns
from shesha.inputs.table_columns import column_names, decide, feature_order, state_layout
from shesha.inputs.unsuited_tables import require_wide
from shesha.inputs.vector_columns import find_vectors, is_missing
from shesha.support import provenance
from shesha.support.device_arrays import array_shape, refuse_masked, to_host
from shesha.support.optional import require
from shesha.support.types import Array
from shesha.support.wording import join_items, join_names

if TYPE_CHECKING:
    import pandas as pd


class ConditionDistances(np.ndarray[Any, np.dtype[np.float64]]):
    """A matrix of distances between conditions, with their names in `names`; a NumPy array in all other respects.

    Entries, parts and results of arithmetic are ordinary arrays. `shesha.Rdm` uses the names to match conditions.

    Parameters
    ----------
    values : array of shape (n_conditions, n_conditions)
    names : sequence of str
        Name of each condition, in the order of the rows.
    read : sequence of str
        Statements on the input, such as trials that were left out.
    """

    names: tuple[str, ...]
    """Names of the conditions, in the order of the rows."""
    read: tuple[str, ...]
    """Statements on the input, such as trials that were left out."""

    def __new__(cls, values: Array, names: Sequence[str], read: Sequence[str] = ()) -> ConditionDistances:
        """Attach names to distances."""
        distances = np.asarray(values, dtype=np.float64).view(cls)
        distances.names, distances.read = tuple(names), tuple(read)
        return distances

    def __array_finalize__(self, source: Any) -> None:
        """Keep the names in copies of the whole matrix."""
        whole = source is not None and self.shape == source.shape
        self.names = getattr(source, "names", ()) if whole else ()
        self.read = getattr(source, "read", ()) if whole else ()

    def __array_wrap__(self, array: Array, context: Any = None, return_scalar: bool = False) -> Any:
        """Return results of arithmetic as ordinary arrays."""
        return array[()] if return_scalar else np.asarray(array)

    def __getitem__(self, key: Any) -> Any:
        """Return parts as ordinary arrays."""
        return np.asarray(self)[key]

    def __repr__(self) -> str:
        """Show the names, and what was read and left out."""
        return "\n".join([f"{self.to_frame()}", *self.read])

    __str__ = __repr__

    def __reduce__(self) -> Any:
        """Pickle values and names."""
        return ConditionDistances, (np.asarray(self), self.names, self.read)

    def to_frame(self) -> pd.DataFrame:
        """Return a table whose rows and columns are named by the conditions."""
        import pandas as pd

        values = np.asarray(self)
        if values.ndim != 2 or len(self.names) != len(values):
            return pd.DataFrame(values)
        return pd.DataFrame(values, index=list(self.names), columns=list(self.names))


def is_labelled(X: Any) -> bool:
    """Return whether an array has named axes: an xarray.DataArray, recognised by its class."""
    return any(
        base.__module__.partition(".")[0] == "xarray" and base.__name__ == "DataArray" for base in type(X).__mro__
    )


def coordinate_values(X: Any, named: str, name: str = "X") -> tuple[str, Array]:
    """Return the axis along which a coordinate lies, and the coordinate's values.

    Raises
    ------
    ValueError
        If no coordinate of this name lies along exactly one axis.
    """
    known = {str(key): value for key, value in X.coords.items() if value.ndim == 1}
    if named not in known:
        names = ", ".join(map(repr, known)) or "none"
        raise ValueError(f"{name} must have a coordinate {named!r} along one axis, got {names}")
    return str(known[named].dims[0]), known[named].values


AXIS_ROLES = {
    "rows": "presentation stimulus stimuli stim rep repeat repetition image trial sample observation obs cell "
    "condition item event epoch row input text sentence word document record subject participant example instance "
    "case n",
    "layers": "layer time_bin time_step time timepoint lag bin frame tr depth",
    "features": "neuroid feature unit channel voxel gene variable var neuron electrode hidden dim dimension embedding "
    "column roi sensor component pc latent vertex site parcel region contact source d",
}
"""Words in the names of axes, by what lies along the axis."""
_ROLE = {word: role for role, words in AXIS_ROLES.items() for word in words.split()}


def _role(dim: object) -> str | None:
    """Return the role of a dimension from its name, such as 'n_cells', 'stimulus_id' or 'time bins'."""
    name = re.sub(r"^(?:n|num)_|_(?:id|name|index|idx|path)$", "", str(dim).lower().replace(" ", "_"))
    for word in (name, name.removesuffix("s"), name.rpartition("_")[2], name.rpartition("_")[2].removesuffix("s")):
        if word in _ROLE:
            return _ROLE[word]
    return None


def axis_order(variable: Any, dims: list[Any]) -> list[Any] | None:
    """Return the dimensions as rows, layers, features; None if their names do not show which one is the rows."""
    roles = {dim: _role(dim) for dim in dims}
    if len(dims) > 3:
        return None
    if "rows" not in roles.values():
        texts = {
            coordinate.dims[0]
            for coordinate in variable.coords.values()
            if coordinate.ndim == 1 and coordinate.dtype.kind in "OUS" and coordinate.dims[0] in roles
        }
        unknown = [dim for dim, role in roles.items() if role is None]
        likely = [dim for dim in unknown if dim in texts] or unknown
        if not unknown and "features" in roles.values() and "layers" in roles.values() and len(dims) == 2:
            # Recordings of time x channels have no other rows than times.
            likely = [dim for dim, role in roles.items() if role == "layers"]
        if len(likely) != 1:
            return None
        roles[likely[0]] = "rows"
    rows = [dim for dim, role in roles.items() if role == "rows"]
    if len(rows) == 2:
        # In recordings, cells are features of trials; elsewhere they are the rows.
        roles |= {dim: "features" for dim in rows if re.search(r"cells?(_|$)", str(dim).lower())}
    unknown = [dim for dim, role in roles.items() if role is None]
    missing = [role for role in ("features", "layers") if role not in roles.values()]
    roles |= dict(zip(reversed(unknown), missing, strict=False))
    if len(dims) == 2:
        rows = [dim for dim, role in roles.items() if role == "rows"]
        return [rows[0], next(dim for dim in dims if dim != rows[0])] if len(rows) == 1 else None
    found = {role: dim for dim, role in roles.items()}
    return [found[role] for role in AXIS_ROLES] if len(found) == 3 and None not in found else None


def make_data_array(values: Array, axes: Mapping[str, Sequence[Any]], name: str, extra: str) -> Any:
    """Return a result as an xarray.DataArray.

    Parameters
    ----------
    values : array
        Values of the result.
    axes : mapping of str to sequence
        Coordinates along each axis, by the name of the axis.
    name : str
        Name of the result.
    extra : str
        Name of this package's extra that installs xarray, for the error message.
    """
    xarray = require("xarray", extra)
    return xarray.DataArray(values, coords={axis: list(entries) for axis, entries in axes.items()}, name=name)


def align_features(X: Any, Y: Any, first: str, second: str) -> Any:
    """Return Y with the features in the order of X, if both are tables whose columns have the same names."""
    order = feature_order(column_names(X), column_names(Y), (first, second))
    return Y if order is None else split_names(Y, second)[0][:, order]


Parted = tuple[Any, Names | None]


def split_names(X: Any, name: str = "X") -> Parted:
    """Return an array (or sparse matrix) and its row names; unknown objects are returned unchanged.

    Raises
    ------
    TypeError
        If X cannot be read as one matrix of numbers. For a table, the message names the column at fault.
    ValueError
        If a masked array has masked entries, or a column contains lists of different lengths.
    """
    refuse_masked(X, name)
    if isinstance(X, ConditionDistances) and X.names:
        return np.asarray(X), Names.build(np.array(X.names))
    if isinstance(X, np.ndarray) and X.dtype.names is not None and X.ndim == 1:
        return _from_records([dict(zip(X.dtype.names, record, strict=True)) for record in X], name)
    if (
        isinstance(X, np.ndarray)
        and X.dtype == object
        and X.ndim == 1
        and len(X)
        and isinstance(X[0], list | np.ndarray)
    ):
        return _vectors_or_values(list(X), X, name), None
    if isinstance(X, np.ndarray):
        refuse_neighbours(X, name)
        refuse_float_bits(X, name)
        return decode(X, name) if X.ndim == 2 and X.dtype == np.uint8 else X, None
    if isinstance(X, list | tuple) and X and all(isinstance(record, Mapping) for record in X):
        return _from_records(X, name)
    if are_named_vectors(X):
        return np.stack([to_host(vector, name) for _, vector in X]), Names.build([own for own, _ in X])
    if isinstance(X, NamedRows):
        return X.values, X.known
    for base in type(X).__mro__:
        convert = _CONVERTERS.get((base.__module__.partition(".")[0], base.__name__))
        if convert is not None:
            return convert(X, name)
    if isinstance(X, Mapping):
        raise TypeError(f"{name} must be one matrix, got a {type(X).__name__} of {join_items(X)}; {_remedy(X, name)}")
    return X, None


def are_named_vectors(items: Any) -> bool:
    """Return whether a list consists of pairs of a text and a vector, such as a path and its embedding."""
    return (
        isinstance(items, list | tuple)
        and bool(items)
        and all(isinstance(item, list | tuple) and len(item) == 2 and isinstance(item[0], str) for item in items)
        and all(not isinstance(vector, str) and len(array_shape(vector)) == 1 for _, vector in items)
    )


def _remedy(arrays: Mapping[Any, Any], name: str) -> str:
    """Return how a mapping is passed as one matrix: its vectors as rows, or one of its arrays."""
    if all(len(array_shape(value)) == 1 for value in arrays.values()):
        rows = f"shesha.io.NamedRows(numpy.stack(list({name}.values())), list({name}))"
        return f"if each is the vector of one row, pass {rows}"
    return "pass one of them, with one row per input"


def _from_records(records: Sequence[Mapping[str, Any]], name: str) -> Parted:
    import pandas as pd

    return _from_pandas_frame(pd.DataFrame(list(records)), name)


def table_values(X: Any, name: str = "X") -> Any:
    """Return the values of an array or of all columns of a table, which must be numbers; nothing is decided."""
    if hasattr(X, "columns") and hasattr(X, "iloc"):
        for position, column in enumerate(pandas_columns(X)):
            if column.kind != "numbers" and X.iloc[:, position].dtype.kind != "c":
                raise TypeError(f"{name} must contain numbers only, got {column.content} in column {column.name!r}")
        return numbers(X)
    return split_names(X, name)[0]


def _from_pandas_frame(frame: pd.DataFrame, name: str) -> Parted:
    columns = pandas_columns(frame)
    index = Names.from_index(frame.index)
    if frame.index.nlevels > 1:
        levels = pandas_columns(frame.index.to_frame(index=False))
        require_wide([*levels, *columns], len(columns), name)
    counted = frame.index.name is None and frame.index.dtype.kind in "iu"

    def read(chosen: Sequence[Column]) -> Array:
        # Several columns may have one name.
        position = {id(column): place for place, column in enumerate(columns)}
        places = [position[id(column)] for column in chosen]
        if places == list(range(len(columns))):
            return numbers(frame)
        # pandas cannot select columns whose bytes are in foreign order.
        foreign = {
            i: dtype.newbyteorder("=")
            for i, dtype in enumerate(frame.dtypes)
            # Types of pandas, such as categories, never count as native.
            if isinstance(dtype, np.dtype) and not dtype.isnative
        }
        native = frame.set_axis(range(len(columns)), axis=1).astype(foreign) if foreign else frame
        return numbers(native.iloc[:, places])

    return _from_columns(columns, name, read, index, certain=not counted)


def _from_columns(
    columns: Sequence[Column],
    name: str,
    read: Callable[[Sequence[Column]], Array],
    index: Names | None,
    *,
    certain: bool,
) -> Parted:
    """Return the matrix and the row names of a table, as `table_columns` decides.

    A `certain` index identifies the rows; others may be row numbers, so that a column of identifiers comes first.
    """
    if len(columns) == 1 and columns[0].kind == "numbers":
        return read(columns), index
    layout = decide(columns, name, option="")
    if len(layout.vectors) > 1:
        listed = ", ".join(map(repr, list(layout.vectors)[:3]))
        raise TypeError(
            f"{name} must be one matrix, got vectors in columns {listed}; pass one column, "
            f"{name}[{next(iter(layout.vectors))!r}]"
        )
    if layout.vectors:
        ((label, (column, found)),) = layout.vectors.items()
        assert found.parse is not None
        values = found.parse(_as_list(column.values()), f"column {label!r} of {name}", 0)
        scales = scale_columns(columns, label)
        values = decode(as_bytes(values, label, scaled=bool(scales)), label, scales)
    elif layout.matrix or not columns:
        values = read(layout.matrix)
    else:
        reasons = join_names(f"{label} ({reason})" for label, reason in layout.left_out.items())
        raise TypeError(f"{name} must contain columns of numbers or one column of vectors, got {reasons}")
    identity = layout.identity if layout.certain or index is None else None
    if identity is None or (certain and index is not None):
        layout = replace(layout, identity=None, certain=False)
        names = index
    else:
        names = Names(identity.values, column=identity.name, doubtful=not layout.certain)
        names.index = index
    if names is not None:
        names.columns = layout.other_columns(columns)
    state_layout(name, layout, values.shape, next(iter(layout.vectors), None), of_file=False)
    return values, names


def _as_list(values: Any) -> list[Any]:
    return values if isinstance(values, list) else list(values)


def _from_pandas_series(series: pd.Series[Any], name: str) -> Parted:
    (column,) = pandas_columns(series.to_frame())
    values = np.asarray(series) if column.kind == "numbers" else _vectors_or_values(series.tolist(), series, name)
    return values, Names.from_index(series.index)


def _vectors_or_values(entries: list[Any], series: Any, name: str) -> Any:
    """Return a column as a matrix if it contains vectors, or else as it is."""
    found = find_vectors([entry for entry in entries if not is_missing(entry)][:SAMPLE])
    if found is None or (found.parse is None and not found.problem):
        return np.asarray(series)
    if found.parse is None:
        raise ValueError(f"{name} must contain one vector per row, got a column that {found.problem}")
    return found.parse(entries, name, 0)


def numbers(frame: pd.DataFrame) -> Array:
    """Return numeric columns as one matrix of their common type, with NaN for missing values."""
    dtypes = [column.dtype for _, column in frame.items()]
    if not dtypes:
        return np.empty((len(frame), 0))
    native = [dtype if isinstance(dtype, np.dtype) and dtype.kind != "O" else np.dtype(float) for dtype in dtypes]
    common = np.result_type(*native)
    if native == dtypes:
        return frame.to_numpy(dtype=common)
    return frame.to_numpy(dtype=common, na_value=np.nan)


def _from_polars(frame: Any, name: str) -> Parted:
    if type(frame).__name__ == "LazyFrame":
        raise TypeError(f"{name} must be a collected table, got a LazyFrame; pass {name}.collect()")
    if type(frame).__name__ == "Series":
        numeric = bool(frame.dtype.is_numeric()) or str(frame.dtype) == "Boolean"
        return (frame.to_numpy() if numeric else _vectors_or_values(frame.to_list(), frame, name)), None

    import pandas as pd

    arrays = {column: _polars_values(frame[column]) for column in frame.columns}
    table = pd.DataFrame(arrays, index=range(len(frame)))
    columns = pandas_columns(table)
    return _from_columns(columns, name, lambda chosen: numbers(table[[c.name for c in chosen]]), None, certain=False)


def _polars_values(series: Any) -> Any:
    """Return a column with the values that pandas has for it: NaN for missing numbers, lists as objects."""
    import pandas as pd

    numeric = bool(series.dtype.is_numeric()) and "Decimal" not in str(series.dtype)
    return series.to_numpy() if numeric else pd.Series(series.to_list(), dtype=_POLARS_TYPES.get(str(series.dtype)))


_POLARS_TYPES = {"Boolean": "boolean", "Null": "float"}


def _from_arrow_table(table: Any, name: str) -> Parted:
    frame = table.to_pandas()
    # If the table was made from a pandas table, its metadata restores the index.
    return _from_pandas_frame(frame, name) if hasattr(frame, "columns") else (_from_pandas_series(frame, name)[0], None)


def _from_arrow_array(array: Any, name: str) -> Parted:
    values = array.to_numpy(zero_copy_only=False)
    return (_vectors_or_values(list(values), values, name) if values.dtype.kind == "O" else values), None


def _from_xarray(array: Any, name: str) -> Parted:
    if not hasattr(array, "dims") or hasattr(array, "data_vars"):
        known = ", ".join(map(str, getattr(array, "data_vars", ())))
        raise TypeError(f"{name} must be one array, got a Dataset of {known or 'no variables'}; pass one variable")
    order = axis_order(array, list(array.dims)) if array.ndim == 2 else None
    if order is not None and order[0] != array.dims[0]:
        provenance.state(f"{name}: rows are {order[0]}, features are {order[1]}")
        array = array.transpose(*order)
    if not array.dims:
        return array.values, None
    index = array.indexes.get(array.dims[0])
    along = {str(key): one for key, one in array.coords.items() if one.dims == array.dims[:1]}
    if index is not None:
        others = {key: one for key, one in along.items() if key != str(array.dims[0])}
        return array.values, Names.from_coordinates(index, str(array.dims[0]), others)
    chosen = choose_identity(identity_names(along), lambda key: along[key].values)
    return array.values, None if chosen is None else Names.build(along[chosen].values, chosen)


def _from_pynapple(series: Any, name: str) -> Parted:
    # Time stamps are not row names: they differ between sessions, whose trials are paired by position.
    return np.asarray(series.values), None


def _from_anndata(data: Any, name: str) -> Parted:
    if data.X is None:
        known = ", ".join(map(repr, data.obsm)) or "none"
        raise TypeError(
            f"{name} must be an AnnData object with a data matrix X, got no X; pass "
            f"shesha.io.from_anndata({name}, obsm=...) with one of {known}"
        )
    values = load_backed(data.X)
    provenance.record_features(data.n_vars, lambda: data.var_names)
    state_feature_types(name, data.var.get(FEATURE_TYPES, ()))
    if len(data.obsm):
        size = " x ".join(f"{length:,}" for length in values.shape)
        provenance.state(f"{name}: X of AnnData, {size} (not obsm {join_items(data.obsm)})")
    return values, names_of_cells(data)


def names_of_cells(data: Any) -> Names:
    """Return the names of the observations of AnnData, with the columns of obs that show whether these are others."""
    names = Names.build(data.obs_names)
    names.columns = {
        str(column): Names(partial(np.asarray, data.obs[column]))
        for column in data.obs
        if is_design_name(str(column)) and data.obs[column].dtype.kind != "f"
    }
    return names


def load_backed(values: Any) -> Any:
    """Read an element that AnnData has left in its file."""
    if hasattr(values, "to_memory"):
        return values.to_memory()
    return values if hasattr(values, "toarray") or hasattr(values, "columns") else np.asarray(values)


_CONVERTERS: Mapping[tuple[str, str], Callable[[Any, str], Parted]] = {
    ("pandas", "DataFrame"): _from_pandas_frame,
    ("pandas", "Series"): _from_pandas_series,
    ("polars", "DataFrame"): _from_polars,
    ("polars", "LazyFrame"): _from_polars,
    ("polars", "Series"): _from_polars,
    ("datasets", "Dataset"): lambda data, name: _from_pandas_frame(data.with_format("pandas")[:], name),
    ("pyarrow", "Table"): _from_arrow_table,
    ("pyarrow", "RecordBatch"): _from_arrow_table,
    ("pyarrow", "ChunkedArray"): lambda array, name: _from_arrow_array(array.combine_chunks(), name),
    ("pyarrow", "Array"): _from_arrow_array,
    ("xarray", "DataArray"): _from_xarray,
    ("xarray", "Dataset"): _from_xarray,
    ("anndata", "AnnData"): _from_anndata,
    ("pynapple", "Tsd"): _from_pynapple,
    ("pynapple", "TsdFrame"): _from_pynapple,
    ("pynapple", "TsdTensor"): _from_pynapple,
}
"""Converters, by the names of the library and the class."""
