"""Graphs as tensors, and networks on them, evaluated faster than elsewhere: GCN, GraphSAGE, GAT and P-GNN."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import shortest_path
from torch import Tensor, nn
from torch.nn import functional

from shesha_bench.catalogue import find_part
from shesha_bench.domains import hash_arrays
from shesha_bench.graphs.catalogue import DATA, Hyper, RawGraph, geometric

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


@dataclass(frozen=True)
class SparseMatrix:
    """A constant matrix, stored by rows, together with its transpose.

    The transpose is stored because torch, to compute the gradient of a sparse product, transposes the matrix in every
    step, which takes several times as long as the product.
    """

    matrix: Tensor
    transpose: Tensor

    @classmethod
    def build(cls, matrix: sparse.csr_array) -> SparseMatrix:
        """Store a SciPy matrix as float32."""
        return cls(_rows(matrix), _rows(sparse.csr_array(matrix.T)))

    @property
    def T(self) -> SparseMatrix:
        """The transpose."""
        return SparseMatrix(self.transpose, self.matrix)

    def __matmul__(self, dense: Tensor) -> Tensor:
        """Multiply by a dense matrix of shape (n_columns, n_channels)."""
        product: Tensor = _Product.apply(self.matrix, self.transpose, dense)  # type: ignore[no-untyped-call]
        return product


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, matrix: Tensor, transpose: Tensor, dense: Tensor) -> Tensor:
        ctx.transpose = transpose
        return matrix @ dense

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, None, Tensor]:
        return None, None, ctx.transpose @ gradient


def _rows(matrix: sparse.csr_array) -> Tensor:
    """Copy a SciPy matrix without torch's checks, because its indices are sorted and within its shape."""
    matrix.sort_indices()
    with warnings.catch_warnings():
        # torch 2.11 and 2.12 warn that checks are disabled implicitly, even though the argument disables them.
        for message in ("Sparse CSR tensor support is in beta", "Sparse invariant checks are implicitly disabled"):
            warnings.filterwarnings("ignore", message=message, category=UserWarning)
        return torch.sparse_csr_tensor(
            torch.from_numpy(matrix.indptr.astype(np.int64)),
            torch.from_numpy(matrix.indices.astype(np.int64)),
            torch.from_numpy(matrix.data.astype(np.float32)),
            size=matrix.shape,
            check_invariants=False,
        )


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


def dropout(x: Tensor, probability: float, training: bool) -> Tensor:
    """In training, set random values to zero and scale the others up; otherwise change nothing.

    Comparing uniform random numbers is much faster than torch's own dropout, which draws bits one by one.
    """
    if not training or probability == 0:
        return x
    return x * (torch.rand_like(x) >= probability) * (1 / (1 - probability))


Features = Tensor | SparseMatrix
_CLASSES = {"GCN": "GCN", "SAGE": "GraphSAGE", "GAT": "GAT"}


class ConvolutionalNetwork(torch.nn.Module):
    """A network from torch-geometric that is evaluated faster.

    Layers, parameters and mathematics are those of torch-geometric's models. Features are projected before they are
    sent along the edges; this does not change the result, because both steps are linear. Both steps are sparse
    products, because most features are zero. The messages of single edges are never stored.
    """

    def __init__(self, architecture: str, n_features: int, n_classes: int, hyper: Hyper) -> None:
        super().__init__()
        options = {"heads": hyper.heads} if architecture == "GAT" else {}
        self.body: Any = getattr(geometric("nn.models"), _CLASSES[architecture])(
            in_channels=n_features,
            hidden_channels=hyper.hidden,
            num_layers=hyper.layers,
            out_channels=n_classes,
            dropout=hyper.dropout,
            act=hyper.activation,
            norm="BatchNorm",
            **options,
        )
        self._convolve = _CONVOLUTIONS[architecture]

    def forward(self, x: Features, edges: Passage, rows: Tensor) -> tuple[Tensor, list[Tensor]]:
        """Return the logits, (n_rows, n_classes), and each hidden layer's output for the requested nodes."""
        layers = []
        for convolution, norm in zip(self.body.convs[:-1], self.body.norms, strict=False):
            output = self._convolve(convolution, x, edges)
            layers.append(output[rows])
            x = dropout(self.body.act(norm(output)), self.body.dropout.p, self.training)
        return self._convolve(self.body.convs[-1], x, edges)[rows], layers


def project(x: Features, weight: Tensor) -> Tensor:
    """Multiply features by the transpose of a weight matrix of shape (n_outputs, n_features)."""
    return x @ weight.T


def _graph_convolution(convolution: Any, x: Features, edges: SparseMatrix) -> Tensor:
    output: Tensor = edges @ project(x, convolution.lin.weight) + convolution.bias
    return output


def _sage_convolution(convolution: Any, x: Features, edges: SparseMatrix) -> Tensor:
    neighbours = edges @ project(x, convolution.lin_l.weight)
    output: Tensor = neighbours + convolution.lin_l.bias + project(x, convolution.lin_r.weight)
    return output


