"""Arrays from other libraries (torch, CuPy, ...): device, transfers, and functions that differ.

NumPy arrays are processed by kernels that work in blocks, in threads and in compiled code. Arrays on a device are
processed there as a whole, by functions of the array API standard. The decorator `elsewhere` on a NumPy kernel names
the function that replaces it on a device. This module adds what the standard lacks, such as transfers to the host.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from shesha.support.types import Index, Vector

P = ParamSpec("P")
Result = TypeVar("Result")

_NO_DOUBLES = ("mps", "meta")
"""Types of torch devices that have no double precision or no values."""
_COLUMNS = 4096
"""Columns whose medians are computed at a time."""
_SMALL = 128
"""Matrices with up to this number of rows or columns are decomposed on the host."""


def is_numpy(array: Any) -> bool:
    """Return whether the array is a NumPy array."""
    return isinstance(array, np.ndarray)


def stays(array: Any) -> bool:
    """Return whether an array is processed on its device, which must support double precision.

    Arrays in host memory are processed by NumPy, which is faster there. With SHESHA_ARRAYS=own, they are processed by
    their own library.
    """
    if is_numpy(array) or not hasattr(array, "device") or _is_jax(array):
        return False
    from array_api_compat import is_array_api_obj

    if not is_array_api_obj(array):
        return False
    if os.environ.get("SHESHA_ARRAYS") == "own":
        return True
    kind = str(getattr(array.device, "type", array.device)).lower()
    return "cpu" not in kind and kind not in _NO_DOUBLES


def _is_jax(array: Any) -> bool:
    # JAX arrays have single precision unless double precision is enabled for the whole process.
    return type(array).__module__.split(".")[0] in ("jax", "jaxlib")


def namespace(array: Any) -> Any:
    """Return the array API functions that apply to an array."""
    if is_numpy(array):
        return np
    from array_api_compat import array_namespace

    try:
        return array_namespace(array)
    except TypeError as error:
        raise TypeError(f"arrays must be of NumPy or of an array library, got {type(array).__name__}") from error


def refuse_masked(X: Any, name: str) -> None:
    """Raise an error for masked entries, because `np.asarray` would silently restore the masked values."""
    # Nullable arrays of pandas have masks as well, whose entries become NaN.
    # Masks of records have a field for each of theirs.
    mask = np.ascontiguousarray(np.ma.getmaskarray(X)) if isinstance(X, np.ma.MaskedArray) else np.zeros(1, bool)
    if hidden := int(np.count_nonzero(mask.view(bool))):
        raise ValueError(
            f"{name} must not be masked, got {hidden} masked entries; fill them or leave out their rows "
            f"({name}.filled(numpy.nan) with missing='drop')"
        )


def to_host(array: Any, name: str = "X") -> NDArray[Any]:
    """Return any array as a NumPy array; tensors are detached from gradients and copied from their device."""
    if isinstance(array, np.ndarray):
        refuse_masked(array, name)
        # An np.matrix multiplies differently from an array and always has two axes.
        return np.asarray(array) if isinstance(array, np.matrix | np.ma.MaskedArray) else array
    if hasattr(array, "detach") and hasattr(array, "cpu"):
        tensor = array.detach().cpu()
        # NumPy has no bfloat16; single precision represents its values exactly.
        return np.asarray((tensor.float() if str(tensor.dtype) == "torch.bfloat16" else tensor).numpy())
    if hasattr(array, "get") and hasattr(array, "__cuda_array_interface__"):
        return np.asarray(array.get())
    if hasattr(array, "__array_namespace__") and hasattr(array, "__dlpack__") and stays(array):
        host = np.from_dlpack(array, device="cpu", copy=True)
        # NumPy 2.1 and 2.2 return a read-only array even with copy=True.
        return host if host.flags.writeable else host.copy()
    if _has_tensors(array):
        array = [to_host(row, name) for row in array]
    try:
        return np.asarray(array)
    except (ValueError, TypeError) as error:
        if hasattr(array, "dtype"):
            raise TypeError(
                f"{name} must be an array, got {type(array).__name__}, which cannot be converted: {error}"
            ) from error
        rows = [row for row in array if array_shape(row)]
        lengths = sorted(array_shape(row)[0] for row in rows) or [0]
        tokens = (
            "; join batches (numpy.concatenate), and pass the means of the tokens of each input (numpy.mean, axis=0)"
        )
        # Sparse matrices have entries, but cannot be iterated over.
        matrices = any(len(array_shape(row)) > 1 or any(hasattr(item, "__len__") for item in row) for row in rows[:1])
        raise ValueError(
            f"{name} must be an array, got lists of unequal lengths ({lengths[0]} to {lengths[-1]}){tokens * matrices}"
        ) from error


def _has_tensors(array: Any) -> bool:
    """Return whether an array is a list of tensors, which NumPy cannot read if they have gradients or bfloat16."""
    return isinstance(array, list | tuple) and any(hasattr(row, "detach") for row in array)


def to_dense(array: Any) -> NDArray[Any]:
    """Return any array or sparse matrix as a NumPy array."""
    return np.asarray(array.toarray()) if hasattr(array, "toarray") else to_host(array)


def array_shape(value: Any) -> tuple[int, ...]:
    """Return the shape of any array; lists of unequal lengths count as having one axis."""
    try:
        shape = np.shape(to_host(value) if _has_tensors(value) else value)
    except ValueError:
        return (len(value),)
    # Modules of array libraries have a function of this name.
    return shape if isinstance(shape, tuple) else ()


def convert_like(host: NDArray[Any] | float, array: Any) -> Any:
    """Convert a NumPy array to the library and device of another array."""
    if is_numpy(array):
        return host
    xp = namespace(array)
    return xp.asarray(host, device=array.device)


def doubles(array: Any) -> Any:
    """Return the array in double precision and without gradients, on its device."""
    if is_numpy(array):
        return np.ascontiguousarray(array, dtype=np.float64)
    if hasattr(array, "detach"):
        array = array.detach()
    xp = namespace(array)
    return xp.astype(array, xp.float64, copy=False)


def elsewhere(other: Callable[..., Any]) -> Callable[[Callable[P, Result]], Callable[P, Result]]:
    """Replace a kernel by another function if its first argument is an array on a device."""

    def mark(kernel: Callable[P, Result]) -> Callable[P, Result]:
        @wraps(kernel)
        def dispatch(*args: P.args, **options: P.kwargs) -> Result:
            return kernel(*args, **options) if is_numpy(args[0]) else cast(Result, other(*args, **options))

        return dispatch

    return mark


def free_memory(array: Any) -> int | None:
    """Free memory in bytes on the device of an array; None if unknown."""
    library = type(array).__module__.split(".")[0]
    if library == "cupy":
        return int(array.device.mem_info[0])
    if library != "torch" or array.device.type != "cuda":
        return None
    from torch import cuda

    # Memory that torch has reserved but not allocated is free as well.
    reserved = cuda.memory_reserved(array.device) - cuda.memory_allocated(array.device)
    return int(cuda.mem_get_info(array.device)[0]) + reserved


def take_rows(array: Any, index: Any) -> Any:
    """Take rows of a matrix (or entries of a vector) in the order of the index."""
    if is_numpy(array):
        return array[index]
    return namespace(array).take(array, convert_like(index, array) if is_numpy(index) else index, axis=0)


def squared_lengths(rows: Any) -> Any:
    """Squared length of each row."""
    return np.einsum("ij,ij->i", rows, rows) if is_numpy(rows) else namespace(rows).sum(rows * rows, axis=1)


def norm(array: Any) -> float:
    """Square root of the sum of squares."""
    return float(np.linalg.norm(array)) if is_numpy(array) else float(namespace(array).sum(array * array)) ** 0.5


def total(array: Any) -> float:
    """Sum of all entries."""
    return float(array.sum()) if is_numpy(array) else float(namespace(array).sum(array))


def largest(array: Any) -> float:
    """Largest absolute value in an array."""
    xp = namespace(array)
    # The minimum and the maximum need no copy, unlike absolute values.
    return max(abs(float(xp.max(array))), abs(float(xp.min(array))))


def spread(array: Any) -> float:
    """Difference between the largest and the smallest value."""
    xp = namespace(array)
    return float(xp.max(array)) - float(xp.min(array))


def column_medians(rows: Any) -> Any:
    """Median of each column of finite numbers; faster than np.median, because NaN is not checked for."""
    low, high = (rows.shape[0] - 1) // 2, rows.shape[0] // 2
    if not is_numpy(rows):
        ordered = namespace(rows).sort(rows, axis=0)
        return (ordered[low, :] + ordered[high, :]) / 2
    medians = np.empty(rows.shape[1])
    for start in range(0, rows.shape[1], _COLUMNS):
        # It is several times faster to make columns contiguous and to partition them at one position instead of two.
        columns = np.array(rows[:, start : start + _COLUMNS].T, order="C")
        columns.partition(high, axis=1)
        upper = columns[:, high]
        lower = upper if low == high else columns[:, :high].max(axis=1)
        medians[start : start + _COLUMNS] = (lower + upper) / 2
    return medians


def order_statistics(values: Any, ranks: list[int]) -> list[float]:
    """Return the values that have the given ranks, counted from 0."""
    statistics = np.partition(values, ranks) if is_numpy(values) else namespace(values).sort(values)
    return [float(statistics[rank]) for rank in ranks]


def smallest(block: Any, m: int) -> Index:
    """Column indices of the m smallest entries of each row, in any order."""
    if is_numpy(block):
        return np.asarray(np.argpartition(block, m - 1, axis=1)[:, :m])
    if hasattr(block, "topk"):
        return to_host(block.topk(m, dim=1, largest=False, sorted=False).indices)
    return to_host(namespace(block).argsort(block, axis=1)[:, :m])


def singular_values(matrix: Any) -> Vector:
    """Singular values, largest first; small matrices are decomposed on the host, which is faster."""
    if is_numpy(matrix) or min(matrix.shape) <= _SMALL:
        return np.linalg.svd(to_host(matrix), compute_uv=False)
    return to_host(namespace(matrix).linalg.svdvals(matrix))


def thin_svd(matrix: Any) -> tuple[Any, Vector, Any]:
    """Left singular vectors (columns), singular values, and right singular vectors (rows)."""
    left, values, right = namespace(matrix).linalg.svd(matrix, full_matrices=False)
    return left, to_host(values), right


def input_precision(X: Any) -> float:
    """Relative rounding error of the numbers stored in an array."""
    if stays(X):
        xp = namespace(X)
        kind = X.dtype if xp.isdtype(X.dtype, "real floating") else xp.float64
        return float(xp.finfo(kind).eps)
    dtype = X.dtype if hasattr(X, "toarray") else to_host(X).dtype
    return float(np.finfo(dtype if dtype.kind == "f" else float).eps)
