"""Writing then reading is the identity, for whatever numbers the format can hold."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from shesha import io as files

FAST = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
NUMBERS = st.sampled_from(["f2", "f4", "f8", "i1", "i4", "i8", "u1", "u8", "?"]).map(np.dtype)
MATRICES = arrays.arrays(NUMBERS, arrays.array_shapes(min_dims=2, max_dims=2, max_side=5))
COUNTER = itertools.count()


def same(path, name, expected):
    found = files.read(path)[name]
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


@FAST
@given(matrix=MATRICES, order=st.sampled_from("CF"))
def test_npy(tmp_path, matrix, order):
    path = tmp_path / f"m{next(COUNTER)}.npy"
    np.save(path, np.asarray(matrix, order=order))
    same(path, path.stem, matrix)


@FAST
@given(matrix=MATRICES, save=st.sampled_from([np.savez, np.savez_compressed]))
def test_npz(tmp_path, matrix, save):
    path = tmp_path / f"m{next(COUNTER)}.npz"
    save(path, a=matrix)
    same(path, "a", matrix)


@FAST
@given(matrix=MATRICES)
def test_safetensors(tmp_path, matrix):
    path = tmp_path / f"m{next(COUNTER)}.safetensors"
    pytest.importorskip("safetensors.numpy").save_file({"a": matrix}, path)
    same(path, "a", matrix)


@FAST
@given(matrix=MATRICES)
def test_parquet(tmp_path, matrix):
    pytest.importorskip("pyarrow")
    path = tmp_path / f"m{next(COUNTER)}.parquet"
    pd.DataFrame(matrix, columns=[f"f{column}" for column in range(matrix.shape[1])]).to_parquet(path)
    same(path, path.stem, matrix)


@FAST
@given(matrix=arrays.arrays(np.float64, arrays.array_shapes(min_dims=2, max_dims=2, max_side=5)))
def test_csv(tmp_path, matrix):
    path = tmp_path / f"m{next(COUNTER)}.csv"
    pd.DataFrame(matrix, columns=[f"f{column}" for column in range(matrix.shape[1])]).to_csv(path)
    np.testing.assert_array_equal(files.read(path)[path.stem], matrix)
