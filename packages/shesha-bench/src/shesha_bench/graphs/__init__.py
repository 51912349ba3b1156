"""The graph networks of the benchmark: data, training and extraction."""

from __future__ import annotations

from collections.abc import Mapping

from shesha.support.optional import require
from shesha_bench.graphs.catalogue import CATALOGUE
from shesha_bench.graphs.data_and_network_types import GraphData, GraphNetwork
from shesha_bench.graphs.torch_geometric_import import geometric
from shesha_bench.model_descriptions import Model, Plain, Weights
from shesha_bench.model_outcomes import Outcome

__all__ = ["CATALOGUE", "GraphData", "GraphNetwork", "extract", "fingerprint", "fit", "hyperparameters"]


def hyperparameters(dataset: str, architecture: str, suite: str = "paper") -> dict[str, Plain]:
    """Return the hyperparameters of an architecture on a data set, as in the ReSi benchmark (its Table 4).

    Graph networks are quick to train, so their hyperparameters are the same in all suites.
    `shesha_bench.graphs.hyperparameters.Hyper` describes each of them.

    Raises
    ------
    ValueError
        If the benchmark has no such combination. P-GNN needs the distances between all nodes, so only Cora is allowed.

    Examples
    --------
    >>> hyperparameters("Cora", "GAT")["heads"]
    8
    """
    return CATALOGUE.hyperparameters(dataset, architecture, suite)


def fingerprint(dataset: str, hyper: Mapping[str, Plain]) -> str:
    """Hash the graph that training and extraction use.

    Parameters
    ----------
    dataset : str
        "Cora", "Flickr", "OGBN-Arxiv", or module:name of your own graph.
    hyper : mapping
        Hyperparameters; none of them changes the graph.

    Raises
    ------
    MissingDataError
        If the graph is not in the local folder and cannot be downloaded.
    """
    require("torch", "graphs")
    from shesha_bench.graphs.data import fingerprint_of_graph

    return fingerprint_of_graph(dataset)


def fit(model: Model) -> Weights:
    """Train a graph network from its seed on the whole graph, and return its state dict on the CPU.

    Hyperparameters that the model does not specify have the values that `hyperparameters` returns. The same seed gives
    bit-identical weights on the same machine with the same number of threads.

    Raises
    ------
    ValueError
        If dataset, architecture, a hyperparameter or their combination is unknown.
    MissingDataError
        If the graph is not in the local folder and cannot be downloaded.
    """
    geometric("nn")
    from shesha_bench.graphs.training import train

    return train(model)


def extract(model: Model, weights: Weights) -> Outcome:
    """Run a trained graph network on the whole graph; return the results for the test nodes.

    Representations are the outputs of the hidden layers before normalisation, activation and dropout, of shape (n_rows,
    n_channels). They include all hidden layers if the model keeps its layers, and otherwise only the last one. Rows are
    the test nodes, or a random 10,000 of them if there are more, in the order of their numbers. Labels are the true
    classes.

    Raises
    ------
    ValueError
        If the weights belong to a different network.
    """
    geometric("nn")
    from shesha_bench.graphs.extraction import outcome

    return outcome(model, weights)