def _attention(convolution: Any, x: Features, edges: LoopedEdges) -> Tensor:
    heads, width = convolution.heads, convolution.out_channels
    projected = project(x, convolution.lin.weight)
    by_head = projected.view(-1, heads, width)
    sent = edges.outgoing.T @ (by_head * convolution.att_src).sum(dim=-1)
    received = edges.incoming.T @ (by_head * convolution.att_dst).sum(dim=-1)
    score = functional.leaky_relu(sent + received, convolution.negative_slope)
    share = dropout(_softmax(score, edges), convolution.dropout, convolution.training)
    messages = (edges.outgoing.T @ projected).view(-1, heads, width) * share.unsqueeze(-1)
    output = edges.incoming @ messages.flatten(start_dim=1)
    if not convolution.concat:
        output = output.view(-1, heads, width).mean(dim=1)
    biased: Tensor = output + convolution.bias
    return biased


def _softmax(score: Tensor, edges: LoopedEdges) -> Tensor:
    """Normalise the scores of edges, (n_edges, n_heads), so that those into each node sum to one."""
    index = edges.target.unsqueeze(1).expand_as(score)
    n_nodes = edges.incoming.matrix.shape[0]
    highest = score.new_zeros(n_nodes, score.shape[1]).scatter_reduce(
        0, index, score.detach(), "amax", include_self=False
    )
    mass = (score - highest.gather(0, index)).exp()
    return mass / (edges.incoming.T @ (edges.incoming @ mass))


_CONVOLUTIONS: dict[str, Callable[[Any, Features, Any], Tensor]] = {
    "GCN": _graph_convolution,
    "SAGE": _sage_convolution,
    "GAT": _attention,
}


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


_BLOCK = 32
"""Number of nodes per block, small enough that their messages stay in the processor's cache."""


def messages(weight: Tensor, from_anchors: Tensor, own_part: Tensor, nearest: Tensor) -> Tensor:
    """Return relu(weight * from_anchors[nearest] + own_part), of shape (n_rows, n_sets, n_channels).

    Parameters
    ----------
    weight : Tensor of shape (n_rows, n_sets)
        Weight of each message, which depends on the distance between the nodes.
    from_anchors : Tensor of shape (n_nodes, n_channels)
        Projected features of the nodes that send messages.
    own_part : Tensor of shape (n_rows, n_channels)
        Projected features of the receiving nodes.
    nearest : Tensor of int64 of shape (n_rows, n_sets)
        Index of the sender of each message.
    """
    return functional.relu(torch.addcmul(own_part.unsqueeze(1), weight.unsqueeze(-1), _sent(from_anchors, nearest)))


def mean_message(weight: Tensor, from_anchors: Tensor, own: Tensor, nearest: Tensor) -> Tensor:
    """Return the mean message over the sets, (n_rows, n_channels), without storing all messages at once."""
    mean: Tensor = _MeanMessage.apply(weight, from_anchors, own, nearest)  # type: ignore[no-untyped-call]
    return mean


class _MeanMessage(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, weight: Tensor, from_anchors: Tensor, own: Tensor, nearest: Tensor) -> Tensor:
        ctx.save_for_backward(weight, from_anchors, own, nearest)
        mean = torch.empty_like(own)
        for rows in _blocks(len(own)):
            torch.mean(messages(weight[rows], from_anchors, own[rows], nearest[rows]), dim=1, out=mean[rows])
        return mean

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        weight, from_anchors, own_part, nearest = ctx.saved_tensors
        to_weight, to_anchors, to_own = (
            torch.empty_like(weight),
            torch.zeros_like(from_anchors),
            torch.empty_like(own_part),
        )
        share = gradient / weight.shape[1]
        for rows in _blocks(len(own_part)):
            sent = _sent(from_anchors, nearest[rows])
            factor = weight[rows].unsqueeze(-1)
            # The sign is 1 where a message passed the ReLU; a boolean mask would take twice as long.
            passed = torch.addcmul(own_part[rows].unsqueeze(1), factor, sent).relu_().sign_()
            flow = passed.mul_(share[rows].unsqueeze(1))
            torch.sum(flow, dim=1, out=to_own[rows])
            torch.sum(sent.mul_(flow), dim=2, out=to_weight[rows])
            to_anchors.index_add_(0, nearest[rows].ravel(), flow.mul_(factor).flatten(end_dim=1))
        return to_weight, to_anchors, to_own, None


def _sent(from_anchors: Tensor, nearest: Tensor) -> Tensor:
    """Return the features of the senders, (n_rows, n_sets, n_channels)."""
    return from_anchors.index_select(0, nearest.ravel()).view(*nearest.shape, -1)


def _blocks(n_rows: int) -> Iterator[slice]:
    for start in range(0, n_rows, _BLOCK):
        yield slice(start, start + _BLOCK)


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
