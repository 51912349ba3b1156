"""Choose a matrix of an AnnData object in memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shesha.inputs import NamedRows, Names, load_backed, split_names
from shesha.support import argument_types as kinds
from shesha.support.item_lists import join_names


def from_anndata(adata: Any, *, obsm: str | None = None, layer: str | None = None) -> NamedRows:
    """Return one matrix of an AnnData object, with the names of its observations.

    If you need only X, you can also pass the AnnData object itself as a representation.

    Parameters
    ----------
    adata : AnnData
        The data, in memory or backed by a file. A backed matrix is read into memory.
    obsm : str, optional
        Name of an embedding, such as 'X_pca' or 'obsm/X_pca'. Default: X, unless `layer` is given.
    layer : str, optional
        Name of a layer, such as 'counts' or 'layers/counts', or 'raw' for the matrix in `adata.raw`. Sparse layers stay
        sparse. Default: X, unless `obsm` is given.

    Returns
    -------
    NamedRows
        The matrix and its row names, by which several representations are aligned.

    Examples
    --------
    >>> import anndata, numpy as np
    >>> adata = anndata.AnnData(np.eye(3), obsm={"X_pca": np.ones((3, 2))})
    >>> from_anndata(adata), from_anndata(adata, obsm="X_pca")
    (NamedRows(shape (3, 3)), NamedRows(shape (3, 2)))
    >>> from_anndata(adata, obsm="X_umap")
    Traceback (most recent call last):
    ValueError: obsm must be among X_pca, got 'X_umap'
    """
    if not (hasattr(adata, "obsm") and hasattr(adata, "obs_names")):
        raise TypeError(f"adata must be AnnData, got {type(adata).__name__}")
    if obsm is not None and layer is not None:
        raise ValueError(f"obsm or layer must be None, got {obsm!r} and {layer!r}")
    names = Names.build(adata.obs_names)
    if obsm is not None:
        return NamedRows(
            split_names(load_backed(_choose_matrix(adata.obsm, obsm, "obsm")), f"obsm[{obsm!r}]")[0], names
        )
    if layer in ("raw", "raw/X", "raw.X") and layer not in adata.layers and adata.raw is not None:
        return NamedRows(load_backed(adata.raw.X), names)
    if layer is not None:
        return NamedRows(load_backed(_choose_matrix(adata.layers, layer, "layer", "layers")), names)
    return NamedRows(split_names(adata, "adata")[0], names)


def _choose_matrix(matrices: Mapping[str, Any], key: str, name: str, folder: str | None = None) -> Any:
    short = key.removeprefix(f"{folder or name}/") if isinstance(key, str) else key
    if kinds.label(short, name) not in matrices:
        # Since version 0.13, anndata lists X among the layers, under the key None.
        known = join_names(str(entry) for entry in matrices if entry is not None)
        raise ValueError(f"{name} must be among {known}, got {key!r}")
    return matrices[short]
