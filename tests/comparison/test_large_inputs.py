"""Arrays of files and clusters: rows are read some at a time, and the answers are those of arrays in memory."""

import numpy as np
import pytest

from shesha import compare
from shesha.views.representation import RowSource, is_stored

zarr = pytest.importorskip("zarr")
NAMES = ["mutual kNN(metric=cosine)", "cycle kNN(k=3)", "2nd-Cos", "Jaccard(metric=euclidean)", "RSA", "DistCorr"]


def related(n=900):
    rng = np.random.default_rng(3)
    latent = rng.standard_normal((n, 5)).astype(np.float32)
    return tuple(latent @ rng.standard_normal((5, d)).astype(np.float32) for d in (12, 9))


class Slices:
    """The least that a stored matrix must have."""

    def __init__(self, array):
        self._array, self.shape, self.dtype, self.read = array, array.shape, array.dtype, 0

    def __getitem__(self, rows):
        assert isinstance(rows, slice)
        self.read += 1
        return self._array[rows]


def stored(kind, array, folder):
    if kind == "slices":
        return Slices(array)
    if kind == "dask":
        return pytest.importorskip("dask.array").from_array(array, chunks=(170, array.shape[1]))
    if kind == "zarr":
        out = zarr.create_array(folder / "x.zarr", shape=array.shape, chunks=(100, 4), dtype=array.dtype)
        out[:] = array
        return out
    np.save(folder / "x.npy", array)
    return np.load(folder / "x.npy", mmap_mode="r")


@pytest.mark.parametrize("kind", ["slices", "dask", "zarr", "mapped"])
def test_stored_rows_give_the_scores_of_rows_in_memory(kind, tmp_path, monkeypatch):
    X, Y = related()
    expected = compare(X, Y, NAMES, queries=120, pairs=2000)
    folders = tmp_path / "a", tmp_path / "b"
    for folder in folders:
        folder.mkdir()
    if kind == "mapped":
        monkeypatch.setenv("SHESHA_MEMORY", "130K")
    sides = [stored(kind, side, folder) for side, folder in zip((X, Y), folders, strict=True)]
    assert is_stored(sides[0]) == (kind != "mapped")
    found = compare(*sides, NAMES, queries=120, pairs=2000)
    for name in NAMES:
        assert abs(found[name].value - expected[name].value) < 1e-12, name
        assert found[name].notes == expected[name].notes


def test_sums_answer_what_they_can_and_a_sample_the_rest():
    X, Y = related()
    found = compare(Slices(X), Slices(Y), ["CKA", "Jaccard", "CKNNA"], calibrate=True)
    assert abs(found["CKA"].value - compare(X, Y, "CKA")["CKA"].value) < 1e-12
    assert found["CKA"].p_value < 0.01 and found["CKA"].sampling_error is None
    assert (
        found["Jaccard"].has_value
        and "no chance level, because the value is estimated from a sample" in found["Jaccard"].notes[-1]
    )
    assert "cannot be estimated from sampled rows or pairs, and the rows do not fit in memory" in found["CKNNA"].reason
    assert found.shapes == (X.shape, Y.shape)


def test_what_needs_all_rows_at_once_is_refused():
    X, Y = map(Slices, related())
    for options in ({"folds": 3}, {"groups": [0] * 900}, {"shift": True}):
        name = next(iter(options))
        with pytest.raises(ValueError, match=f"rows of a stored array must be left out with {name}, got both"):
            compare(X, Y, "Jaccard", **options)


def test_every_block_is_read_once_for_the_search_and_once_for_candidates(monkeypatch):
    monkeypatch.setattr("shesha.views.representation._ENTRIES", 1200)
    X, Y = map(Slices, related())
    compare(X, Y, "Jaccard", queries=50)
    # The queries, all blocks, the candidates.
    assert X.read <= 3 * 9


def test_what_is_no_matrix_of_numbers_is_refused():
    with pytest.raises(ValueError, match="X must be 2-D"):
        RowSource(Slices(np.zeros((4, 3, 2))))
    with pytest.raises(TypeError, match="X must be a matrix of real numbers, got an array of dtype complex128"):
        RowSource(Slices(np.zeros((4, 3), dtype=complex)))
    with pytest.raises(ValueError, match="X must have at least 4 rows, got 0"):
        RowSource(Slices(np.zeros((0, 3))))


def test_many_row_numbers_are_drawn_without_shuffling_all(monkeypatch):
    X, Y = related()
    monkeypatch.setattr("shesha.comparison.sampled_scores._IN_MEMORY", 10)
    (few,) = compare(X, Y, "Jaccard", queries=300)
    (every,) = compare(X, Y, "Jaccard", queries=900)
    assert few.sampling_error > 0 and every.sampling_error == 0
    assert abs(every.value - compare(X, Y, "Jaccard")["Jaccard"].value) < 1e-13
    assert abs(few.value - every.value) < 5 * few.sampling_error
