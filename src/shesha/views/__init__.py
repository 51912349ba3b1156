"""Views: the part of a comparison that needs one representation only, computed once and reused.

Every view can be permuted: relabelling the rows is gathering, so null distributions never rebuild one.
"""

from shesha.kernels.halves import UndirectedHalfError
from shesha.views._adjusted import Adjusted, Refitted, adjusted
from shesha.views._basis import Basis
from shesha.views._covariates import Covariates
from shesha.views._features import Features
from shesha.views._folds import Folds, Groups
from shesha.views._given import Rdm, UndirectedRowsError, hint_of_distances, looks_like_distances
from shesha.views._gram import Gram
from shesha.views._heat_trace import HeatTrace
from shesha.views._neighbours import Neighbours
from shesha.views._plain import Plain
from shesha.views._rdm import Distances, PartialRdm, RankedRdm
from shesha.views._representation import Representation, Symmetric, View, aligned, folding_for, named, together
from shesha.views._rows import Rows, rows_or_distances, source_of
from shesha.views._same_rows import in_one_order, layers_in_one_order, rows_at
from shesha.views._sampled_halves import SampledHalves
from shesha.views._scalars import Concentricity, Magnitude, Scalar, SplitStability, Uniformity
from shesha.views._split_halves import SplitHalves
from shesha.views._standard import Standard
from shesha.views._subsets import DistanceSubsets
from shesha.views._unordered import Projections, Spectrum
from shesha.views._variances import Variances

__all__ = [
    "Adjusted",
    "Basis",
    "Concentricity",
    "Covariates",
    "DistanceSubsets",
    "Distances",
    "Features",
    "Folds",
    "Gram",
    "Groups",
    "HeatTrace",
    "Magnitude",
    "Neighbours",
    "PartialRdm",
    "Plain",
    "Projections",
    "RankedRdm",
    "Rdm",
    "Refitted",
    "Representation",
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
    "adjusted",
    "aligned",
    "folding_for",
    "hint_of_distances",
    "in_one_order",
    "layers_in_one_order",
    "looks_like_distances",
    "named",
    "rows_at",
    "rows_or_distances",
    "source_of",
    "together",
]
