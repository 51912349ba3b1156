"""
A CRISPR screen: which knockouts move their cells together?
===========================================================

Guides against 25 genes, sequenced cell by cell. The usual score, the mean cosine of the cells of a knockout with
their mean shift, ranks knockouts. What would it have ranked first if nothing had happened?
"""

# %%
# The screen of Papalexi et al. (2021) where ``SHESHA_DATA`` names a folder that holds it; elsewhere a simulated one:
# 12 targets of 10 to 300 cells, of which only the first three do anything.
import os
from pathlib import Path

import anndata
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from shesha import bio

FILE = Path(os.environ.get("SHESHA_DATA", "data")) / "papalexi2021" / "papalexi2021.npz"


def measured() -> anndata.AnnData:
    """Return the cells whose guide is sure, with 50 principal components."""
    with np.load(FILE) as file:
        obs = pd.DataFrame({name: file[name] for name in ("target", "guide", "guide_fraction")})
        adata = anndata.AnnData(obs=obs.set_index(obs.index.astype(str)), obsm={"X_pca": file["pca50"].astype(float)})
    return adata[adata.obs["guide_fraction"] >= 0.8].copy()


def simulated() -> anndata.AnnData:
    """Return cells whose first three targets are moved, and the others not."""
    rng = np.random.default_rng(0)
    sizes = [200, 80, 30, 300, 200, 120, 80, 50, 30, 20, 12, 10]
    targets = np.repeat([f"T{i + 1:02d}" for i in range(12)] + ["non-targeting"], [*sizes, 1500])
    shifts = np.vstack([rng.standard_normal((3, 50)) * 0.5, np.zeros((10, 50))])
    cells = rng.standard_normal((len(targets), 50)) + np.repeat(shifts, [*sizes, 1500], axis=0)
    obs = pd.DataFrame({"target": targets}, index=[str(i) for i in range(len(targets))])
    obs["guide"] = [f"{target}g{i // 10}" for i, target in enumerate(targets)]
    return anndata.AnnData(obs=obs, obsm={"X_pca": cells * np.linspace(3, 1, 50)})


adata = measured() if FILE.exists() else simulated()
print("data:", FILE.name if FILE.exists() else "simulated: T01, T02 and T03 are moved, the others are not")
control = adata.obs["target"] == "non-targeting"
print(f"{adata.n_obs} cells, {control.sum()} of them controls, {adata.obs['target'].nunique() - 1} targets")

# %%
# **The naive ranking**: mean cosine with the mean shift. It looks like a result for every target.
table = bio.coherence_test(adata, "target", groups="guide", n_draws=199)
print(table.sort_values("coherence", ascending=False)[["n", "coherence", "magnitude"]].round(3).head(8))

# %%
# **The same beside chance.** As many control cells pose as each target, again and again. Few cells look alike
# whatever they do: the smaller the group, the higher both scores of nothing. *unbiased* does not know the size of the
# group.
columns = ["n", "coherence", "chance", "unbiased", "p", "p_adj"]
print(table.sort_values("unbiased", ascending=False)[columns].round(3).to_string())

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.8), layout="constrained")
sure = table["p_adj"] <= 0.05
for ax, score, title in ((left, "coherence", "mean cosine"), (right, "unbiased", "unbiased: pairs of cells")):
    ax.scatter(table["n"][sure], table[score][sure], color="#d55e00", label="p_adj at most 0.05")
    ax.scatter(table["n"][~sure], table[score][~sure], color="#7f7f7f", label="not told from controls")
    ax.set(xscale="log", xlabel="cells", title=title)
    ax.spines[["top", "right"]].set_visible(False)
order = np.argsort(table["n"].to_numpy())
left.plot(table["n"].iloc[order], table["chance"].iloc[order], "--", color="black", label="control cells posing")
right.axhline(0, linestyle="--", color="black")
left.legend(frameon=False, fontsize="small")

# %%
# **Does a large effect go with a coherent one?** The correlation is often reported; beside it stands what groups of
# control cells of the same sizes give.
fakes = bio.analysis.fake_tables(adata.obsm["X_pca"][control.to_numpy()], table["n"].to_dict(), n_tables=39, seed=0)
for score in ("coherence", "unbiased"):
    link = bio.analysis.beside_fakes(
        table, fakes, lambda lines, score=score: lines["magnitude"].corr(lines[score], method="spearman")
    )
    print(link)

# %%
# **The decision.** Follow up targets with ``p_adj`` below your level, in the order of ``unbiased``, and report the
# number of cells. A small p is no large effect: hundreds of cells are told from controls by an *unbiased* of 0.003,
# and of the targets below a ``p_adj`` of 0.05 one in twenty may be nothing (in the simulated screen T04 is such a
# one). Leave the mean cosine to comparisons of groups of equal size.
#
# **What would fool you here**
#
# - *Group size*, as above. *Guides*: cells of one guide are no replicates, hence ``groups="guide"``.
# - *Batches*: ``blocks="batch"`` holds cells against the controls of their own batch.
# - *Depth*: shifts of raw counts follow it; use log-normalised data or an embedding, and look at ``covariates=``.
#
# **Next.** :doc:`/single_cells`, and the published numbers beside ours: :doc:`/studies/crispr/page`.
