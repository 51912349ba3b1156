"""Training and extraction, on a small graph and shortly on Cora."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from shesha_bench.catalogue import Kind, Model, Setting, Weights
from shesha_bench.graphs import extract, fit, hyperparameters, networks
from shesha_bench.graphs.catalogue import NETWORKS
from shesha_bench.graphs.networks import Graph
from shesha_bench.graphs.training import extraction_shortcuts

ARCHITECTURES = ("GCN", "SAGE", "GAT", "PGNN")
pytestmark = pytest.mark.usefixtures("library")


def model(architecture: str, kind: Kind = "standard", degree: float = 0, seed: int = 0, **hyper: Any) -> Model:
    return Model("graph", "Cora", architecture, Setting(kind, degree), seed, {"hidden": 16, "epochs": 3, **hyper})


def same(first: Weights, second: Weights) -> bool:
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


@pytest.mark.parametrize("architecture", ["GCN", "SAGE", "GAT"])
def test_networks_learn(small: Graph, architecture: str) -> None:
    learned = model(architecture, epochs=60)
    assert extract(learned, fit(learned)).accuracy > 0.8


def test_position_network_fits_the_training_nodes(small: Graph) -> None:
    learned = model("PGNN", epochs=300, dropout=0.0)
    weights = fit(learned)
    small.test[:] = small.train
    assert extract(learned, weights).accuracy > 0.9


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_seeds_reproduce_and_differ(small: Graph, architecture: str) -> None:
    weights = fit(model(architecture))
    assert same(weights, fit(model(architecture)))
    assert not same(weights, fit(model(architecture, seed=1)))
    assert all(not value.requires_grad and value.device.type == "cpu" for value in weights.values())


@pytest.mark.parametrize("architecture", ["GCN", "PGNN"])
def test_the_state_of_torch_is_left_alone(small: Graph, architecture: str) -> None:
    torch.manual_seed(11)
    expected = torch.rand(3)
    torch.manual_seed(11)
    extract(model(architecture), fit(model(architecture)))
    assert torch.equal(torch.rand(3), expected)


SETTINGS: list[tuple[Kind, float]] = [("labels", 1), ("shortcut", 1), ("augmentation", 0.8), ("deep", 0)]


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize(("kind", "degree"), SETTINGS)
def test_settings_reach_the_training(small: Graph, architecture: str, kind: Kind, degree: float) -> None:
    if (architecture, kind) == ("PGNN", "augmentation"):
        with pytest.raises(ValueError, match=r"PGNN must not be augmentation, got augmentation 0.8"):
            fit(model(architecture, kind, degree))
        return
    changed = model(architecture, kind, degree)
    weights = fit(changed)
    assert not same(weights, fit(model(architecture)))
    outcome = extract(changed, weights)
    np.testing.assert_array_equal(outcome.labels, small.y[small.test])
    layers = outcome.representations[""]
    assert len(layers) == (5 if kind == "deep" else 1)
    assert all(layer.shape == (25, 16) and layer.dtype == np.float32 for layer in layers)


def test_random_labels_are_what_is_learned(small: Graph) -> None:
    wrong = model("SAGE", "labels", 1, epochs=60)
    assert extract(wrong, fit(wrong)).accuracy < 0.34


def test_true_shortcuts_are_relied_on(small: Graph) -> None:
    small.x[:, :3] = 0
    followed = []
    for degree in (1, 0):
        learned = model("SAGE", "shortcut", degree, epochs=60, shortcut_rows="fixed")
        named = extraction_shortcuts(small, learned, "fixed")[small.test].numpy()
        followed.append(np.mean(extract(learned, fit(learned)).probabilities.argmax(axis=1) == named))
    assert followed[0] > followed[1] + 0.2


def test_shortcuts_of_extraction_follow_the_switch(small: Graph) -> None:
    weights = fit(model("GCN", "shortcut", 1))
    fixed, own = (extract(model("GCN", "shortcut", 1, shortcut_rows=rows), weights) for rows in ("fixed", "training"))
    assert not np.allclose(fixed.probabilities, own.probabilities)


@pytest.mark.parametrize(("architecture", "layers"), [("GCN", 2), ("SAGE", 2), ("GAT", 1), ("PGNN", 1)])
def test_standard_models_keep_all_hidden_layers(small: Graph, architecture: str, layers: int) -> None:
    outcome = extract(model(architecture), fit(model(architecture)))
    assert [layer.shape for layer in outcome.representations[""]] == [(25, 16)] * layers
    assert outcome.probabilities.shape == (25, 3) and outcome.probabilities.dtype == np.float64
    np.testing.assert_allclose(outcome.probabilities.sum(axis=1), 1, rtol=1e-12)


def test_other_models_keep_the_last_hidden_layer(small: Graph) -> None:
    weights = fit(model("GCN"))
    every = extract(model("GCN"), weights).representations[""]
    (last,) = extract(model("GCN", "labels", 0.5), weights).representations[""]
    np.testing.assert_array_equal(last, every[-1])


def test_extraction_is_repeatable(small: Graph) -> None:
    weights = fit(model("PGNN", seed=5))
    first = extract(model("PGNN", seed=5), weights)
    networks.draw_anchors.cache_clear()
    second = extract(model("PGNN", seed=5), weights)
    np.testing.assert_array_equal(first.representations[""][0], second.representations[""][0])


def test_weights_of_another_network_are_refused(small: Graph) -> None:
    with pytest.raises(
        ValueError, match="weights must be those of SAGE on Cora, standard, seed 0, got weights of anoth"
    ):
        extract(model("SAGE"), fit(model("GCN")))
    with pytest.raises(ValueError, match=r"weights must be those of GCN on Cora, shortcut 0.5"):
        extract(model("GCN", "shortcut", 0.5), fit(model("GCN")))


def test_each_epoch_drops_other_edges(small: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    gcn = NETWORKS["GCN"]
    watched = replace(gcn, passage=lambda edges, n: (seen.append(edges.tolist()), gcn.passage(edges, n))[1])
    monkeypatch.setitem(NETWORKS, "GCN", watched)
    fit(model("GCN", "augmentation", 0.5))
    assert len(seen) == 3 and seen[0] != seen[1] != seen[2]
    extract(model("GCN", "augmentation", 0.5), fit(model("GCN", "augmentation", 0.5)))
    assert seen[-1] == small.edge_index.tolist()


@pytest.mark.parametrize(
    ("architecture", "epochs", "least"),
    [
        ("GCN", 60, 0.6),
        ("SAGE", 60, 0.6),
    ],
)
def test_cora_is_learned(cora: Graph, architecture: str, epochs: int, least: float) -> None:
    learned = Model("graph", "Cora", architecture, Setting(), 0, {"epochs": epochs})
    outcome = extract(learned, fit(learned))
    assert outcome.accuracy > least
    assert outcome.representations[""][-1].shape == (1000, hyperparameters("Cora", architecture)["hidden"])
