"""Heat maps of what was compared: darker is closer, and what has no value is empty."""

import sys

import numpy as np
import pytest

from shesha import compare_all, compare_layers

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(scope="module")
def found(layers):
    return compare_all({**layers, "flat": np.ones((40, 11))}, ["CKA", "LinReg", "ProcDist", "MagDiff"])


def cells(ax):
    """What is written into the cells, as a square of texts."""
    n = len(ax.get_yticklabels())
    written = {text.get_position()[::-1]: text.get_text() for text in ax.texts}
    return [[written[row, column] for column in range(n)] for row in range(n)]


def darkness(ax, row, column):
    (image,) = ax.images
    return 1 - np.mean(image.cmap(image.norm(image.get_array()[row, column]))[:3])


@pytest.mark.parametrize("measure", ["CKA", "LinReg", "ProcDist"])
def test_a_heat_map_shows_the_matrix(found, measure):
    ax = found.plot(measure)
    assert isinstance(ax, matplotlib.axes.Axes)
    matrix = found.matrix(measure).to_numpy()
    (image,) = ax.images
    assert np.array_equal(np.ma.filled(image.get_array(), np.nan), matrix, equal_nan=True)
    names = list(found.names)
    assert [text.get_text() for text in ax.get_yticklabels()] == names
    assert [text.get_text() for text in ax.get_xticklabels()] == names
    assert cells(ax) == [[f"{one:.2f}" if np.isfinite(one) else "-" for one in row] for row in matrix]
    ax.figure.canvas.draw()


@pytest.mark.parametrize(("measure", "closer"), [("CKA", "higher"), ("ProcDist", "lower")])
def test_the_title_tells_the_direction_and_darker_is_closer(found, measure, closer):
    ax = found.plot(measure)
    assert ax.get_title() == f"{measure} ({closer} is closer)"
    assert darkness(ax, 0, 0) > darkness(ax, 0, 3)


def test_a_picture_is_drawn_where_asked(found):
    _, (left, right) = plt.subplots(ncols=2)
    assert found.plot("CKA", right) is right
    assert (len(left.images), len(right.images)) == (0, 1)
    assert len(plt.get_fignums()) == 1


def test_what_has_no_value_at_all_is_drawn_empty(layers):
    ax = compare_all({"flat": np.ones((40, 11)), "noise": layers["noise"]}, "CKA").plot("CKA")
    assert cells(ax) == [["-", "-"], ["-", "-"]]
    ax.figure.canvas.draw()


def test_large_pictures_leave_the_numbers_out(rng):
    many = {f"layer {i}": rng.standard_normal((6, 2)) for i in range(17)}
    ax = compare_all(many, "MagDiff").plot("MagDiff")
    assert not ax.texts
    assert len(ax.get_xticklabels()) == 17


def test_a_grid_of_layers_is_drawn(layers):
    found = compare_layers(layers, {"one": layers["early"], "two": layers["noise"][:, :3]}, "RSMDiff")
    ax = found.plot()
    assert ax.get_title() == "RSMDiff (lower is closer)"
    assert [text.get_text() for text in ax.get_yticklabels()] == list(layers)
    assert [text.get_text() for text in ax.get_xticklabels()] == ["one", "two"]
    assert ax.images[0].get_array().shape == (4, 2)
    ax.figure.canvas.draw()


def test_without_matplotlib_the_extra_is_named(found, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r'plots need matplotlib: pip install "shesha-representations\[plot\]"'):
        found.plot("CKA")
