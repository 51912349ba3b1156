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
    take_rows,
)
from shesha.views._scalar_summaries import Concentricity, Magnitude, Scalar, SplitStability, Uniformity
from shesha.views.covariates import Adjusted, Covariates, Refitted, adjust_for_covariates
from shesha.views.feature_halves import SampledHalves, SplitHalves
from shesha.views.features import Features, Plain, Projections, Standard
from shesha.views.gram import Gram
from shesha.views.neighbours import HeatTrace, NeighbourDistances, Neighbours, RowRanks
from shesha.views.rdm import Comparisons, Distances, DistanceSubsets, IncompleteRdm, PartialRdm, RankedRdm
from shesha.views.rdm_input import Rdm, hint_of_distances, looks_like_distances
from shesha.views.representation import (
    Representation,
    Symmetric,
    View,
    aligned,
    check_named_arrays,
    choose_folding,
    move_to_one_device,
)
from shesha.views.row_source import Rows, representation_from, rows_or_distances
from shesha.views.singular_vectors import Basis, Spectrum, Variances
from shesha.views.undirected_rows_error import UndirectedRowsError

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
    "take_rows",
]
