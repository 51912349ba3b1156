"""What people hand over: objects of other libraries become arrays, with the names of their rows."""

from shesha.given._frames import in_memory, is_numeric, numbers, parted
from shesha.given._labelled import along, in_order, is_labelled, labelled
from shesha.given._names import NamedRows, Names
from shesha.given._order import all_in_order_of, in_order_of, labels_in_order, orders

__all__ = [
    "NamedRows",
    "Names",
    "all_in_order_of",
    "along",
    "in_memory",
    "in_order",
    "in_order_of",
    "is_labelled",
    "is_numeric",
    "labelled",
    "labels_in_order",
    "numbers",
    "orders",
    "parted",
]
