"""Views: the part of a comparison that depends on one representation only, computed once and reused.

Every view can be permuted by rearranging its entries, so null distributions never compute a view again.
"""

from shesha.kernels.feature_halves import UndirectedHalfError as UndirectedHalfError
from shesha.views._cross_validation_folds import Folds as Folds, Groups as Groups, deal_folds as deal_folds
from shesha.views._rows_by_name import (
    align_rows as align_rows,
    fits_better as fits_better,
    layers_in_one_order as layers_in_one_order,
    restrict as restrict,
    select_layer_rows as select_layer_rows,
    select_rows as select_rows,
    similarity_correlation as similarity_correlation,
    warn_of_misnamed_labels as warn_of_misnamed_labels,
    warn_of_other_order as warn_of_other_order,
    warn_of_resemblance_by_name as warn_of_resemblance_by_name,
)
from shesha.views._scalar_summaries import (
    Concentricity as Concentricity,
    Magnitude as Magnitude,
    Scalar as Scalar,
    SplitStability as SplitStability,
    Uniformity as Uniformity,
)
from shesha.views.covariates import (
    Adjusted as Adjusted,
    Covariates as Covariates,
    Refitted as Refitted,
    adjust_for_covariates as adjust_for_covariates,
)
from shesha.views.features import (
    Features as Features,
    Plain as Plain,
    Projections as Projections,
    SampledHalves as SampledHalves,
    SplitHalves as SplitHalves,
    Standard as Standard,
)
from shesha.views.gram import Basis as Basis, Gram as Gram, Spectrum as Spectrum, Variances as Variances
from shesha.views.neighbours import (
    HeatTrace as HeatTrace,
    NeighbourDistances as NeighbourDistances,
    Neighbours as Neighbours,
    RowRanks as RowRanks,
)
from shesha.views.rdm import (
    Comparisons as Comparisons,
    Distances as Distances,
    DistanceSubsets as DistanceSubsets,
    IncompleteRdm as IncompleteRdm,
    PartialRdm as PartialRdm,
    RankedRdm as RankedRdm,
)
from shesha.views.representation import (
    Rdm as Rdm,
    Representation as Representation,
    Rows as Rows,
    Symmetric as Symmetric,
    UndirectedRowsError as UndirectedRowsError,
    View as View,
    aligned as aligned,
    check_named_arrays as check_named_arrays,
    choose_folding as choose_folding,
    hint_of_distances as hint_of_distances,
    looks_like_distances as looks_like_distances,
    move_to_one_device as move_to_one_device,
    representation_from as representation_from,
    rows_or_distances as rows_or_distances,
    standardise as standardise,
)
