"""Columns of lists: parquet files and folders of data sets, as Hugging Face writes them."""

import json

import numpy as np
import pandas as pd
import pytest

import shesha
from shesha import io as files
from shesha.inputs.vector_columns import find_vectors

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
X = np.random.default_rng(0).normal(size=(12, 5)).astype(np.float32)
TEXT = [f"row {row}" for row in range(12)]


def table(**more):
    columns = {"text": TEXT, "label": np.arange(12) % 2, "embedding": list(X), **more}
    return pa.table(columns)


def test_a_column_of_lists_is_a_representation(tmp_path):
    fixed = pa.FixedSizeListArray.from_arrays(X.ravel(), 5)
    large = pa.array(X.tolist(), pa.large_list(pa.float32()))
    parquet.write_table(table(fixed=fixed, large=large), tmp_path / "m.parquet")
    found = files.open_file(tmp_path / "m.parquet")
    assert list(found.representations) == ["embedding", "fixed", "large"]
    for matrix in found.representations.values():
        np.testing.assert_array_equal(matrix, X)
        assert matrix.dtype == np.float32
    assert found.row_names.values.tolist() == TEXT
    assert files.read_labels(tmp_path / "m.parquet").tolist() == [0, 1] * 6
    assert list(files.read(tmp_path / "m.parquet", keys=["large"])) == ["large"]
    assert files.read(tmp_path / "m.parquet", keys=["label"])["m"].ravel().tolist() == [0, 1] * 6
    with pytest.raises(ValueError, match=r"keys must name columns of vectors, or of numbers, .*, got label"):
        files.read(tmp_path / "m.parquet", keys=["large", "label"])


def test_numbers_beside_lists_are_left_out_with_a_word(tmp_path):
    parquet.write_table(table(age=np.arange(12)), tmp_path / "m.parquet")
    skipped = files.open_file(tmp_path / "m.parquet").skipped
    assert skipped["age"] == "is a column of numbers in a table with vectors"


def test_lists_of_lists_are_three_dimensions(tmp_path):
    hidden = np.random.default_rng(1).normal(size=(12, 2, 5))
    kind = pa.list_(pa.list_(pa.float64()))
    # The extension type's name stays in the metadata; its storage is what is read.
    field = pa.field(
        "hidden", kind, metadata={"ARROW:extension:name": "datasets.features.features.Array2DExtensionType"}
    )
    parquet.write_table(pa.table([pa.array(hidden.tolist(), kind)], schema=pa.schema([field])), tmp_path / "m.parquet")
    found = files.read(tmp_path / "m.parquet", layer_axis=1)
    assert list(found) == ["hidden[0]", "hidden[1]"]
    np.testing.assert_array_equal(found["hidden[1]"], hidden[:, 1])


@pytest.mark.parametrize(
    ("column", "told"),
    [
        ([[1.0, 2.0], [1.0]] * 6, "embedding in .* must contain lists of one length, got lengths from 1 to 2"),
        ([None] + [[1.0, 2.0]] * 8 + [[1.0]], r"embedding in .* lengths from 1 to 2 \(row 9 has 1\)"),
    ],
)
def test_lists_that_are_no_matrix_are_refused(tmp_path, column, told):
    parquet.write_table(pa.table({"embedding": column}), tmp_path / "m.parquet")
    with pytest.raises(files.UnreadableFileError, match=told):
        files.read(tmp_path / "m.parquet")


def test_a_row_without_a_list_is_missing(tmp_path):
    column = pa.array([[1, 2], None, [], [3, 4]], pa.list_(pa.int8()))
    parquet.write_table(pa.table({"embedding": column}), tmp_path / "m.parquet")
    nan = np.nan
    np.testing.assert_array_equal(
        files.read(tmp_path / "m.parquet")["embedding"], [[1, 2], [nan, nan], [nan, nan], [3, 4]]
    )


def saved_to_disk(folder, tables, **state):
    """Write what `datasets.Dataset.save_to_disk` writes."""
    folder.mkdir()
    names = [f"data-{part:05}-of-{len(tables):05}.arrow" for part in range(len(tables))]
    for name, part in zip(names, tables, strict=True):
        with pa.OSFile(str(folder / name), "wb") as sink, pa.ipc.new_stream(sink, part.schema) as writer:
            writer.write_table(part)
    record = {"_data_files": [{"filename": name} for name in names], "_split": "train", **state}
    (folder / "state.json").write_text(json.dumps(record))
    (folder / "dataset_info.json").write_text("{}")
    return folder


@pytest.mark.filterwarnings("ignore:skipped")
def test_a_folder_of_a_data_set_is_one_file(tmp_path):
    folder = saved_to_disk(tmp_path / "train", [table()[:7], table()[7:]])
    found = files.open_file(folder)
    assert list(found.representations) == ["embedding"]
    np.testing.assert_array_equal(found.representations["embedding"], X)
    assert files.read_labels(folder, "label").tolist() == [0, 1] * 6
    audits = shesha.audit(folder, n_bootstrap=0, n_permutations=19), shesha.audit(X, n_bootstrap=0, n_permutations=19)
    assert audits[0].representations[0].feature_split.value == audits[1].representations[0].feature_split.value
    numbers = saved_to_disk(tmp_path / "numbers", [pa.table(dict(zip("abcde", X.T, strict=True)))])
    np.testing.assert_array_equal(files.read(numbers)["numbers"], X)
    pair = shesha.compare_all([folder, numbers], "CKA")
    assert pair.matrix("CKA").to_numpy().min() == pytest.approx(1)


