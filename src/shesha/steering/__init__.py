"""Steering vectors and probes: directions, layers, strengths and chance levels."""

from shesha.steering.labelled_rows import halves
from shesha.steering.layer_ranking import rank_layers
from shesha.steering.steerability import steerability
from shesha.steering.vectors import SteeringVector, vector

__all__ = [
    "SteeringVector",
    "halves",
    "rank_layers",
    "steerability",
    "vector",
]
