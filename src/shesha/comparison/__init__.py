"""Compare representations: two of them, all pairs of several, or all pairs of layers of two models."""

from shesha.comparison.compare import compare
from shesha.comparison.layer_grid import calibrate_layers, compare_layers
from shesha.comparison.noise_ceiling import noise_ceiling
from shesha.comparison.pairwise import compare_all
from shesha.comparison.procrustes_consensus import consensus, mean_shape
from shesha.comparison.unit_matching import match_units
from shesha.comparison.within_classes import compare_within

__all__ = [
    "calibrate_layers",
    "compare",
    "compare_all",
    "compare_layers",
    "compare_within",
    "consensus",
    "match_units",
    "mean_shape",
    "noise_ceiling",
]
