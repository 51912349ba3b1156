"""Similarity measures, each a function of two representations: `f(X, Y, *, ...) -> float`."""

from shesha.measures.cca import cca, pwcca, svcca
from shesha.measures.distributions import (
    concentricity_difference,
    eigenspectrum_similarity,
    magnitude_difference,
    mmd,
    sliced_wasserstein,
    stability_difference,
    subspace_overlap,
    uniformity_difference,
)
from shesha.measures.kernels import cka, distance_correlation, pwcka, rv, sampled_cka, unbiased_cka
from shesha.measures.lookup import (
    PlainMeasure as PlainMeasure,
)
from shesha.measures.lookup import (
    as_measure,
    card,
    choose,
    families,
    get,
    names,
    overview,
    table,
    takes_moments,
)
from shesha.measures.lookup import (
    import_measure as import_measure,
)
from shesha.measures.neighbours import (
    cknna,
    cycle_knn,
    imd,
    jaccard,
    mutual_knn,
    rank_similarity,
    rtd,
    second_order_cosine,
)
from shesha.measures.rdm import (
    information_imbalance,
    quadruplet_similarity,
    rdm_drift,
    rsa,
    rsm_norm_difference,
    triplet_similarity,
)
from shesha.measures.registry import Measure, code_version, measure
from shesha.measures.regression import eigenspace_overlap, gulp, linear_predictivity, linear_regression
from shesha.measures.shape import (
    aligned_cosine,
    angular_shape,
    hard_correlation_match,
    orthogonal_procrustes,
    permutation_procrustes,
    procrustes_similarity,
    procrustes_size_and_shape,
    soft_correlation_match,
    soft_matching,
)
from shesha.views import Groups

__all__ = [
    "Groups",
    "Measure",
    "aligned_cosine",
    "angular_shape",
    "as_measure",
    "card",
    "cca",
    "choose",
    "cka",
    "cknna",
    "code_version",
    "concentricity_difference",
    "cycle_knn",
    "distance_correlation",
    "eigenspace_overlap",
    "eigenspectrum_similarity",
    "families",
    "get",
    "gulp",
    "hard_correlation_match",
    "imd",
    "information_imbalance",
    "jaccard",
    "linear_predictivity",
    "linear_regression",
    "magnitude_difference",
    "measure",
    "mmd",
    "mutual_knn",
    "names",
    "orthogonal_procrustes",
    "overview",
    "permutation_procrustes",
    "procrustes_similarity",
    "procrustes_size_and_shape",
    "pwcca",
    "pwcka",
    "quadruplet_similarity",
    "rank_similarity",
    "rdm_drift",
    "rsa",
    "rsm_norm_difference",
    "rtd",
    "rv",
    "sampled_cka",
    "second_order_cosine",
    "sliced_wasserstein",
    "soft_correlation_match",
    "soft_matching",
    "stability_difference",
    "subspace_overlap",
    "svcca",
    "table",
    "takes_moments",
    "triplet_similarity",
    "unbiased_cka",
    "uniformity_difference",
]
