"""The documented namespace `shesha.core`: re-exports only."""

from shesha.stability import (
    anchor_stability,
    class_separation_ratio,
    compute_rdm,
    feature_split,
    lda_stability,
    rdm_drift,
    rdm_similarity,
    sample_split,
    shesha,
    supervised_alignment,
    variance_ratio,
)

__all__ = [
    "anchor_stability",
    "class_separation_ratio",
    "compute_rdm",
    "feature_split",
    "lda_stability",
    "rdm_drift",
    "rdm_similarity",
    "sample_split",
    "shesha",
    "supervised_alignment",
    "variance_ratio",
]
