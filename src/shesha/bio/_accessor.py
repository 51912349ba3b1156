"""The methods of `adata.shesha` (anndata 0.12 or later); imported only if anndata is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anndata
import pandas as pd
from anndata import AnnData

from shesha.bio import coherence_tables, integration
from shesha.bio.cluster_stability import ClusterStability, cluster_stability
from shesha.results import CoherenceTable
from shesha.results.coherence import EDistances
from shesha.results.within_classes import SeveralWithinClasses, WithinClasses

if TYPE_CHECKING:
    from collections.abc import Sequence


class Shesha:
    """Coherence of perturbations, geometry that integrations preserve, and stable clusters, with chance levels."""

    def __init__(self, adata: AnnData) -> None:
        self._adata = adata

    def coherence(self, groupby: str, **options: Any) -> AnnData | None:
        """Call `shesha.bio.coherence`, which writes a table to ``.uns`` and cosines to ``.obs``."""
        return coherence_tables.coherence(self._adata, groupby, **options)

    def coherence_test(self, groupby: str, **options: Any) -> pd.DataFrame:
        """Call `shesha.bio.coherence_test`, which returns a table with one row per perturbation."""
        return coherence_tables.coherence_test(self._adata, groupby, **options)

    def coherence_table(self, groupby: str, **options: Any) -> CoherenceTable:
        """Call `shesha.bio.coherence_table`, which returns a result that you can print and plot."""
        return coherence_tables.coherence_table(self._adata, groupby, **options)

    def e_distances(self, groupby: str, **options: Any) -> EDistances:
        """Call `shesha.bio.e_distances`, which tests how far apart groups of cells are."""
        return coherence_tables.e_distances(self._adata, groupby, **options)

    def integration_test(self, before: str, after: str, per: str, **options: Any) -> WithinClasses:
        """Call `shesha.bio.integration_test`, which compares two embeddings within each cell type."""
        return integration.integration_test(self._adata, before, after, per, **options)

    def integration_table(self, before: str, after: Sequence[str], per: str, **options: Any) -> SeveralWithinClasses:
        """Call `shesha.bio.integration_table`, which compares several embeddings with one within cell types."""
        return integration.integration_table(self._adata, before, after, per, **options)

    def cluster_stability(self, groupby: str = "leiden", **options: Any) -> ClusterStability:
        """Call `shesha.bio.cluster_stability`, which tests which clusters are more stable than those of noise."""
        return cluster_stability(self._adata, groupby, **options)


if hasattr(anndata, "register_anndata_namespace") and not hasattr(AnnData, "shesha"):
    anndata.register_anndata_namespace("shesha")(Shesha)
