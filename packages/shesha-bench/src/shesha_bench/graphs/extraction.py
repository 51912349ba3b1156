"""Representations and outputs of a trained graph network."""

from __future__ import annotations

import torch

from shesha.extract.model_state import evaluation_mode
from shesha_bench.graphs.altered_data import append_shortcuts, extraction_shortcuts
from shesha_bench.graphs.catalogue import CATALOGUE
from shesha_bench.graphs.data import extraction_rows, load
from shesha_bench.graphs.training import as_features, build
from shesha_bench.model_descriptions import Model, Weights
from shesha_bench.model_outcomes import Outcome


def outcome(model: Model, weights: Weights) -> Outcome:
    """Run a trained model on the whole graph; see `shesha_bench.graphs.extract`."""
    hyper = CATALOGUE.build(model)
    graph = load(model.dataset)
    with torch.random.fork_rng(devices=[]):
        network = build(model, hyper, graph)
    try:
        network.load_state_dict(weights)
    except RuntimeError as error:
        raise ValueError(f"weights must be those of {model}, got weights of another network: {error}") from error
    x = graph.x
    if model.setting.kind == "shortcut":
        x = append_shortcuts(x, extraction_shortcuts(graph, model, hyper.shortcut_rows), graph.n_classes)
    rows = extraction_rows(graph)
    # No hooks are needed, because the network itself returns its layers for the requested nodes.
    with evaluation_mode(network):
        edges = CATALOGUE.network(model.architecture).passage(graph.edge_index, graph.n_nodes)
        logits, layers = network(as_features(x), edges, torch.from_numpy(rows))
    kept = layers if model.keeps_layers else layers[-1:]
    return Outcome(
        representations={"": tuple(layer.numpy() for layer in kept)},
        probabilities=logits.double().softmax(dim=1).numpy(),
        labels=graph.y.numpy()[rows],
    )
