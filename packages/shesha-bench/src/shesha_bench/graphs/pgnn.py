"""P-GNN, a network that uses nodes' distances to random sets of nodes (You, Ying and Leskovec, 2019)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from shesha_bench.graphs.anchor_messages import mean_message, messages
from shesha_bench.graphs.anchor_sets import Anchors, all_hops, anchors_from
from shesha_bench.graphs.data import load
from shesha_bench.graphs.dropout import dropout
from shesha_bench.graphs.hyperparameters import Hyper
from shesha_bench.graphs.networks import Features, project


class PositionLayer(nn.Module):
    """A layer of P-GNN: messages from the nearest node of each anchor set, weighted by distance."""

    def __init__(self, n_inputs: int, n_outputs: int) -> None:
        super().__init__()
        self.distance = nn.Sequential(nn.Linear(1, n_outputs), nn.ReLU(), nn.Linear(n_outputs, 1))
        self.message = nn.Linear(2 * n_inputs, n_outputs)
        self.position = nn.Linear(n_outputs, 1)

    def split(self) -> tuple[Tensor, Tensor]:
        """Return the parts of the message weights for the anchor's features and for the node's own."""
        anchor, node = self.message.weight.chunk(2, dim=1)
        return anchor, node

    def weights(self, closeness: Tensor, level: Tensor) -> Tensor:
        """Return the weight of each message, a function of distance, in the shape of `level`."""
        values: Tensor = self.distance(closeness)
        return values.ravel().index_select(0, level.ravel()).view(level.shape)


class PositionNetwork(nn.Module):
    """P-GNN as a classifier of nodes.

    Messages are linear in the features, so features are projected first and weighted by distance afterwards. The result
    is the same as if the features were weighted and projected separately for each pair of a node and an anchor set.
    """

    def __init__(self, n_features: int, n_classes: int, hyper: Hyper, anchors: Anchors) -> None:
        super().__init__()
        widths = [n_features, *[hyper.hidden] * (hyper.layers - 1), n_classes]
        self.prepare = nn.Linear(n_features, n_features)
        self.layers = nn.ModuleList(PositionLayer(*pair) for pair in pairwise(widths))
        self.classifier = nn.Linear(anchors.n_sets, n_classes)
        self._anchors = anchors
        self._dropout = hyper.dropout
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight, gain=nn.init.calculate_gain("relu"))
                nn.init.zeros_(module.bias)

    def forward(self, x: Features, edges: None, rows: Tensor) -> tuple[Tensor, list[Tensor]]:
        """Return the logits, (n_rows, n_classes), and each hidden layer's output for the requested nodes.

        Each layer is evaluated only for those nodes on which the requested rows depend.
        """
        layers = cast(list[PositionLayer], list(self.layers))
        *steps, final = _steps(self._anchors, rows, len(layers))
        closeness = self._anchors.closeness
        from_anchors, own_part = self._first_projections(x)
        outputs = []
        for (layer, following), step in zip(pairwise(layers), steps, strict=True):
            weights = layer.weights(closeness, step.level)
            structure = mean_message(weights, from_anchors, own_part[step.receivers], step.nearest)
            outputs.append(structure[step.rows])
            structure = dropout(structure, self._dropout, self.training)
            anchor_weight, own_weight = following.split()
            from_anchors, own_part = structure @ anchor_weight.T, structure @ own_weight.T + following.message.bias
        weights = layers[-1].weights(closeness, final.level)
        last = messages(weights, from_anchors, own_part[final.receivers], final.nearest)
        position = layers[-1].position(last).squeeze(-1)
        return self.classifier(functional.normalize(position, dim=1)), outputs

    def _first_projections(self, x: Features) -> tuple[Tensor, Tensor]:
        """Project the prepared features; both maps are linear, so their weights are combined first."""
        layer = cast(PositionLayer, self.layers[0])
        weight = torch.cat(layer.split())
        shift = weight @ self.prepare.bias + functional.pad(layer.message.bias, (len(layer.message.bias), 0))
        from_anchors, from_nodes = (project(x, weight @ self.prepare.weight) + shift).chunk(2, dim=1)
        return from_anchors, from_nodes


@dataclass(frozen=True)
class _Step:
    """The nodes for which a layer is evaluated, and the indices of their inputs in the previous layer."""

    receivers: Tensor
    nearest: Tensor
    level: Tensor
    rows: Tensor
    """Indices of the requested rows among the receivers."""


def _steps(anchors: Anchors, rows: Tensor, n_layers: int) -> list[_Step]:
    """Trace the rows back through the layers: a node depends on itself and on its nearest anchors."""
    n_nodes = len(anchors.nearest)
    wanted = [rows]
    for _ in range(n_layers - 1):
        needed = torch.zeros(n_nodes, dtype=torch.bool)
        needed[wanted[0]] = True
        needed[anchors.nearest[wanted[0]].ravel()] = True
        wanted.insert(0, needed.nonzero().ravel())
    steps = []
    place = torch.arange(n_nodes)
    for nodes in wanted:
        receivers, nearest = place[nodes], place[anchors.nearest[nodes]]
        place = torch.empty(n_nodes, dtype=torch.int64)
        place[nodes] = torch.arange(len(nodes))
        steps.append(_Step(receivers, nearest, anchors.level[nodes], place[rows]))
    return steps


@lru_cache(maxsize=1)
def _hops(dataset: str) -> NDArray[np.uint16]:
    graph = load(dataset)
    return all_hops(graph.edge_index, graph.n_nodes)


@lru_cache(maxsize=1)
def draw_anchors(dataset: str, seed: int) -> Anchors:
    """Return the anchors for a seed, which training and extraction share."""
    return anchors_from(_hops(dataset), seed)
