"""Single-cell perturbations: coherence and magnitude of the shifts of cells, compared with chance.

Names that the public package documents keep their signatures and values. The `*_stability` names are older aliases.
"""

from importlib import import_module
from importlib.util import find_spec

from shesha.bio.cell_design import Controls, find_controls
from shesha.bio.cluster_stability import ClusterStability, cluster_stability
from shesha.bio.coherence_tables import coherence, coherence_table, coherence_test, e_distances
from shesha.bio.documented_analyses import (
    PerturbationInterval,
    discordance,
    magnitude_matched_comparison,
    perturbation_interval,
    split_half_reproducibility,
)
from shesha.bio.integration import integration_table, integration_test
from shesha.bio.perturbation_scores import (
    compute_coherence,
    compute_coherence_knn,
    compute_coherence_whitened,
    compute_magnitude,
    perturbation_coherence,
    perturbation_coherence_knn,
    perturbation_coherence_whitened,
    perturbation_effect_size,
)
from shesha.support.warnings import GuessedControlsWarning

perturbation_stability = perturbation_coherence
perturbation_stability_whitened = perturbation_coherence_whitened
perturbation_stability_knn = perturbation_coherence_knn
compute_stability = compute_coherence
compute_stability_whitened = compute_coherence_whitened
compute_stability_knn = compute_coherence_knn

if find_spec("anndata") is not None:
    # This registers `adata.shesha`.
    import_module("shesha.bio._accessor")

__all__ = [
    "ClusterStability",
    "Controls",
    "GuessedControlsWarning",
    "PerturbationInterval",
    "cluster_stability",
    "coherence",
    "coherence_table",
    "coherence_test",
    "compute_coherence",
    "compute_coherence_knn",
    "compute_coherence_whitened",
    "compute_magnitude",
    "compute_stability",
    "compute_stability_knn",
    "compute_stability_whitened",
    "discordance",
    "e_distances",
    "find_controls",
    "integration_table",
    "integration_test",
    "magnitude_matched_comparison",
    "perturbation_coherence",
    "perturbation_coherence_knn",
    "perturbation_coherence_whitened",
    "perturbation_effect_size",
    "perturbation_interval",
    "perturbation_stability",
    "perturbation_stability_knn",
    "perturbation_stability_whitened",
    "split_half_reproducibility",
]
