"""Calibration: a zero point and a p-value for every score, from permutations of the rows."""

from shesha.calibration.scalar import calibrate

__all__ = ["calibrate"]
