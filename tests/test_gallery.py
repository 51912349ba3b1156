"""Every picture of the gallery is drawn by the lines beside it."""

import runpy
from pathlib import Path

import pytest

plt = pytest.importorskip("matplotlib.pyplot")
SCRIPTS = sorted((Path(__file__).parents[1] / "examples" / "gallery").glob("plot_*.py"))


def test_the_gallery_has_at_least_fifteen_pictures():
    assert len(SCRIPTS) >= 15


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_the_lines_draw_a_picture(script):
    plt.close("all")
    runpy.run_path(str(script))
    drawn = [ax for number in plt.get_fignums() for ax in plt.figure(number).axes]
    plt.close("all")
    assert any(ax.has_data() for ax in drawn)
