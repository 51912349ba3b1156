"""Nulls: which rows may take each other's place, what a number is worth beside them, and many tests together."""

from shesha.nulls.corrections import benjamini_hochberg, holm
from shesha.nulls.dependence import dependence
from shesha.nulls.designs import equal_groups, exchange, like_rows
from shesha.nulls.exchange import Exchange
from shesha.nulls.orders import drawn_orders, identity_first
from shesha.nulls.summary import best_value, require_beyond, summarise
from shesha.results import BesideNull, Dependence, NullSummary

__all__ = [
    "BesideNull",
    "Dependence",
    "Exchange",
    "NullSummary",
    "benjamini_hochberg",
    "best_value",
    "dependence",
    "drawn_orders",
    "equal_groups",
    "exchange",
    "holm",
    "identity_first",
    "like_rows",
    "require_beyond",
    "summarise",
]
