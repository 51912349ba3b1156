"""Heat maps of what was compared: darker is closer, and what has no value is empty."""

import numpy as np
import pytest

from shesha import compare_all

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture(scope="module")
def found(layers):
    return compare_all({**layers, "flat": np.ones((40, 11))}, ["CKA", "LinReg", "ProcDist", "MagDiff"])


def cells(ax):
    """What is written into the cells, as a square of texts."""
    n = len(ax.get_yticklabels())
    written = {text.get_position()[::-1]: text.get_text() for text in ax.texts}
    return [[written[row, column] for column in range(n)] for row in range(n)]


@pytest.mark.parametrize("measure", ["CKA", "ProcDist"])
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


def test_what_has_no_value_at_all_is_drawn_empty(layers):
    ax = compare_all({"flat": np.ones((40, 11)), "noise": layers["noise"]}, "CKA").plot("CKA")
    assert cells(ax) == [["-", "-"], ["-", "-"]]
    ax.figure.canvas.draw()
