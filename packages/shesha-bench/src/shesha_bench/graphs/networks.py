"""Networks that pass messages along edges: GCN, GraphSAGE and GAT."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from shesha_bench.graphs.dropout import dropout
from shesha_bench.graphs.hyperparameters import Hyper
from shesha_bench.graphs.message_edges import LoopedEdges, Passage
from shesha_bench.graphs.sparse_products import SparseMatrix
from shesha_bench.graphs.torch_geometric_import import geometric

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
