"""Measures that depend only on means and products, and can be computed exactly for any number of rows."""

from __future__ import annotations

import numpy as np

from shesha.measures.registry import Measure
from shesha.moments import SummedRepresentation, sum_panel
from shesha.support.argument_types import instance
from shesha.support.warnings import NotEstimable


def takes_moments(measure: Measure) -> bool:
    """Whether sums over rows (`shesha.Moments`) suffice for a measure, found by a trial on a few rows."""
    instance(measure, Measure, "measure", "a Measure, as `shesha.measures.get` returns")
    rows = np.random.default_rng(0).standard_normal((2, 60, 12))
    sums = sum_panel(list(rows), [(0, 1)])
    sides = [SummedRepresentation(sums, place, float(np.finfo(float).eps)) for place in (0, 1)]
    try:
        measure.compare_views(*(measure.look(side) for side in sides))
    except NotEstimable:
        return False
    return True
