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
        """Call `shesha.bio.coherence`; it writes a table to ``.uns`` and cosines to ``.obs``."""
        return coherence_tables.coherence(self._adata, groupby, **options)

    def coherence_test(self, groupby: str, **options: Any) -> pd.DataFrame:
        """Call `shesha.bio.coherence_test`; it returns one line per perturbation."""
        return coherence_tables.coherence_test(self._adata, groupby, **options)

    def coherence_table(self, groupby: str, **options: Any) -> CoherenceTable:
        """Call `shesha.bio.coherence_table`; it returns a result that you can print and plot."""
        return coherence_tables.coherence_table(self._adata, groupby, **options)
