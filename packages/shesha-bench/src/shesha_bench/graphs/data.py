"""The graphs of the benchmark as tensors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from shesha_bench.array_hash import hash_arrays
from shesha_bench.catalogue import find_part
from shesha_bench.graphs.catalogue import DATA
from shesha_bench.graphs.readers import RawGraph

_MOST_ROWS = 10_000
_ROW_SEED = 2024


@dataclass(frozen=True)
class Graph:
    """An undirected graph in which each node has features and a class."""

    x: Tensor
    """Features, float32, of shape (n_nodes, n_features)."""
    edge_index: Tensor
    """Source and target of each edge, int64, (2, n_edges); edges are listed in both directions."""
    y: Tensor
    """Classes, int64, of shape (n_nodes,)."""
    train: Tensor
    val: Tensor
    test: Tensor
    """Masks that mark the nodes of each split, bool, of shape (n_nodes,)."""
    n_classes: int

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.y)

    @classmethod
    def build(cls, raw: RawGraph) -> Graph:
        """Convert the arrays of a graph to tensors."""
        return cls(
            x=torch.from_numpy(np.asarray(raw.x, dtype=np.float32)),
            edge_index=torch.from_numpy(np.asarray(raw.edge_index, dtype=np.int64)),
            y=torch.from_numpy(np.asarray(raw.y, dtype=np.int64)),
            train=torch.from_numpy(np.asarray(raw.train, dtype=bool)),
            val=torch.from_numpy(np.asarray(raw.val, dtype=bool)),
            test=torch.from_numpy(np.asarray(raw.test, dtype=bool)),
            n_classes=int(raw.y.max()) + 1,
        )


@lru_cache(maxsize=3)
def load(dataset: str) -> Graph:
    """Read a graph once per process, because a worker trains many models on it."""
    return Graph.build(find_part(dataset, DATA, "dataset").read())


@lru_cache(maxsize=3)
def fingerprint_of_graph(dataset: str) -> str:
    """Hash everything that is read of a graph."""
    graph = load(dataset)
    tensors = (graph.x, graph.edge_index, graph.y, graph.train, graph.val, graph.test)
    return hash_arrays(*(tensor.numpy() for tensor in tensors))


def extraction_rows(graph: Graph) -> NDArray[np.int64]:
    """Return the test nodes in ascending order, or 10,000 random ones that are the same for all models."""
    rows = np.flatnonzero(graph.test.numpy())
    if len(rows) <= _MOST_ROWS:
        return rows
    return np.sort(np.random.default_rng(_ROW_SEED).choice(rows, _MOST_ROWS, replace=False))
