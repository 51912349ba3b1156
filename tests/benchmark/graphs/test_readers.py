"""The three file formats, the downloads and what is said where there is neither."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from scipy import sparse

from shesha_bench.domains import cache_folder
from shesha_bench.graphs import catalogue, fingerprint, networks

ARXIV = {
    "raw/edge.csv.gz": "0,1\n1,0\n2,3\n3,1\n",
    "raw/node-feat.csv.gz": "0.5,-1\n1,2\n3,4\n5,6\n",
    "raw/node-label.csv.gz": "2\n0\n1\n1\n",
    "split/time/train.csv.gz": "0\n3\n",
    "split/time/valid.csv.gz": "1\n",
    "split/time/test.csv.gz": "2\n",
}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SHESHA_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("SHESHA_CACHE", str(tmp_path / "cache"))
    return tmp_path / "data"


def write_arxiv(folder: Path) -> None:
    for name, text in ARXIV.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(gzip.compress(text.encode()))


def write_flickr(folder: Path) -> None:
    folder.mkdir(parents=True)
    matrix = sparse.csr_array(np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=float))
    np.savez(folder / "adj_full.npz", data=matrix.data, indices=matrix.indices, indptr=matrix.indptr, shape=(3, 3))
    np.save(folder / "feats.npy", np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
    (folder / "class_map.json").write_text(json.dumps({"2": 1, "0": 0, "1": 2}))
    (folder / "role.json").write_text(json.dumps({"tr": [0], "va": [2], "te": [1]}))


def check_arxiv(graph: catalogue.RawGraph) -> None:
    assert graph.edge_index.tolist() == [[0, 1, 1, 2, 3, 3], [1, 0, 3, 3, 1, 2]]
    assert graph.x.tolist() == [[0.5, -1], [1, 2], [3, 4], [5, 6]]
    assert graph.y.tolist() == [2, 0, 1, 1]
    assert graph.train.tolist() == [True, False, False, True]
    assert graph.val.tolist() == [False, True, False, False]
    assert graph.test.tolist() == [False, False, True, False]


def test_cora_comes_from_the_arrays_with_rows_that_sum_to_one(small: networks.Graph) -> None:
    total = small.x.sum(dim=1)
    assert total[5] == 0
    np.testing.assert_allclose(np.delete(total.numpy(), 5), 1, rtol=1e-6)
    assert small.x.dtype == torch.float32 and small.edge_index.dtype == torch.int64 and small.y.dtype == torch.int64
    assert (small.n_classes, small.n_nodes) == (3, 60)
    assert [int(mask.sum()) for mask in (small.train, small.val, small.test)] == [20, 10, 25]


def test_fingerprint_follows_the_data(small: networks.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    first = fingerprint("Cora", {})
    assert fingerprint("Cora", {}) == first
    networks.fingerprint_of_graph.cache_clear()
    small.y[0] = (small.y[0] + 1) % 3
    assert fingerprint("Cora", {}) != first


def test_flickr_comes_from_the_original_files(place: Path) -> None:
    write_flickr(place / "flickr")
    graph = catalogue.read_flickr()
    assert graph.edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]
    assert graph.y.tolist() == [0, 2, 1]
    assert graph.x.tolist() == [[1, 2], [3, 4], [5, 6]]
    assert [mask.tolist().index(True) for mask in (graph.train, graph.val, graph.test)] == [0, 2, 1]


def test_pickled_features_are_refused(place: Path) -> None:
    write_flickr(place / "flickr")
    np.save(place / "flickr" / "feats.npy", np.array([{}, {}, {}]), allow_pickle=True)
    with pytest.raises(ValueError, match="allow_pickle=False"):
        catalogue.read_flickr()


def test_arxiv_comes_from_the_unzipped_folder_with_both_directions(place: Path) -> None:
    write_arxiv(place / "ogbn_arxiv")
    check_arxiv(catalogue.read_arxiv())


def answering(monkeypatch: pytest.MonkeyPatch, answer: bytes | Exception) -> list[str]:
    """Answer downloads; what is asked for is listed."""
    calls: list[str] = []

    def download(self: object, url: str, output_file: str, pooch: object, check_only: bool = False) -> None:
        calls.append(url)
        if isinstance(answer, Exception):
            raise answer
        Path(output_file).write_bytes(answer)

    monkeypatch.setattr(pytest.importorskip("pooch").HTTPDownloader, "__call__", download)
    return calls


def test_arxiv_is_downloaded_once(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        for name, text in ARXIV.items():
            file.writestr(f"arxiv/{name}", gzip.compress(text.encode()))
    calls = answering(monkeypatch, archive.getvalue())
    monkeypatch.setattr(catalogue, "_ARXIV_SHA256", hashlib.sha256(archive.getvalue()).hexdigest())
    check_arxiv(catalogue.read_arxiv())
    check_arxiv(catalogue.read_arxiv())
    assert calls == ["https://snap.stanford.edu/ogb/data/nodeproppred/arxiv.zip"]


def test_files_become_tensors(place: Path) -> None:
    write_arxiv(place / "ogbn_arxiv")
    write_flickr(place / "flickr")
    for dataset, shape in (("OGBN-Arxiv", (4, 2)), ("Flickr", (3, 2))):
        networks.load.cache_clear()
        graph = networks.load(dataset)
        assert graph.x.shape == shape and graph.x.dtype == torch.float32
        assert graph.n_classes == 3
        np.testing.assert_array_equal(networks.extraction_rows(graph), np.flatnonzero(graph.test.numpy()))
    networks.load.cache_clear()


def test_downloads_go_to_the_users_cache_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SHESHA_CACHE", str(tmp_path / "mine"))
    assert cache_folder() == tmp_path / "mine"
    monkeypatch.delenv("SHESHA_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert cache_folder().name == "shesha"
    if sys.platform == "linux":
        assert cache_folder() == tmp_path / "cache" / "shesha"


def test_cora_otherwise_comes_from_the_library(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mask = torch.tensor([True, False])
    masks = {f"{name}_mask": mask for name in ("train", "val", "test")}
    edges = torch.tensor([[0, 1], [1, 0]])
    held = SimpleNamespace(x=torch.tensor([[1.0, 3.0], [0, 0]]), edge_index=edges, y=torch.tensor([0, 1]), **masks)
    asked = {}

    def planetoid(**options: str) -> list[SimpleNamespace]:
        asked.update(options)
        return [held]

    monkeypatch.setattr(catalogue, "geometric", lambda part: SimpleNamespace(Planetoid=planetoid))
    assert catalogue.read_cora().x.tolist() == [[0.25, 0.75], [0, 0]]
    assert asked == {"root": str(place.parent / "cache" / "cora"), "name": "Cora"}


def test_large_test_sets_are_drawn_from_once_and_for_all() -> None:
    n = 25_000
    mask, none = torch.arange(n) % 2 == 0, torch.zeros(n, dtype=torch.bool)
    graph = networks.Graph(torch.zeros(n, 1), torch.zeros(2, 0), torch.zeros(n, dtype=torch.long), none, none, mask, 2)
    rows = networks.extraction_rows(graph)
    assert len(rows) == 10_000 == len(np.unique(rows))
    assert (np.diff(rows) > 0).all() and (rows % 2 == 0).all() and rows.max() > 24_000
    np.testing.assert_array_equal(rows, networks.extraction_rows(graph))
