"""Networks on graphs agree with torch-geometric, and P-GNN with its definition."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse
from torch import Tensor
from torch.nn import functional

from shesha_bench.graphs.catalogue import NETWORKS, Hyper
from shesha_bench.graphs.networks import (
    Anchors,
    ConvolutionalNetwork,
    Graph,
    PositionLayer,
    PositionNetwork,
    SparseMatrix,
    all_hops,
    anchor_sets,
    anchors_from,
    draw_anchors,
    dropout,
    gcn_edges,
    mean_edges,
    mean_message,
    messages,
)
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


def hyper(layers: int, dropout: float = 0.0) -> Hyper:
    return Hyper(8, layers, "relu", dropout, 0.01, 0.0, 1)


def plain_layer(layer: PositionLayer, x: Tensor, anchors: Anchors) -> tuple[Tensor, Tensor]:
    """Position and structure, every message built from the two nodes' whole features."""
    distance = layer.distance(anchors.closeness[anchors.level])
    sender = x[anchors.nearest] * distance
    receiver = x.unsqueeze(1).expand_as(sender)
    message = functional.relu(layer.message(torch.cat([sender, receiver], dim=-1)))
    return layer.position(message).squeeze(-1), message.mean(dim=1)


def plain_network(network: PositionNetwork, x: Tensor, anchors: Anchors) -> tuple[Tensor, list[Tensor]]:
    x = network.prepare(x)
    structures = []
    for layer in network.layers:
        position, x = plain_layer(layer, x, anchors)
        structures.append(x)
    return network.classifier(functional.normalize(position, p=2, dim=-1)), structures[:-1]


@pytest.mark.parametrize("layers", [2, 4])
def test_network_is_the_plain_formula(small: Graph, layers: int) -> None:
    torch.manual_seed(1)
    anchors = draw_anchors("Cora", 0)
    network = PositionNetwork(small.x.shape[1], 3, hyper(layers), anchors)
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    expected, expected_layers = plain_network(network, small.x, anchors)
    names, parameters = zip(*network.named_parameters(), strict=True)
    for rows in (torch.arange(small.n_nodes), torch.tensor([3, 9, 41])):
        others = torch.autograd.grad(
            expected[rows].square().sum(), parameters, retain_graph=True, materialize_grads=True
        )
        for x in (small.x, as_features(small.x)):
            logits, outputs = network(x, None, rows)
            torch.testing.assert_close(logits, expected[rows], rtol=1e-4, atol=1e-5)
            for output, other in zip(outputs, expected_layers, strict=True):
                torch.testing.assert_close(output, other[rows], rtol=1e-4, atol=1e-5)
            gradients = torch.autograd.grad(logits.square().sum(), parameters, materialize_grads=True)
            for name, gradient, other in zip(names, gradients, others, strict=True):
                torch.testing.assert_close(gradient, other, rtol=1e-3, atol=1e-4, msg=name)


def test_mean_message_and_its_gradients_hold_in_double_precision() -> None:
    generator = torch.Generator().manual_seed(0)
    shapes = [(70, 5), (9, 3), (70, 3)]
    inputs = [torch.randn(shape, generator=generator, dtype=torch.float64, requires_grad=True) for shape in shapes]
    nearest = torch.randint(9, (70, 5), generator=generator)
    torch.testing.assert_close(mean_message(*inputs, nearest), messages(*inputs, nearest).mean(dim=1))
    assert torch.autograd.gradcheck(lambda *tensors: mean_message(*tensors, nearest), inputs)


def test_dropout_acts_between_the_layers_in_training_alone(small: Graph) -> None:
    network = PositionNetwork(small.x.shape[1], 3, hyper(2, dropout=0.5), draw_anchors("Cora", 0))
    rows = torch.arange(20)
    first, second = (network(small.x, None, rows) for _ in range(2))
    torch.testing.assert_close(first[1], second[1])
    assert not torch.allclose(first[0], second[0])
    network.eval()
    torch.testing.assert_close(network(small.x, None, rows)[0], network(small.x, None, rows)[0])


def test_anchor_sets_have_the_stated_sizes() -> None:
    sets = anchor_sets(2708, seed=0)
    assert len(sets) == 121
    assert [len(members) for members in sets] == [2708 // 2 ** (i + 1) for i in range(11) for _ in range(11)]
    assert all(len(np.unique(members)) == len(members) for members in sets)
    assert {len(members) for members in sets[-11:]} == {1}


def test_anchors_depend_on_nothing_but_the_seed() -> None:
    same, again, other = (np.concatenate(anchor_sets(100, seed)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(same, again)
    assert (same != other).mean() > 0.5


def test_anchors_are_the_nearest_members(small: Graph) -> None:
    hops = all_hops(small.edge_index, small.n_nodes).astype(float)
    hops[hops == np.iinfo(np.uint16).max] = np.inf
    anchors = anchors_from(all_hops(small.edge_index, small.n_nodes), seed=4)
    closeness = anchors.closeness.ravel()[anchors.level].numpy()
    for number, members in enumerate(anchor_sets(small.n_nodes, seed=4)):
        best = (1 / (hops[:, members] + 1)).max(axis=1)
        np.testing.assert_allclose(closeness[:, number], best, rtol=1e-6)
        nearest = anchors.nearest[:, number].numpy()
        assert np.isin(nearest, members).all()
        np.testing.assert_allclose(1 / (hops[np.arange(small.n_nodes), nearest] + 1), best, rtol=1e-6)
    # A node without edges is near itself and nothing else.
    assert set(closeness[9]) == {np.float32(0), np.float32(1)}
