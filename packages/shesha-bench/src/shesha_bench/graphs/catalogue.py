"""The catalogue of graphs and graph networks in the benchmark, with one entry for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from shesha_bench.catalogue import Catalogue
from shesha_bench.data_and_network_types import Override
from shesha_bench.graphs.data_and_network_types import GraphData, GraphNetwork
from shesha_bench.graphs.hyperparameters import Hyper
from shesha_bench.graphs.readers import read_arxiv, read_cora, read_flickr
from shesha_bench.model_descriptions import KINDS, Model, Plain, Setting

if TYPE_CHECKING:
    from torch import Tensor, nn

FAST: dict[str, Plain] = {"learning_rate": 0.01, "weight_decay": 0.0}
SLOW: dict[str, Plain] = {"learning_rate": 0.005, "weight_decay": 0.0005}

DATA = {
    "Cora": GraphData(
        read=read_cora,
        hyper={"hidden": 64, "epochs": 200},
        overrides={"GAT": Override(hyper={**SLOW, "layers": 2, "activation": "elu", "dropout": 0.6})},
    ),
    "Flickr": GraphData(
        read=read_flickr, hyper={"hidden": 256, "epochs": 200}, overrides={"SAGE": Override(hyper=FAST)}
    ),
    "OGBN-Arxiv": GraphData(read=read_arxiv, hyper={"hidden": 256, "epochs": 500}),
}


def _convolutional(architecture: str) -> Callable[[int, int, Hyper, Model], nn.Module]:
    def build(n_features: int, n_classes: int, hyper: Hyper, model: Model) -> nn.Module:
        from shesha_bench.graphs.networks import ConvolutionalNetwork

        return ConvolutionalNetwork(architecture, n_features, n_classes, hyper)

    return build


def _position(n_features: int, n_classes: int, hyper: Hyper, model: Model) -> nn.Module:
    from shesha_bench.graphs.pgnn import PositionNetwork, draw_anchors

    return PositionNetwork(n_features, n_classes, hyper, draw_anchors(model.dataset, model.seed))


def _edges(passage: str) -> Callable[[Tensor, int], Any]:
    def build_edges(edge_index: Tensor, n_nodes: int) -> Any:
        from shesha_bench.graphs import message_edges

        return getattr(message_edges, passage)(edge_index, n_nodes)

    return build_edges


def _refuse_for_positions(model: Model, hyper: Hyper) -> None:
    if hyper.activation != "relu":
        raise ValueError(f"hyper['activation'] must be relu for a PGNN, got {hyper.activation!r}")
    if model.setting.kind == "augmentation":
        raise ValueError(
            f"setting of a PGNN must not be augmentation, got {model.setting}; dropped edges would change its distances"
        )


_COMMON: dict[str, Plain] = {"layers": 3, "activation": "relu", "dropout": 0.5, "shortcut_rows": "training"}
_TOO_LARGE = "the network needs the distances between all nodes"

NETWORKS = {
    "GCN": GraphNetwork(
        build=_convolutional("GCN"), passage=_edges("gcn_edges"), hyper={**_COMMON, **FAST}, ignores=("heads",)
    ),
    "SAGE": GraphNetwork(
        build=_convolutional("SAGE"),
        passage=_edges("mean_edges"),
        hyper={**_COMMON, **SLOW},
        ignores=("heads",),
    ),
    "GAT": GraphNetwork(
        build=_convolutional("GAT"), passage=_edges("gat_edges"), hyper={**_COMMON, **FAST, "heads": 8}
    ),
    "PGNN": GraphNetwork(
        build=_position,
        passage=_edges("no_edges"),
        hyper={**_COMMON, **FAST, "hidden": 32, "layers": 2},
        ignores=("heads",),
        # Dropping edges would change the distances on which the network relies.
        degrees={"augmentation": ()},
        refuse=_refuse_for_positions,
        refuses={"Flickr": _TOO_LARGE, "OGBN-Arxiv": _TOO_LARGE},
    ),
}
CATALOGUE = Catalogue(
    domain="graph",
    data=DATA,
    networks=NETWORKS,
    hyper=Hyper,
    # Dropping 20 % and 80 % of the edges are the lowest and the highest of the paper's four degrees.
    degrees={"label_randomization": (0, 0.25, 1), "shortcut": (0, 0.5, 1), "augmentation": (0, 0.2, 0.8)},
    layers=Setting("deep"),
    # Graph networks are quick to train, so the numbers of models are the same in all suites.
    sizes={"paper": (10, 5, 5), "small": (10, 5, 5)},
    kinds=KINDS,
)
