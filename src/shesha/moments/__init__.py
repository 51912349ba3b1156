"""Sums over rows that may not fit in memory, and views computed from these sums for linear measures."""

from shesha.moments.layer_pair_sums import LayerMoments as LayerMoments
from shesha.moments.moments import Moments as Moments
from shesha.moments.summed_views import SummedRepresentation as SummedRepresentation
from shesha.moments.sums import (
    Sums as Sums,
    compact_parts as compact_parts,
    leave_one_out as leave_one_out,
    merge_all as merge_all,
    sum_panel as sum_panel,
)
