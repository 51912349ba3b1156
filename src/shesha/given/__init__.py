"""What people hand over: objects of other libraries become arrays, with the names of their rows."""

from shesha.given._frames import in_memory, is_numeric, numbers, parted
from shesha.given._names import NamedRows, Names
from shesha.given._order import in_order_of, labels_in_order, orders

__all__ = [
    "NamedRows",
    "Names",
    "in_memory",
    "in_order_of",
    "is_numeric",
    "labels_in_order",
    "numbers",
    "orders",
    "parted",
]
