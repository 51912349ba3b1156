"""What is saved is read back as it was, is there whole or not at all, and takes nothing's place unasked."""

import itertools
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st
from hypothesis.extra import numpy as arrays

from shesha import io as files

FAST = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
DTYPES = ["f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?"]
NUMBERS = st.sampled_from(DTYPES).map(np.dtype)
SHAPES = arrays.array_shapes(min_dims=2, max_dims=3, max_side=4)
MATRICES = arrays.arrays(NUMBERS, arrays.array_shapes(min_dims=2, max_dims=2, max_side=5))
PARTS = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="/\\"), min_size=1, max_size=6)
NAMES = st.lists(PARTS, min_size=1, max_size=3).map("/".join)
LIBRARY = {"safetensors": "safetensors", "parquet": "pyarrow"}
MANY = ["npz", "safetensors"]
TABLES = ["parquet", "csv", "tsv"]
ALL = ["npy", *MANY, *TABLES]
COUNTER = itertools.count()
X = np.random.default_rng(0).standard_normal((6, 3))


@pytest.fixture(autouse=True)
def needed(request):
    ending = getattr(request.node, "callspec", None) and request.node.callspec.params.get("ending")
    if ending in LIBRARY:
        pytest.importorskip(LIBRARY[ending])


def new(folder, ending):
    return folder / f"m{next(COUNTER)}.{ending}"


def read(path):
    return files.read(path, layer_axis=None)


def views_of(array):
    """The same numbers in other orders of memory."""
    return {
        "C": np.ascontiguousarray(array),
        "F": np.asfortranarray(array),
        "reversed": np.ascontiguousarray(array[::-1, ::-1])[::-1, ::-1],
        "strided": np.repeat(np.repeat(array, 2, axis=0), 2, axis=1)[::2, ::2],
        "swapped": array.astype(array.dtype.newbyteorder(">")),
    }


def assert_same(found, expected):
    assert found.dtype == expected.dtype.newbyteorder("=")
    np.testing.assert_array_equal(found, expected)


@FAST
@pytest.mark.parametrize("ending", MANY)
@given(named=st.dictionaries(NAMES, arrays.arrays(NUMBERS, SHAPES), min_size=1, max_size=3))
def test_many_arrays(tmp_path, ending, named):
    assume("__metadata__" not in named)
    path = new(tmp_path, ending)
    files.save(path, named)
    found = read(path)
    assert set(found) == set(named)
    if ending == "npz":
        assert list(found) == list(named)
    for name, array in named.items():
        assert_same(found[name], array)


@FAST
@pytest.mark.parametrize("ending", ["npy", *MANY])
@given(array=arrays.arrays(NUMBERS, SHAPES), order=st.sampled_from(["C", "F", "reversed", "strided", "swapped"]))
def test_any_order_of_memory(tmp_path, ending, array, order):
    path = new(tmp_path, ending)
    files.save(path, {path.stem: views_of(array)[order]})
    assert_same(read(path)[path.stem], array)


@FAST
@pytest.mark.parametrize("ending", TABLES)
@given(matrix=MATRICES, order=st.sampled_from(["C", "F", "reversed", "strided", "swapped"]))
def test_tables(tmp_path, ending, matrix, order):
    path = new(tmp_path, ending)
    files.save(path, {"any name": views_of(matrix)[order]})
    (found,) = read(path).values()
    if ending == "parquet":
        assert_same(found, matrix)
    else:
        # Text has no types, but every number comes back to the last bit.
        np.testing.assert_array_equal(found.astype(matrix.dtype), matrix)


@pytest.mark.parametrize("ending", ["npz", *TABLES])
@pytest.mark.parametrize(
    "labels",
    [[2, 0, 1, 1, 0, 2], list("aabbcc"), ["ä b", "c,d", 'e"f', "g\th", "i/j", "k"], [True, False] * 3, [0.5, 1] * 3],
    ids=["numbers", "letters", "text", "booleans", "floats"],
)
def test_labels(tmp_path, ending, labels):
    path = new(tmp_path, ending)
    files.save(path, {"X": X}, labels=labels)
    assert files.read_labels(path).tolist() == labels
    (found,) = files.read(path).values()
    np.testing.assert_array_equal(found, X)
    assert "label" in files.open_file(path).labels_available


