"""The tests of the benchmark, which can also be applied to your own models.

Each test is an object that is defined in a file of this package or in your own code. `TESTS` contains the benchmark's
six tests, and `register` adds a test of yours.
"""

from shesha_bench.tests.kinds import (
    BenchmarkTest,
    ByGroups,
    ByLayers,
    ByPrediction,
    Cast,
    Output,
    ScoreRow,
    pairs_groups,
    pairs_layers,
    pairs_prediction,
    score_groups,
    score_layers,
    score_prediction,
)
from shesha_bench.tests.registry import (
    TESTS,
    accuracy_correlation,
    all_tests,
    augmentation,
    find,
    label_randomization,
    layer_monotonicity,
    output_correlation,
    register,
    shortcut_affinity,
)

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
