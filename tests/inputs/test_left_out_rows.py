"""Rows that are left out of large data leave a view of the rest, not a copy."""

import tracemalloc

import numpy as np
import pytest

import shesha
from shesha.views import Rows


@pytest.fixture
def mapped(tmp_path, rng):
    X = rng.standard_normal((3000, 400))
    X[[7, 2000]] = 0.0
    np.save(tmp_path / "X.npy", X)
    return np.load(tmp_path / "X.npy", mmap_mode="r")


def test_a_mapped_file_is_not_copied_for_a_row_that_is_left_out(mapped, monkeypatch):
    monkeypatch.setenv("SHESHA_MEMORY", "20M")
    rows = Rows(mapped)
    tracemalloc.start()
    kept = rows.take_rows(np.setdiff1d(np.arange(3000), [7, 2000]))
    some = kept.read(slice(5, 9))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < mapped.nbytes / 20
    expected = np.delete(mapped, [7, 2000], axis=0)
    np.testing.assert_array_equal(some, expected[5:9])
    assert kept.shape == expected.shape and not kept.is_sparse
    np.testing.assert_array_equal(np.concatenate([block for _, block in kept.blocks(10_000)]), expected)
    np.testing.assert_array_equal(kept.take_rows(np.arange(1, 2998)).read(np.array([3, 6])), expected[[4, 7]])
    np.testing.assert_array_equal(kept.take_rows(np.array([1, 1999])).read(slice(None)), expected[[1, 1999]])
    # What was converted before the choice contains all rows.
    assert len(kept.whole.rows) == len(expected)
    np.testing.assert_array_equal(kept.take_rows(np.arange(1, 2998)).whole.rows, expected[1:2998])
    np.testing.assert_array_equal(kept.take_columns(np.array([3, 1])).read(slice(None)), expected[:, [3, 1]])
    monkeypatch.setenv("SHESHA_MEMORY", "1G")
    np.testing.assert_array_equal(kept.whole.rows, expected)


def test_an_audit_is_the_same_with_a_copy_and_without(mapped, monkeypatch):
    found = []
    for budget in ("300M", "100M"):
        monkeypatch.setenv("SHESHA_MEMORY", budget)
        assert (mapped.nbytes * 16 <= shesha.support.memory.memory_budget()) == (budget == "300M")
        found.append(shesha.audit(mapped, missing="drop", n_bootstrap=0, n_permutations=19, pairs=2000)["X"])
    assert found[0].n_used == found[1].n_used == 2998
    for one, other in zip(found[0].scores.values(), found[1].scores.values(), strict=True):
        assert one.value == other.value
    assert found[0].dependence == found[1].dependence
    assert found[0].doubts == found[1].doubts


def one_column(library):
    labels = [*"abcdefghij"] * 2
    if library == "pandas":
        return pytest.importorskip("pandas").DataFrame({"kind": labels})
    frame = pytest.importorskip("polars").DataFrame({"kind": labels})
    return frame if library == "polars" else frame.to_arrow()


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_a_table_with_one_column_of_labels_is_these_labels(library):
    X, table = np.random.default_rng(0).standard_normal((20, 5)), one_column(library)
    plain = [*"abcdefghij"] * 2
    assert shesha.supervised_alignment(X, table, seed=0) == shesha.supervised_alignment(X, plain, seed=0)
    found, same = (shesha.compare(X, X[:, ::-1] + 1, "CKA", calibrate=True, groups=y, seed=0) for y in (table, plain))
    assert found["CKA"].exchanged == same["CKA"].exchanged
    found, same = (shesha.audit(X, y, n_permutations=19, n_bootstrap=10) for y in (table, plain))
    assert str(found).splitlines()[0] == str(same).splitlines()[0]


def test_a_table_with_several_columns_of_labels_is_refused():
    import pandas as pd

    table = pd.DataFrame({"kind": ["a", "b"] * 10, "side": ["l"] * 20})
    with pytest.raises(
        TypeError, match="y must be one column of labels, got a table with columns kind, side; pass one"
    ):
        shesha.supervised_alignment(np.eye(20), table)


@pytest.mark.parametrize(
    ("rows", "columns", "inputs"),
    [
        ("unit{}", "img{}", "inputs"),
        ("ENSG0000{:07d}", "donor{}_ctrl", "cells"),
        ("roi_{}", "face {}", "inputs"),
        ("img{}", "unit{}", ""),
        ("img{}", "face{}", ""),
    ],
)
def test_a_transposed_table_in_memory_is_stated(rows, columns, inputs):
    import warnings

    import pandas as pd

    table = pd.DataFrame(np.random.default_rng(0).random((12, 9)), list(map(rows.format, range(12))))
    table.columns = list(map(columns.format, range(9)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", shesha.RowNamesWarning)
        found = shesha.compare(table, table + 1, "CKA")
    stated = [text for text in found.inputs if "rows look like" in text]
    assert (f"to compare {inputs}, pass X.T" in stated[0]) if inputs else not stated
