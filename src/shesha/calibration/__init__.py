"""Calibrate scores: a zero point and a p-value for each score, from permutations of the rows."""

from shesha.calibration.permutation_scores import DrawError, null_scores, shared, side_by_side
from shesha.calibration.single_pair import calibrate
from shesha.nulls.null_summary import benjamini_hochberg, holm

__all__ = [
    "DrawError",
    "benjamini_hochberg",
    "calibrate",
    "holm",
    "null_scores",
    "shared",
    "side_by_side",
]
