"""Steering vectors and probes: directions, layers, strengths and chance levels."""

from shesha.steering.labelled_rows import halves
from shesha.steering.layer_ranking import rank_layers
from shesha.steering.predictors import partial_correlations, predictors
from shesha.steering.steerability import steerability
from shesha.steering.vectors import SteeringVector, vector

__all__ = [
    "SteeringVector",
    "halves",
    "partial_correlations",
    "predictors",
    "rank_layers",
    "steerability",
    "vector",
]
