"""Doubts: what could be wrong with a conclusion, and what to do about it."""

# These mark what is asked; the order decides between equal effects.
from shesha.doubting import rows, clusters, known, columns, distances, pairs  # isort: skip
from shesha.doubting.doubts import doubted, doubted_pair, doubts, known_of

__all__ = [
    "clusters",
    "columns",
    "distances",
    "doubted",
    "doubted_pair",
    "doubts",
    "known",
    "known_of",
    "pairs",
    "rows",
]
