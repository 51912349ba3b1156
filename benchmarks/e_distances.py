"""Time permutation tests of E-distances with shesha and with pertpy, and compare their values.

    python benchmarks/e_distances.py [--cells 2000] [--permutations 200]

Ten groups of cells, in 50 components, are compared with the controls. Both libraries permute cells. pertpy computes the
distances between all cells once for each group; shesha needs sums over cells only.
"""

from __future__ import annotations

import argparse
import time

import anndata
import numpy as np
import pandas as pd

from shesha import bio


def main() -> None:
    """Print both times, and the largest difference between the values."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cells", type=int, default=2000)
    parser.add_argument("--permutations", type=int, default=200)
    chosen = parser.parse_args()
    from pertpy.tools import DistanceTest

    rng = np.random.default_rng(0)
    label = np.array([f"g{k}" if k else "control" for k in np.arange(chosen.cells) % 11])
    cells = rng.standard_normal((chosen.cells, 50)) + 0.5 * (label == "g1")[:, None]
    obs = pd.DataFrame({"target": label}, index=np.arange(chosen.cells).astype(str))
    adata = anndata.AnnData(obs=obs, obsm={"X_pca": cells})
    start = time.perf_counter()
    ours = bio.e_distances(adata, "target", n_draws=chosen.permutations)
    middle = time.perf_counter()
    test = DistanceTest("edistance", n_perms=chosen.permutations, obsm_key="X_pca", cell_wise_metric="sqeuclidean")
    theirs = test(adata, groupby="target", contrast="control", show_progressbar=False)
    end = time.perf_counter()
    gap = max(abs(pair.e_distance - theirs.loc[pair.second, "distance"]) for pair in ours)
    print(f"shesha {middle - start:.2f} s, pertpy {end - middle:.2f} s, largest difference {gap:.1e}")


if __name__ == "__main__":
    main()
