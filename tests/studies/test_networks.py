"""The small networks that studies train."""

import numpy as np
import pytest

from shesha_studies.networks.perceptrons import Perceptron
from shesha_studies.networks.training_loop import descend, seed_torch


def loss(net, rows, labels):
    logits = net.layers(rows)[-1] @ net.weights[-1] + net.offsets[-1]
    return float((np.log(np.exp(logits).sum(axis=1)) - logits[np.arange(len(rows)), labels]).mean())


def test_slopes_are_those_of_the_loss():
    rng = np.random.default_rng(0)
    rows, labels = rng.standard_normal((12, 5)), rng.integers(3, size=12)
    net = Perceptron(5, 4, 3, seed=0)
    # Away from the kink that units without input sit on.
    net.offsets = [offset + rng.standard_normal(offset.shape) for offset in net.offsets]
    slopes = net.slopes(rows, labels)
    for place, parameter in enumerate([*net.weights, *net.offsets]):
        for index in list(np.ndindex(parameter.shape))[:5]:
            start = parameter[index]
            parameter[index] = start + 1e-6
            above = loss(net, rows, labels)
            parameter[index] = start - 1e-6
            below = loss(net, rows, labels)
            parameter[index] = start
            assert slopes[place][index] == pytest.approx((above - below) / 2e-6, abs=1e-7)


def test_training_learns_and_repeats():
    rng = np.random.default_rng(1)
    labels = rng.integers(3, size=300)
    rows = rng.standard_normal((3, 6))[labels] * 2 + rng.standard_normal((300, 6))
    first, second = (Perceptron(6, 16, 3, seed=0).train(rows, labels, 5) for _ in range(2))
    assert first.accuracy(rows, labels) > 0.9
    np.testing.assert_array_equal(first.layers(rows)[1], second.layers(rows)[1])


def test_training_is_seeded_and_leaves_the_random_numbers_of_others_alone():
    torch = pytest.importorskip("torch")
    before = torch.random.get_rng_state()
    drawn = []
    for _ in range(2):
        with seed_torch(3) as inside:
            weight = inside.nn.Parameter(inside.randn(2))
            batches = inside.split(inside.randperm(8), 4)
            optimiser = inside.optim.SGD([weight], lr=0.1)
            descend(optimiser, batches, lambda rows, weight=weight: (weight * rows.float().mean()).sum())
            drawn.append(weight.detach().numpy())
    np.testing.assert_array_equal(*drawn)
    assert torch.equal(before, torch.random.get_rng_state())
