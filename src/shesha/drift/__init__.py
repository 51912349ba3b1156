"""Drift of a deployed model, on the same inputs (`check`), and of its inputs (`update`, `two_sample`)."""

from typing import TYPE_CHECKING

from shesha.drift.canary_reference import CanaryEncodings, encode_canaries
from shesha.drift.conformal_stream import conformal_stream
from shesha.drift.monitor import DriftMonitor
from shesha.drift.training_path import Checkpoint, TrainingPath
from shesha.drift.two_sample_tests import TwoSampleTests, two_sample, two_sample_tests
from shesha.results import CheckSequence, DriftScore, DriftVerdict, Moved, StreamVerdict, TwoSample
from shesha.support.lazy import lazy_names

if TYPE_CHECKING:
    from shesha.drift import callbacks as callbacks, perturb as perturb

__getattr__, __dir__ = lazy_names(__name__)

__all__ = [
    "CanaryEncodings",
    "CheckSequence",
    "Checkpoint",
    "DriftMonitor",
    "DriftScore",
    "DriftVerdict",
    "Moved",
    "StreamVerdict",
    "TrainingPath",
    "TwoSample",
    "TwoSampleTests",
    "callbacks",
    "conformal_stream",
    "encode_canaries",
    "perturb",
    "two_sample",
    "two_sample_tests",
]
