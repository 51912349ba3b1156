"""Drift of a deployed model: the same inputs encoded again (`check`), new inputs (`update`, `two_sample`)."""

from shesha.drift.monitor import DriftMonitor
from shesha.drift.two_samples import two_sample
from shesha.results import CheckSequence, DriftScore, DriftVerdict, Moved, StreamVerdict, TwoSample

__all__ = [
    "CheckSequence",
    "DriftMonitor",
    "DriftScore",
    "DriftVerdict",
    "Moved",
    "StreamVerdict",
    "TwoSample",
    "two_sample",
]
