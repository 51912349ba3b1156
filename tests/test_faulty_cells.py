"""The same faulty cells through every function of single cells: the fault is named, or cannot harm the number."""

import re

import anndata
import numpy as np
import pytest
from scipy.cluster.vq import kmeans2

from shesha import bio

N, D = 200, 12


def screen(seed=0):
    """Cells of controls and two perturbations, one of which moves, in two types that are mixed."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    gene = rng.permutation(np.repeat(["NT", "A", "B"], [120, 40, 40])).astype(object)
    pca = rng.standard_normal((N, D)) + 0.8 * (gene == "A")[:, None]
    obs = pd.DataFrame({"gene": gene, "type": rng.permutation(np.repeat(["T", "B"], N // 2)).astype(object)})
    obs.index = [f"c{row}" for row in range(N)]
    return anndata.AnnData(pca.copy(), obs, obsm={"X_pca": pca, "X_new": pca + 0.3 * rng.standard_normal((N, D))})


def change_values(data, change):
    data.X = change(data.X)
    for key in ("X_pca", "X_new"):
        data.obsm[key] = change(data.obsm[key])
    return data


def with_counts(data):
    depths = np.random.default_rng(1).gamma(2, 2, (N, 1))
    return change_values(data, lambda X: np.random.default_rng(2).poisson(depths, X.shape).astype(float))


def without_logarithm(data):
    def normalise(X):
        rates = np.random.default_rng(1).gamma(0.3, 1, X.shape)
        return rates / rates.sum(axis=1, keepdims=True) * 1e4

    return change_values(data, normalise)


def of_a_plot(data):
    data.obsm["X_umap"] = data.obsm["X_pca"][:, :2]
    return data


def with_missing_labels(data):
    data.obs.iloc[:7, :] = np.nan
    return data


def with_nan(data):
    def change(X):
        X[3, 1] = np.nan
        return X

    return change_values(data, change)


def repeated(data):
    return anndata.concat([data, data], index_unique="-")


def with_empty_cells(data):
    def change(X):
        X[5:20] = 0
        return X

    return change_values(data, change)


def with_distant_cell(data):
    def change(X):
        X[(data.obs["gene"] == "A").to_numpy().nonzero()[0][0]] *= 300
        return X

    return change_values(data, change)


def with_identifiers(data):
    def change(X):
        X[:, 3] = 40 * np.random.default_rng(5).permutation(len(X))
        return X

    return change_values(data, change)


def of_donors(data):
    donors = np.array([f"{gene}{row % 3}" for row, gene in enumerate(data.obs["gene"])])
    data.obs["donor"] = donors
    shifts = {name: np.random.default_rng(k).standard_normal(D) for k, name in enumerate(np.unique(donors))}
    return change_values(data, lambda X: X + np.array([shifts[name] for name in donors]))


def of_batches(data):
    data.obs["batch"] = np.where(np.random.default_rng(4).random(N) < 0.5, "1", "2")
    return change_values(data, lambda X: X + 3 * (data.obs["batch"] == "1").to_numpy()[:, None])


def of_clusters(data):
    data.obs["leiden"] = kmeans2(data.X, 3, minit="++", seed=0)[1].astype(str)
    return data


def without_controls(data):
    data.obs["gene"] = data.obs["gene"].replace("NT", "C")
    return data


def of_two_spellings(data):
    for name, label in (("gene", "A"), ("type", "T")):
        places = np.flatnonzero(data.obs[name] == label)
        data.obs.iloc[places[::2], data.obs.columns.get_loc(name)] = label.lower()
    return data


FAULTS = {
    "raw counts": (with_counts, r"raw counts"),
    "no logarithm": (without_logarithm, r"without a logarithm"),
    "embedding for plots": (of_a_plot, r"embedding for plots|like a UMAP"),
    "missing labels": (with_missing_labels, r"\b7 (of \d+ )?((cells|rows) )?with(out)? .*left out"),
    "NaN": (with_nan, r"NaN"),
    "repeated cells": (repeated, r"repeat"),
    "empty cells": (with_empty_cells, r"zero"),
    "a distant cell": (with_distant_cell, r"has \d+ % of the sum of squares|outli"),
    "a column of identifiers": (with_identifiers, r"few coordinates"),
    "undeclared donors": (of_donors, r"'donor'"),
    "undeclared batches": (of_batches, r"'batch'"),
    "clusters as groups": (of_clusters, r"by construction|clusters of the same data"),
    "no controls": (without_controls, r"control(_label)? must be"),
    "two spellings": (of_two_spellings, r"'[aA]' and '[aA]'|'[tT]' and '[tT]'|\bA\b.*\ba\b|\ba\b.*\bA\b|\bT\b.*\bt\b"),
}
IN_X = {"raw counts", "no logarithm"}
"""Faults of values that no embedding contains."""


def place(data, fault):
    return "X_umap" if fault == "embedding for plots" else None if fault in IN_X else "X_pca"


def group(data, other="gene"):
    return ("leiden", "0") if "leiden" in data.obs else (other, "NT" if other == "gene" else None)


def options(data, fault):
    column, control = group(data)
    return {"groupby": column, "control": None if fault == "no controls" else control, "obsm": place(data, fault)}


def arrays(data):
    return [data.obsm["X_pca"][(data.obs["gene"] == label).to_numpy()] for label in ("NT", "A")]


def three(X):
    return kmeans2(X, 3, minit="++", seed=0)[1]


FUNCTIONS = {
    "coherence_table": lambda data, fault: bio.coherence_table(data, n_draws=39, **options(data, fault)),
    "coherence_test": lambda data, fault: bio.coherence_test(data, n_draws=39, **options(data, fault)).to_string(),
    "coherence": lambda data, fault: (bio.coherence(data, n_draws=39, **options(data, fault)), data.uns["coherence"]),
    "e_distances": lambda data, fault: bio.e_distances(data, n_draws=39, **options(data, fault)),
    "cluster_stability": lambda data, fault: bio.cluster_stability(
        data, group(data, "type")[0], cluster=three, obsm=place(data, fault), n_draws=19, n_subsamples=2
    ),
    "integration_table": lambda data, fault: bio.integration_table(
        data,
        "X_umap" if "X_umap" in data.obsm else "X_pca",
        ["X_new"],
        group(data, "type")[0],
        "RSA",
        n_permutations=79,
    ),
    "integration_test": lambda data, fault: bio.integration_test(
        data, "X_umap" if "X_umap" in data.obsm else "X_pca", "X_new", group(data, "type")[0], "RSA", n_permutations=79
    ),
    "split_half_reproducibility": lambda data, fault: bio.split_half_reproducibility(
        data, *group(data), n_splits=5, min_cells=10
    ),
    "compute_coherence": lambda data, fault: bio.compute_coherence(data, *group(data)),
    "compute_magnitude": lambda data, fault: bio.compute_magnitude(data, *group(data)),
    "perturbation_coherence": lambda data, fault: bio.perturbation_coherence(*arrays(data)),
    "perturbation_effect_size": lambda data, fault: bio.perturbation_effect_size(*arrays(data)),
    "perturbation_interval": lambda data, fault: bio.perturbation_interval(*arrays(data), n_bootstrap=5, seed=0),
}
OF_ARRAYS = {"missing labels", "undeclared donors", "undeclared batches", "clusters as groups", "no controls"}
OF_INTEGRATION = {
    # The geometry within the clusters is compared. Controls have no part, and embeddings do not contain counts.
    *("clusters as groups", "no controls", "raw counts", "no logarithm"),
    # Ranks of distances hardly depend on a single row. Without the column that both contain, the verdict is the same.
    *("a distant cell", "a column of identifiers"),
}
UNHARMED = {
    # Clusters are the subject, and controls have no part. Dividing cells along a feature, a donor or a batch, or into
    # one cell and the others, is what the given method did: the clusters are as stable as the answer says.
    "cluster_stability": {
        *("clusters as groups", "no controls", "undeclared donors", "undeclared batches"),
        *("a distant cell", "a column of identifiers"),
    },
    "integration_table": OF_INTEGRATION,
    "integration_test": OF_INTEGRATION,
    # X is used, and the caller names the groups of cells in each array. A spelling is a group of its own in the answer.
    "split_half_reproducibility": {"embedding for plots"},
    "compute_coherence": {"embedding for plots"},
    "compute_magnitude": {"embedding for plots"},
    "perturbation_coherence": {*OF_ARRAYS, "embedding for plots", "two spellings"},
    "perturbation_effect_size": {*OF_ARRAYS, "embedding for plots", "two spellings"},
    "perturbation_interval": {*OF_ARRAYS, "embedding for plots", "two spellings"},
}
CASES = [(name, fault) for name in FUNCTIONS for fault in FAULTS if fault not in UNHARMED.get(name, ())]


@pytest.mark.parametrize(("name", "fault"), CASES)
def test_a_fault_of_cells_is_named(name, fault, said):
    make, pattern = FAULTS[fault]
    text = said(FUNCTIONS[name], make(screen()), fault)
    assert re.search(pattern, text), text


@pytest.mark.parametrize("name", FUNCTIONS)
def test_cells_without_fault_are_not_doubted(name, said):
    text = said(FUNCTIONS[name], screen(1), "")
    for fault in set(FAULTS) - {"no controls", "two spellings"}:
        assert not re.search(FAULTS[fault][1], text), (fault, text)
