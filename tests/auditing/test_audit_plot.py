"""The picture of an audit: a point, an interval and a label for each representation, wherever it is drawn."""

import sys

import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")


def drawn(container):
    """The points of a score and the ends of its intervals."""
    points, _, (bars,) = container.lines
    return points.get_xydata(), np.array([segment[:, 1] for segment in bars.get_segments() if len(segment)])


def test_each_representation_is_a_labelled_point_with_its_interval(audited):
    ax = audited.plot()
    assert isinstance(ax, matplotlib.axes.Axes)
    assert [text.get_text() for text in ax.get_xticklabels()] == ["early", "middle", "late"]
    assert len(ax.containers) == 2
    for container, name in zip(ax.containers, ("feature_split", "basis_averaged_split"), strict=True):
        estimates = [getattr(one, name) for one in audited.representations]
        points, ends = drawn(container)
        assert points.tolist() == [[at, one.value] for at, one in enumerate(estimates)]
        assert ends == pytest.approx(np.array([[one.low, one.high] for one in estimates]))
    threshold = next(line for line in ax.lines if line.get_label() == "chance threshold")
    assert threshold.get_ydata().tolist() == [one.chance.threshold for one in audited.representations]
    shown = [text.get_text() for text in ax.get_legend().get_texts()]
    assert sorted(shown) == ["basis averaged", "chance threshold", "feature split"]
    ax.figure.canvas.draw()


def test_a_picture_is_drawn_where_asked(audited):
    _, (left, right) = plt.subplots(ncols=2)
    assert audited.plot(right) is right
    assert (len(left.lines), len(right.containers)) == (0, 2)
    assert len(plt.get_fignums()) == 1


def test_what_was_not_scored_has_a_label_and_no_point(layers, quick_audit):
    gaps = np.full((60, 12), np.nan)
    ax = quick_audit({"late": layers["late"], "with gaps": gaps, "equal": np.ones((60, 12))}).plot()
    assert [text.get_text() for text in ax.get_xticklabels()] == ["late", "with gaps", "equal"]
    points, ends = drawn(ax.containers[0])
    assert np.isfinite(points[:, 1]).tolist() == [True, False, False]
    assert len(ends) == 1
    ax.figure.canvas.draw()


def test_one_representation_shows_its_threshold_and_the_scores_of_its_labels(layers, classes, quick_audit):
    found = quick_audit({"late": layers["late"]}, classes)
    ax = found.plot()
    labels = [text.get_text() for text in ax.get_xticklabels()]
    scores = [*found["late"].scores.values()]
    assert labels[:2] == ["feature split", "basis averaged"]
    assert labels[2] == "Alignment with the labels"
    scores += [found["late"].supervised[name] for name, one in found.meanings.items() if one.title in labels]
    points, ends = drawn(ax.containers[0])
    assert points[:, 1].tolist() == [one.value for one in scores]
    assert ends == pytest.approx(np.array([[one.low, one.high] for one in scores]))
    (dashes,) = (one for one in ax.collections if one.get_label() == "chance threshold")
    heights = [segment[0, 1] for segment in dashes.get_segments() if len(segment)]
    of_labels = found["late"].supervised
    known = [of_labels[name].threshold for name, one in found.meanings.items() if one.title in labels]
    assert heights == [found["late"].chance.threshold, *known]
    ax.figure.canvas.draw()


def test_low_scores_stay_in_the_picture(quick_audit):
    found = quick_audit(np.random.default_rng(19).standard_normal((6, 4)), metric="euclidean")
    assert found["X"].feature_split.low < -0.9
    ax = found.plot()
    bottom, top = ax.get_ylim()
    assert bottom <= found["X"].feature_split.low
    assert max(found["X"].feature_split.high, found["X"].chance.threshold) <= top


def test_without_matplotlib_the_extra_is_named(audited, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r'plots need matplotlib: pip install "shesha-representations\[plot\]"'):
        audited.plot()
