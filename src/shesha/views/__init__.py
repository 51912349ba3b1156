"""Views: the part of a comparison that needs one representation only, computed once and reused.

Every view can be permuted: relabelling the rows is gathering, so null distributions never rebuild one.
"""

from shesha.views._basis import Basis
from shesha.views._features import Features
from shesha.views._gram import Gram
from shesha.views._heat_trace import HeatTrace
from shesha.views._neighbours import Neighbours
from shesha.views._rdm import Distances, RankedRdm
from shesha.views._representation import Rdm, Representation, Symmetric, View, aligned, folding_for, named, together
from shesha.views._scalars import Concentricity, Magnitude, Scalar, SplitStability, Uniformity
from shesha.views._subsets import DistanceSubsets
from shesha.views._unordered import Projections, Spectrum

__all__ = [
    "Basis",
    "Concentricity",
    "DistanceSubsets",
    "Distances",
    "Features",
    "Gram",
    "HeatTrace",
    "Magnitude",
    "Neighbours",
    "Projections",
    "RankedRdm",
    "Rdm",
    "Representation",
    "Scalar",
    "Spectrum",
    "SplitStability",
    "Symmetric",
    "Uniformity",
    "View",
    "aligned",
    "folding_for",
    "named",
    "together",
]
