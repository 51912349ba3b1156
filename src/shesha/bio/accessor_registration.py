"""Register `adata.shesha`: single-cell functions as methods of AnnData (anndata 0.12 or later)."""

from __future__ import annotations

from importlib.util import find_spec


def register() -> None:
    """Register `adata.shesha`, unless anndata is missing or too old."""
    if find_spec("anndata") is None:
        return
    import anndata

    if hasattr(anndata, "register_anndata_namespace") and not hasattr(anndata.AnnData, "shesha"):
        from shesha.bio._accessor import Shesha

        anndata.register_anndata_namespace("shesha")(Shesha)
