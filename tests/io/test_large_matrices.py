"""Matrices that are read in stretches have the rows of the whole file, wherever a stretch begins and ends."""

import contextlib

import numpy as np
import pytest
from hypothesis import given, strategies as st

from shesha.io import UnreadableFileError
from shesha.io.array_selection import _is_distances
from shesha.io.large_matrices import copy_large_files, open_matrix

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
zarr = pytest.importorskip("zarr")
ROWS = np.random.default_rng(0).standard_normal((23, 3))


def store(path, arrays):
    root = zarr.open_group(str(path), mode="w")
    for name, rows in arrays.items():
        root.create_array(name, data=rows, chunks=(5, *rows.shape[1:]))
    return path


def as_lists(rows):
    return pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), rows.shape[1])


@pytest.fixture(params=["npy", "zarr", "lists", "columns"])
def path(request, tmp_path):
    """Write the same rows in each form; tables are written in groups of five rows."""
    if request.param == "npy":
        np.save(tmp_path / "rows.npy", ROWS)
        return tmp_path / "rows.npy"
    if request.param == "zarr":
        return store(tmp_path / "rows.zarr", {"rows": ROWS, "labels": np.arange(23)})
    names = {"rows": as_lists(ROWS)} if request.param == "lists" else dict(zip("abc", ROWS.T.copy(), strict=True))
    pq.write_table(pa.table(names | {"word": ["x"] * 23}), tmp_path / "rows.parquet", row_group_size=5)
    return tmp_path / "rows.parquet"


def test_every_stretch_has_its_rows(path):
    found = open_matrix(path)
    assert (found.shape, found.dtype) == (ROWS.shape, ROWS.dtype)
    for start, stop in [(0, 23), (0, 5), (4, 6), (5, 10), (3, 17), (22, 23), (7, 7), (20, 40), (10, 5), (0, 1)]:
        assert np.array_equal(found[start:stop], ROWS[start:stop]), (start, stop)


@pytest.mark.parametrize("n_bytes", [1, 200, 1 << 20])
def test_pieces_cover_every_value_once(path, n_bytes):
    if path.suffix == ".npy":
        pytest.skip("rows of .npy files are mapped")
    found, times = np.full(ROWS.shape, np.nan), np.zeros(ROWS.shape, dtype=int)
    for rows, columns, values in open_matrix(path).pieces(n_bytes):
        found[rows, columns] = values
        times[rows, columns] += 1
    assert np.array_equal(found, ROWS)
    assert (times == 1).all()


def test_integers_with_missing_values_further_down_are_copied_as_floats(tmp_path, monkeypatch):
    monkeypatch.setenv("SHESHA_MEMORY", "1k")
    columns = {"a": [*range(60), None], "b": list(range(7, 68))}
    pq.write_table(pa.table(columns), tmp_path / "rows.parquet", row_group_size=20)
    with contextlib.ExitStack() as stack:
        (copy,) = copy_large_files(stack.enter_context, [tmp_path / "rows.parquet"], print)
        rows = np.load(copy)
    assert rows.dtype == np.float64
    assert np.array_equal(rows[:-1, 0], np.arange(60))
    assert np.isnan(rows[-1, 0])
    assert np.array_equal(rows[:, 1], np.arange(7, 68))


def test_several_matrices_are_told_apart_by_their_key(tmp_path):
    other = ROWS[:, :2] + 1
    places = [store(tmp_path / "two.zarr", {"first": ROWS, "second": other}), tmp_path / "two.parquet"]
    pq.write_table(pa.table({"first": as_lists(ROWS), "second": as_lists(other)}), places[1])
    for place in places:
        assert np.array_equal(open_matrix(place, "first")[0:23], ROWS)
        assert np.array_equal(open_matrix(place, "second")[2:9], other[2:9])
        with pytest.raises(ValueError, match=r"key must .*first"):
            open_matrix(place)
        with pytest.raises(ValueError, match=r"key must be one of .*first.* got 'third'"):
            open_matrix(place, "third")


def test_what_holds_no_matrix_of_numbers_is_refused(tmp_path):
    for values in (np.arange(5.0), np.zeros((4, 2, 2)), np.array([["a", "b"]] * 5), np.ones((4, 2), dtype=complex)):
        np.save(tmp_path / "other.npy", values)
        with pytest.raises((UnreadableFileError, ValueError), match="must contain a matrix of real numbers"):
            open_matrix(tmp_path / "other.npy")
    for dtype in ("f4", "i8", "u1", "?"):
        np.save(tmp_path / "rows.npy", np.ones((4, 2), dtype=dtype))
        assert open_matrix(tmp_path / "rows.npy").shape == (4, 2)
    pq.write_table(pa.table({"word": ["x", "y"]}), tmp_path / "words.parquet")
    with pytest.raises(UnreadableFileError, match="must contain rows of numbers, got none"):
        open_matrix(tmp_path / "words.parquet")
    (tmp_path / "rows.csv").write_text("a\n1\n")
    with pytest.raises(ValueError, match=r"path must end in one of .npy, .zarr, .parquet .* got .*rows.csv"):
        open_matrix(tmp_path / "rows.csv")


@given(st.integers(0, 300))
def test_a_condensed_triangle_has_as_many_entries_as_there_are_pairs(n):
    assert _is_distances((n,)) == (n in {k * (k - 1) // 2 for k in range(2, 30)})


def test_stacks_of_square_matrices_could_be_distances():
    assert _is_distances((2, 5, 5)) and _is_distances((5, 5, 2))
    for shape in ((5, 5), (5, 2, 5), (1, 5, 5, 5), ()):
        assert not _is_distances(shape)