def test_labels_as_numbers_beside_tensors(tmp_path):
    pytest.importorskip("safetensors")
    files.save(tmp_path / "m.safetensors", {"X": X}, labels=np.arange(6), label_column="class")
    assert files.read_labels(tmp_path / "m.safetensors").tolist() == list(range(6))
    with pytest.raises(TypeError, match=r"labels must be numbers in a .*, got text"):
        files.save(tmp_path / "n.safetensors", {"X": X}, labels=list("abcdef"))


@pytest.mark.parametrize("ending", ["npy", *MANY])
def test_tensors(tmp_path, ending):
    torch = pytest.importorskip("torch")
    path = new(tmp_path, ending)
    given = torch.tensor(X, dtype=torch.bfloat16, requires_grad=True)
    files.save(path, {path.stem: given.T})
    assert_same(read(path)[path.stem], given.detach().float().numpy().T)


def test_what_a_file_maps_may_take_the_files_place(tmp_path):
    path = tmp_path / "m.npy"
    files.save(path, {"m": X})
    mapped = files.read(path)["m"]
    assert isinstance(mapped, np.memmap)
    files.save(path, {"m": mapped[::-1]}, overwrite=True)
    np.testing.assert_array_equal(files.read(path)["m"], X[::-1])


# Whole or not at all.


@pytest.mark.parametrize("ending", ALL)
def test_nothing_is_replaced_unasked(tmp_path, ending):
    path = new(tmp_path, ending)
    files.save(path, {path.stem: X})
    with pytest.raises(FileExistsError, match=r"path must be new unless overwrite=True, got .*"):
        files.save(path, {path.stem: 2 * X})
    np.testing.assert_array_equal(files.read(path)[path.stem], X)
    files.save(path, {path.stem: 2 * X}, overwrite=True)
    np.testing.assert_array_equal(files.read(path)[path.stem], 2 * X)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("ending", ALL)
@pytest.mark.parametrize("before", [False, True], ids=["new", "old"])
def test_a_failure_changes_nothing(tmp_path, monkeypatch, ending, before):
    path = new(tmp_path, ending)
    if before:
        files.save(path, {path.stem: X})
    writers = files._save.WRITERS
    whole = writers[f".{ending}"]

    def interrupted(temporary, content):
        whole(temporary, content)
        raise KeyboardInterrupt

    monkeypatch.setitem(writers, f".{ending}", interrupted)
    with pytest.raises(KeyboardInterrupt):
        files.save(path, {path.stem: 2 * X}, overwrite=True)
    assert list(tmp_path.iterdir()) == [path] * before
    if before:
        np.testing.assert_array_equal(files.read(path)[path.stem], X)


def test_what_came_in_the_meantime_stays(tmp_path, monkeypatch):
    path = new(tmp_path, "npz")
    writers = files._save.WRITERS
    whole = writers[".npz"]

    def slow(temporary, content):
        whole(temporary, content)
        whole(path, content)
        monkeypatch.setitem(writers, ".npz", whole)

    monkeypatch.setitem(writers, ".npz", slow)
    with pytest.raises(FileExistsError, match="path must be new"):
        files.save(path, {"a": X})
    assert list(tmp_path.iterdir()) == [path]
    np.testing.assert_array_equal(files.read(path)["a"], X)


