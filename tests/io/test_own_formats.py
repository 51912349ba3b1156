"""Formats of one's own: a marked function is enough for every way to read, and whatever it raises names the file."""

import numpy as np
import pytest

import shesha
from shesha.io import UnreadableFileError, formats, open_file, read, read_labels, reader

LAYERS = np.arange(60.0).reshape(10, 2, 3)


@pytest.fixture(autouse=True)
def forgotten(monkeypatch):
    """Whatever a test marks is gone after it."""
    monkeypatch.setattr(formats, "_own", dict(formats._own))


@pytest.fixture
def path(tmp_path):
    found = tmp_path / "Model.OWN"
    found.write_text("anything")
    return found


def test_arrays_are_read_as_those_of_other_files_are(path):
    @reader(".own")
    def own(place):
        assert place == path
        return {"hidden": LAYERS, "kind": np.arange(10) % 2, "X": LAYERS[:, 0].tolist(), "text": np.array("x")}

    found = open_file(path)
    assert list(found.representations) == ["hidden[0]", "hidden[1]", "X"]
    assert np.array_equal(found.representations["hidden[1]"], LAYERS[:, 1])
    assert np.array_equal(read(path, keys=["X"])["X"], LAYERS[:, 0])
    assert set(found.skipped) == {"kind", "text"} and found.labels_available == ("kind",)
    assert read_labels(path).tolist() == read_labels(path, "kind").tolist() == [0, 1] * 5
    with pytest.raises(ValueError, match=r"keys must be among .*hidden.* got 'Y'"):
        read(path, keys=["Y"])


def test_tensors_are_taken(path):
    torch = pytest.importorskip("torch")
    reader(".own")(lambda place: {"X": torch.ones(5, 2)})
    assert read(path)["X"].tolist() == [[1.0, 1.0]] * 5


def test_directories_of_such_files_are_compared(path):
    reader(".own")(lambda place: {place.stem: LAYERS[:, 0] if place.stem == "Model" else LAYERS[:, 1] ** 2})
    (path.parent / "other.own").write_text("anything")
    from shesha.comparison.input_manifest import Files

    found = shesha.compare_all(Files([path.parent]), ["CKA"])
    assert found.matrix("CKA").loc["Model", "other"] == shesha.measures.cka(LAYERS[:, 0], LAYERS[:, 1] ** 2)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (
            lambda path: 1 / 0,
            r"Model.OWN must be a complete .OWN file, got one that cannot be read \(ZeroDivisionError",
        ),
        (lambda path: [1, 2], r"Model.OWN must be a complete .OWN file, got one that cannot be read \(AttributeError"),
        (lambda path: {3: LAYERS}, r"Model.OWN must contain arrays whose names are text, got 3"),
        (lambda path: {"X": np.array([[None]])}, r"X \(contains pickled Python objects, which are never read\)"),
        (lambda path: {}, r"Model.OWN must contain a 2-D array .*, got nothing"),
    ],
)
def test_what_it_does_wrong_is_an_error_that_names_the_file(path, function, message):
    reader(".own")(function)
    with pytest.raises(UnreadableFileError, match=message):
        read(path)


def test_without_a_reader_the_endings_are_listed(path):
    with pytest.raises(ValueError, match=r"path must end in one of \.npy, .*\.zarr, got '.*Model.OWN'"):
        read(path)
    reader(".mine")(lambda place: {"X": LAYERS[:, 0]})
    with pytest.raises(ValueError, match=r"path must end in one of \.npy, .*\.zarr, \.mine, got '.*Model.OWN'"):
        read(path)


@pytest.mark.parametrize("ending", [".npy", ".zarr"])
def test_an_ending_can_be_taken_once(ending):
    with pytest.raises(ValueError, match=f"ending must differ from those of existing formats, got '{ending}'"):
        reader(ending)(np.load)
