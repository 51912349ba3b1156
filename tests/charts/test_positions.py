"""Where marks are drawn: every number that was given lies at its place, and marks stay within the axes."""

from itertools import pairwise, permutations

import numpy as np
import pytest

from shesha import charts

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
NAN = float("nan")
RNG = np.random.default_rng(0)
POINTS = RNG.standard_normal((12, 2))


def offsets(ax, label):
    (found,) = [one for one in ax.collections if one.get_label() == label]
    return np.asarray(found.get_offsets())


def written(ax):
    return {text.get_text(): tuple(text.xy) for text in ax.texts if hasattr(text, "xy")}


def test_a_map_has_each_name_at_its_point_and_a_colour_or_shape_per_group():
    names, groups = [f"m{i}" for i in range(12)], [f"g{i % 3}" for i in range(12)]
    ax = charts.similarity_map(POINTS, names, groups=groups, explained=0.423, title="map")
    assert written(ax) == {name: tuple(place) for name, place in zip(names, POINTS.tolist(), strict=True)}
    for group in range(3):
        assert offsets(ax, f"g{group}") == pytest.approx(POINTS[group::3])
    looks = [(tuple(one.get_facecolor()[0]), one.get_paths()[0].vertices.tobytes()) for one in ax.collections]
    assert len(set(looks)) == 3
    assert ax.get_xlabel() == "the map shows 42 % of the squared distances"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["g0", "g1", "g2"]
    low, high = ax.get_xlim()
    assert low < POINTS[:, 0].min() and POINTS[:, 0].max() < high
    plain = charts.similarity_map(POINTS, names)
    assert plain.get_legend() is None and plain.get_xlabel() == ""


@pytest.mark.parametrize(("shape", "n_groups"), [((12, 3), 12), ((11, 2), 12), ((24,), 12), ((12, 2), 11)])
def test_a_map_refuses_what_does_not_fit_its_names(shape, n_groups):
    with pytest.raises(ValueError, match=r"must have (a row of two numbers|one entry) per name"):
        charts.similarity_map(np.zeros(shape), ["x"] * 12, groups=["g"] * n_groups)


def test_curves_and_the_band_of_chance_lie_at_their_numbers():
    values = {f"c{i}": RNG.random(4) for i in range(9)}
    ax = charts.curves([1, 2, 4, 8], values, labels=("n", "score"))
    for line, (name, curve) in zip(ax.lines, values.items(), strict=True):
        assert (line.get_label(), list(line.get_xdata())) == (name, [1, 2, 4, 8])
        assert np.array_equal(line.get_ydata(), curve)
    assert len({(line.get_color(), line.get_linestyle()) for line in ax.lines}) > 4
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("n", "score")
    null = np.append(np.arange(101.0), NAN)
    charts.chance_band(ax, [0.1, 0.2, 0.3], null, 97.0)
    (band,) = ax.patches
    assert (band.get_y(), band.get_y() + band.get_height()) == pytest.approx((5.0, 95.0))
    assert list(ax.lines[9].get_ydata()) == [0.1, 0.2, 0.3] and list(ax.lines[9].get_xdata()) == [0, 1, 2]
    assert set(ax.lines[10].get_ydata()) == {97.0}


@pytest.mark.parametrize("n", [30, 31])
def test_points_are_joined_to_their_chance_and_named_in_the_upper_half(n):
    x, y, x0, y0 = RNG.random((4, n))
    y[0] = NAN
    ax = charts.against_chance((x, y), (x0, y0), [f"g{i}" for i in range(n)])
    assert offsets(ax, "groups")[1:] == pytest.approx(np.stack([x, y], axis=1)[1:])
    assert offsets(ax, "chance, groups of the same size") == pytest.approx(np.stack([x0, y0], axis=1))
    for at, line in enumerate(ax.lines):
        assert np.array_equal(line.get_xdata(), [x0[at], x[at]])
        assert np.array_equal(line.get_ydata(), [y0[at], y[at]], equal_nan=True)
    upper = {f"g{i}": (x[i], y[i]) for i in range(1, n) if y[i] >= np.median(y[1:])}
    names = written(ax)
    assert names.items() <= upper.items()
    # A name is left out only where it would cover another one.
    assert (len(names) >= 0.8 * len(upper)) if n <= 30 else not names
    boxes = [text.get_window_extent() for text in ax.texts]
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


def test_classes_are_filled_where_above_chance_from_top_to_bottom():
    ax = charts.class_values(["a", "b", "c"], [0.5, NAN, 0.2], [0.1, 0.2, 0.3], [True, False, False], label="CKA")
    assert [text.get_text() for text in ax.get_yticklabels()] == ["a", "b", "c"]
    bottom, top = ax.get_ylim()
    assert bottom > 2 and top < 0
    chance, above, not_above = ax.lines
    assert (list(chance.get_xdata()), list(chance.get_ydata())) == ([0.1, 0.2, 0.3], [0, 1, 2])
    assert (list(above.get_xdata()), list(above.get_ydata()), above.get_label()) == ([0.5], [0], "above chance")
    assert np.array_equal(not_above.get_xdata(), [NAN, 0.2], equal_nan=True) and list(not_above.get_ydata()) == [1, 2]
    assert above.get_markerfacecolor() != not_above.get_markerfacecolor()
    assert len(charts.class_values(["a"], [0.5], [0.1], [True], label="").lines) == 2


