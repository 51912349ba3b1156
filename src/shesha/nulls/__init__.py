"""Null distributions: exchange designs, p-values, and corrections for multiple tests."""

from shesha.nulls.dependence import dependence
from shesha.nulls.design_builder import equal_groups, exchange, match_by_quantity
from shesha.nulls.null_summary import benjamini_hochberg, best_value, holm, require_attainable_maximum, summarise
from shesha.nulls.permutations import draw_permutations, identity_first
from shesha.nulls.restricted_permutations import Exchange
from shesha.results import Dependence

__all__ = [
    "Dependence",
    "Exchange",
    "benjamini_hochberg",
    "best_value",
    "dependence",
    "draw_permutations",
    "equal_groups",
    "exchange",
    "holm",
    "identity_first",
    "match_by_quantity",
    "require_attainable_maximum",
    "summarise",
]
