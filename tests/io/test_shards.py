"""The files of a directory are consecutive rows of one matrix."""

import numpy as np
import pytest

from shesha.io import open_matrix
from shesha.io.file_checks import UnreadableFileError


@pytest.fixture
def rows():
    return np.random.default_rng(0).standard_normal((120, 5)).astype(np.float32)


def write(folder, pieces):
    folder.mkdir()
    for name, piece in pieces.items():
        np.save(folder / name, piece)
    return folder


def test_files_follow_each_other_in_the_order_of_their_numbers(tmp_path, rows):
    pieces = {f"part-{i}.npy": rows[10 * i : 10 * i + 10] for i in range(12)}
    found = open_matrix(write(tmp_path / "a", pieces))
    (tmp_path / "a" / "README.txt").write_text("what these are")
    assert found.shape == (120, 5)
    assert found.dtype == np.float32
    assert [file.name for file in found.files][9:11] == ["part-9.npy", "part-10.npy"]
    for first, last in ((0, 120), (0, 0), (3, 7), (8, 31), (119, 500), (10, 20)):
        assert np.array_equal(found[first:last], rows[first:last])
    assert isinstance(found[12:18], np.memmap)


def test_empty_and_unequal_files(tmp_path, rows):
    found = open_matrix(write(tmp_path / "a", {"0.npy": rows[:0], "1.npy": rows[:7], "2.npy": rows[7:9].astype(float)}))
    assert found.shape == (9, 5)
    assert found.dtype == np.float64
    assert np.array_equal(found[0:9], rows[:9])


def test_row_groups_of_parquet_files(tmp_path, rows):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    (tmp_path / "a").mkdir()
    for i in range(3):
        frame = pd.DataFrame(rows[40 * i : 40 * i + 40], columns=list("abcde"))
        frame.to_parquet(tmp_path / "a" / f"part-{i}.parquet", row_group_size=15)
    found = open_matrix(tmp_path / "a")
    assert np.array_equal(found[30:95], rows[30:95])


def test_directories_that_are_no_matrix_are_refused(tmp_path, rows):
    for name, pieces, message in (
        ("none", {}, r"must contain .npy or .parquet files with consecutive rows, got none"),
        (
            "wide",
            {"0.npy": rows, "1.npy": rows[:, :4]},
            r"1.npy must contain 5 features, as 0.npy has, got shape \(120, 4\)",
        ),
        ("flat", {"0.npy": rows[0]}, r"0.npy must contain a matrix, got shape \(5,\)"),
    ):
        with pytest.raises(UnreadableFileError, match=message):
            open_matrix(write(tmp_path / name, pieces))
    (write(tmp_path / "both", {"0.npy": rows}) / "1.parquet").touch()
    with pytest.raises(
        UnreadableFileError, match=r"must contain files of one kind, .npy or .parquet, got both: 0.npy, 1"
    ):
        open_matrix(tmp_path / "both")
