"""Fields of AnnData objects: columns of obs, the data matrix, and the cells of each perturbation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shesha.inputs import validation as check
from shesha.inputs.class_labels import NO_LABEL
from shesha.support import types as kinds
from shesha.support.types import Array, Mask, Matrix


def require_anndata(adata: Any) -> None:
    """Refuse objects without AnnData's attributes; anndata itself need not be installed."""
    if not all(hasattr(adata, part) for part in ("obs", "obsm", "layers", "obs_names", "n_obs")):
        raise TypeError(f"adata must be AnnData, got {type(adata).__name__}")


def column(adata: Any, key: str, name: str) -> Array:
    """Return a column of obs as objects, with None for cells without a label."""
    from pandas import isna

    if kinds.label(key, name) not in adata.obs:
        known = check.join_items(map(str, adata.obs))
        raise ValueError(f"{name} must be a column of adata.obs, one of {known or 'none'}, got {key!r}")
    # The values are copied, because they may belong to adata and are read-only since pandas 3.0.
    values = np.array(adata.obs[key], dtype=object)
    values[np.asarray(isna(values), dtype=bool)] = None
    return values


def labels(adata: Any, key: str, name: str) -> NDArray[Any]:
    """Return a column of obs as text, with None for cells without a label."""
    return np.array([label_text(value) for value in column(adata, key, name)], dtype=object)


def label_text(value: Any) -> str | None:
    """Return a label as text, so that 1.0 equals 1; None for missing labels, also those written as 'nan'."""
    if isinstance(value, float | np.floating) and value == np.floor(value):
        value = int(value)
    return None if value is None or str(value) in NO_LABEL else str(value)


def data_matrix(adata: Any, layer: str | None) -> Any:
    """Return X or a layer as it is: dense, sparse, on disk or lazy."""
    if layer is None:
        if adata.X is None:
            raise ValueError("layer must name a matrix of adata, which has no X, got None")
        return adata.X
    if kinds.label(layer, "layer") not in adata.layers:
        # Since version 0.13, anndata lists X among the layers with the key None.
        known = check.join_items(name for name in adata.layers if name is not None)
        raise ValueError(f"layer must be among {known or 'none'}, got {layer!r}")
    return adata.layers[layer]


def dense_rows(matrix: Any, mask: Mask, name: str) -> Matrix:
    """Return some rows of a stored matrix as a dense array, within the memory budget."""
    rows = matrix[np.flatnonzero(mask)]
    if hasattr(rows, "compute"):
        rows = rows.compute()
    if hasattr(rows, "to_memory"):
        rows = rows.to_memory()
    return check.matrix(rows, name, min_rows=1)


def iterate_perturbations(
    adata: Any, key: str, control: str, layer: str | None
) -> Iterator[tuple[Any, Matrix, Matrix]]:
    """Yield the label, the controls and the cells of each perturbation, in order of first occurrence."""
    require_anndata(adata)
    values, matrix = column(adata, key, "perturbation_key"), data_matrix(adata, layer)
    known = list(dict.fromkeys(label for label in values if label is not None))
    if kinds.label(control, "control_label") not in set(known):
        raise ValueError(
            f"control_label must be a label of adata.obs[{key!r}], one of {check.join_items(known) or 'none'}, "
            f"got {control!r}"
        )
    controls = dense_rows(matrix, values == control, "the control cells")
    for label in known:
        if label != control:
            yield label, controls, dense_rows(matrix, values == label, f"the cells of {label}")
