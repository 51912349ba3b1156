"""Doubts: possible problems with a conclusion, and advice on what to do about them."""

# Importing these modules registers their checks; the order of registration breaks ties between equal effects.
from shesha.doubting import pair_doubts  # isort: skip
from shesha.doubting import feature_doubts, row_doubts
from shesha.doubting.doubt_input import doubt_functions
from shesha.doubting.doubts import (
    check_known_quantities,
    diagnostic_rows,
    doubts,
    find_doubts,
    find_pair_doubts,
    irrelevant_doubts,
    row_properties,
    rows_without_direction,
    warn_of_doubts,
    warn_of_pair_doubts,
    warn_of_row_doubts,
)

__all__ = [
    "check_known_quantities",
    "diagnostic_rows",
    "doubt_functions",
    "doubts",
    "feature_doubts",
    "find_doubts",
    "find_pair_doubts",
    "irrelevant_doubts",
    "pair_doubts",
    "row_doubts",
    "row_properties",
    "rows_without_direction",
    "warn_of_doubts",
    "warn_of_pair_doubts",
    "warn_of_row_doubts",
]
