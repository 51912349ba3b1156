"""Columns and arrays that identify rows."""

import numpy as np
import pandas as pd
import pytest

from shesha.inputs.identity import kinds_if_transposed
from shesha.io import open_file, read_labels
from shesha.io.read import read_named_labels

RNG = np.random.default_rng(0)
X = RNG.standard_normal((6, 4))
ORDER = np.array([3, 1, 0, 5, 2, 4])
TEXT = np.array([f"t{i}" for i in ORDER])
FEATURES = {f"dim_{i}": X[:, i] for i in range(4)}


def saved(path, names, at=0):
    """Write X with one more column or array."""
    if path.suffix == ".npz":
        np.savez(path, X=X, **names)
        return path
    columns = list(FEATURES.items())
    frame = pd.DataFrame(dict([*columns[:at], *names.items(), *columns[at:]]))
    {".csv": frame.to_csv, ".parquet": frame.to_parquet}[path.suffix](path, index=False)
    return path


@pytest.mark.parametrize("ending", ["csv", "parquet", "npz"])
@pytest.mark.parametrize("name", ["id", "docId", "image_path", "URL", "names"])
@pytest.mark.parametrize("values", [ORDER, TEXT], ids=["integers", "text"])
def test_an_identifier_names_the_rows_and_is_no_feature(tmp_path, ending, name, values):
    for at in (0, 2, 4):
        found = open_file(saved(tmp_path / f"t.{ending}", {name: values}, at))
        assert found.row_names.values.tolist() == values.tolist()
        assert [matrix.shape for matrix in found.representations.values()] == [(6, 4)]


@pytest.mark.parametrize("ending", ["csv", "parquet", "npz"])
def test_fractions_identify_nothing_and_repeats_are_reported(tmp_path, ending):
    assert open_file(saved(tmp_path / f"t.{ending}", {"id": ORDER + 0.5})).row_names is None
    names = open_file(saved(tmp_path / f"r.{ending}", {"id": ORDER // 2})).row_names
    assert (names.distinct, names.fault) == (False, "0 in rows 1, 2 and 2 more repeats")


@pytest.mark.parametrize("ending", ["csv", "parquet", "npz"])
def test_ids_decides(tmp_path, ending):
    path = saved(tmp_path / f"t.{ending}", {"id": np.arange(6), "fruit": TEXT, "kind": ORDER // 2})
    found = open_file(path, ids="fruit")
    assert found.row_names.values.tolist() == TEXT.tolist()
    labels = read_named_labels(path, "kind", ids="fruit")
    assert labels.names.tolist() == TEXT.tolist()
    assert read_labels(path, "kind", ids="fruit").tolist() == (ORDER // 2).tolist()
    with pytest.raises(ValueError, match=r"ids must name distinct values, got 3 repeated values in 'kind' in .*t\."):
        open_file(path, ids="kind")
    with pytest.raises(ValueError, match=r"ids must be .* in .*t\.\w+, got 'nothing'"):
        open_file(path, ids="nothing")
    with pytest.raises(TypeError, match="ids must be a name or None, got 3"):
        open_file(path, ids=3)


def test_ids_with_missing_values_are_refused(tmp_path):
    frame = pd.DataFrame({"key": ["a", None, "c", "d"], "x": range(4), "y": range(4)})
    frame.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(ValueError, match="ids must name a value for every row, got 1 row without one in 'key'"):
        open_file(tmp_path / "t.csv", ids="key")


def test_labels_beside_identifiers_need_no_name(tmp_path):
    pd.DataFrame({"cell": TEXT, "type": list("aabbcc")}).to_csv(tmp_path / "types.csv", index=False)
    labels = read_named_labels(tmp_path / "types.csv")
    assert np.asarray(labels).tolist() == list("aabbcc")
    assert labels.names.tolist() == TEXT.tolist()


@pytest.mark.parametrize(("cells", "kinds"), [(["AAACCTGAGAAACCAT-1"] * 2, ("genes", "cells")), (["s2"] * 4, ("", ""))])
def test_genes_are_in_rows_if_most_columns_have_names_of_cells(cells, kinds):
    assert kinds_if_transposed(["Xkr4", "Rp1", "Sox17"], ["AAACCTGAGAAACCGC-1", *cells]) == kinds
