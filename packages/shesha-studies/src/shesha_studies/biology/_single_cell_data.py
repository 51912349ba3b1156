"""Single cells that studies share: a CRISPR screen, a stimulation, and null groups of control cells."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from shesha import bio
from shesha.support.types import Matrix
from shesha_studies.external_data import place
from shesha_studies.perturbation_tables import fake_tables, group_table

if TYPE_CHECKING:
    import anndata

TARGETS = (
    *("ATF2", "BRD4", "CAV1", "CD86", "CMTM6", "CUL3", "ETV7", "IFNGR1", "IFNGR2", "IRF1", "IRF7", "JAK2", "MARCH8"),
    *("MYC", "NFKBIA", "PDCD1LG2", "POU2F2", "SMAD4", "SPI1", "STAT1", "STAT2", "STAT3", "STAT5A", "TNFRSF14"),
    "UBE2L6",
)
"""Targets of Papalexi et al. (2021)."""
TYPES = ("B", "CD14+Mono", "CD4T", "CD8T", "Dendritic", "FCGR3A+Mono", "NK")
"""Cell types of Kang et al. (2018)."""
CONTROL = "non-targeting"
_SOURCES = {"papalexi2021": "GEO GSE153056", "kang2018": "GEO GSE96583"}
N_TABLES = 400
"""Number of tables of null groups in each comparison."""


def _file(folder: str) -> Any:
    return np.load(place(folder, f"{folder}.npz", source=_SOURCES[folder]))


def _cells(folder: str, components: str, *labels: str) -> anndata.AnnData:
    import anndata

    with _file(folder) as file:
        obs = pd.DataFrame({name: file[name] for name in labels})
        return anndata.AnnData(obs=obs.set_index(obs.index.astype(str)), obsm={"X_pca": file[components].astype(float)})


@cache
def papalexi() -> anndata.AnnData:
    """Return all 20,729 cells, as in the paper, as 50 principal components of 299 genes."""
    return _cells("papalexi2021", "pca50", "target", "guide")


READINGS = ("median counts", "10,000 counts", "genes of unit variance")
"""Normalisations: as in the available data, the usual one, and the usual one with scaled genes."""


@cache
def components(k: int = 100, reading: str = READINGS[0]) -> Matrix:
    """Return the first k principal components of the screen after scaling to equal totals, log1p and centring."""
    with _file("papalexi2021") as file:
        parts = tuple(file[f"counts_{name}"] for name in ("data", "indices", "indptr"))
        counts = sparse.csr_matrix(parts, shape=tuple(file["counts_shape"])).toarray().astype(float)
    totals = counts.sum(axis=1, keepdims=True)
    logs = np.log1p(counts / np.maximum(totals, 1) * (1e4 if reading == READINGS[1] else np.median(totals)))
    logs -= logs.mean(axis=0)
    if reading == READINGS[2]:
        logs /= np.maximum(logs.std(axis=0), 1e-12)
    values, axes = np.linalg.eigh(logs.T @ logs)
    return np.asarray(logs @ axes[:, np.argsort(-values)[:k]])


@cache
def kang() -> anndata.AnnData:
    """Return 1,975 blood cells with and without interferon-beta, as the 50 components of the source."""
    return _cells("kang2018", "pca", "condition", "cell_type")


@cache
def targets(method: str = "standard", n_draws: int = 999) -> Any:
    """Return the coherence of every target with its chance, with guides as the unit or not, as a CoherenceTable."""
    return bio.coherence_table(papalexi(), "target", control=CONTROL, method=method, n_draws=n_draws)  # type: ignore[arg-type]


@cache
def by_guide() -> pd.DataFrame:
    """Return the coherence of every target, with intervals over guides, because cells of one guide are not
    replicates."""
    return group_table(bio.coherence_table(papalexi(), "target", control=CONTROL, groups="guide", n_draws=0))


@cache
def types() -> Any:
    """Return the coherence of the stimulated cells of each type against controls of the same type."""
    options: dict[str, Any] = {"per": "cell_type", "null": "pooled", "n_draws": 999}
    return bio.coherence_table(kang(), "condition", control="control", **options)


@cache
def control_cells(k: int | None = None) -> Matrix:
    """Return the non-targeting cells, in the first k components."""
    of_controls = (papalexi().obs["target"] == CONTROL).to_numpy()
    rows = papalexi().obsm["X_pca"] if k is None else components()[:, :k]
    return np.asarray(rows[of_controls])


@cache
def fake_targets(k: int | None = None, n_tables: int = N_TABLES) -> list[pd.DataFrame]:
    """Return tables of null groups: control cells in groups with the sizes of the 25 targets."""
    sizes = papalexi().obs["target"].value_counts()
    return fake_tables(control_cells(k), {name: int(sizes[name]) for name in TARGETS}, n_tables=n_tables, seed=1)


@cache
def fake_types() -> list[pd.DataFrame]:
    """Return 100 tables of the seven types with stimulation shuffled among the cells of each type."""
    adata, rng = kang().copy(), np.random.default_rng(2)
    condition, kind = (adata.obs[name].to_numpy() for name in ("condition", "cell_type"))
    tables = []
    for _ in range(100):
        adata.obs["condition"] = shuffled_within(condition, kind, rng)
        tables.append(
            group_table(bio.coherence_table(adata, "condition", control="control", per="cell_type", n_draws=0))
        )
    return tables


def shuffled_within(labels: NDArray[Any], groups: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
    """Shuffle labels among the rows of each group."""
    result = labels.copy()
    for group in np.unique(groups):
        indices = np.flatnonzero(groups == group)
        result[indices] = labels[rng.permutation(indices)]
    return result


def both() -> pd.DataFrame:
    """Return the two data sets in one table."""
    return _with_names(group_table(targets()), group_table(types()))


@cache
def fakes_of_both() -> list[pd.DataFrame]:
    """Return tables of null groups of both data sets."""
    return [_with_names(*tables) for tables in zip(fake_targets()[:100], fake_types(), strict=True)]


def _with_names(first: pd.DataFrame, second: pd.DataFrame) -> pd.DataFrame:
    return pd.concat([first.assign(dataset="papalexi2021"), second.assign(dataset="kang2018")])
