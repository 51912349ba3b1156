"""Tables and arrays of other libraries, wherever a representation goes."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import shesha
from shesha import bio, drift, sim
from shesha.inputs import split_names
from shesha.io import NamedRows, from_anndata
from shesha.support import provenance
from shesha_studies import transferability as transfer

RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((30, 6)), RNG.standard_normal((30, 5))
CLASSES = np.repeat([0, 1, 2], 10)
GENES = list("abcdef")


def frame() -> pd.DataFrame:
    return pd.DataFrame(X, columns=GENES)


def of_pandas_lists():
    return pd.DataFrame({"text": ["t"] * 30, "embedding": list(X)})


def of_polars():
    return pytest.importorskip("polars").DataFrame(X, schema=GENES)


def of_polars_lists():
    return pytest.importorskip("polars").DataFrame({"text": ["t"] * 30, "embedding": X.tolist()})


def of_polars_arrays():
    polars = pytest.importorskip("polars")
    return polars.DataFrame({"embedding": polars.Series(X, dtype=polars.Array(polars.Float64, 6))})


def of_arrow():
    return pytest.importorskip("pyarrow").table(dict(zip(GENES, X.T, strict=True)))


def of_arrow_lists():
    return pytest.importorskip("pyarrow").table({"embedding": list(X)})["embedding"]


def of_xarray():
    return pytest.importorskip("xarray").DataArray(X, dims=("cell", "gene"))


def of_anndata():
    return pytest.importorskip("anndata").AnnData(X)


def of_sparse_anndata():
    return pytest.importorskip("anndata").AnnData(sparse.csr_matrix(X))


KINDS = {
    "pandas": frame,
    "nullable": lambda: frame().convert_dtypes(),
    "pandas lists": of_pandas_lists,
    "series of lists": lambda: of_pandas_lists()["embedding"],
    "polars": of_polars,
    "polars lists": of_polars_lists,
    "polars arrays": of_polars_arrays,
    "arrow": of_arrow,
    "arrow lists": of_arrow_lists,
    "xarray": of_xarray,
    "anndata": of_anndata,
    "sparse anndata": of_sparse_anndata,
    "sparse": lambda: sparse.csr_array(X),
    "named": lambda: NamedRows(X, [f"cell {row}" for row in range(30)]),
}


def numbers(given):
    """What the library says of a representation, by every way in."""
    return [
        sim.cka(given, Y),
        shesha.feature_split(given, seed=0),
        shesha.estimate(given, n_bootstrap=5, n_splits=2, seed=0).value,
        shesha.estimate(given, n_permutations=19, n_splits=2, seed=0, n_bootstrap=0).p_value,
        shesha.compare(given, Y, "RSA")["RSA"].value,
        shesha.compare_all({"a": given, "b": Y}, "CKA").matrix("CKA").loc["a", "b"],
        shesha.calibrate(given, Y, n_permutations=19, seed=0),
        shesha.variance_ratio(given, CLASSES),
        transfer.h_score(given, CLASSES),
    ]


@pytest.fixture(scope="module")
def expected():
    return numbers(X)


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_gives_what_its_matrix_gives(kind, expected):
    assert numbers(KINDS[kind]()) == expected


def test_a_table_is_audited_as_its_matrix():
    found = [shesha.audit(one, n_bootstrap=0, n_permutations=19) for one in (KINDS["anndata"](), frame(), X)]
    assert str(found[0]) == str(found[1]) == str(found[2])


def test_text_and_dates_are_left_out_in_every_library_and_stated():
    polars = pytest.importorskip("polars")
    dates = pd.date_range("2026-01-01", periods=30)
    tables = {
        "text": frame().assign(gene="g"),
        "dates": frame().assign(day=dates),
        "polars": of_polars().with_columns(gene=polars.lit("g")),
        "arrow": of_arrow().append_column("gene", [["g"] * 30]),
    }
    for table in tables.values():
        with provenance.collect_statements() as said:
            np.testing.assert_array_equal(split_names(table, "before")[0], X)
        assert list(said) in [
            [f"before: 6 columns of numbers (a, b, c, d, e, f), 30 x 6 (left out: {name})"] for name in ("gene", "day")
        ]
    with pytest.raises(TypeError, match=r"X must be a collected table, got a LazyFrame; pass X\.collect\(\)"):
        sim.cka(of_polars().lazy(), Y)
    with pytest.raises(TypeError, match=r"X must contain columns of numbers or one column of vectors, got gene \("):
        sim.cka(pd.DataFrame({"gene": ["g"] * 30}), Y)


def test_lists_must_be_one_matrix():
    lists = of_pandas_lists()
    with pytest.raises(ValueError, match=r"lists of one length, got shape \(6,\) in row 0 and \(5,\) in row 3"):
        split_names(pd.DataFrame({"e": [*X[:3], X[3, :5]]}))
    values, _ = split_names(pd.DataFrame({"e": [X[0], None]}))
    np.testing.assert_array_equal(values, [X[0], [np.nan] * 6])
    with provenance.collect_statements() as said:
        assert sim.cka(lists.assign(id=range(30)), Y) == sim.cka(X, Y)
    assert list(said) == [
        "X: column embedding, 30 x 6 (rows numbered by id; left out: text)",
        "rows paired by position: only X has ids",
    ]
    with pytest.raises(TypeError, match="X must be one matrix, got vectors in columns 'embedding', 'other'"):
        sim.cka(lists.assign(other=lists["embedding"]), Y)


def test_missing_values_are_said_where_they_stand():
    polars = pytest.importorskip("polars")
    with pytest.raises(ValueError, match="X must be finite, got NaN or infinity in rows 1"):
        sim.cka(polars.DataFrame({"a": [1, None, 3, 4], "b": [True, None, False, True]}), Y[:4])
    values, _ = split_names(polars.DataFrame({"a": [1, None], "b": [True, None]}))
    np.testing.assert_array_equal(values, [[1, 1], [np.nan, np.nan]])


def test_parts_of_anndata_are_chosen_by_name():
    anndata = pytest.importorskip("anndata")
    adata = anndata.AnnData(X, obsm={"X_pca": Y}, layers={"counts": sparse.csr_matrix(2 * X)})
    assert sim.cka(from_anndata(adata, obsm="obsm/X_pca"), X) == sim.cka(Y, X)
    assert sim.cka(from_anndata(adata, layer="counts"), Y) == sim.cka(2 * X, Y)
    with pytest.raises(ValueError, match="layer must be among counts, got 'raw'"):
        from_anndata(adata, layer="raw")
    with pytest.raises(ValueError, match="obsm or layer must be None, got 'X_pca' and 'counts'"):
        from_anndata(adata, obsm="X_pca", layer="counts")
    with pytest.raises(TypeError, match="adata must be AnnData, got ndarray"):
        from_anndata(X)
    empty = anndata.AnnData(obs=pd.DataFrame(index=[str(row) for row in range(30)]), obsm={"X_pca": Y})
    with pytest.raises(
        TypeError, match=r"X must be an AnnData object with a data matrix X, got no X; pass shesha\.io\.from_ann"
    ):
        sim.cka(empty, Y)


def test_a_dataset_is_no_array():
    xarray = pytest.importorskip("xarray")
    with pytest.raises(TypeError, match="X must be one array, got a Dataset of a, b; pass one variable"):
        sim.cka(xarray.Dataset({"a": of_xarray(), "b": of_xarray()}), Y)


def test_what_is_sparse_becomes_dense_within_the_memory_budget(monkeypatch):
    monkeypatch.setenv("SHESHA_MEMORY", "1k")
    with pytest.raises(ValueError, match="X, a csr_array that must become dense must fit the memory budget of 1 KiB"):
        sim.cka(sparse.csr_array(X), Y)


TWO_SIDES = {
    "two samples": lambda X, Y: drift.two_sample(X, Y, n_permutations=19).value,
    "stream": lambda X, Y: drift.conformal_stream(X, Y).state,
    "coherence of a group": lambda X, Y: shesha.coherence.coherence(Y, X, n_draws=19).value,
    "coherence of cells": bio.perturbation_coherence,
    "effect size": bio.perturbation_effect_size,
}


@pytest.mark.filterwarnings("ignore:as many cells drawn:shesha.CalibrationWarning")
@pytest.mark.parametrize("name", TWO_SIDES)
def test_features_of_two_sides_are_matched_by_name(name):
    rng = np.random.default_rng(3)
    X, Y = (
        pd.DataFrame(rng.standard_normal((40, 5)) + np.arange(5), columns=["CD4", "GATA1", "IL2", "ACTB", "JAK2"])
        for _ in range(2)
    )
    value = TWO_SIDES[name]
    assert value(X, Y[Y.columns[::-1]]) == pytest.approx(value(X, Y))
    assert value(X.to_numpy(), Y[Y.columns[::-1]]) == value(X.to_numpy(), Y.to_numpy()[:, ::-1])
    with pytest.raises(ValueError, match=r"got 4 shared names of \d and \d \(only one contains JAK2\)"):
        value(X, Y.drop(columns="JAK2"))


NAMED = [f"img/{i}.jpg" for i in range(30)]
STRUCTURED = np.zeros(30, dtype=[("path", "U12"), ("vec", "f8", (6,))])
STRUCTURED["path"], STRUCTURED["vec"] = NAMED, X
OBJECTS = {
    "records": [
        {"path": name, "n_tokens": i, "embedding": row.tolist()}
        for i, (name, row) in enumerate(zip(NAMED, X, strict=True))
    ],
    "named vectors": list(zip(NAMED, X, strict=True)),
    "structured array": STRUCTURED,
}


@pytest.mark.parametrize("kind", OBJECTS)
def test_rows_of_records_are_named(kind):
    values, names = split_names(OBJECTS[kind])
    np.testing.assert_allclose(values, X)
    assert list(names.values) == NAMED


def test_an_array_of_lists_is_a_matrix():
    rows = np.empty(30, dtype=object)
    rows[:] = list(X)
    np.testing.assert_allclose(split_names(rows)[0], X)


def test_a_dataset_of_hugging_face_is_a_table():
    datasets = pytest.importorskip("datasets")
    values, names = split_names(datasets.Dataset.from_dict({"id": NAMED, "embedding": X.tolist()}))
    np.testing.assert_allclose(values, X, rtol=1e-6)
    assert list(names.values) == NAMED


@pytest.mark.parametrize(
    ("arrays", "advice"),
    [
        ({"a": X[0], "b": X[1]}, r"NamedRows\(numpy.stack\(list\(X.values\(\)\)\), list\(X\)\)"),
        ({"last_hidden_state": X, "pooler_output": Y}, "pass one of them, with one row per input"),
    ],
)
def test_a_mapping_is_no_matrix(arrays, advice):
    with pytest.raises(TypeError, match=f"X must be one matrix, got a dict of {', '.join(arrays)}; .*{advice}"):
        sim.cka(arrays, Y)


def neighbours(X, k):
    return np.argsort(np.linalg.norm(X[:, None] - X[None], axis=2), axis=1)[:, :k]


def test_lists_of_neighbours_are_no_vectors():
    with pytest.raises(ValueError, match="X must contain vectors, got lists of 5 different row numbers"):
        sim.cka(neighbours(X, 5), Y)
    assert np.isfinite(sim.cka(RNG.integers(0, 30, (30, 5)), Y))


@pytest.mark.parametrize(("sign", "kind"), [(1, "similarities"), (0, "")])
def test_a_matrix_of_similarities_is_doubted(sign, kind):
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    square = unit @ unit.T + (0 if sign else np.diag(np.arange(30)))
    with provenance.collect_statements() as stated, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        shesha.compare(square, X, "CKA", calibrate=False)
    assert any("looks like a matrix of similarities" in text for text in stated) == bool(kind)


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ([f"dim_{i}" for i in range(9)], [f"dim_{i + 1}" for i in range(9)], "start at 0 on one side and at 1"),
        (["CD3D", "GNLY", "MS4A1", "NKG7"], [f"ENSG{i:011d}" for i in range(4)], "Ensembl ids and the other symbols"),
        (["CD3D", "GNLY", "MS4A1", "NKG7"], ["CD3D", "GNLY", "MS4A1", "CD8A"], "keep the shared features"),
    ],
)
def test_why_features_have_other_names_is_said(first, second, said):
    rng = np.random.default_rng(0)
    X, Y = (pd.DataFrame(rng.standard_normal((30, len(names))), columns=names) for names in (first, second))
    with pytest.raises(ValueError, match=said):
        drift.two_sample(X, Y, n_permutations=19)


@pytest.mark.parametrize("call", [lambda path: shesha.compare(path, path), shesha.estimate, shesha.feature_split])
def test_the_path_of_a_file_is_no_matrix(tmp_path, call):
    np.save(tmp_path / "a.npy", np.ones((5, 3)))
    with pytest.raises(TypeError, match=r"must be an array or a table, got '.*a.npy'; .* shesha.io.read\("):
        call(tmp_path / "a.npy")
