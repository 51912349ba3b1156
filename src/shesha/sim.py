"""The documented namespace `shesha.sim`: re-exports only."""

from shesha.measures.kernels import cka as cka_linear, unbiased_cka as cka_debiased
from shesha.measures.shesha_geometry_names import cka, procrustes_similarity
from shesha.stability import rdm_similarity

__all__ = ["cka", "cka_debiased", "cka_linear", "procrustes_similarity", "rdm_similarity"]
