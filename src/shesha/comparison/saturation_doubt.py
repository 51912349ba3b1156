"""Find measures that saturate: for data of this size, even unrelated data reach perfect agreement."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from shesha.calibration.calibrated_pair_doubts import add_saturation
from shesha.results import Doubts, Score
from shesha.support.device_arrays import to_host
from shesha.support.warnings import NotEstimable
from shesha.views import Representation

_CONSTANT = 1e-9
"""Relative spread below which a null distribution is constant up to rounding."""


def add_saturation_doubt(doubts: Doubts, sides: list[Representation], scores: Mapping[str, Score]) -> Doubts:
    """Add the doubt that measures saturate, based on their null distributions."""
    # If all rows are equal, every permutation has the same score, which says nothing about the measure.
    flat = any(_has_equal_rows(side) for side in sides)
    levels = {score.measure: score.null_mean if flat else _null_level(score) for score in scores.values()}
    known = {score.measure: (levels[score.measure], *_worst_and_best(score)) for score in scores.values()}
    return add_saturation(doubts, known, sides)


def _has_equal_rows(side: Representation) -> bool:
    try:
        return bool(np.ptp(to_host(side.rows), axis=0).max() == 0)
    except NotEstimable:
        # There are no rows if the input is distances, or if covariates were removed from distances.
        return False


def _null_level(score: Score) -> float:
    """Return the mean of the null, or the best value if every matching of the rows has the same score."""
    constant = score.null_sd <= _CONSTANT * abs(score.null_mean)
    return _worst_and_best(score)[1] if constant else score.null_mean


def _worst_and_best(score: Score) -> tuple[float, float]:
    return (
        (score.possible_low, score.possible_high)
        if score.closer == "higher"
        else (score.possible_high, score.possible_low)
    )
