"""Sums over rows that may not fit in memory, and views computed from these sums for linear measures."""

from shesha.moments.layer_pair_sums import LayerMoments
from shesha.moments.moments import Moments
from shesha.moments.summed_views import SummedRepresentation
from shesha.moments.sums import Sums, compact_parts, leave_one_out, merge_all, sum_panel

__all__ = [
    "LayerMoments",
    "Moments",
    "SummedRepresentation",
    "Sums",
    "compact_parts",
    "leave_one_out",
    "merge_all",
    "sum_panel",
]
