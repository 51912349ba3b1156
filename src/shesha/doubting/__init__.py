"""Doubts: possible problems with a conclusion, and advice on what to do about them."""

# Importing these modules registers their checks; the order of registration breaks ties between equal effects.
from shesha.doubting import rare_cluster_doubts  # isort: skip
from shesha.doubting import order_doubts, row_doubts  # isort: skip
from shesha.doubting import confounder_doubts, feature_doubts, pair_doubts, tie_doubts  # isort: skip
from shesha.doubting._registry import marked_functions
from shesha.doubting.doubts import check_known_quantities, diagnostic_rows, doubts, find_doubts, find_pair_doubts
from shesha.doubting.token_count_covariate import text_lengths

__all__ = [
    "check_known_quantities",
    "confounder_doubts",
    "diagnostic_rows",
    "doubts",
    "feature_doubts",
    "find_doubts",
    "find_pair_doubts",
    "marked_functions",
    "order_doubts",
    "pair_doubts",
    "rare_cluster_doubts",
    "row_doubts",
    "text_lengths",
    "tie_doubts",
]
