"""Statements on the shapes of inputs: feature maps, token sequences, and matrices of few columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import Any

import numpy as np

from shesha.inputs._other_libraries import split_names
from shesha.inputs.column_words import PICTURE_COLUMNS
from shesha.inputs.identity import NamedRows
from shesha.support.device_arrays import to_host
from shesha.support.provenance import state
from shesha.support.types import shape_of
from shesha.support.wording import count

_LOOKED_AT = 20
_KINDS = {3: "token sequences", 4: "feature maps"}


def one_row_per_input(X: Any, name: str) -> Any:
    """Flatten feature maps and token sequences to a matrix, and state it; other inputs are returned unchanged.

    Examples
    --------
    >>> import numpy as np
    >>> one_row_per_input(np.zeros((5, 2, 3, 3)), "maps").shape
    (5, 18)
    """
    kind = _KINDS.get(len(shape_of(X)))
    if kind is None or 0 in X.shape:
        return X
    values, names = split_names(X, name)
    flat = to_host(values, name).reshape(len(X), -1)
    state(f"{name}: {kind} {_sizes(X.shape)}, flattened to {_sizes(flat.shape)}{_doubt_about_axes(X.shape)}")
    return flat if names is None else NamedRows(flat, names)


def _doubt_about_axes(shape: tuple[int, ...]) -> str:
    """Return how rows are chosen if an array is unlike feature maps: neither square, nor of many inputs."""
    if len(shape) < 4 or shape[-1] == shape[-2] or shape[0] >= max(shape):
        return ""
    return (
        f"; rows are the {shape[0]:,} entries of the first axis. If inputs are along axis k, such as volumes along the "
        f"last, pass numpy.moveaxis(X, k, 0)"
    )


def hint_of_transpose(name: str, shape: Sequence[int], n_rows: int) -> str:
    """Say that a matrix with another number of rows may be transposed, if it has as many columns; otherwise empty."""
    turned = len(shape) == 2 and shape[0] != n_rows == shape[1]
    return f"; {name} may be transposed, because it has {n_rows:,} columns: save its transpose" if turned else ""


def refuse_other_axis(shapes: Mapping[str, tuple[int, ...]], n_labels: int) -> None:
    """Refuse labels of which there are as many as entries of another axis of an array than its rows.

    Examples
    --------
    >>> refuse_other_axis({"betas": (20, 16, 1, 60)}, 60)
    Traceback (most recent call last):
    ValueError: y must have one label for each of the 20 rows, got 60, as many as entries of axis 3 of betas, which has
    shape (20, 16, 1, 60), and whose axis 0 is read as the rows; save numpy.moveaxis(betas, 3, 0).reshape(60, -1)
    """
    for name, shape in shapes.items():
        if len(shape) > 2 and shape[0] != n_labels and n_labels in shape:
            axis = shape.index(n_labels)
            variable = name if name.isidentifier() else "X"
            layers = "; pass layer_axis=0, or" if len(shape) == 3 and axis == 1 else ";"
            raise ValueError(
                f"y must have one label for each of the {shape[0]:,} rows, got {n_labels:,}, as many as entries of "
                f"axis {axis} of {name}, which has shape {shape}, and whose axis 0 is read as the rows{layers} save "
                f"numpy.moveaxis({variable}, {axis}, 0).reshape({n_labels}, -1)"
            )


def is_one_hot(array: Any) -> bool:
    """Return whether a matrix has one 1 in every row and zeros elsewhere; the first rows are looked at first.

    Examples
    --------
    >>> import numpy as np
    >>> is_one_hot(np.eye(3)[[0, 2, 2, 1]]), is_one_hot(np.ones((4, 3)))
    (True, False)
    """
    if len(array.shape) != 2 or array.shape[1] < 2:
        return False
    parts = (np.asarray(array[:_LOOKED_AT]), array)
    return all(bool(((np.asarray(rows) == 1).sum(axis=1) == 1).all() and np.isin(rows, (0, 1)).all()) for rows in parts)


def state_narrow(shapes: Mapping[str, tuple[int, ...]]) -> None:
    """State which matrices have so few columns that they are probably pictures, labels or scores."""
    for name, shape in shapes.items():
        if len(shape) == 2 and shape[1] <= PICTURE_COLUMNS:
            kind = "a label or score" if shape[1] == 1 else "a UMAP or coordinates"
            state(f"{name}: only {count(shape[1], 'column')}, like {kind}")


def state_shapes(shapes: Mapping[str, tuple[int, ...]]) -> None:
    """State narrow matrices, and the positions of feature maps and tokens that measures fold.

    Raises
    ------
    ValueError
        If the same feature maps have their channels first in one array and last in another.
    """
    state_narrow(shapes)
    maps = {name: shape for name, shape in shapes.items() if len(shape) == 4 and len(set(shape[1:])) > 1}
    for (first, one), (second, other) in permutations(maps.items(), 2):
        if other[1:] == (*one[2:], one[1]):
            variable = second if second.isidentifier() else "X"
            raise ValueError(
                f"{first} and {second} must have their channels along one axis, got {_sizes(one)} and {_sizes(other)}, "
                f"as if one had its channels last; convert {second} by {variable}.transpose(0, 3, 1, 2)"
            )
    for name, shape in shapes.items():
        if len(shape) in _KINDS:
            state(f"{name}: {_KINDS[len(shape)]} {_sizes(shape)}, folded by each measure as in ReSi (commands flatten)")


def _sizes(shape: tuple[int, ...]) -> str:
    return " x ".join(f"{length:,}" for length in shape)