def test_links_stay_links(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    path, real = tmp_path / "link.npz", tmp_path / "elsewhere" / "real"
    path.symlink_to(real)
    files.save(path, {"a": X}, overwrite=True)
    files.save(path, {"a": 2 * X}, overwrite=True)
    assert path.is_symlink() and list((tmp_path / "elsewhere").iterdir()) == [real]
    np.testing.assert_array_equal(files.read(path)["a"], 2 * X)


def test_folders_are_not_thrown_away(tmp_path):
    folder = tmp_path / "m.npz"
    folder.mkdir()
    (folder / "thesis.tex").write_text("years of work")
    with pytest.raises(IsADirectoryError, match="path must be a file to be replaced, got the directory"):
        files.save(folder, {"a": X}, overwrite=True)
    assert (folder / "thesis.tex").read_text() == "years of work"


# What cannot be given back is refused.


@pytest.mark.parametrize(
    ("ending", "arguments", "error", "message"),
    [
        ("npz", {"arrays": {}}, ValueError, "arrays must contain at least one array, got none"),
        ("npz", {"arrays": X}, TypeError, "arrays must be a mapping of names to arrays, got ndarray"),
        ("npz", {"arrays": {"": X}}, ValueError, "names must be text without zero bytes, got ''"),
        ("npz", {"arrays": {"a\0b": X}}, ValueError, "names must be text without zero bytes, got "),
        ("npz", {"arrays": {"\ud800": X}}, ValueError, "names must be valid UTF-8 text, got "),
        (
            "npz",
            {"arrays": {"a": [{}]}},
            TypeError,
            "a must contain floats or whole numbers of up to 64 bits, .* object",
        ),
        pytest.param(
            *("npz", {"arrays": {"a": X.astype("g")}}, TypeError, "a must contain floats .* got float(128|96)"),
            marks=pytest.mark.skipif(np.dtype("g").itemsize == 8, reason="no longer floats on this machine"),
        ),
        ("npz", {"arrays": {"a": np.ma.masked_less(X, 0)}}, ValueError, "a must not be masked"),
        ("npz", {"labels": [1, 2]}, ValueError, r"labels must be one per row, got 2 for arrays of shape \(6, 3\)"),
        ("npz", {"labels": ["a", None] * 3}, TypeError, r"labels must be 1-D, numbers or text without missing values"),
        ("npz", {"arrays": {"label": X}, "labels": range(6)}, ValueError, "label_column must differ from the names of"),
        ("npy", {"arrays": {"a": X, "b": X}}, ValueError, "a .npy file must contain one array, got 2 arrays; use .npz"),
        ("safetensors", {"arrays": {"__metadata__": X}}, ValueError, "names must differ from '__metadata__'"),
        (
            "csv",
            {"arrays": {"a": X, "b": X}},
            ValueError,
            r"a .csv file must contain one 2-D array .*, got \(6, 3\), \(6",
        ),
        ("csv", {"columns": ["a", "b", "a"]}, ValueError, "columns must be 3 different names"),
        (
            "csv",
            {"columns": ["a", "b", "Class"]},
            ValueError,
            "columns must not have names of labels or .* got 'Class'",
        ),
        ("csv", {"columns": ["1.5", "2", "3"]}, ValueError, "columns must not all be numbers in a .csv file, got 1.5"),
        ("csv", {"labels": ["NA", "b"] * 3}, ValueError, "labels must be text that a .csv file preserves.* got 'NA'"),
        (
            "csv",
            {"labels": range(6), "label_column": "k"},
            ValueError,
            "label_column must be label, .* if labels are numbers",
        ),
    ],
)
def test_what_is_refused(tmp_path, ending, arguments, error, message):
    with pytest.raises(error, match=message):
        files.save(tmp_path / f"m.{ending}", **{"arrays": {"X": X}} | arguments)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("ending", "module"), [("parquet", "pyarrow"), ("safetensors", "safetensors")])
def test_without_the_library_the_extra_is_named(tmp_path, monkeypatch, ending, module):
    for name in (module, f"{module}.numpy"):
        monkeypatch.setitem(sys.modules, name, None)
    extra = r"shesha-representations\[files\]"
    message = rf'{module} must be installed to write .{ending} files such as .*: pip install "{extra}"'
    with pytest.raises(ImportError, match=message):
        files.save(tmp_path / f"m.{ending}", {"a": X})
    assert not list(tmp_path.iterdir())
