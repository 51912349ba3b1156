"""Real screens: the interferon pathway leads, and what magnitude and coherence share without an effect."""

import os
from pathlib import Path

import anndata
import numpy as np
import pandas as pd
import pytest

from shesha import bio


def arrays(name):
    path = Path(os.environ.get("SHESHA_DATA", "nowhere")) / name / f"{name}.npz"
    if not path.is_file():
        pytest.skip(f"SHESHA_DATA must name a folder with {name}/{name}.npz")
    return np.load(path)


def with_pca(file, columns, pca):
    obs = pd.DataFrame({name: file[name] for name in columns})
    return anndata.AnnData(obs=obs.set_index(obs.index.astype(str)), obsm={"X_pca": file[pca].astype(float)})


@pytest.mark.filterwarnings("ignore:control rows that follow")
def test_the_interferon_pathway_leads_and_fakes_correlate_nearly_as_much():
    adata = with_pca(arrays("papalexi2021"), ("target", "guide", "guide_fraction"), "pca50")
    adata = adata[adata.obs["guide_fraction"] >= 0.8].copy()
    found = bio.coherence_table(adata, "target", n_draws=39)
    table = found.to_frame()
    assert set(table.index[:4]) == {"IFNGR1", "IFNGR2", "JAK2", "STAT1"}
    assert (table["p_value"][:6] == 1 / 40).all()
    plain, unbiased = found.links
    # Without any effect magnitude and coherence correlate at 0.9; the unbiased score does not.
    assert plain.value > 0.98
    assert plain.chance > 0.8
    assert unbiased.value > 0.95
    assert unbiased.chance < 0.5


def test_every_cell_type_answers_to_interferon():
    adata = with_pca(arrays("kang2018"), ("condition", "cell_type"), "pca")
    found = bio.coherence_test(adata, "condition", per="cell_type", null="pooled", n_draws=39)
    assert len(found) == 7
    assert (found["p_value"] == 1 / 40).all()
    assert (found["low"] > 0.3).all()
    assert "Mono" in found.index[0]
    assert "Mono" in found.index[1]
