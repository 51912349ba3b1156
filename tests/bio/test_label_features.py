"""Features of several assays, and features from which the labels of cells were assigned."""

import warnings

import anndata
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from shesha import bio
from shesha.bio.label_features import choose_cells, features_of_labels

TYPES = ["Gene Expression"] * 60 + ["CRISPR Guide Capture"] * 4


def counts(kind, seed=0, n_genes=400, n=40, n_labels=5):
    """Logarithms of normalised counts of cells with labels, of which the first is the control."""
    rng = np.random.default_rng(seed)
    labels, means = np.repeat(np.arange(n_labels), [3 * n] + [n] * (n_labels - 1)), rng.gamma(0.6, 1.5, n_genes)
    fold, frequent = np.ones((n_labels, n_genes)), np.argsort(-means)
    for label in range(1, n_labels):
        changed = rng.choice(n_genes, rng.integers(20, 120), replace=False)
        if kind == "strong":
            fold[label, changed] = np.exp(rng.normal(0, 1.5, len(changed)))
        if kind == "knock-down":
            fold[label, frequent[label]] = 0.05
        if kind == "activation":
            fold[label, frequent[n_genes // 3 + label]] = 8
    X = rng.poisson(rng.gamma(2, 0.5, (len(labels), n_genes)) * means * fold[labels])
    if kind.endswith("guides"):
        n_guides = int(kind[0])
        own = rng.poisson(0.1, (len(labels), n_labels, n_guides))
        own[np.arange(len(labels)), labels, rng.integers(0, n_guides, len(labels))] += rng.poisson(40, len(labels))
        X = np.hstack([X, own.reshape(len(labels), -1)])
    if kind == "2 at once":
        X = np.hstack(
            [X, np.repeat(rng.poisson(30, (len(labels), n_labels)) * np.eye(n_labels, dtype=int)[labels], 2, 1)]
        )
    totals = X.sum(axis=1, keepdims=True)
    return np.log1p(X / totals * np.median(totals)), np.array(["NT", *"ABCDEFG"])[labels]


def marked(X, labels):
    cells = choose_cells(labels)
    return features_of_labels(X[cells], labels[cells])


@pytest.mark.parametrize("kind", ["1 guides", "2 guides", "3 guides", "2 at once"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_guides_among_genes_are_found(kind, form):
    for seed in range(3):
        X, labels = counts(kind, seed)
        found = marked(form(X), labels)
        assert len(found) >= 4
        assert min(features.min() for features in found.values()) >= 400


@pytest.mark.parametrize("kind", ["none", "strong", "knock-down", "activation"])
def test_genes_that_perturbations_change_are_no_guides(kind):
    assert not any(marked(*counts(kind, seed)) for seed in range(50))


def test_few_labels_are_not_looked_at():
    assert not len(choose_cells(np.repeat(["NT", "A"], 50)))
    assert not len(choose_cells(np.repeat(["NT", "A", "B", "C"], [50, 9, 9, 9])))


def screen(types=TYPES):
    rng = np.random.default_rng(0)
    code = np.repeat(np.arange(4), [100, 30, 30, 30])
    genes, guides = rng.poisson(2, (190, 60)), rng.poisson(40, (190, 4)) * np.eye(4, dtype=int)[code]
    obs = pd.DataFrame({"gene": np.array(["NT", "A", "B", "C"])[code]}, index=np.arange(190).astype(str))
    var = pd.DataFrame({} if types is None else {"feature_types": types}, index=[f"f{k}" for k in range(64)])
    X = np.log1p(np.hstack([genes, guides]).astype(float))
    return anndata.AnnData(X, obs=obs, var=var, obsm={"X_pca": rng.standard_normal((190, 5))}, layers={"log": X})


def texts(data, name, **options):
    """Return everything that a function says about its data."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = getattr(bio, name)(data, "gene", **options)
    return [str(one.message) for one in caught] + [*getattr(result, "inputs", ()), *getattr(result, "notes", ())]


TABLES = {"coherence_table": {"n_draws": 19, "obsm": None}, "e_distances": {"n_draws": 19, "obsm": None}}
DOCUMENTED = {
    "compute_coherence": {"control_label": "NT"},
    "compute_magnitude": {"control_label": "NT"},
    "split_half_reproducibility": {"control_label": "NT", "min_cells": 10},
}


@pytest.mark.parametrize(("name", "options"), [*TABLES.items(), *DOCUMENTED.items()])
@pytest.mark.parametrize("layer", [None, "log"])
def test_types_of_features_are_stated(name, options, layer):
    source = "X" if layer is None else "layers['log']"
    said = texts(screen(), name, **options, layer=layer)
    expected = (
        f"{source} (190 cells x 64 features) has features of several assays (60 Gene Expression, 4 CRISPR Guide "
        "Capture), whose scales differ; leave out CRISPR Guide Capture, from which labels of cells are assigned: "
        "adata[:, adata.var['feature_types'] == 'Gene Expression']"
    )
    assert any(expected in text for text in said)
    said = texts(screen(["Gene Expression"] * 60 + ["Antibody Capture"] * 4), name, **options, layer=layer)
    assert any("(60 Gene Expression, 4 Antibody Capture), whose scales differ; choose one" in text for text in said)


@pytest.mark.parametrize(("name", "options"), [*TABLES.items(), *DOCUMENTED.items()])
def test_features_that_determine_labels_are_named_without_types(name, options):
    said = texts(screen(None), name, **options)
    assert any("of 4 of 4 labels from all others (A: f61, B: f62, C: f63 and 1 more)" in text for text in said)
    genes = screen(None)[:, :60].copy()
    assert not any("feature_types" in text or "from all others" in text for text in texts(genes, name, **options))


def test_an_embedding_has_no_types():
    said = texts(screen(), "coherence_table", n_draws=19)
    assert not any("assays" in text or "from all others" in text for text in said)
    assert any(text.startswith("obsm['X_pca'], 190 cells x 5 features; controls") for text in said)


def test_guides_alone_are_stated():
    said = texts(screen()[:, 60:].copy(), "compute_magnitude", control_label="NT")
    assert any("has features of 4 CRISPR Guide Capture only; leave out" in text for text in said)


def test_clusters_of_several_assays_are_stated():
    data = screen()
    by_first = bio.cluster_stability(
        data, "gene", obsm=None, cluster=lambda X: (X[:, 61] > 1).astype(int), n_draws=19, n_subsamples=2
    )
    assert any("has features of several assays" in text for text in by_first.inputs)
