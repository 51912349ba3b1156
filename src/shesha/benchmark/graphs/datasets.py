"""The graphs of the benchmark: one entry each."""

from __future__ import annotations

from shesha.benchmark.data_and_network_types import Beside
from shesha.benchmark.graphs.data_and_network_types import GraphData
from shesha.benchmark.graphs.readers import read_arxiv, read_cora, read_flickr
from shesha.benchmark.model_descriptions import Plain

FAST: dict[str, Plain] = {"learning_rate": 0.01, "weight_decay": 0.0}
SLOW: dict[str, Plain] = {"learning_rate": 0.005, "weight_decay": 0.0005}

DATA = {
    "Cora": GraphData(
        read=read_cora,
        hyper={"hidden": 64, "epochs": 200},
        beside={"GAT": Beside(hyper={**SLOW, "layers": 2, "activation": "elu", "dropout": 0.6})},
    ),
    "Flickr": GraphData(read=read_flickr, hyper={"hidden": 256, "epochs": 200}, beside={"SAGE": Beside(hyper=FAST)}),
    "OGBN-Arxiv": GraphData(read=read_arxiv, hyper={"hidden": 256, "epochs": 500}),
}
