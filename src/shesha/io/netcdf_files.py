"""Read netCDF files with xarray; the names of dimensions, or their coordinates, show which one is the rows."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from shesha.inputs import AXIS_ROLES, Names, axis_order
from shesha.io.array_selection import NamedArrays, StoredArray, refused
from shesha.io.file_checks import (
    UnreadableFileError,
    file_stem,
    open_hdf5,
    optional,
    reading,
    require_memory,
    require_own,
    require_plausible,
    require_sound,
)
from shesha.support.optional import require
from shesha.support.provenance import state
from shesha.support.types import Array

_UNNAMED = "__xarray_dataarray_variable__"


def netcdf_arrays(path: Path) -> NamedArrays:
    """Describe the variables of a file as rows x features, or rows x layers x features, and coordinates as labels."""
    if hdf5 := _is_hdf5(path):
        # The library would follow links, and read values in other files.
        with open_hdf5(path) as root, reading(path):
            require_own(path, root, list(root))
    arrays: dict[str, StoredArray] = {}
    rows: dict[str, str] = {}
    names: Names | None = None
    unclear: list[str] = []
    with _open_groups(path, hdf5) as groups:
        for place, data in groups.items():
            for name, variable in data.data_vars.items():
                full = file_stem(path) if name == _UNNAMED else f"{place.strip('/')}/{name}".lstrip("/")
                squeezed = [dim for dim in variable.dims if variable.sizes[dim] > 1 or variable.ndim <= 2]
                if len(squeezed) < 2 or variable.dtype.kind not in "fiub":
                    arrays[full] = _flat(path, place, str(name), variable)
                    continue
                order = axis_order(variable, squeezed)
                if order is None:
                    unclear.append(f"{full} ({', '.join(map(str, squeezed))})")
                    arrays[full] = refused(f"has dimensions {', '.join(map(str, squeezed))}, of which none is known")
                    continue
                rows[full] = order[0]
                shape = tuple(int(variable.sizes[dim]) for dim in order)
                load = partial(_read_values, path, place, str(name), tuple(order), shape, np.dtype(variable.dtype))
                arrays[full] = StoredArray(shape, np.dtype(variable.dtype), load, has_known_axes=True)
                layers = f"layers are {order[1]}, " * (len(order) > 2)
                state(f"{full}: rows are {order[0]}, {layers}features are {order[-1]}")
                names = names or _row_names(variable, order[0])
            for name, coordinate in data.coords.items():
                if coordinate.ndim == 1 and str(name) not in arrays and coordinate.dims[0] in rows.values():
                    arrays[str(name)] = _flat(path, place, str(name), coordinate)
    if unclear and not rows:
        raise UnreadableFileError(_which(path, unclear))
    return NamedArrays(arrays, names)


def _which(path: Path, unclear: list[str]) -> str:
    accepted = "; ".join(f"{role}: {', '.join(words.split())}" for role, words in AXIS_ROLES.items())
    return (
        f"netCDF file {path} must have a dimension whose name shows the rows, got {', '.join(unclear)}; accepted names "
        f"are {accepted}; to rename dimensions:\n    import xarray\n"
        f"    data = xarray.load_dataset({str(path)!r}); first, *others = data.dims\n"
        f"    data.rename({{first: 'sample', others[-1]: 'feature'}}).to_netcdf("
        f"{str(path.with_name(f'{path.stem}_named.nc'))!r})  # if the first dimension is the rows"
    )


def _is_hdf5(path: Path) -> bool:
    with path.open("rb") as stream:
        return stream.read(8) == b"\x89HDF\r\n\x1a\n"


@contextmanager
def _open_groups(path: Path, hdf5: bool) -> Iterator[dict[str, Any]]:
    """Open the groups of a file with the library that its version needs."""
    need = f"xarray must be installed to read netCDF files such as {path}"
    xarray = require("xarray", "files", need)
    if not hdf5:
        with reading(path):
            _require_classic_sizes(path)
            groups = {"/": xarray.open_dataset(path, engine="scipy", cache=False)}
    else:
        engine = "h5netcdf" if find_spec("h5netcdf") else "netcdf4"
        if engine == "netcdf4":
            optional("netCDF4", path)
        with reading(path):
            groups = dict(xarray.open_groups(path, engine=engine, cache=False))
    try:
        yield groups
    finally:
        for data in groups.values():
            data.close()


def _require_classic_sizes(path: Path) -> None:
    """Refuse a classic file that declares more values than it has bytes."""
    from scipy.io import netcdf_file

    with warnings.catch_warnings():
        # The arrays of the file are still mapped when it is closed, but they are not used any more.
        warnings.simplefilter("ignore", RuntimeWarning)
        with netcdf_file(str(path), "r", mmap=True) as file:
            sizes = {
                name: math.prod(variable.shape) * variable.data.dtype.itemsize
                for name, variable in file.variables.items()
            }
    name = max(sizes, key=lambda name: sizes[name], default="")
    if name and sizes[name] > path.stat().st_size:
        raise UnreadableFileError(f"netCDF file {path} must contain {name} completely, got {sizes[name]:,} bytes")


def _row_names(variable: Any, dim: Any) -> Names | None:
    """Return the coordinate of the rows, unless it only numbers them."""
    if dim not in variable.coords or variable.coords[dim].ndim != 1:
        return None
    values = np.asarray(variable.coords[dim].values)
    if values.dtype.kind in "iuf" and (values == np.arange(len(values))).all():
        return None
    return Names.build(values, str(dim))


def _flat(path: Path, place: str, name: str, variable: Any) -> StoredArray:
    shape = tuple(map(int, variable.shape))
    dtype = np.dtype("U1") if variable.dtype.kind in "OUST" else np.dtype(variable.dtype)
    return StoredArray(shape, dtype, partial(_read_values, path, place, name, variable.dims, shape, dtype))


def _read_values(
    path: Path, place: str, name: str, order: tuple[Any, ...], shape: tuple[int, ...], dtype: np.dtype[Any]
) -> Array:
    require_memory(path, name, shape, dtype, "write fewer rows")
    require_plausible(path, name, math.prod(shape) * dtype.itemsize, path.stat().st_size)
    hdf5 = _is_hdf5(path)
    if hdf5:
        with open_hdf5(path) as root, reading(path):
            inner = f"{place.strip('/')}/{name}".lstrip("/")
            if inner in root:
                require_sound(path, inner, root[inner])
    with _open_groups(path, hdf5) as groups, reading(path):
        data = groups[place]
        variable = data[name].squeeze([dim for dim in data[name].dims if dim not in order])
        values = np.asarray(variable.transpose(*order).values)
        return values.astype(str) if values.dtype.kind in "OS" else values
