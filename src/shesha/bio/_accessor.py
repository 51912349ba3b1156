"""The methods of `adata.shesha`, imported if anndata is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anndata import AnnData

from shesha.bio import coherence_tables
from shesha.results import CoherenceTable

if TYPE_CHECKING:
    import pandas as pd


class Shesha:
    """Coherence of perturbations, with its chance level."""

    def __init__(self, adata: AnnData) -> None:
        self._adata = adata

    def coherence(self, groupby: str, **options: Any) -> AnnData | None:
        """`shesha.bio.coherence`: table into ``.uns``, cosines into ``.obs``."""
        return coherence_tables.coherence(self._adata, groupby, **options)

    def coherence_test(self, groupby: str, **options: Any) -> pd.DataFrame:
        """`shesha.bio.coherence_test`: one line per perturbation."""
        return coherence_tables.coherence_test(self._adata, groupby, **options)

    def coherence_table(self, groupby: str, **options: Any) -> CoherenceTable:
        """`shesha.bio.coherence_table`: a result that prints and draws."""
        return coherence_tables.coherence_table(self._adata, groupby, **options)
