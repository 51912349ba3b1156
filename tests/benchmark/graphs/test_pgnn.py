"""P-GNN against its formula written down plainly, and its anchors."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional

from shesha_bench.graphs.anchor_messages import mean_message, messages
from shesha_bench.graphs.anchor_sets import Anchors, all_hops, anchor_sets, anchors_from
from shesha_bench.graphs.data import Graph
from shesha_bench.graphs.hyperparameters import Hyper
from shesha_bench.graphs.pgnn import PositionLayer, PositionNetwork, draw_anchors
from shesha_bench.graphs.training import as_features


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


def test_weights_start_as_stated(small: Graph) -> None:
    torch.manual_seed(0)
    network = PositionNetwork(small.x.shape[1], 3, hyper(2), draw_anchors("Cora", 0))
    for module in network.modules():
        if isinstance(module, torch.nn.Linear):
            bound = np.sqrt(2) * np.sqrt(6 / (module.in_features + module.out_features))
            assert float(module.weight.detach().abs().max()) <= bound * (1 + 1e-6)
            assert not module.bias.any()
    assert float(network.prepare.weight.detach().abs().max()) > 0.95 * np.sqrt(2 * 6 / 80)


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


def test_hops_of_a_path_and_of_an_island() -> None:
    hops = all_hops(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), 4)
    far = np.iinfo(np.uint16).max
    np.testing.assert_array_equal(hops, [[0, 1, 2, far], [1, 0, 1, far], [2, 1, 0, far], [far, far, far, 0]])
