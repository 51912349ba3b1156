"""How stable is the geometry of a representation?"""

from shesha.stability._cards import card
from shesha.stability._registry import Variant, registered, stability
from shesha.stability.chance import chance
from shesha.stability.discriminant import lda_stability, lda_subspace_stability
from shesha.stability.drift import compute_rdm, drift_path, rdm_drift, rdm_similarity
from shesha.stability.encoder import encoder_stability
from shesha.stability.estimate import estimate
from shesha.stability.evidence import Classes
from shesha.stability.feature import basis_averaged_split, feature_split
from shesha.stability.label_conditioned import label_conditioned_split
from shesha.stability.legacy import anchor_stability, sample_split
from shesha.stability.replicates import anchor_profile_stability, replicate_stability
from shesha.stability.separation import class_separation_ratio
from shesha.stability.supervised import supervised_alignment, variance_ratio, zscore_separation
from shesha.stability.variants import shesha

__all__ = [
    "Classes",
    "Variant",
    "anchor_profile_stability",
    "anchor_stability",
    "basis_averaged_split",
    "card",
    "chance",
    "class_separation_ratio",
    "compute_rdm",
    "drift_path",
    "encoder_stability",
    "estimate",
    "feature_split",
    "label_conditioned_split",
    "lda_stability",
    "lda_subspace_stability",
    "rdm_drift",
    "rdm_similarity",
    "registered",
    "replicate_stability",
    "sample_split",
    "shesha",
    "stability",
    "supervised_alignment",
    "variance_ratio",
    "zscore_separation",
]
