"""The graph domain: nodes of graphs, classified by networks that pass messages."""

from shesha.support.lazy import lazy_names
from shesha_bench.graphs.catalogue import CATALOGUE, GraphData, GraphNetwork

# Training needs torch, which takes long to import.
__getattr__, __dir__ = lazy_names(__name__, {"training": ("extract", "fingerprint", "fit")})
hyperparameters = CATALOGUE.hyperparameters

__all__ = ["CATALOGUE", "GraphData", "GraphNetwork", "hyperparameters"]
