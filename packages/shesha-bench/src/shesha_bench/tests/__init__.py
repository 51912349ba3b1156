"""The tests of the benchmark, which can also be applied to your own models.

Each test is an object that is defined in a file of this package or in your own code. `TESTS` contains the benchmark's
six tests, and `register` adds a test of yours.
"""

from shesha_bench.pairs_and_scores import (
    ScoreRow,
    pairs_groups,
    pairs_layers,
    pairs_prediction,
    score_groups,
    score_layers,
    score_prediction,
)
from shesha_bench.tests._accuracy import accuracy_correlation
from shesha_bench.tests._augmentation import augmentation
from shesha_bench.tests._base import BenchmarkTest, Cast, Output
from shesha_bench.tests._kinds import ByGroups, ByLayers, ByPrediction
from shesha_bench.tests._label_randomization import label_randomization
from shesha_bench.tests._layer_monotonicity import layer_monotonicity
from shesha_bench.tests._output import output_correlation
from shesha_bench.tests._shortcut import shortcut_affinity
from shesha_bench.tests.registry import TESTS, all_tests, find, register

__all__ = [
    "TESTS",
    "BenchmarkTest",
    "ByGroups",
    "ByLayers",
    "ByPrediction",
    "Cast",
    "Output",
    "ScoreRow",
    "accuracy_correlation",
    "all_tests",
    "augmentation",
    "find",
    "label_randomization",
    "layer_monotonicity",
    "output_correlation",
    "pairs_groups",
    "pairs_layers",
    "pairs_prediction",
    "register",
    "score_groups",
    "score_layers",
    "score_prediction",
    "shortcut_affinity",
]
