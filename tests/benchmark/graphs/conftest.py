"""A small graph in the place of Cora."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy import sparse

if TYPE_CHECKING:
    from shesha_bench.graphs.networks import Graph

collect_ignore_glob = [] if find_spec("torch") else ["test_*.py"]
N_NODES = 60
N_CLASSES = 3


def clear() -> None:
    from shesha_bench.graphs import networks

    for cached in (networks.load, networks.fingerprint_of_graph, networks._hops, networks.draw_anchors):
        cached.cache_clear()


def write_graph(folder: Path) -> None:
    """Three classes that features and edges both tell, one node without edges, one without features."""
    rng = np.random.default_rng(7)
    y = np.arange(N_NODES) % N_CLASSES
    x = (rng.random((N_NODES, 40)) < 0.04).astype(np.float32)
    x[np.arange(N_NODES), y] = 1
    x[5] = 0
    chance = np.where(y[:, None] == y, 0.2, 0.02)
    upper = np.triu(rng.random((N_NODES, N_NODES)) < chance, 1)
    upper[9] = upper[:, 9] = False
    parts = sparse.csr_array(x)
    order = rng.permutation(N_NODES)
    masks = [np.isin(np.arange(N_NODES), nodes) for nodes in (order[:20], order[20:30], order[30:55])]
    np.savez(
        folder / "cora.npz",
        x_data=parts.data,
        x_indices=parts.indices,
        x_indptr=parts.indptr,
        x_shape=np.array(x.shape),
        edge_index=np.stack(np.nonzero(upper | upper.T)).astype(np.int32),
        y=y.astype(np.int16),
        train_mask=masks[0],
        val_mask=masks[1],
        test_mask=masks[2],
    )


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Graph]:
    from shesha_bench.graphs.networks import load

    (tmp_path / "cora").mkdir()
    write_graph(tmp_path / "cora")
    monkeypatch.setenv("SHESHA_DATA", str(tmp_path))
    clear()
    yield load("Cora")
    clear()


@pytest.fixture
def cora() -> Iterator[Graph]:
    """The true graph."""
    from shesha_bench.graphs.networks import load

    folder = os.environ.get("SHESHA_DATA")
    if folder is None or not (Path(folder) / "cora" / "cora.npz").is_file():
        pytest.skip("SHESHA_DATA has no cora/cora.npz")
    clear()
    yield load("Cora")
    clear()


@pytest.fixture
def library() -> None:
    if find_spec("torch_geometric") is None:
        pytest.skip("torch-geometric is not installed")
