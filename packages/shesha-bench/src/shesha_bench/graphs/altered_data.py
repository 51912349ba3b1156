"""The benchmark's settings for graphs, which change labels, features or edges."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import one_hot

from shesha_bench.graphs.data import Graph
from shesha_bench.model_descriptions import Model, count_of_share

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
