"""Convert user inputs: objects of other libraries become arrays with row names."""

from shesha.inputs._condition_distances import ConditionDistances
from shesha.inputs._other_libraries import load_backed, numbers, split_names, table_values
from shesha.inputs._row_alignment import (
    MissingRows,
    RowChoice,
    align_all_labels,
    align_labels,
    are_reordered,
    labels_in_order,
    orders,
)
from shesha.inputs._row_names import NamedRows, Names
from shesha.inputs._xarray import coordinate_values, is_labelled, make_data_array, transpose_axes
from shesha.inputs.frame_columns import is_numeric
from shesha.inputs.identity import (
    choose_identity,
    could_identify,
    distinct_names,
    distinct_values,
    identity_names,
    is_certain_identity,
    is_identity_name,
    named_index,
)

__all__ = [
    "ConditionDistances",
    "MissingRows",
    "NamedRows",
    "Names",
    "RowChoice",
    "align_all_labels",
    "align_labels",
    "are_reordered",
    "choose_identity",
    "coordinate_values",
    "could_identify",
    "distinct_names",
    "distinct_values",
    "identity_names",
    "is_certain_identity",
    "is_identity_name",
    "is_labelled",
    "is_numeric",
    "labels_in_order",
    "load_backed",
    "make_data_array",
    "named_index",
    "numbers",
    "orders",
    "split_names",
    "table_values",
    "transpose_axes",
]
