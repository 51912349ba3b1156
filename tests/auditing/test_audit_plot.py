"""The picture of an audit: a point, an interval and a label for each representation, wherever it is drawn."""

import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


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


def test_what_was_not_scored_has_a_label_and_no_point(layers, quick_audit):
    gaps = np.full((60, 12), np.nan)
    ax = quick_audit({"late": layers["late"], "with gaps": gaps, "equal": np.ones((60, 12))}).plot()
    assert [text.get_text() for text in ax.get_xticklabels()] == ["late", "with gaps", "equal"]
    points, ends = drawn(ax.containers[0])
    assert np.isfinite(points[:, 1]).tolist() == [True, False, False]
    assert len(ends) == 1
    ax.figure.canvas.draw()
