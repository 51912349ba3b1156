"""The graph domain: nodes of graphs, classified by networks that pass messages."""

from typing import TYPE_CHECKING

from shesha.support.lazy import lazy_names
from shesha_bench.graphs.catalogue import CATALOGUE, GraphData, GraphNetwork

if TYPE_CHECKING:
    # Training needs torch, which takes long to import.
    from shesha_bench.graphs.training import extract, fingerprint, fit

__getattr__, __dir__ = lazy_names(__name__)
hyperparameters = CATALOGUE.hyperparameters

__all__ = ["CATALOGUE", "GraphData", "GraphNetwork", "extract", "fingerprint", "fit", "hyperparameters"]
