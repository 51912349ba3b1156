"""Whether rows of one class lie apart in each block, although the means of the blocks are equal."""

import numpy as np
import pandas as pd
import pytest

import shesha

N_BLOCKS, SIZE, N_CLASSES, WIDTH, N_KEPT = 3, 100, 5, 60, 12


def components(X, rng):
    centred = X - X.mean(axis=0)
    u, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    return (u * sizes)[:, :N_KEPT] * rng.choice([-1, 1], N_KEPT)


@pytest.fixture
def cells(rng):
    centres = 1.2 * rng.standard_normal((N_CLASSES, WIDTH))
    kinds = rng.integers(N_CLASSES, size=(N_BLOCKS, SIZE))
    return centres[kinds] + rng.standard_normal((N_BLOCKS, SIZE, WIDTH)), kinds


def found(X, kinds, blocks):
    y = np.array(list("abcdefgh"))[kinds.ravel()]
    library = np.array(["L1", "L2", "L3"])[blocks]
    doubts = shesha.doubts(X, y, covariates={"library": library})
    return doubts["separate blocks"].text if "separate blocks" in doubts.names else ""


OWN = np.repeat(np.arange(N_BLOCKS), SIZE)


def test_components_of_each_library_are_named(cells, rng):
    X, kinds = cells
    text = found(np.vstack([components(block, rng) for block in X]), kinds, OWN)
    assert "of the nearest neighbours of a row have the same library (33 % by chance)" in text
    assert "the means of each library are nearly equal" in text


SOUND = {
    "components of all rows": lambda X, rng: components(np.vstack(X), rng),
    "shifts": lambda X, rng: np.vstack(X + rng.standard_normal((N_BLOCKS, 1, WIDTH))),
    "scales": lambda X, rng: np.vstack(X * np.array([0.4, 1.0, 2.5])[:, None, None]),
    "own states of classes": lambda X, rng: np.vstack(X) + 0.3 * rng.standard_normal((N_BLOCKS, WIDTH))[OWN],
    "noise": lambda X, rng: rng.standard_normal((N_BLOCKS * SIZE, WIDTH)),
}


@pytest.mark.parametrize("kind", SOUND)
def test_libraries_of_one_space_have_no_doubt(kind, cells, rng):
    X, kinds = cells
    assert not found(SOUND[kind](X, rng), kinds, OWN)


def test_classes_of_one_library_only_have_no_doubt(cells):
    X, kinds = cells
    assert not found(np.vstack(X), kinds, kinds.ravel() % N_BLOCKS)


@pytest.mark.parametrize("column", ["library", "donor"])
def test_an_audit_reads_the_column(cells, rng, column):
    anndata = pytest.importorskip("anndata")
    X, kinds = cells
    adata = anndata.AnnData(np.vstack([components(block, rng) for block in X]))
    adata.obs[column] = pd.Categorical(np.array(["u", "v", "w"])[OWN])
    text = shesha.audit(adata, kinds.ravel(), n_bootstrap=0, n_permutations=0).full_text()
    assert f"have the same {column}" in " ".join(text.split())
