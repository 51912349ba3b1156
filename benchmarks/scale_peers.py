"""Measure CKA of a stream of batches with shesha and with other libraries that read data in batches.

    python benchmarks/scale_peers.py [--rows 200000] [--features 64] [--batch 1000]

Every library reads the same float32 batches from memory, one after the other, in the same process and one thread.
Libraries that are not installed are skipped. The error is the difference from the centred products of all rows in
double precision, for data near zero and for data with a mean of 1e6. pytorch-cka and torch_cka average unbiased HSIC
over batches, in single precision. scikit-learn and dask-ml have no CKA, so it is computed here from their covariance of
both representations.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import shesha
from shesha.report import markdown_table
from shesha.support.types import Matrix

Pair = tuple[Any, Any]


def draw(n: int, d: int, offset: float) -> Pair:
    """Two float32 matrices that share a quarter of their directions."""
    rng = np.random.default_rng(0)
    latent = rng.standard_normal((n, d // 4))
    sides = (latent @ rng.standard_normal((d // 4, d)) + 4 * rng.standard_normal((n, d)) for _ in range(2))
    first, second = ((side + offset).astype(np.float32) for side in sides)
    return first, second


def exact(pair: Pair) -> tuple[float, float]:
    """CKA and unbiased CKA of all rows, from centred rows in double precision."""
    x, y = (side - side.mean(axis=0, dtype=np.longdouble).astype(np.float64) for side in pair)
    found = shesha.compare(x, y, ["CKA", "unbiased CKA"])
    return found["CKA"].value, found["unbiased CKA"].value


def batches(pair: Pair, size: int) -> Iterator[Pair]:
    """Consecutive rows of both sides."""
    for start in range(0, len(pair[0]), size):
        yield pair[0][start : start + size], pair[1][start : start + size]


def of_covariance(joint: Matrix, d: int) -> float:
    """CKA from the covariance of both sides together."""
    norms = [float((block**2).sum()) for block in (joint[:d, d:], joint[:d, :d], joint[d:, d:])]
    return norms[0] / float(np.sqrt(norms[1] * norms[2]))


def by_shesha(name: str) -> Callable[[Pair, int], float]:
    """Moments, updated with each batch."""

    def run(pair: Pair, size: int) -> float:
        return shesha.compare(shesha.Moments.of(batches(pair, size)), name)[name].value

    return run


def by_incremental_pca(pair: Pair, size: int) -> float:
    """Components of all directions of both sides together, updated with each batch."""
    d, model = pair[0].shape[1], import_module("sklearn.decomposition").IncrementalPCA()
    for x, y in batches(pair, size):
        model.partial_fit(np.hstack([x, y]))
    return of_covariance((model.components_.T * model.explained_variance_) @ model.components_, d)


def by_dask_ml(pair: Pair, size: int) -> float:
    """Components of both sides together, by a QR decomposition of tall chunks."""
    dask: Any = import_module("dask")
    da: Any = import_module("dask.array")
    decomposition: Any = import_module("dask_ml.decomposition")
    d = pair[0].shape[1]
    joint = da.from_array(np.hstack(pair), chunks=(size, 2 * d))
    with dask.config.set(scheduler="synchronous"):
        model = decomposition.PCA(n_components=2 * d, svd_solver="tsqr").fit(joint)
    return of_covariance((model.components_.T * model.explained_variance_) @ model.components_, d)


def by_pytorch_cka(pair: Pair, size: int) -> float:
    """Unbiased HSIC, averaged over batches."""
    library: Any = import_module("cka")
    loader, sides = _loader_and_models(pair, size)
    return float(library.compute_cka(*sides, loader, layers=["1"], device="cpu", progress=False)[0])


def by_torch_cka(pair: Pair, size: int) -> float:
    """Unbiased HSIC, averaged over batches."""
    library: Any = import_module("torch_cka")
    loader, sides = _loader_and_models(pair, size)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = library.CKA(*sides, model1_layers=["1"], model2_layers=["1"], device="cpu")
        model.compare(loader)
    return float(model.hsic_matrix[0, 0])


def _loader_and_models(pair: Pair, size: int) -> tuple[_Loader, list[Any]]:
    """Return a loader of both representations, and two models whose layers each return one of them."""
    import torch

    class Columns(torch.nn.Module):
        def __init__(self, start: int, stop: int) -> None:
            super().__init__()
            self.columns = slice(start, stop)

        def forward(self, rows: torch.Tensor) -> torch.Tensor:
            return rows[:, self.columns]

    d = pair[0].shape[1]
    rows = torch.as_tensor(np.hstack(pair))
    loader = _Loader([(one,) for one in torch.split(rows, size)])
    models = [torch.nn.Sequential(torch.nn.Identity(), Columns(start, start + d)) for start in (0, d)]
    return loader, models


class _Loader:
    """The loader interface that both libraries use; they would read a list as several loaders."""

    dataset = "rows"

    def __init__(self, found: list[tuple[object]]) -> None:
        self._found = found

    def __iter__(self) -> Iterator[tuple[object]]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)


PEERS: dict[str, tuple[Callable[[Pair, int], float], int]] = {
    "shesha, CKA": (by_shesha("CKA"), 0),
    "scikit-learn IncrementalPCA, CKA": (by_incremental_pca, 0),
    "dask-ml PCA, CKA": (by_dask_ml, 0),
    "shesha, unbiased CKA": (by_shesha("unbiased CKA"), 1),
    "pytorch-cka, unbiased CKA": (by_pytorch_cka, 1),
    "torch_cka, unbiased CKA": (by_torch_cka, 1),
}


def measure(work: Callable[[Pair, int], float], pair: Pair, size: int, expected: float) -> tuple[str, str]:
    """Return error and processor seconds of one library, or the reason why there are none."""
    start = time.process_time()
    try:
        with threadpool_limits(1):
            value = work(pair, size)
    except ModuleNotFoundError as error:
        return f"skipped: {error.name} is not installed", ""
    except Exception as error:  # A failure of a library for these data is a result.
        return f"failed: {type(error).__name__}: {error}"[:60], ""
    return f"{abs(value - expected):.1e}", f"{time.process_time() - start:.1f}"


def main() -> None:
    """Print a table of errors and processor seconds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--features", type=int, default=64)
    parser.add_argument("--batch", type=int, default=1_000)
    asked = parser.parse_args()
    if asked.rows % asked.batch or asked.batch < 2 * asked.features:
        parser.error("--rows must be a multiple of --batch, and --batch twice --features")
    os.environ["SHESHA_THREADS"] = "1"
    cells: dict[str, list[str]] = {name: [] for name in PEERS}
    for offset in (0.0, 1e6):
        pair = draw(asked.rows, asked.features, offset)
        expected = exact(pair)
        for name, (work, place) in PEERS.items():
            cells[name] += measure(work, pair, asked.batch, expected[place])
            print(offset, name, *cells[name][-2:], flush=True)
    head = ["", "error, mean 0", "CPU s", "error, mean 1e6", "CPU s"]
    print("\n" + markdown_table(head, [[name, *row] for name, row in cells.items()]))


if __name__ == "__main__":
    main()
