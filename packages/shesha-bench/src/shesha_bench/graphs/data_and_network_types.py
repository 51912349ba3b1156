"""How to declare a graph data set, and a network on graphs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shesha_bench.data_and_network_types import NetworkPart, Part
from shesha_bench.graphs.hyperparameters import Hyper
from shesha_bench.model_descriptions import Model

if TYPE_CHECKING:
    from torch import Tensor, nn

    from shesha_bench.graphs.readers import RawGraph


@dataclass(frozen=True, kw_only=True)
class GraphData(Part):
    """A graph whose nodes are classified."""

    read: Callable[[], RawGraph]
    """Function that reads the features, edges, classes and masks of the splits."""


def _accept(model: Model, hyper: Hyper) -> None:
    """Refuse nothing."""


@dataclass(frozen=True, kw_only=True)
class GraphNetwork(NetworkPart):
    """A network that classifies nodes."""

    build: Callable[[int, int, Hyper, Model], nn.Module]
    """Function that builds the network for given numbers of features and classes. New weights are drawn from torch's
    current random state.

    The network takes the features (a tensor, or a sparse matrix that can be multiplied with a tensor), the edges as
    `passage` returns them, and the requested rows. For these rows, it returns the logits and the output of each hidden
    layer.
    """
    passage: Callable[[Tensor, int], Any]
    """Function that converts edges, (2, n_edges), to the form that message passing needs, given the number of nodes."""
    refuse: Callable[[Model, Hyper], None] = _accept
    """Function that raises ValueError for settings and hyperparameters with which the network cannot be trained."""

    def check(self, model: Model, hyper: Hyper) -> None:
        """Refuse settings with which the network cannot be trained."""
        self.refuse(model, hyper)
