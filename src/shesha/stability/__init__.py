"""Scores for how stable the geometry of a representation is."""

from shesha.stability.estimate import estimate
from shesha.stability.evaluation import shesha
from shesha.stability.registry import Classes, Variant, card, list_variants, stability
from shesha.stability.scores.class_separation import (
    class_separation_ratio,
    label_conditioned_split,
    variance_ratio,
    zscore_separation,
)
from shesha.stability.scores.feature_split import (
    anchor_stability,
    basis_averaged_split,
    encoder_stability,
    feature_split,
    sample_split,
)
from shesha.stability.scores.label_alignment import lda_stability, lda_subspace_stability, supervised_alignment
from shesha.stability.scores.rdm_drift import (
    anchor_profile_stability,
    compute_rdm,
    drift_path,
    rdm_drift,
    rdm_similarity,
    replicate_stability,
)

__all__ = [
    "Classes",
    "Variant",
    "anchor_profile_stability",
    "anchor_stability",
    "basis_averaged_split",
    "card",
    "class_separation_ratio",
    "compute_rdm",
    "drift_path",
    "encoder_stability",
    "estimate",
    "feature_split",
    "label_conditioned_split",
    "lda_stability",
    "lda_subspace_stability",
    "list_variants",
    "rdm_drift",
    "rdm_similarity",
    "replicate_stability",
    "sample_split",
    "shesha",
    "stability",
    "supervised_alignment",
    "variance_ratio",
    "zscore_separation",
]