def test_an_arrow_file_is_read_whichever_way_it_was_written(tmp_path):
    with pa.OSFile(str(tmp_path / "m.arrow"), "wb") as sink, pa.ipc.new_file(sink, table().schema) as writer:
        writer.write_table(table())
    np.testing.assert_array_equal(files.read(tmp_path / "m.arrow")["embedding"], X)


@pytest.mark.parametrize("stream", [False, True])
def test_batches_that_unpack_to_more_than_fits_are_refused_before_they_are_unpacked(tmp_path, monkeypatch, stream):
    zeros = pa.table({"e": pa.FixedSizeListArray.from_arrays(np.zeros(1 << 17), 64)})
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.OSFile(str(tmp_path / "m.arrow"), "wb") as sink:
        make = pa.ipc.new_stream if stream else pa.ipc.new_file
        with make(sink, zeros.schema, options=options) as writer:
            writer.write_table(zeros)
    assert (tmp_path / "m.arrow").stat().st_size < 10_000
    assert files.read(tmp_path / "m.arrow")["e"].shape == (2048, 64)
    monkeypatch.setenv("SHESHA_MEMORY", "900K")
    with pytest.raises(files.UnreadableFileError, match=r"a batch in .* must fit the memory budget of 900 KiB, got 1"):
        files.read(tmp_path / "m.arrow")


def test_folders_that_are_no_one_table_are_refused(tmp_path):
    folder = saved_to_disk(tmp_path / "train", [table()], _indices_data_files=[{"filename": "indices.arrow"}])
    with pytest.raises(files.UnreadableFileError, match=r"call flatten_indices\(\) before save_to_disk"):
        files.read(folder)
    (tmp_path / "dataset_dict.json").write_text(json.dumps({"splits": ["train", "test"]}))
    with pytest.raises(
        files.UnreadableFileError, match="must be one split of a data set, got the splits train, test; pass"
    ):
        files.read(tmp_path)
    linked = saved_to_disk(tmp_path / "linked", [table()])
    (part,) = linked.glob("*.arrow")
    part.rename(tmp_path / "moved.arrow")
    part.symlink_to(tmp_path / "moved.arrow")
    with pytest.raises(files.UnreadableFileError, match="must contain its files, got a link"):
        files.read(linked)
    outside = saved_to_disk(tmp_path / "outside", [table()], _data_files=[{"filename": "../train/state.json"}])
    with pytest.raises(
        files.UnreadableFileError, match=r"must contain the files that state.json names, got \.\./train"
    ):
        files.read(outside)


def test_semicolons_and_decimal_commas_are_read_and_said(tmp_path):
    frame = pd.DataFrame(X.astype(float), columns=list("abcde"))
    frame.to_csv(tmp_path / "m.csv", sep=";", decimal=",", index=False)
    found = files.open_file(tmp_path / "m.csv")
    np.testing.assert_array_equal(found.representations["m"], X.astype(float))
    assert found.skipped == {"(separator)": "is a semicolon and the decimal separator is a comma"}
    frame.to_csv(tmp_path / "m.csv", sep="\t", index=False)
    assert files.open_file(tmp_path / "m.csv").skipped == {"(separator)": "is a tab"}
    np.testing.assert_array_equal(files.read(tmp_path / "m.csv")["m"], X.astype(float))


@pytest.mark.parametrize("line", ["1,2", "1,2,3,4"])
def test_lines_of_other_lengths_are_told_by_number(tmp_path, line):
    (tmp_path / "m.csv").write_text(f"a,b,c\n1,2,3\n{line}\n4,5,6\n")
    told = rf"m.csv must have 3 fields in every line, as in the first, got {line.count(',') + 1} in line 3"
    with pytest.raises(files.UnreadableFileError, match=told):
        files.read(tmp_path / "m.csv")


def test_records_of_two_numbers_are_vectors_and_bytes_of_zeros_are_not():
    records = [{"x": 1.0, "y": row} for row in range(4)]
    assert find_vectors(records).parse(records, "a", 0).tolist() == [[1, row] for row in range(4)]
    assert find_vectors([bytes(16)] * 4).problem.startswith("contains 16 bytes per row")
    assert find_vectors(["[1, 2, 3]", "[1, 2]"]).problem.endswith("of different lengths as text, from 2 to 3 numbers")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("brackets", ["[]", "()", "{}"])
def test_vectors_that_a_spreadsheet_cut_off_are_refused(tmp_path, ending, brackets):
    """Cells of a spreadsheet hold 32,767 characters, so equally long numbers end after the same number of columns."""
    rows = np.random.default_rng(0).standard_normal((12, 1536))
    texts = [(brackets[0] + ", ".join(f"{v:+.18f}" for v in row) + brackets[1])[:32767] for row in rows]
    table = pd.DataFrame({"id": [f"doc-{i}" for i in range(12)], "embedding": texts})
    path = tmp_path / f"a.{ending}"
    table.to_csv(path, index=False) if ending == "csv" else table.to_parquet(path)
    with pytest.raises(ValueError, match=r"must contain whole vectors, got 32,767 characters in row 0 that begin with"):
        np.asarray(next(iter(files.open_file(path).representations.values())))
