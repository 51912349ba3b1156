"""Train graph networks, with altered labels, features or edges, and extract their representations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor
from torch.nn.functional import cross_entropy, one_hot

from shesha.extract.torch_modules import evaluation_mode
from shesha_bench.catalogue import Model, Outcome, Plain, Weights, count_of_share
from shesha_bench.graphs.catalogue import CATALOGUE, Hyper, geometric
from shesha_bench.graphs.networks import Features, Graph, SparseMatrix, extraction_rows, fingerprint_of_graph, load

_FIXED_SEED = 2024
# Keys of separate random streams, so that no draw depends on the number of other draws.
_LABELS, _SHORTCUTS, _EDGES = 1, 2, 3


def corrupt_labels(graph: Graph, model: Model) -> Tensor:
    """Return the labels to learn; for setting "labels", a random share `degree` of them is wrong."""
    if model.setting.kind != "labels":
        return graph.y
    rng = np.random.default_rng([model.seed, _LABELS])
    chosen = rng.choice(graph.n_nodes, count_of_share(model.setting.degree, graph.n_nodes), replace=False)
    labels = graph.y.numpy().copy()
    labels[chosen] = _draw_other_classes(labels[chosen], graph.n_classes, rng)
    return torch.from_numpy(labels)


def shortcut_classes(graph: Graph, model: Model, rows: str) -> Tensor:
    """Return the class that each node's shortcut shows during training.

    For a share `degree` of the training nodes and of the validation nodes, the shortcut shows the true class; for the
    others, it shows a wrong class drawn with the model's seed. For test nodes, it shows a wrong class that is the same
    for all models. For nodes in no split, it shows the true class if `rows` is "training", and otherwise a wrong class
    that is the same for all models.
    """
    labels = graph.y.numpy()
    shortcuts = _draw_other_classes(labels, graph.n_classes, np.random.default_rng(_FIXED_SEED))
    if rows == "training":
        unused = ~(graph.train | graph.val | graph.test).numpy()
        shortcuts[unused] = labels[unused]
    rng = np.random.default_rng([model.seed, _SHORTCUTS])
    for mask in (graph.train, graph.val):
        nodes = np.flatnonzero(mask.numpy())
        wrong = rng.choice(nodes, count_of_share(1 - model.setting.degree, len(nodes)), replace=False)
        shortcuts[nodes] = labels[nodes]
        shortcuts[wrong] = _draw_other_classes(labels[wrong], graph.n_classes, rng)
    return torch.from_numpy(shortcuts)


def extraction_shortcuts(graph: Graph, model: Model, rows: str) -> Tensor:
    """Return the class that each node's shortcut shows during extraction.

    If `rows` is "training", shortcuts are the same as in the model's training. If it is "fixed", they show random
    classes that are the same for all models.
    """
    if rows == "training":
        return shortcut_classes(graph, model, rows)
    return torch.from_numpy(np.random.default_rng(_FIXED_SEED).integers(graph.n_classes, size=graph.n_nodes))


def append_shortcuts(x: Tensor, shortcuts: Tensor, n_classes: int) -> Tensor:
    """Append each node's shortcut to its features, (n_nodes, n_features), as a one-hot code of the class."""
    return torch.cat([x, one_hot(shortcuts, n_classes).to(x.dtype)], dim=1)


class EdgeDropping:
    """Redraws the edges in each epoch, keeping each with probability 1 - `degree` (DropEdge)."""

    def __init__(self, edge_index: Tensor, model: Model) -> None:
        self._edge_index = edge_index
        self._degree = model.setting.degree
        self._rng = np.random.default_rng([model.seed, _EDGES])

    def draw(self) -> Tensor:
        """Return the edges that are kept in the next epoch, of shape (2, n_kept)."""
        kept = self._rng.random(self._edge_index.shape[1]) >= self._degree
        return self._edge_index[:, torch.from_numpy(kept)]


def _draw_other_classes(labels: NDArray[np.int64], n_classes: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw a different class for each label, with equal probabilities."""
    return (labels + rng.integers(1, n_classes, size=len(labels))) % n_classes


_SPARSE_BELOW = 0.1
"""Share of nonzero features below which sparse products are faster."""


def fingerprint(dataset: str, hyper: Mapping[str, Plain]) -> str:
    """Hash the graph that training and extraction use; no hyperparameter changes it."""
    return fingerprint_of_graph(dataset)


def fit(model: Model) -> Weights:
    """Train a graph network from its seed on the whole graph, and return its state dict on the CPU."""
    geometric("nn")
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


def extract(model: Model, weights: Weights) -> Outcome:
    """Run a trained graph network on the whole graph; return the results for the test nodes.

    Representations are the outputs of the hidden layers before normalisation, activation and dropout, of shape (n_rows,
    n_channels). Rows are the test nodes, or a random 10,000 of them if there are more, in the order of their numbers.
    Labels are the true classes.
    """
    geometric("nn")
    hyper = CATALOGUE.build(model)
    graph = load(model.dataset)
    with torch.random.fork_rng(devices=[]):
        network = build(model, hyper, graph)
    try:
        network.load_state_dict(weights)
    except RuntimeError as error:
        raise ValueError(f"weights must be those of {model}, got weights of another network: {error}") from error
    x = graph.x
    if model.setting.kind == "shortcut":
        x = append_shortcuts(x, extraction_shortcuts(graph, model, hyper.shortcut_rows), graph.n_classes)
    rows = extraction_rows(graph)
    # No hooks are needed, because the network itself returns its layers for the requested nodes.
    with evaluation_mode(network):
        edges = CATALOGUE.network(model.architecture).passage(graph.edge_index, graph.n_nodes)
        logits, layers = network(as_features(x), edges, torch.from_numpy(rows))
    kept = layers if model.keeps_layers else layers[-1:]
    return Outcome(
        representations={"": tuple(layer.numpy() for layer in kept)},
        probabilities=logits.double().softmax(dim=1).numpy(),
        labels=graph.y.numpy()[rows],
    )
