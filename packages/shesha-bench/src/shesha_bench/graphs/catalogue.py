"""The graphs and graph networks of the benchmark, with their hyperparameters, and the readers of graphs."""

from __future__ import annotations

import json
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from shesha.support.optional import require
from shesha_bench.catalogue import (
    KINDS,
    NOT_NEGATIVE,
    PART,
    POSITIVE,
    Catalogue,
    Hyperparameters,
    Model,
    NetworkPart,
    Override,
    Part,
    Plain,
    Setting,
    choice_of_words,
    count,
    option,
)
from shesha_bench.domains import cache_folder, local_folder, missing_data_error

if TYPE_CHECKING:
    from torch import Tensor, nn


def geometric(part: str) -> ModuleType:
    """Import a part of torch-geometric, which uses deprecated parts of torch while it is imported."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        return require(f"torch_geometric.{part}", "graphs")


_ARXIV_URL = "https://snap.stanford.edu/ogb/data/nodeproppred/arxiv.zip"
_ARXIV_SHA256 = "49f85c801589ecdcc52cfaca99693aaea7b8af16a9ac3f41dd85a5f3193fe276"
_ARXIV_SPLITS = [f"split/time/{name}.csv.gz" for name in ("train", "valid", "test")]
_ARXIV_FILES = ["raw/edge.csv.gz", "raw/node-feat.csv.gz", "raw/node-label.csv.gz", *_ARXIV_SPLITS]


@dataclass(frozen=True)
class RawGraph:
    """A graph as read: features, edges in both directions, classes, and the masks of the three splits."""

    x: NDArray[np.floating]
    edge_index: NDArray[np.integer]
    y: NDArray[np.integer]
    train: NDArray[np.bool_]
    val: NDArray[np.bool_]
    test: NDArray[np.bool_]


def read_cora() -> RawGraph:
    """Read Cora with its usual split; the features of each node are scaled to sum to one."""
    folder = local_folder("cora")
    if folder is None or not (folder / "cora.npz").is_file():
        return _normalise_features(_from_library("Cora", "cora", "Planetoid", name="Cora"))
    with np.load(folder / "cora.npz", allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    parts = (arrays["x_data"], arrays["x_indices"], arrays["x_indptr"])
    x = sparse.csr_array(parts, shape=tuple(arrays["x_shape"])).toarray()
    masks = (arrays["train_mask"], arrays["val_mask"], arrays["test_mask"])
    return _normalise_features(RawGraph(x, arrays["edge_index"], arrays["y"], *masks))


def read_flickr() -> RawGraph:
    """Read Flickr, a graph of images."""
    folder = local_folder("flickr")
    files = ("adj_full.npz", "feats.npy", "class_map.json", "role.json")
    if folder is None or not all((folder / name).is_file() for name in files):
        return _from_library("Flickr", "flickr", "Flickr")
    with np.load(folder / "adj_full.npz", allow_pickle=False) as file:
        parts = (file["data"], file["indices"], file["indptr"])
        adjacency = sparse.csr_array(parts, shape=tuple(file["shape"])).tocoo()
    x = np.load(folder / "feats.npy", allow_pickle=False)
    y = np.zeros(len(x), dtype=np.int64)
    for node, label in json.loads((folder / "class_map.json").read_text()).items():
        y[int(node)] = label
    roles = json.loads((folder / "role.json").read_text())
    masks = (_mask(roles[role], len(x)) for role in ("tr", "va", "te"))
    return RawGraph(x, np.stack([adjacency.row, adjacency.col]), y, *masks)


def read_arxiv() -> RawGraph:
    """Read OGBN-Arxiv with its split by time; citations become edges in both directions."""
    folder = local_folder("ogbn_arxiv")
    if folder is None or not all((folder / name).is_file() for name in _ARXIV_FILES):
        folder = _download_arxiv()
    x = _table(folder / "raw" / "node-feat.csv.gz", np.float32)
    y = _table(folder / "raw" / "node-label.csv.gz", np.int64).ravel()
    source, target = _table(folder / "raw" / "edge.csv.gz", np.int64).T
    masks = (_mask(_table(folder / name, np.int64).ravel(), len(x)) for name in _ARXIV_SPLITS)
    return RawGraph(x, _symmetrise_edges(source, target, len(x)), y, *masks)


def _normalise_features(graph: RawGraph) -> RawGraph:
    total = graph.x.sum(axis=1, keepdims=True)
    x = graph.x / np.where(total == 0, 1, total)
    return RawGraph(x.astype(np.float32), graph.edge_index, graph.y, graph.train, graph.val, graph.test)


def _mask(nodes: Any, n_nodes: int) -> NDArray[np.bool_]:
    mask = np.zeros(n_nodes, dtype=bool)
    mask[np.asarray(nodes, dtype=np.int64)] = True
    return mask


def _symmetrise_edges(source: NDArray[np.int64], target: NDArray[np.int64], n_nodes: int) -> NDArray[np.int64]:
    """List each edge once in each direction."""
    numbers = np.unique(np.concatenate([source * n_nodes + target, target * n_nodes + source]))
    return np.stack(np.divmod(numbers, n_nodes))


def _table(path: Path, kind: type[np.generic]) -> NDArray[Any]:
    return pd.read_csv(path, header=None, dtype=kind).to_numpy(copy=True)


def _from_library(dataset: str, folder: str, reader: str, **options: str) -> RawGraph:
    """Download a graph with torch-geometric and read it."""
    datasets = geometric("datasets")
    try:
        data = getattr(datasets, reader)(root=str(cache_folder() / folder), **options)[0]
    except Exception as error:  # After any failure, the user needs to know where to put the files.
        raise missing_data_error(dataset, folder, f"torch_geometric.datasets.{reader}", error) from error
    tensors = (data.x, data.edge_index, data.y, data.train_mask, data.val_mask, data.test_mask)
    return RawGraph(*(tensor.numpy() for tensor in tensors))


def _download_arxiv() -> Path:
    """Return the folder of the unzipped download, after downloading it if it is missing."""
    place = cache_folder() / "ogbn_arxiv"
    folder = place / "arxiv"
    if folder.is_dir():
        return folder
    unpacked = place / "unpacked"
    pooch = require("pooch", "bench")
    try:
        archive = Path(pooch.retrieve(_ARXIV_URL, f"sha256:{_ARXIV_SHA256}", fname="arxiv.zip", path=place))
        with zipfile.ZipFile(archive) as files:
            files.extractall(unpacked)
    # pooch raises ValueError if the checksum is wrong.
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise missing_data_error("OGBN-Arxiv", "ogbn_arxiv", _ARXIV_URL, error) from error
    # The folder is renamed last, so that an interrupted download does not look complete.
    (unpacked / "arxiv").rename(folder)
    archive.unlink()
    return folder


_DEEP_LAYERS = 6


@dataclass(frozen=True)
class Hyper(Hyperparameters):
    """Settings for training and extraction of a graph network, other than data, network, setting and seed."""

    hidden: int = option(count())
    """Number of channels of each hidden layer."""
    layers: int = option(count(2))
    """Number of layers, counting the hidden layers and the classifier."""
    activation: str = option(choice_of_words("relu", "elu"))
    dropout: float = option(PART)
    """Probability with which dropout sets a value to zero."""
    learning_rate: float = option(POSITIVE)
    """Learning rate of Adam, which also applies the weight decay."""
    weight_decay: float = option(NOT_NEGATIVE)
    epochs: int = option(count())
    """Number of training steps, each of which uses the whole graph."""
    heads: int = option(count(), 1)
    """Number of attention heads (GAT only)."""
    shortcut_rows: str = option(choice_of_words("training", "fixed"), "training")
    """Which shortcut features nodes have during extraction, for models trained with shortcuts. "training" keeps those
    of the model's training, as in the published results. "fixed" uses the same random shortcuts for all models, as the
    paper describes.
    """

    def for_setting(self, setting: Setting) -> Hyper:
        """Return the hyperparameters for a setting; in the setting "deep", networks have more layers."""
        return replace(self, layers=_DEEP_LAYERS) if setting.kind == "deep" else self


@dataclass(frozen=True, kw_only=True)
class GraphData(Part):
    """A graph whose nodes are classified."""

    read: Callable[[], RawGraph]
    """Function that reads the features, edges, classes and masks of the splits."""


def _accept(model: Model, hyper: Hyper) -> None:
    """Refuse nothing."""


@dataclass(frozen=True, kw_only=True)
class GraphNetwork(NetworkPart):
    """A network that classifies nodes."""

    build: Callable[[int, int, Hyper, Model], nn.Module]
    """Function that builds the network for given numbers of features and classes. New weights are drawn from torch's
    current random state.

    The network takes the features (a tensor, or a sparse matrix that can be multiplied with a tensor), the edges as
    `passage` returns them, and the requested rows. For these rows, it returns the logits and the output of each hidden
    layer.
    """
    passage: Callable[[Tensor, int], Any]
    """Function that converts edges, (2, n_edges), to the form that message passing needs, given the number of nodes."""
    refuse: Callable[[Model, Hyper], None] = _accept
    """Function that raises ValueError for settings and hyperparameters with which the network cannot be trained."""

    def check(self, model: Model, hyper: Hyper) -> None:
        """Refuse settings with which the network cannot be trained."""
        self.refuse(model, hyper)


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
    from shesha_bench.graphs.networks import PositionNetwork, draw_anchors

    return PositionNetwork(n_features, n_classes, hyper, draw_anchors(model.dataset, model.seed))


def _edges(passage: str) -> Callable[[Tensor, int], Any]:
    def build_edges(edge_index: Tensor, n_nodes: int) -> Any:
        from shesha_bench.graphs import networks

        return getattr(networks, passage)(edge_index, n_nodes)

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
