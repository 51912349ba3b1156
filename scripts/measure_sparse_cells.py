"""Measure time and memory of coherence for 100,000 cells x 20,000 genes: sparse in memory, backed, or read lazily.

    python scripts/measure_sparse_cells.py [memory|backed|lazy] [CELLS] [GENES] [SHARE]

By default, 5 % of the entries are nonzero (0.75 GiB). The cells are 10 % controls and 500 perturbations. The script
prints the size of the matrix, seconds, and the peak resident memory of the process before and after. "backed" and
"lazy" write a file first.
"""

import resource
import sys
import tempfile
import time
import warnings
from pathlib import Path

import anndata
import numpy as np
import pandas as pd
from scipy import sparse

from shesha import bio


def made(n_cells: int, n_genes: int, share: float) -> anndata.AnnData:
    rng = np.random.default_rng(0)
    per_cell = int(n_genes * share)
    indices = np.empty(n_cells * per_cell, dtype=np.int32)
    data = rng.random(n_cells * per_cell, dtype=np.float32)
    for cell in range(n_cells):
        # Draw one gene from each interval of genes, so that the indices of a row are distinct and sorted.
        width = n_genes // per_cell
        own = slice(cell * per_cell, (cell + 1) * per_cell)
        indices[own] = np.arange(per_cell) * width + rng.integers(width, size=per_cell)
    indptr = np.arange(n_cells + 1, dtype=np.int64 if n_cells * per_cell > 2**31 - 1 else np.int32) * per_cell
    X = sparse.csr_matrix((data, indices, indptr), shape=(n_cells, n_genes))
    gene = np.where(rng.random(n_cells) < 0.1, "control", rng.integers(500, size=n_cells).astype(str))
    return anndata.AnnData(X, obs=pd.DataFrame({"gene": gene}, index=np.arange(n_cells).astype(str)))


def peak() -> float:
    """Highest resident memory of the process so far, in GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def main(kind: str, n_cells: int, n_genes: int, share: float) -> None:
    path = Path(tempfile.gettempdir()) / f"cells_{n_cells}_{n_genes}_{share}.h5ad"
    if kind == "memory":
        adata = made(n_cells, n_genes, share)
        print(f"matrix: {(adata.X.data.nbytes + adata.X.indices.nbytes) / 2**30:.2f} GiB")
    else:
        if not path.exists():
            made(n_cells, n_genes, share).write_h5ad(path)
            print(f"written: {path}; run again to measure")
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            adata = anndata.read_h5ad(path, backed="r") if kind == "backed" else anndata.experimental.read_lazy(path)
        print(f"file: {path.stat().st_size / 2**30:.2f} GiB")
    before, start = peak(), time.perf_counter()
    found = bio.coherence_table(adata, "gene", obsm=None, n_draws=0)
    print(
        f"{kind}: {len(found.groups)} perturbations of {n_cells:,} x {n_genes:,}, {time.perf_counter() - start:.0f} s"
    )
    print(f"resident memory: {before:.2f} GiB before, at most {peak():.2f} GiB")


if __name__ == "__main__":
    given = sys.argv[1:] + [None] * 4
    main(given[0] or "memory", int(given[1] or 100_000), int(given[2] or 20_000), float(given[3] or 0.05))
