"""Doubts: possible problems with a conclusion, and advice on what to do about them."""

# Importing these modules registers their checks; the order of registration breaks ties between equal effects.
from shesha.doubting import pair_doubts as pair_doubts  # isort: skip
from shesha.doubting import (
    feature_doubts as feature_doubts,
    rounded_values as rounded_values,
    row_doubts as row_doubts,
    row_offsets as row_offsets,
    separate_blocks as separate_blocks,
)
from shesha.doubting.doubt_input import doubt_functions as doubt_functions
from shesha.doubting.doubts import (
    check_known_quantities as check_known_quantities,
    diagnostic_rows as diagnostic_rows,
    doubts as doubts,
    find_doubts as find_doubts,
    find_pair_doubts as find_pair_doubts,
    irrelevant_doubts as irrelevant_doubts,
    rows_without_direction as rows_without_direction,
    state_geometry_doubts as state_geometry_doubts,
    warn_of_doubts as warn_of_doubts,
    warn_of_pair_doubts as warn_of_pair_doubts,
    warn_of_row_doubts as warn_of_row_doubts,
)
from shesha.doubting.feature_doubts import UNITS_ADVICE as UNITS_ADVICE, describe_units as describe_units
from shesha.doubting.recorded_columns import (
    find_recorded_columns as find_recorded_columns,
    other_columns as other_columns,
    row_properties as row_properties,
    state_columns_of_classes as state_columns_of_classes,
    state_known_columns as state_known_columns,
    state_main_column as state_main_column,
    state_separate_blocks as state_separate_blocks,
    state_units_of_classes as state_units_of_classes,
    warn_of_shuffled_rows as warn_of_shuffled_rows,
)
from shesha.doubting.row_doubts import (
    association as association,
    describe_code as describe_code,
    find_near_copies as find_near_copies,
)
