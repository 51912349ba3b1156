"""The fast passes of GCN, GraphSAGE and GAT give what torch-geometric's own give."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse

from shesha_bench.graphs.catalogue import NETWORKS
from shesha_bench.graphs.data import Graph
from shesha_bench.graphs.dropout import dropout
from shesha_bench.graphs.hyperparameters import Hyper
from shesha_bench.graphs.message_edges import gcn_edges, mean_edges
from shesha_bench.graphs.networks import ConvolutionalNetwork
from shesha_bench.graphs.sparse_products import SparseMatrix
from shesha_bench.graphs.training import as_features

HYPER = Hyper(16, 3, "relu", 0.0, 0.01, 0.0, 1, heads=8)


def with_loop(edge_index: torch.Tensor) -> torch.Tensor:
    return torch.cat([edge_index, torch.tensor([[4], [4]])], dim=1)


@pytest.mark.parametrize("architecture", ["GCN", "SAGE", "GAT"])
@pytest.mark.parametrize("training", [True, False])
def test_passes_are_those_of_torch_geometric(small: Graph, library: None, architecture: str, training: bool) -> None:
    torch.manual_seed(3)
    network = ConvolutionalNetwork(architecture, small.x.shape[1], 3, HYPER).train(training)
    edge_index = with_loop(small.edge_index)
    expected_layers = []
    for convolution in network.body.convs[:-1]:
        convolution.register_forward_hook(lambda module, inputs, output: expected_layers.append(output))
    expected = network.body(small.x, edge_index)
    rows = torch.tensor([0, 5, 9, 33])
    sparse_x = as_features(small.x)
    assert isinstance(sparse_x, SparseMatrix)
    edges = NETWORKS[architecture].passage(edge_index, small.n_nodes)
    for x in (small.x, sparse_x):
        logits, layers = network(x, edges, rows)
        torch.testing.assert_close(logits, expected[rows])
        for layer, other in zip(layers, expected_layers, strict=True):
            torch.testing.assert_close(layer, other[rows])
    names = [name for name, _ in network.named_parameters()]
    gradients = torch.autograd.grad(logits.square().sum(), list(network.parameters()))
    others = torch.autograd.grad(expected[rows].square().sum(), list(network.parameters()))
    for name, gradient, other in zip(names, gradients, others, strict=True):
        torch.testing.assert_close(gradient, other, rtol=1e-3, atol=1e-4, msg=name)


def test_dropout_acts_in_training_alone(small: Graph, library: None) -> None:
    hyper = Hyper(16, 2, "relu", 0.9, 0.01, 0.0, 1, heads=8)
    network = ConvolutionalNetwork("GAT", small.x.shape[1], 3, hyper)
    edges, rows = NETWORKS["GAT"].passage(small.edge_index, small.n_nodes), torch.arange(10)
    assert not torch.equal(network(small.x, edges, rows)[0], network(small.x, edges, rows)[0])
    network.eval()
    torch.testing.assert_close(network(small.x, edges, rows)[0], network(small.x, edges, rows)[0], rtol=0, atol=0)


def test_dropout_keeps_the_mean_and_the_share() -> None:
    torch.manual_seed(0)
    dropped = dropout(torch.ones(100_000), 0.6, training=True)
    assert abs(float((dropped == 0).float().mean()) - 0.6) < 0.01
    np.testing.assert_allclose(dropped.unique(), [0, 2.5], rtol=1e-6)
    assert dropout(dropped, 0.6, training=False) is dropped


def test_sparse_products_and_their_gradients() -> None:
    rng = np.random.default_rng(0)
    matrix = rng.standard_normal((5, 4)) * (rng.random((5, 4)) < 0.5)
    dense = torch.tensor(rng.standard_normal((4, 3)), dtype=torch.float32, requires_grad=True)
    product = SparseMatrix.build(sparse.csr_array(matrix)) @ dense
    flow = torch.tensor(rng.standard_normal((5, 3)), dtype=torch.float32)
    product.backward(flow)
    np.testing.assert_allclose(product.detach(), matrix @ dense.detach().numpy(), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(dense.grad, matrix.T @ flow.numpy(), rtol=1e-5, atol=1e-6)


def test_edges_are_weighed_towards_their_target() -> None:
    edge_index = torch.tensor([[0, 1, 0], [2, 2, 1]])
    mean = mean_edges(edge_index, 3).matrix.to_dense()
    np.testing.assert_allclose(mean, [[0, 0, 0], [1, 0, 0], [0.5, 0.5, 0]])
    weighed = gcn_edges(edge_index, 3).matrix.to_dense()
    expected = [[1, 0, 0], [1 / np.sqrt(2), 1 / 2, 0], [1 / np.sqrt(3), 1 / np.sqrt(6), 1 / 3]]
    np.testing.assert_allclose(weighed, expected, rtol=1e-6)
