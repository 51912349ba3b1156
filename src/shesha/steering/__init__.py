"""Steering vectors and probes: directions, layers, strengths and chance levels."""

from shesha.steering._labelled_rows import halves
from shesha.steering._layer_ranking import rank_layers
from shesha.steering._partial_correlations import partial_correlations
from shesha.steering._predictors import predictors
from shesha.steering._steerability import steerability
from shesha.steering._vector import SteeringVector, vector

__all__ = [
    "SteeringVector",
    "halves",
    "partial_correlations",
    "predictors",
    "rank_layers",
    "steerability",
    "vector",
]
