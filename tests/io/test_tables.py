"""Tables: numeric columns form one matrix; indices, labels and text stay out of it."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from shesha import io as files
from shesha.io.file_checks import UnreadableFileError

pytest.importorskip("pyarrow")


def write(frame, path, **options):
    {".csv": frame.to_csv, ".parquet": frame.to_parquet}[path.suffix](path, **options)
    return path


@pytest.fixture(params=["t.csv", "t.parquet"])
def table(tmp_path, request):
    frame = pd.DataFrame(
        {
            "word": ["a", "b", "c", "d"],
            "x": [1, 2, 3, 4],
            "gap": [0.5, np.nan, 1.5, np.inf],
            "flag": [True, False, True, True],
            "label": [0, 1, 0, 1],
        }
    )
    return write(frame, tmp_path / request.param, index=False)


def test_numeric_columns_form_one_matrix(table):
    found = files.open_file(table)
    expected = [[1, 0.5, 1], [2, np.nan, 0], [3, 1.5, 1], [4, np.inf, 1]]
    np.testing.assert_array_equal(found.representations["t"], expected)
    assert found.representations["t"].dtype == np.float64
    assert set(found.skipped) == {"word", "label"}
    assert found.skipped["word"] == "identifies the rows"
    assert found.skipped["label"] == "is named like a label column; name it in keys= to use it as a feature"
    assert found.labels_available == ("word", "label")


def test_keys_are_columns(table):
    found = files.open_file(table, keys=["label", "x"])
    np.testing.assert_array_equal(found.representations["t"], [[0, 1], [1, 2], [0, 3], [1, 4]])
    assert found.representations["t"].dtype == np.int64
    with pytest.raises(ValueError, match=r"keys must be among x, gap, flag, label in .*, got 'y'$"):
        files.read(table, keys=["x", "y"])
    with pytest.raises(ValueError, match=r"got 'word', which cannot be used because it contains .*, not numbers"):
        files.read(table, keys=["word"])


def test_a_table_of_labels_is_not_a_representation(tmp_path):
    (tmp_path / "t.csv").write_text("sentence,label\ngood,1\nbad,0\n")
    with pytest.raises(
        files.UnreadableFileError,
        match=r"got sentence \(identifies the rows.*label \(is named like a label column; name",
    ):
        files.read(tmp_path / "t.csv")
    assert files.read(tmp_path / "t.csv", keys=["label"])["t"].shape == (2, 1)


@pytest.mark.parametrize("index", [range(4), [7, 3, 9, 1]])
def test_an_unnamed_index_in_csv_is_dropped(tmp_path, index):
    path = write(pd.DataFrame({"a": [1, 2, 3, 4.0]}, index=index), tmp_path / "t.csv")
    found = files.open_file(path)
    np.testing.assert_array_equal(found.representations["t"], [[1], [2], [3], [4]])
    assert found.skipped == {"Unnamed: 0": "has no name and contains row numbers"}


def test_the_index_of_a_parquet_table_is_no_feature(tmp_path):
    frame = pd.DataFrame({"a": [1.0, 2, 3, 4]}, index=pd.Index([4, 3, 2, 1], name="cell"))
    found = files.open_file(write(frame, tmp_path / "t.parquet"))
    assert found.representations["t"].shape == (4, 1)
    assert found.skipped == {"cell": "is the index of the table"}
    assert found.labels_available == ("cell",)


def test_values_that_parquet_gives_as_objects(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet

    columns = {
        "flag": pa.array([True, None, False]),
        "dose": pa.array([1, None, 3]),
        "price": pa.array([Decimal("1.5"), None, Decimal("2")]),
        "nothing": pa.nulls(3),
        "half": pa.array(np.array([1, 2, 3], dtype=np.float16)),
        "words": pa.array([["a"], ["b"], ["c"]]),
        "late": pa.array([2**60, 0, 0], type=pa.timestamp("ms")),
    }
    pyarrow.parquet.write_table(pa.table(columns), tmp_path / "t.parquet")
    found = files.open_file(tmp_path / "t.parquet")
    nan = np.nan
    expected = [[1, 1, 1.5, nan, 1], [nan, nan, nan, nan, 2], [0, 3, 2, nan, 3]]
    np.testing.assert_array_equal(found.representations["t"], expected)
    assert found.skipped == {
        "words": "contains list<element: string> values, not numbers",
        "late": "contains timestamp[ms] values, not numbers",
    }


def test_a_folder_named_like_a_partition_adds_no_column(tmp_path):
    (tmp_path / "label=3").mkdir()
    path = write(pd.DataFrame({"a": [1.0, 2]}), tmp_path / "label=3" / "t.parquet")
    assert files.read(path)["t"].shape == (2, 1)


def test_repeated_column_names_in_parquet_are_refused(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet

    doubled = pa.Table.from_arrays([pa.array([1.0]), pa.array([2.0])], names=["a", "a"])
    pyarrow.parquet.write_table(doubled, tmp_path / "t.parquet")
    with pytest.raises(files.UnreadableFileError, match="must have distinct column names"):
        files.read(tmp_path / "t.parquet")


def test_numbers_without_column_names_lose_no_row(tmp_path):
    values = np.random.default_rng(0).normal(size=(4, 3))
    np.savetxt(tmp_path / "t.csv", values, delimiter=",")
    found = files.open_file(tmp_path / "t.csv")
    np.testing.assert_array_equal(found.representations["t"], values)
    missing = {"(column names)": "are missing, because the first line contains numbers and was read as a row"}
    assert found.skipped == missing
    # PostgreSQL copies tables without names, and writes arrays in braces.
    lines = [f'{i},"{{{",".join(map(repr, row.tolist()))}}}"' for i, row in enumerate(values)]
    (tmp_path / "copied.csv").write_text("\n".join(lines) + "\n")
    np.testing.assert_array_equal(files.read(tmp_path / "copied.csv")["1"], values)


@pytest.mark.parametrize("first", ["0,1,2", "1,2,3"])
def test_column_names_that_count_are_names(tmp_path, first):
    (tmp_path / "t.csv").write_text(f"{first}\n5,6,7\n")
    assert files.read(tmp_path / "t.csv")["t"].tolist() == [[5, 6, 7]]


def test_csv_from_elsewhere(tmp_path):
    (tmp_path / "t.csv").write_bytes("\ufeffa,größe,\r\n1,,\r\n2,3,\r\n".encode())
    found = files.open_file(tmp_path / "t.csv")
    np.testing.assert_array_equal(found.representations["t"], [[1, np.nan], [2, 3]])
    assert found.skipped == {"Unnamed: 2": "has neither a name nor values"}
    (tmp_path / "gap.csv").write_text("a,b\nTrue,1\n,2\nFalse,3\n")
    np.testing.assert_array_equal(files.read(tmp_path / "gap.csv")["gap"], [[1, 1], [np.nan, 2], [0, 3]])


@pytest.mark.parametrize(
    "rows", ["0,2,\n1,4,\n", "1,2,\n3,4,\n", "1,2,\n3,4\n", "0,5,6\n1,7,8\n", "x,5,6\nx,7,8\n", "x,5,6\ny,z,8\n"]
)
@pytest.mark.parametrize("start", ["a,b\n", "\ufeffa,b\r\n", "\n  \na,b\n\n", '"a\n,",b\n'])
def test_csv_with_more_fields_than_names(tmp_path, start, rows):
    (tmp_path / "t.csv").write_text(start + rows)
    for read in (files.read, lambda path: files.read_labels(path, "b")):
        with pytest.raises(
            files.UnreadableFileError, match=r"must have a name for every column, got 2 names and 3 fields in l"
        ):
            read(tmp_path / "t.csv")


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.txt", "s.txt"])
@pytest.mark.parametrize("quote", [True, False])
@pytest.mark.parametrize("rows", [["cell 7", "cell 9", "cell 2"], ["7", "9", "2"]])
def test_names_of_rows_as_r_writes_them(tmp_path, name, quote, rows):
    mark = {"t.csv": ",", "t.tsv": "\t", "t.txt": "\t", "s.txt": " "}[name]
    mask = '"{}"' if quote else "{}"
    lines = [["PC1", "PC2", "PC3"], *([row, *values] for row, values in zip(rows, ["123", "456", "789"], strict=True))]
    text = [
        mark.join(
            field if field.isdigit() and len(field) == 1 and k else mask.format(field) for k, field in enumerate(line)
        )
        for line in lines
    ]
    (tmp_path / name).write_text("\n".join(text) + "\n")
    if not quote and (rows[0] == "7" or name == "s.txt"):
        # Numbers without quotes may be features, and names without quotes may contain the separator.
        return
    found = files.open_file(tmp_path / name)
    np.testing.assert_array_equal(found.representations[name[0]], np.arange(1, 10).reshape(3, 3))
    assert [str(one) for one in found.row_names.values] == rows


def test_csv_with_a_long_field_and_with_one_line(tmp_path):
    (tmp_path / "t.csv").write_text(f"a,b\n{'x' * 200_000},2\ny,3\n")
    assert files.read(tmp_path / "t.csv")["t"].tolist() == [[2], [3]]
    (tmp_path / "one.csv").write_text("1,2.5,3\n")
    assert files.read(tmp_path / "one.csv")["one"].tolist() == [[1, 2.5, 3]]


@pytest.mark.parametrize("text", ["hello world", "a,b\n", "a,b\nx,y\n"])
def test_csv_without_numbers(tmp_path, text):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(files.UnreadableFileError, match=r"t.csv must contain a 2-D array .*, got "):
        files.read(tmp_path / "t.csv")


def test_more_columns_than_text_is_for_are_refused_at_once(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text("\n".join([",".join(["1"] * 100_001)] * 3))
    with pytest.raises(
        UnreadableFileError, match=r"at most 100,000 columns as a text file, got 100,001; save the table as \.npy"
    ):
        files.open_file(path)


def test_arrow_names_that_are_not_text_are_refused(tmp_path):
    import pyarrow as pa

    path = tmp_path / "t.arrow"
    table = pa.table({"qwerty": np.arange(4.0), "second": np.arange(4.0)})
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    path.write_bytes(path.read_bytes().replace(b"qwerty", b"\xafwerty"))
    with pytest.raises(ValueError, match=r"t\.arrow must be a complete \.arrow file, got one that cannot be read"):
        files.open_file(path)


@pytest.mark.parametrize(("first", "is_row"), [("d0,0.5,-1.5,2.5,0.25", True), ("t,400.5,401.5,402.5,403.5", False)])
def test_a_name_and_fractions_are_a_row_and_wavelengths_are_column_names(tmp_path, first, is_row):
    (tmp_path / "x.csv").write_text("\n".join([first, *(f"d{k},{k / 7},{-k / 3},1.5,0.5" for k in range(1, 30))]))
    assert len(next(iter(files.read(tmp_path / "x.csv").values()))) == 29 + is_row


def test_bits_as_text_are_signs(tmp_path):
    bits = np.random.default_rng(0).integers(0, 2, (30, 24))
    rows = [f"{k + 5},{k % 7},{''.join(map(str, row))}" for k, row in enumerate(bits)]
    (tmp_path / "x.csv").write_text("\n".join(["id,n_tokens,embedding", *rows]))
    np.testing.assert_array_equal(files.read(tmp_path / "x.csv")["embedding"], 2 * bits - 1)
