"""Inputs and outputs of xarray, with named axes and entries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shesha.support.optional import require
from shesha.support.types import Array


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


def transpose_axes(X: Any, roles: Sequence[Sequence[str]]) -> Any:
    """Reorder the axes by their roles, if the names of the axes identify their roles."""
    place = {word: position for position, words in enumerate(roles) for word in words}
    positions = [place.get(str(dim).lower().rstrip("s")) for dim in X.dims]
    if None in positions or len(set(positions)) < len(positions):
        return X
    return X.transpose(*[dim for _, dim in sorted(zip(positions, X.dims, strict=True), key=lambda pair: pair[0] or 0)])


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
