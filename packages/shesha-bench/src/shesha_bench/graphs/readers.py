"""Read graphs from the local folder, or else download them from their usual source."""

from __future__ import annotations

import json
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from shesha.support.optional import require
from shesha_bench.data_folders import cache_folder, local_folder, missing_data_error
from shesha_bench.graphs.torch_geometric_import import geometric

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
