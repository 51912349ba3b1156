"""Edges in the form in which each architecture needs them to pass messages."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor

from shesha_bench.graphs.sparse_products import SparseMatrix


@dataclass(frozen=True)
class LoopedEdges:
    """Edges as matrices of shape (n_nodes, n_edges), including an edge from each node to itself.

    Multiplying by these matrices sums values over the edges of each node. Multiplying by their transposes copies each
    node's values to its edges.
    """

    outgoing: SparseMatrix
    """Matrix with 1 if the node is the source of the edge, otherwise 0."""
    incoming: SparseMatrix
    """Matrix with 1 if the node is the target of the edge, otherwise 0."""
    target: Tensor
    """Index of the target node of each edge, int64."""


Passage = SparseMatrix | LoopedEdges | None


def gcn_edges(edge_index: Tensor, n_nodes: int) -> SparseMatrix:
    """Weight edges, including self-loops, by 1 / sqrt(product of the degrees at both ends) (GCN)."""
    source, target = _add_loops(edge_index, n_nodes)
    degree = np.bincount(target, minlength=n_nodes)
    weight = 1 / np.sqrt(degree[source] * degree[target])
    return SparseMatrix.build(sparse.csr_array((weight, (target, source)), shape=(n_nodes, n_nodes)))


def mean_edges(edge_index: Tensor, n_nodes: int) -> SparseMatrix:
    """Weight edges so that each node receives its neighbours' mean, or 0 if it has none (GraphSAGE)."""
    source, target = edge_index.numpy()
    weight = 1 / np.bincount(target, minlength=n_nodes)[target]
    return SparseMatrix.build(sparse.csr_array((weight, (target, source)), shape=(n_nodes, n_nodes)))


def gat_edges(edge_index: Tensor, n_nodes: int) -> LoopedEdges:
    """Return the edges with exactly one edge from each node to itself (GAT)."""
    source, target = _add_loops(edge_index, n_nodes)
    return LoopedEdges(_ends(source, n_nodes), _ends(target, n_nodes), torch.from_numpy(target))


def _ends(nodes: NDArray[np.int64], n_nodes: int) -> SparseMatrix:
    n_edges = len(nodes)
    return SparseMatrix.build(
        sparse.csr_array((np.ones(n_edges), (nodes, np.arange(n_edges))), shape=(n_nodes, n_edges))
    )


def _add_loops(edge_index: Tensor, n_nodes: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    source, target = edge_index[:, edge_index[0] != edge_index[1]].numpy()
    nodes = np.arange(n_nodes)
    return np.concatenate([source, nodes]), np.concatenate([target, nodes])


def no_edges(edge_index: Tensor, n_nodes: int) -> None:
    """Return None, because P-GNN passes messages from anchors, not along edges."""
