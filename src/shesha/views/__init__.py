"""Views: the part of a comparison that depends on one representation only, computed once and reused.

Every view can be permuted by rearranging its entries, so null distributions never compute a view again.
"""

from shesha.kernels.feature_halves import UndirectedHalfError
from shesha.views._cross_validation_folds import Folds, Groups, deal_folds
from shesha.views._rows_by_name import (
    align_rows,
    layers_in_one_order,
    restrict,
    select_layer_rows,
    select_rows,
    warn_of_other_order,
)
from shesha.views._scalar_summaries import Concentricity, Magnitude, Scalar, SplitStability, Uniformity
from shesha.views.covariates import Adjusted, Covariates, Refitted, adjust_for_covariates
from shesha.views.features import Features, Plain, Projections, SampledHalves, SplitHalves, Standard
from shesha.views.gram import Basis, Gram, Spectrum, Variances
from shesha.views.neighbours import HeatTrace, NeighbourDistances, Neighbours, RowRanks
from shesha.views.rdm import Comparisons, Distances, DistanceSubsets, IncompleteRdm, PartialRdm, RankedRdm
from shesha.views.representation import (
    Rdm,
    Representation,
    Rows,
    Symmetric,
    UndirectedRowsError,
    View,
    aligned,
    check_named_arrays,
    choose_folding,
    hint_of_distances,
    looks_like_distances,
    move_to_one_device,
    representation_from,
    rows_or_distances,
)

__all__ = [
    "Adjusted",
    "Basis",
    "Comparisons",
    "Concentricity",
    "Covariates",
    "DistanceSubsets",
    "Distances",
    "Features",
    "Folds",
    "Gram",
    "Groups",
    "HeatTrace",
    "IncompleteRdm",
    "Magnitude",
    "NeighbourDistances",
    "Neighbours",
    "PartialRdm",
    "Plain",
    "Projections",
    "RankedRdm",
    "Rdm",
    "Refitted",
    "Representation",
    "RowRanks",
    "Rows",
    "SampledHalves",
    "Scalar",
    "Spectrum",
    "SplitHalves",
    "SplitStability",
    "Standard",
    "Symmetric",
    "UndirectedHalfError",
    "UndirectedRowsError",
    "Uniformity",
    "Variances",
    "View",
    "adjust_for_covariates",
    "align_rows",
    "aligned",
    "check_named_arrays",
    "choose_folding",
    "deal_folds",
    "hint_of_distances",
    "layers_in_one_order",
    "looks_like_distances",
    "move_to_one_device",
    "representation_from",
    "restrict",
    "rows_or_distances",
    "select_layer_rows",
    "select_rows",
    "warn_of_other_order",
]
