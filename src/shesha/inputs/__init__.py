"""Convert user inputs: objects of other libraries become arrays with row names."""

from shesha.inputs._other_libraries import (
    AXIS_ROLES as AXIS_ROLES,
    ConditionDistances as ConditionDistances,
    align_features as align_features,
    are_named_vectors as are_named_vectors,
    axis_order as axis_order,
    coordinate_values as coordinate_values,
    is_labelled as is_labelled,
    load_backed as load_backed,
    make_data_array as make_data_array,
    names_of_cells as names_of_cells,
    numbers as numbers,
    split_names as split_names,
    table_values as table_values,
)
from shesha.inputs._row_alignment import (
    MissingRows as MissingRows,
    RowChoice as RowChoice,
    align_all_labels as align_all_labels,
    align_labels as align_labels,
    are_reordered as are_reordered,
    find_row_order as find_row_order,
    labels_in_order as labels_in_order,
    orders as orders,
    require_order as require_order,
    require_same_conditions as require_same_conditions,
)
from shesha.inputs.columns import is_numeric as is_numeric
from shesha.inputs.identity import (
    NamedRows as NamedRows,
    Names as Names,
    choose_condition as choose_condition,
    choose_identity as choose_identity,
    could_identify as could_identify,
    distinct_names as distinct_names,
    distinct_values as distinct_values,
    identity_names as identity_names,
    is_certain_identity as is_certain_identity,
    is_condition_name as is_condition_name,
    is_identity_name as is_identity_name,
    joined_values as joined_values,
    named_index as named_index,
)
