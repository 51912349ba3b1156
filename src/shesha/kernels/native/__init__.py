"""Compiled inner loops (native.c), if this installation has them; everything works without them.

Arrays must be C-contiguous, have the types that the C functions expect, and contain valid indices; most of this is not
checked here. Set `SHESHA_NATIVE=0` to switch the compiled loops off.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from ctypes import CDLL, c_double, c_int64, c_void_p
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shesha.support.types import Index, Matrix, Vector

_LIBRARY = Path(__file__).with_name("libshesha.so")
_ABI = 3
_LEVELS = ("plain", "avx2", "avx512")
"""Names of the instruction sets; the library's level is an index into this list."""
_SMALL = 16
"""Largest number of grid cells for which the compiled loops are faster than the BLAS even without vector instructions.
"""
_CELL = 4
"""Cells are padded to a multiple of this number of values, unless they are smaller."""


@lru_cache(maxsize=1)
def _library() -> CDLL | None:
    if np.dtype(np.intp).itemsize != 8:
        return None
    try:
        library = CDLL(str(_LIBRARY))
        fits = library.shesha_abi() == _ABI
    except (OSError, AttributeError):
        return None
    return library if fits else None


def _load() -> CDLL | None:
    return None if os.environ.get("SHESHA_NATIVE") == "0" else _library()


def is_available() -> bool:
    """Whether compiled loops are installed and not switched off."""
    return _load() is not None


def provides(name: str) -> bool:
    """Whether the library contains this function, which older builds may lack."""
    return hasattr(_load(), f"{name}_plain")


def serves_grid(n_first: int, n_second: int) -> bool:
    """Whether the compiled loops are faster on this processor for a grid of this shape."""
    library = _load()
    return library is not None and (library.shesha_level() > 0 or n_first * n_second <= _SMALL)


def cell_width(n_second: int) -> int:
    """Padded number of values per pair of rows in the argument `second` of `grids`."""
    return n_second if n_second < _CELL - 1 else -(-n_second // _CELL) * _CELL


def laid_out(triangles: Sequence[Vector], width: int) -> Vector:
    """Return the condensed matrices in the layout that `grids` expects, for cells of this width."""
    if len(triangles) == 1:
        return triangles[0]
    out = np.empty(len(triangles) * len(triangles[0]))
    addresses = (c_void_p * len(triangles))(*(_address(triangle).value for triangle in triangles))
    _call("shesha_lay_out", _level(len(triangles), width), len(triangles), len(triangles[0]), addresses, out)
    return out


def grids(first: Vector, n_first: int, second: Matrix, orders: Index, places: Index) -> Matrix:
    """Inner products of the packed first matrices with every permuted second: (n_orders, n_first, width).

    Parameters
    ----------
    first : array of shape (n_first * n * (n - 1) / 2,)
        Matrices as packed by `laid_out`.
    n_first : int
        Number of packed matrices.
    second : array of shape (n, n, width)
        Square matrices, interleaved so that the entries of all matrices for one pair of rows are adjacent.
    orders, places : arrays of shape (n_orders, n)
        Permutations, and the inverse of each permutation.
    """
    n, _, width = second.shape
    out = np.zeros((len(orders), n_first, width))
    level = _level(n_first, width)
    _call("shesha_grids", level, n, n_first, width, len(orders), first, second, orders, places, out)
    return out


def _level(n_first: int, width: int) -> str:
    library = _load()
    assert library is not None
    # For a single product, gather instructions are slower than separate loads.
    return "_plain" if n_first == width == 1 else f"_{_LEVELS[library.shesha_level()]}"


def call(name: str, *arguments: Any) -> int:
    """Run a compiled function with the processor's best instruction set, without the interpreter lock.

    Arguments are arrays (None if absent) and numbers; each number is an int or a float, as the C function declares.
    """
    library = _load()
    assert library is not None
    return _call(name, f"_{_LEVELS[library.shesha_level()]}", *arguments)


def _call(name: str, level: str, *arguments: Any) -> int:
    function = getattr(_load(), name + level)
    return int(function(*map(_plain, arguments)))


def _plain(argument: Any) -> Any:
    if isinstance(argument, np.ndarray):
        return _address(argument)
    if isinstance(argument, float):
        return c_double(argument)
    return c_int64(argument) if isinstance(argument, int) else argument


def _address(array: NDArray[Any]) -> c_void_p:
    # C reads consecutive numbers, so it would read the wrong entries of a column or another strided view.
    if not array.flags.c_contiguous:
        raise ValueError(f"array must be contiguous, got one of shape {array.shape} with strides {array.strides}")
    return c_void_p(array.__array_interface__["data"][0])
