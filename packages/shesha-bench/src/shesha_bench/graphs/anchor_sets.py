"""Anchor sets of P-GNN: random sets of nodes, to which a node's distances define its position."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import shortest_path
from torch import Tensor

_UNREACHED = np.iinfo(np.uint16).max


@dataclass(frozen=True)
class Anchors:
    """For each node, the nearest node of each anchor set."""

    nearest: Tensor
    """Index of the nearest node in each set, int64, of shape (n_nodes, n_sets)."""
    closeness: Tensor
    """Distinct values of closeness, 1 / (hops + 1) or 0 if unreachable, float32, of shape (n_values, 1).

    There are few distinct values, so a function of closeness is computed once per value, not once per pair.
    """
    level: Tensor
    """Index in `closeness` for the nearest node of each set, int64, of shape (n_nodes, n_sets)."""

    @property
    def n_sets(self) -> int:
        """Number of anchor sets."""
        return self.nearest.shape[1]


def anchor_sets(n_nodes: int, seed: int) -> list[NDArray[np.int64]]:
    """Draw m sets of floor(n / 2) nodes, m of floor(n / 4), ...: m sizes in all, m = floor(log2(n_nodes))."""
    rng = np.random.default_rng(seed)
    m = int(math.log2(n_nodes))
    return [rng.choice(n_nodes, n_nodes // 2 ** (i + 1), replace=False) for i in range(m) for _ in range(m)]


def all_hops(edge_index: Tensor, n_nodes: int) -> NDArray[np.uint16]:
    """Count the edges on the shortest path between any two nodes; 65,535 means that there is no path."""
    source, target = edge_index.numpy()
    adjacency = sparse.csr_array((np.ones(len(source)), (source, target)), shape=(n_nodes, n_nodes))
    hops = shortest_path(adjacency, unweighted=True)
    return np.where(np.isinf(hops), _UNREACHED, hops).astype(np.uint16)


def anchors_from(hops: NDArray[np.uint16], seed: int) -> Anchors:
    """Find each node's nearest node in each set; among equally near ones, the first drawn."""
    sets = anchor_sets(len(hops), seed)
    nearest = np.empty((len(hops), len(sets)), dtype=np.int64)
    distance = np.empty_like(nearest)
    for number, members in enumerate(sets):
        to_members = hops[:, members]
        first = to_members.argmin(axis=1)
        nearest[:, number] = members[first]
        distance[:, number] = to_members[np.arange(len(hops)), first]
    values, level = np.unique(distance, return_inverse=True)
    closeness = np.where(values == _UNREACHED, 0, 1 / (values + 1)).astype(np.float32)
    return Anchors(torch.from_numpy(nearest), torch.from_numpy(closeness)[:, None], torch.from_numpy(level))
