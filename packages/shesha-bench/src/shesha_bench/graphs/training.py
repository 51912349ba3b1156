"""Train a graph network on the whole graph."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from scipy import sparse
from torch import Tensor
from torch.nn.functional import cross_entropy

from shesha_bench.graphs.altered_data import EdgeDropping, append_shortcuts, corrupt_labels, shortcut_classes
from shesha_bench.graphs.catalogue import CATALOGUE
from shesha_bench.graphs.data import Graph, load
from shesha_bench.graphs.hyperparameters import Hyper
from shesha_bench.graphs.networks import Features
from shesha_bench.graphs.sparse_products import SparseMatrix
from shesha_bench.model_descriptions import Model, Weights

_SPARSE_BELOW = 0.1
"""Share of nonzero features below which sparse products are faster."""


def train(model: Model) -> Weights:
    """Train a model and return its weights; see `shesha_bench.graphs.fit`."""
    hyper = CATALOGUE.build(model)
    graph = load(model.dataset)
    x = graph.x
    if model.setting.kind == "shortcut":
        x = append_shortcuts(x, shortcut_classes(graph, model, hyper.shortcut_rows), graph.n_classes)
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(model.seed)
        network = build(model, hyper, graph)
        _descend(network, as_features(x), corrupt_labels(graph, model), graph, model, hyper)
    return {name: value.detach().clone() for name, value in network.state_dict().items()}


def build(model: Model, hyper: Hyper, graph: Graph) -> torch.nn.Module:
    """Return the network of a model, with new weights drawn from torch's current random state."""
    n_features = graph.x.shape[1] + (graph.n_classes if model.setting.kind == "shortcut" else 0)
    return CATALOGUE.network(model.architecture).build(n_features, graph.n_classes, hyper, model)


def as_features(x: Tensor) -> Features:
    """Return the features in the form that is fastest to multiply."""
    if x.count_nonzero() < _SPARSE_BELOW * x.numel():
        return SparseMatrix.build(sparse.csr_array(x.numpy()))
    return x


def _descend(network: torch.nn.Module, x: Features, labels: Tensor, graph: Graph, model: Model, hyper: Hyper) -> None:
    """Run one training step per epoch."""
    rows = graph.train.nonzero().ravel()
    optimiser = torch.optim.Adam(
        network.parameters(), lr=hyper.learning_rate, weight_decay=hyper.weight_decay, fused=True
    )
    network.train()
    for edges in _edges_by_epoch(graph, model, hyper.epochs):
        optimiser.zero_grad()
        logits, _ = network(x, edges, rows)
        cross_entropy(logits, labels[rows]).backward()  # type: ignore[no-untyped-call]
        optimiser.step()


def _edges_by_epoch(graph: Graph, model: Model, epochs: int) -> Iterator[Any]:
    passage = CATALOGUE.network(model.architecture).passage
    if model.setting.kind != "augmentation":
        edges = passage(graph.edge_index, graph.n_nodes)
        yield from (edges for _ in range(epochs))
        return
    dropping = EdgeDropping(graph.edge_index, model)
    for _ in range(epochs):
        yield passage(dropping.draw(), graph.n_nodes)
