"""AnnData: embeddings by default, other elements by name, nothing read that was not asked for."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from shesha import io as files
from shesha.support.provenance import collect_statements

anndata = pytest.importorskip("anndata")
h5py = pytest.importorskip("h5py")


def made(**parts):
    rng = np.random.default_rng(0)
    names = [f"cell{row}" for row in range(4)]
    defaults = {
        "X": sparse.csr_matrix(np.eye(4, 3, dtype=np.float32)),
        "obs": pd.DataFrame({"type": pd.Categorical(list("abab")), "n": [1, 2, 3, 4]}, index=names),
        "obsm": {
            "X_pca": rng.normal(size=(4, 2)).astype(np.float32),
            "latent": pd.DataFrame({"u": [1.0, 2, 3, 4], "t": list("abcd"), "n": [1, 2, 3, 4]}, index=names),
            "text": pd.DataFrame({"t": list("abcd")}, index=names),
            "zeros": sparse.csc_matrix(np.eye(4, 5)),
        },
        "layers": {"counts": np.arange(12).reshape(4, 3)},
    }
    return anndata.AnnData(**(defaults | parts))


def write(data, path, zarr_format=3):
    if path.suffix == ".h5ad":
        data.write_h5ad(path)
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # announcements about formats of the future, on writing only
            with anndata.settings.override(zarr_write_format=zarr_format):
                data.write_zarr(path)
    return path


@pytest.fixture(params=[("d.h5ad", 2), ("d.zarr", 2), ("d.zarr", 3)], ids=["h5ad", "zarr2", "zarr3"])
def written(tmp_path, request):
    name, zarr_format = request.param
    pytest.importorskip("zarr") if name.endswith("zarr") else None
    return lambda data: write(data, tmp_path / name, zarr_format)


def test_embeddings_are_the_default(written):
    data = made()
    found = files.open_file(written(data))
    assert set(found.representations) == {"obsm/X_pca", "obsm/latent", "obsm/zeros"}
    assert found.representations["obsm/X_pca"].dtype == np.float32
    np.testing.assert_array_equal(found.representations["obsm/X_pca"], data.obsm["X_pca"])
    np.testing.assert_array_equal(found.representations["obsm/latent"], [[1, 1], [2, 2], [3, 3], [4, 4]])
    np.testing.assert_array_equal(found.representations["obsm/zeros"], np.eye(4, 5))
    assert found.skipped == {
        "obsm/text": "is a table without numeric columns",
        "X": "is read only if keys= names it",
        "layers/counts": "is read only if keys= names it",
    }
    assert found.labels_available == ("type", "n")


def test_without_embeddings_x_is_the_default(written):
    read = files.read(written(made(obsm={})))
    assert list(read) == ["X"]
    assert read["X"].dtype == np.float32
    np.testing.assert_array_equal(read["X"], np.eye(4, 3))


def test_without_x_and_embeddings_the_layers_are_read(written):
    assert list(files.read(written(made(obsm={}, X=None)))) == ["layers/counts"]


def test_keys_name_elements(written):
    path = written(made())
    read = files.read(path, keys=["layers/counts", "X"])
    assert list(read) == ["layers/counts", "X"]
    np.testing.assert_array_equal(read["layers/counts"], np.arange(12).reshape(4, 3))
    with pytest.raises(ValueError, match=r"keys must be among X, layers/counts, obsm/X_pca, .*, got 'X_tsne'$"):
        files.read(path, keys=["X_tsne"])
    with pytest.raises(ValueError, match="got 'obsm/text', which cannot be used because it is a table without numeric"):
        files.read(path, keys=["obsm/text"])


def test_labels_are_columns_of_obs(written):
    path = written(made())
    assert files.read_labels(path, "type").tolist() == list("abab")
    assert files.read_labels(path, "n").tolist() == [1, 2, 3, 4]
    with pytest.raises(ValueError, match=r"column must name a column of obs in .*, one of type, n, got None"):
        files.read_labels(path)
    with pytest.raises(ValueError, match=r"column must be among type, n in .*, got 'cluster'"):
        files.read_labels(path, "cluster")


def test_missing_labels_are_kept(tmp_path):
    types = pd.Categorical(["a", None, "b", "a"])
    obs = pd.DataFrame({"type": types, "n": pd.array([True, None, False, True], dtype="boolean")}, index=list("abcd"))
    path = write(made(obs=obs, obsm={}), tmp_path / "d.h5ad")
    assert files.read_labels(path, "type").tolist() == ["a", None, "b", "a"]
    assert files.read_labels(path, "n").tolist() == [True, None, False, True]


def test_data_without_a_matrix(written):
    with pytest.raises(files.UnreadableFileError, match="must contain a 2-D array"):
        files.read(written(made(X=None, obsm={}, layers={})))


def test_a_dense_matrix_beyond_the_limit_is_refused(written, monkeypatch):
    path = written(made(X=sparse.csr_matrix((4, 3)), obsm={}))
    monkeypatch.setenv("SHESHA_MEMORY", str(4 * 3 * 8 - 1))
    with pytest.raises(ValueError, match=r"X in .* must fit the memory budget .*\(4, 3\).*obsm/X_pca in keys"):
        files.read(path)


def test_only_the_wanted_elements_are_read(tmp_path):
    path = write(made(), tmp_path / "d.h5ad")
    with h5py.File(path, "a") as file:
        del file["X/indices"], file["layers/counts"], file["uns"], file["var"]
    assert list(files.read(path, keys=["obsm/X_pca"])) == ["obsm/X_pca"]
    with pytest.raises(files.UnreadableFileError, match="cannot be read"):
        files.read(path, keys=["X"])


def test_indices_outside_a_sparse_matrix_are_refused(tmp_path):
    path = write(made(), tmp_path / "d.h5ad")
    with h5py.File(path, "a") as file:
        file["X/indices"][:] = 10**6
    with pytest.raises(files.UnreadableFileError, match=r"must be a complete .h5ad file"):
        files.read(path, keys=["X"])


def test_hdf5_that_is_not_anndata(tmp_path):
    with h5py.File(tmp_path / "d.h5ad", "w") as file:
        file["weights"] = np.eye(3)
    with pytest.raises(files.UnreadableFileError, match="must contain AnnData with obs, got only weights"):
        files.read(tmp_path / "d.h5ad")
    with pytest.raises(files.UnreadableFileError, match="cannot be read"):
        files.read_labels(tmp_path / "d.h5ad", "type")


def test_an_embedding_goes_by_its_own_name(tmp_path):
    adata = anndata.AnnData(np.eye(6), obsm={"X_pca": np.ones((6, 5))}, layers={"counts": np.zeros((6, 6))})
    adata.write_h5ad(tmp_path / "m.h5ad")
    assert list(files.read(tmp_path / "m.h5ad", keys=["X_pca", "counts"])) == ["obsm/X_pca", "layers/counts"]


@pytest.mark.parametrize(
    ("column", "apart", "named"), [("library_id", 0, True), ("library_id", 9, False), ("kind", 0, False)]
)
def test_sections_that_share_a_range_of_coordinates_are_named(tmp_path, column, apart, named):
    section = np.arange(40) % 2
    places = np.random.default_rng(0).random((40, 2)) + apart * section[:, None]
    data = anndata.AnnData(
        np.random.default_rng(1).random((40, 6)),
        pd.DataFrame({column: np.array(["a", "b"])[section]}, map(str, range(40))),
    )
    data.obsm["spatial"] = places
    path = write(data, tmp_path / "d.h5ad")
    with collect_statements() as statements:
        files.open_file(path, keys=["obsm/spatial", "X"])
    assert any("share one range of coordinates in obsm/spatial" in text for text in statements) == named


def test_an_index_that_is_no_list_is_refused(tmp_path):
    path = tmp_path / "cells.h5ad"
    anndata.AnnData(np.random.default_rng(0).standard_normal((30, 5))).write_h5ad(path)
    with h5py.File(path, "a") as file:
        attributes = dict(file["obs/_index"].attrs)
        del file["obs/_index"]
        file["obs/_index"] = "one name"
        file["obs/_index"].attrs.update({**attributes, "encoding-type": "string"})
    with pytest.raises(ValueError, match=r"obs/_index has shape \(\) instead of one name per row"):
        files.read(path)
