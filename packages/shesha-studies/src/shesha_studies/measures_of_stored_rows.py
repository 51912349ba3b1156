"""Measures by their names in the stored rows, in which mutual kNN compares raw inner products."""

from __future__ import annotations

from shesha.measures import Measure, get


def measure_of_stored_rows(name: str) -> Measure:
    """Return the measure that a name in the stored rows stands for.

    The published code of mutual kNN takes the largest inner products, and so do all rows of the studies. The library's
    default is the cosine, which agrees for rows of equal length.
    """
    measure = get(name)
    is_raw = measure.name.startswith("mutual kNN") and "metric" not in measure.options
    return measure.with_options(metric="dot") if is_raw else measure