def test_drifts_are_drawn_from_top_to_bottom_with_their_thresholds():
    ax = charts.drift_bars(["a", "b", "c"], [0.5, 0.0, 1e-3], [0.1, 0.1, 0.2])
    names = {text.get_position()[1]: text.get_text() for text in ax.get_yticklabels()}
    drift, threshold = offsets(ax, "drift"), offsets(ax, "threshold")
    assert [names[y] for y in sorted(drift[:, 1], reverse=True)] == ["a", "b", "c"]
    assert drift[0, 0] == 0.5 and drift[2, 0] == 1e-3 and 0 < drift[1, 0] < 1e-3
    assert threshold[:, 0].tolist() == [0.1, 0.1, 0.2] and threshold[:, 1].tolist() == drift[:, 1].tolist()
    bars = next(one for one in ax.collections if hasattr(one, "get_segments")).get_segments()
    assert [sorted(bar[:, 0]) for bar in bars] == [
        sorted(one) for one in zip(drift[:, 0], threshold[:, 0], strict=True)
    ]


@pytest.mark.parametrize("closer", ["higher", "lower"])
def test_leaves_are_in_the_order_of_shortest_steps(closer):
    """Points on a line have one best order, whichever way it is read."""
    places = RNG.permutation(np.array([0.0, 1.0, 2.5, 4.5, 7.0]))
    distances = np.abs(places[:, None] - places)
    table = distances if closer == "lower" else 10 - distances
    order = charts.leaf_order(table, closer)
    assert places[order].tolist() in (sorted(places), sorted(places, reverse=True))
    steps = [sum(distances[a, b] for a, b in pairwise(one)) for one in permutations(range(5))]
    assert sum(distances[a, b] for a, b in pairwise(order)) == min(steps)
    # Where rows disagree about a pair, their mean counts.
    moved = np.triu(RNG.random((5, 5)), 1)
    assert charts.leaf_order(table + moved - moved.T, closer) == order


def test_leaves_without_all_distances_keep_their_order():
    table = np.array([[NAN, 9.0, 1.0], [9.0, NAN, 8.0], [1.0, 8.0, NAN]])
    assert charts.leaf_order(table[:2, :2], "lower") == [0, 1]
    gap = np.where(np.eye(3), 0.0, table)
    assert charts.leaf_order(gap, "lower") != [0, 1, 2]
    gap[0, 1] = NAN
    assert charts.leaf_order(gap, "lower") == [0, 1, 2]


def bars_of(values, intervals, **options):
    return charts.model_bars([f"m{i}" for i in range(len(values))], values, intervals, **options)


def test_bars_have_their_heights_ends_ceiling_and_marks():
    ax = bars_of([0.5, -0.2, 0.3], [(0.4, 0.7), (-0.3, -0.1), (NAN, NAN)], band=(0.9, 0.8), above_chance=[1, 0, 1])
    band, *bars = ax.patches
    assert (band.get_y(), band.get_y() + band.get_height()) == pytest.approx((0.8, 0.9))
    assert [bar.get_height() for bar in bars] == [0.5, -0.2, 0.3]
    assert [bar.get_x() + bar.get_width() / 2 for bar in bars] == pytest.approx([0, 1, 2])
    assert all(bar.get_width() < 1 for bar in bars), "bars do not touch"
    whiskers = next(one for one in ax.containers if hasattr(one, "has_yerr")).lines[2][0]
    ends = [segment[:, 1].tolist() for segment in whiskers.get_segments() if len(segment)]
    assert ends[:2] == [pytest.approx([0.4, 0.7]), pytest.approx([-0.3, -0.1])]
    feet = offsets(ax, "above chance")
    assert feet[:, 0].tolist() == [0, 2] and (feet[:, 1] > 0).all() and (feet[:, 1] < 0.1).all()
    assert bars_of([0.5], [(0.4, 0.6)]).get_legend() is None


def test_moved_rows_are_joined_from_before_to_after():
    before, after = POINTS, POINTS + 1
    labels = [f"k{i % 4}" for i in range(12)]
    ax = charts.row_map([before, after], labels=labels, moved=[3, 1], names=["old", "new"])
    assert np.asarray(ax.collections[0].get_offsets()) == pytest.approx(after)
    for line, row in zip(ax.lines, (3, 1), strict=True):
        assert np.stack(line.get_data(), axis=1) == pytest.approx(np.stack([before[row], after[row]]))
    colours = ax.collections[0].get_facecolors()
    shown = {label: matplotlib.colors.to_hex(colour) for label, colour in zip(labels, colours, strict=True)}
    legend = {one.get_label(): matplotlib.colors.to_hex(one.get_facecolor()[0]) for one in ax.collections[1:]}
    assert shown == legend and len(set(shown.values())) == 4
    assert ax.get_title() == "old to new" and ax.get_legend() is not None
    alone = charts.row_map([after], labels=["k"] * 12, moved=[3], names=["new"])
    assert not alone.lines and alone.get_legend() is None


def test_spectra_begin_with_direction_one_and_leave_out_zeros():
    ax = charts.spectra({"a": np.array([0.7, 0.3, 0.0]), "b": np.array([1.0])})
    first, second = ax.lines
    assert (list(first.get_xdata()), list(first.get_ydata())) == ([1, 2], [0.7, 0.3])
    assert (list(second.get_xdata()), list(second.get_ydata())) == ([1], [1.0])
    assert first.get_color() != second.get_color()
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
