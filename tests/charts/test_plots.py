"""Pictures of plain arrays: what is drawn is what was given, wherever it is drawn."""

import sys

import numpy as np
import pytest

from shesha import charts

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")
NAN = float("nan")
DRAWN = {
    "heat_map": lambda ax: charts.heat_map(np.eye(2), "ab", "cd", ax=ax),
    "null_distribution": lambda ax: charts.null_distribution([0.1, 0.2], 0.5, 0.3, ax=ax),
    "intervals": lambda ax: charts.intervals(["a"], {"s": charts.Series([0.5], [0.4], [0.6])}, ax=ax),
}


@pytest.fixture(autouse=True)
def closed_figures():
    # Those of other tests and of examples count as well.
    plt.close("all")
    yield
    plt.close("all")


@pytest.mark.parametrize("name", DRAWN)
def test_a_picture_is_drawn_where_asked_or_in_a_new_figure(name):
    _, (left, right) = plt.subplots(ncols=2)
    assert DRAWN[name](right) is right
    assert not (left.has_data())
    assert len(plt.get_fignums()) == 1
    new = DRAWN[name](None)
    assert new.figure is not right.figure
    new.figure.canvas.draw()


@pytest.mark.parametrize("name", DRAWN)
def test_without_matplotlib_the_extra_is_named(name, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r'plots need matplotlib: pip install "shesha-representations\[plot\]"'):
        DRAWN[name](None)


def test_a_null_shows_its_draws_and_only_the_lines_there_are():
    ax = charts.null_distribution([0.0, 0.1, NAN, 0.1], 0.4, NAN, label="CKA", drawn="blocks matched at random")
    assert sum(bar.get_height() for bar in ax.patches) == 3
    (line,) = ax.lines
    assert list(line.get_xdata()) == [0.4, 0.4]
    shown = [text.get_text() for text in ax.get_legend().get_texts()]
    assert sorted(shown) == ["blocks matched at random", "observed"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("CKA", "draws")


def test_intervals_have_their_ends_and_thresholds_where_given():
    scores = {
        "first": charts.Series([0.5, NAN], [0.4, NAN], [0.7, NAN]),
        "second": charts.Series([-0.9, 0.2], [-1.0, 0.1], [-0.5, 0.4]),
    }
    ax = charts.intervals(["x", "y"], scores, [0.1, NAN], label="stability")
    ends = [[s[:, 1].tolist() for s in one.lines[2][0].get_segments() if len(s)] for one in ax.containers]
    assert ends[0][0] == pytest.approx([0.4, 0.7])
    assert ends[1] == [pytest.approx([-1.0, -0.5]), pytest.approx([0.1, 0.4])]
    threshold = next(line for line in ax.lines if line.get_label() == "chance threshold")
    assert np.array_equal(threshold.get_ydata(), [0.1, NAN], equal_nan=True)
    assert ax.get_ylim()[0] <= -1.0
    assert ax.get_ylabel() == "stability"
    without = charts.intervals(["x", "y"], scores)
    assert "chance threshold" not in {line.get_label() for line in without.lines}


def test_thresholds_of_points_apart_lie_at_their_points_and_do_not_touch():
    series = charts.Series([0.5, 0.2, 0.4], [0.4, 0.1, 0.3], [0.7, 0.4, 0.5])
    ax = charts.intervals(["x", "y", "z"], {"first": series}, [0.1, 0.3, 0.2], joined=False)
    dashes = next(one for one in ax.collections if one.get_label() == "chance threshold").get_segments()
    assert [dash[:, 1].tolist() for dash in dashes] == [[0.1, 0.1], [0.3, 0.3], [0.2, 0.2]]
    assert [dash[:, 0].mean() for dash in dashes] == pytest.approx(ax.get_xticks())
    ends = [end for dash in dashes for end in dash[:, 0]]
    assert ends == sorted(ends) and len(set(ends)) == len(ends)


LONG = [f"model.transformer.encoder.layers.{i}.attention.output.dense" for i in range(60)]
_LINE = np.linspace(-0.2, 1.0, 60)
_ENDS = (_LINE - 0.1, _LINE + 0.1)
OF_SIXTY = {
    "intervals": lambda: charts.intervals(LONG, {"s": charts.Series(_LINE, *_ENDS)}, [0.1] * 60),
    "class_values": lambda: charts.class_values(LONG, _LINE, [0.1] * 60, _LINE > 0.1, ends=_ENDS),
    "drift_bars": lambda: charts.drift_bars(LONG, _LINE, [0.1] * 60),
    "model_bars": lambda: charts.model_bars(LONG, _LINE, list(zip(*_ENDS, strict=True))),
    "depth_profile": lambda: charts.depth_profile(LONG, _LINE, _ENDS, [0.1] * 60, ["changed"] * 60),
    "heat_map": lambda: charts.heat_map(np.eye(60), LONG, LONG),
    "curves": lambda: charts.curves([0, 1], {name: [0, i] for i, name in enumerate(LONG)}),
    "spectra": lambda: charts.spectra({name: [0.7, 0.3] for name in LONG}, ordered=True),
    "similarity_map": lambda: charts.similarity_map(np.stack([_LINE, _LINE**2], 1), LONG, groups=LONG),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", OF_SIXTY)
def test_sixty_items_with_long_names_fit_into_one_figure(name):
    ax = OF_SIXTY[name]()
    ax.figure.canvas.draw()
    assert max(ax.figure.get_size_inches()) <= 12
    box = ax.get_window_extent()
    assert min(box.width, box.height) > 120
    labels = [text for axis in (ax.xaxis, ax.yaxis) for text in axis.get_ticklabels() if "layers" in text.get_text()]
    assert len(labels) <= 120 and all(len(text.get_text()) <= 10 for text in labels)
    if (legend := ax.get_legend()) is not None:
        assert len(legend.get_texts()) <= 10


def test_groups_of_a_map_never_share_colour_and_shape():
    ax = charts.similarity_map(np.zeros((20, 2)), LONG[:20], groups=LONG[:20])
    looks = {(tuple(one.get_facecolor()[0]), one.get_paths()[0].vertices.tobytes()) for one in ax.collections}
    assert len(looks) == 20
