"""
A CRISPR screen: which knockouts move their cells together?
===========================================================

This tutorial ranks the knockouts of a CRISPR screen by how coherently their cells move, and compares each with control
cells. The usual score is the mean cosine between the shifts of a knockout's cells and their mean shift. It is high for
small groups, even without any effect.
"""

# %%
# The data are the screen of Papalexi et al. (2021) with 25 genes, if ``SHESHA_DATA`` names a folder that contains it.
# Otherwise they are simulated: 12 targets with 10 to 300 cells each, of which only the first three have an effect.
import os
from pathlib import Path

import anndata
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from shesha import bio

FILE = Path(os.environ.get("SHESHA_DATA", "data")) / "papalexi2021" / "papalexi2021.npz"


def measured() -> anndata.AnnData:
    """Return the cells whose guide is certain, with 50 principal components."""
    with np.load(FILE) as file:
        obs = pd.DataFrame({name: file[name] for name in ("target", "guide", "guide_fraction")})
        adata = anndata.AnnData(obs=obs.set_index(obs.index.astype(str)), obsm={"X_pca": file["pca50"].astype(float)})
    return adata[adata.obs["guide_fraction"] >= 0.8].copy()


def simulated() -> anndata.AnnData:
    """Return cells that only the first three targets move."""
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
# **The naive ranking** uses the mean cosine between the cells' shifts and the mean shift. Every target seems to have an
# effect.
table = bio.coherence_test(adata, "target", groups="guide", n_draws=199)
print(table.sort_values("coherence", ascending=False)[["n_rows", "coherence", "magnitude"]].round(3).head(8))

# %%
# **The same with chance levels.** Each target is compared with random groups of as many control cells. Even without an
# effect, both coherence and its chance level rise as groups get smaller. The unbiased coherence, ``value``, does not
# depend on the size of the group.
columns = ["n_rows", "coherence", "coherence_chance", "value", "p_value", "corrected_p_value"]
print(table.sort_values("value", ascending=False)[columns].round(3).to_string())

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.8), layout="constrained")
sure = table["corrected_p_value"] <= 0.05
for ax, score, title in ((left, "coherence", "mean cosine"), (right, "value", "unbiased: pairs of cells")):
    ax.scatter(table["n_rows"][sure], table[score][sure], color="#d55e00", label="corrected p at most 0.05")
    ax.scatter(table["n_rows"][~sure], table[score][~sure], color="#7f7f7f", label="corrected p above 0.05")
    ax.set(xscale="log", xlabel="cells", title=title)
    ax.spines[["top", "right"]].set_visible(False)
order = np.argsort(table["n_rows"].to_numpy())
left.plot(
    table["n_rows"].iloc[order],
    table["coherence_chance"].iloc[order],
    "--",
    color="black",
    label="control cells, same number",
)
right.axhline(0, linestyle="--", color="black")
left.legend(frameon=False, fontsize="small")

# %%
# **Are large effects more coherent?** The correlation between magnitude and coherence is often reported. Here it is
# compared with the correlation for groups of control cells of the same sizes.
for link in bio.coherence_table(adata, "target", groups="guide", n_draws=199).links:
    print(link)

# %%
# **The decision.** Follow up targets with ``corrected_p_value`` below your level, in the order of ``value``, and
# report the number of cells. A small p does not imply a large effect: with hundreds of cells, an unbiased coherence of
# 0.003 is significant. Of the targets with ``corrected_p_value`` below 0.05, one in twenty may have no effect (in the
# simulated screen, T04 is an example). Use the mean cosine only to compare groups of equal size.
#
# **What can mislead**
#
# - *Group size*, as above.
# - *Guides.* Cells with the same guide are not replicates, so pass ``groups="guide"``.
# - *Batches.* ``blocks="batch"`` compares cells with the controls of their own batch.
# - *Depth.* Shifts of raw counts depend on sequencing depth. Use log-normalised data or an embedding, and see
#   ``covariates=``.
#
# **Next.** :doc:`/single_cells`, and a comparison of the published numbers with ours: :doc:`/studies/crispr/page`.
