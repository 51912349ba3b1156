"""Which knockouts move cells coherently, and what are the chance levels? A CRISPR screen in three lines.

    SHESHA_DATA=FOLDER python examples/single_cells.py [PICTURE.png]

FOLDER contains papalexi2021. The script needs the extras bio and plot. With scanpy, `sc.pl.violin(adata,
"coherence_cosine", groupby="target")` draws the left panel.
"""

import os
import sys
from pathlib import Path

import anndata
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from shesha import bio

FILE = Path(os.environ.get("SHESHA_DATA", "data")) / "papalexi2021" / "papalexi2021.npz"


def screen() -> anndata.AnnData:
    """Load the cells with a reliable guide, as scanpy would store them: obs, and X_pca."""
    with np.load(FILE) as file:
        obs = pd.DataFrame({name: file[name] for name in ("target", "guide", "replicate", "guide_fraction")})
        adata = anndata.AnnData(obs=obs.set_index(obs.index.astype(str)), obsm={"X_pca": file["pca50"].astype(float)})
    return adata[adata.obs["guide_fraction"] >= 0.8].copy()


def violins(adata: anndata.AnnData, table: pd.DataFrame, ax: plt.Axes) -> None:
    """Draw the cosines of the cells of each target, the most coherent first, and the chance level of their mean."""
    names = list(table.index)
    cosines = [adata.obs.loc[adata.obs["target"] == name, "coherence_cosine"].dropna() for name in names]
    for body in ax.violinplot(cosines, showextrema=False, widths=0.9)["bodies"]:
        body.set(facecolor="#0072b2", alpha=0.5)
    places = np.arange(1, len(names) + 1)
    ax.scatter(places, table["coherence"], s=16, color="#0072b2", zorder=3, label="coherence (mean)")
    ax.hlines(table["coherence_chance"], places - 0.4, places + 0.4, color="#7f7f7f", label="chance level of the mean")
    ax.set_xticks(places, names, rotation=90, fontsize="small")
    ax.set(ylabel="cosine of a cell's shift with the mean shift")
    ax.set_title("Cells of each target", fontsize="medium")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize="small")


def main(picture: Path) -> None:
    adata = screen()

    # The analysis takes three lines.
    bio.coherence(adata, "target")
    found = bio.coherence_table(adata, "target", groups="guide")
    print(found)

    table = found.to_frame(full=True)
    above = table.index[table["corrected_p_value"] <= 0.05]
    print(f"\nabove chance at 5 % (Benjamini and Hochberg): {len(above)} of {len(table)}: {', '.join(above)}")
    for score, line in adata.uns["coherence"]["links"].iterrows():
        print(f"magnitude and {score}: {line.value:.2f} over targets, {line.chance:.2f} over null targets")

    figure, (left, right) = plt.subplots(1, 2, figsize=(12.5, 4.6), layout="constrained", width_ratios=(1.5, 1))
    violins(adata, table, left)
    found.plot(right, title="Size and coherence of the shift of each target")
    figure.savefig(picture, dpi=130)


if __name__ == "__main__":
    if FILE.exists():
        main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("single_cells.png"))
    else:
        print(f"skipped: {FILE} does not exist; set SHESHA_DATA to the folder that holds it")
