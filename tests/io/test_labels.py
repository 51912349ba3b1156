"""Labels: from every kind of file, by name or because there is only one candidate."""

import numpy as np
import pandas as pd
import pytest

from shesha import io as files


def test_npy(tmp_path):
    np.save(tmp_path / "y.npy", np.array(["a", "b"]))
    assert files.read_labels(tmp_path / "y.npy").tolist() == ["a", "b"]
    np.save(tmp_path / "y.npy", np.eye(2))
    with pytest.raises(
        files.UnreadableFileError, match=r"must contain labels as a 1-D array, got y \(which has shape \(2, 2\)"
    ):
        files.read_labels(tmp_path / "y.npy")


def test_npz(tmp_path):
    path = tmp_path / "m.npz"
    np.savez(path, X=np.eye(3), group=np.array([1, 0, 1]))
    assert files.read_labels(path).tolist() == [1, 0, 1]
    np.savez(path, X=2 * np.eye(3), group=np.array([1, 0, 1]), sides=np.array(list("abc")))
    assert files.read_labels(path, "sides").tolist() == list("abc")
    with pytest.raises(ValueError, match=r"column must be given for .*m.npz, one of group, sides, got None"):
        files.read_labels(path)
    with pytest.raises(
        ValueError, match=r"column must be among the 1-D arrays of .*, got 'X', which has shape \(3, 3\)"
    ):
        files.read_labels(path, "X")
    with pytest.raises(ValueError, match=r"column must be among group, sides .*, got 'y'"):
        files.read_labels(path, "y")
    np.savez(path, Label=np.array([1, 2, 3]), sides=np.array(list("abc")))
    assert files.read_labels(path).tolist() == [1, 2, 3]
    np.savez(path, Label=np.array([1, 2, 3]), y=np.array(list("abc")))
    with pytest.raises(ValueError, match="column must be given"):
        files.read_labels(path)


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet"])
def test_tables(tmp_path, ending):
    path = tmp_path / f"rows.{ending}"
    frame = pd.DataFrame({"word": ["a", "b", None], "Class": [1, 0, 1]})
    if ending == "parquet":
        pytest.importorskip("pyarrow")
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False, sep="\t" if ending == "tsv" else ",")
    assert files.read_labels(path).tolist() == [1, 0, 1]
    words = files.read_labels(path, "word")
    assert words.dtype == object
    assert words.tolist() == ["a", "b", None]
    with pytest.raises(ValueError, match=r"column must be among word, Class .*, got 'nothing'"):
        files.read_labels(path, "nothing")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_an_unnamed_index_is_no_candidate(tmp_path, ending):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"treatment": list("aba")}, index=[4, 2, 9])
    path = tmp_path / f"rows.{ending}"
    frame.to_csv(path) if ending == "csv" else frame.to_parquet(path)
    assert files.read_labels(path).tolist() == list("aba")


def test_lines_of_text(tmp_path):
    path = tmp_path / "y.txt"
    path.write_bytes("\ufeffcat\r\n dog \r\nBär\r\n\r\n".encode())
    assert files.read_labels(path).tolist() == ["cat", "dog", "Bär"]
    path.write_text("1\n\n2\n")
    assert files.read_labels(path).tolist() == ["1", None, "2"]
    with pytest.raises(ValueError, match=r"column must be None for .*y.txt, which has one label per line, got 'label'"):
        files.read_labels(path, "label")
    path.write_text("\n\n")
    with pytest.raises(files.UnreadableFileError, match="must contain one label per line, got only empty lines"):
        files.read_labels(path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(files.UnreadableFileError, match=r"must be text in UTF-8, got UTF-16 in line 1 of"):
        files.read_labels(path)


def test_the_heading_of_a_list_of_labels_is_no_label(tmp_path):
    (tmp_path / "y.txt").write_text("condition\n" + "a\nb\n" * 3)
    assert files.read_labels(tmp_path / "y.txt").tolist() == ["a", "b"] * 3


def test_labels_of_a_table_in_a_text_file(tmp_path):
    (tmp_path / "t.txt").write_text("name,kind\n" + "".join(f"n{row},k{row % 2}\n" for row in range(6)))
    assert files.read_labels(tmp_path / "t.txt", "kind").tolist() == ["k0", "k1"] * 3
