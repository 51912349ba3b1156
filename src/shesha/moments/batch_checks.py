"""Checks on a batch of rows: equal numbers of rows, the expected numbers of features, no NaN."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from shesha.inputs import validation as check
from shesha.nulls.dependence import find_dependence
from shesha.nulls.sampled_rows_for_checks import DiagnosticRows
from shesha.support.device_arrays import is_numpy, namespace, stays, to_host
from shesha.support.types import Array


def batch_sides(batch: Any) -> list[Any]:
    """Return the matrices in a loader's batch, which may be a tuple, a list or a mapping of columns."""
    if isinstance(batch, Mapping):
        return list(batch.values())
    if isinstance(batch, tuple | list):
        return list(batch)
    raise TypeError(f"a batch must be a tuple (x, y) or a dict of matrices, got {type(batch).__name__}")


def check_batch(sides: Sequence[Any], names: Sequence[str], widths: Sequence[int] | None) -> list[Any]:
    """Check a batch, and return it as matrices of numbers on their devices.

    Raises
    ------
    TypeError
        If a matrix does not contain real numbers.
    ValueError
        If a matrix is not 2-D, or if its width differs from earlier batches or its number of rows from the first
        matrix.
    """
    sides_as_matrices = [_as_matrix(side, name) for side, name in zip(sides, names, strict=True)]
    for place, (side, name) in enumerate(zip(sides_as_matrices, names, strict=True)):
        if widths is not None and side.shape[1] != widths[place]:
            raise ValueError(
                f"{name} must have {widths[place]} features, as in earlier batches, got {side.shape[1]}; this batch "
                "was not added"
            )
        if side.shape[0] != sides_as_matrices[0].shape[0]:
            raise ValueError(
                f"{name} must have as many rows as {names[0]} ({sides_as_matrices[0].shape[0]}), got "
                f"{side.shape[0]}; this batch was not added"
            )
    return sides_as_matrices


def require_finite(sides: Sequence[Any], names: Sequence[str], first_row: int) -> None:
    """Raise an error for NaN and infinity; `first_row` is the position of the batch in the stream."""
    for side, name in zip(sides, names, strict=True):
        if not is_finite(side):
            rows = np.flatnonzero(~np.isfinite(_dense(side)).all(axis=1))
            raise ValueError(
                f"{name} must be finite, got NaN or infinity in rows {check.join_items(rows.tolist())} of the batch "
                f"that begins at row {first_row:,}; this batch was not added"
            )


def storage_rounding(side: Any) -> float:
    """Relative rounding error that the data type of a matrix implies."""
    kind = str(side.dtype).rpartition(".")[2]
    return {"float16": 2.0**-10, "float32": 2.0**-23, "bfloat16": 2.0**-23}.get(kind, 2.0**-52)


def _as_matrix(side: Any, name: str) -> Any:
    if not (stays(side) or hasattr(side, "toarray")):
        side = to_host(side, name)
    shape = tuple(side.shape)
    if len(shape) != 2 or shape[1] < 1:
        raise ValueError(f"{name} must be 2-D (n_samples, n_features), got shape {shape}")
    if hasattr(side, "tocsr"):
        side = side.tocsr()
    kind = side.dtype.kind if hasattr(side.dtype, "kind") else "f" if _is_real_on_device(side) else "c"
    if kind not in "fiub":
        raise TypeError(f"{name} must be a matrix of real numbers, got an array of dtype {side.dtype}")
    return side


def _is_real_on_device(side: Any) -> bool:
    return bool(namespace(side).isdtype(side.dtype, ("real floating", "integral", "bool")))


def is_finite(side: Any) -> bool:
    """Whether no entry is NaN or infinite."""
    if hasattr(side, "toarray"):
        return bool(np.isfinite(side.data).all())
    if is_numpy(side):
        return side.dtype.kind != "f" or bool(np.isfinite(side).all())
    xp = namespace(side)
    return not xp.isdtype(side.dtype, "real floating") or bool(xp.all(xp.isfinite(side)))


def _dense(side: Any) -> Any:
    return side.toarray() if hasattr(side, "toarray") else to_host(side)


class FirstRows:
    """The first rows of a stream, in which dependence between rows is looked for, because sums no longer show it."""

    def __init__(self, signs: str = "") -> None:
        self._signs = signs
        self._batches: list[list[Array]] = []
        self._n_rows = _FIRST_ROWS if signs else 0

    def add(self, sides: Sequence[Any]) -> None:
        """Keep the rows of a batch until there are enough."""
        n = min(_FIRST_ROWS - self._n_rows, sides[0].shape[0])
        if n > 0:
            self._batches.append([np.array(_dense(side[:n])) for side in sides])
            self._n_rows += n

    @property
    def signs(self) -> str:
        """What shows that rows depend on one another; empty if nothing does."""
        if self._batches:
            sides = [np.concatenate(parts) for parts in zip(*self._batches, strict=True)]
            self._signs = find_dependence([DiagnosticRows(side) for side in sides], screened=True).signs
            if self._n_rows == _FIRST_ROWS:
                self._batches = []
        return self._signs


_FIRST_ROWS = 512
